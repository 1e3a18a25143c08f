"""A message: a role and an ordered tuple of blocks, and which blocks each role may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from enum import StrEnum
from operator import is_
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from interlingua.errors import a_type
from interlingua.model.base import (
    JsonObject,
    Value,
    _defaults,
    check_words,
    plain_members,
    same,
)
from interlingua.model.blocks import (
    TYPE_OF,
    AssistantBlock,
    Block,
    InstructionBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
)
from interlingua.model.metadata import (
    UNKNOWN,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    Usage,
)

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class ResponseFormat(Value, frozen=True):
    """The form of an answer: text, JSON, or JSON that fits a schema."""

    kind: Literal["text", "json", "json_schema"] = "text"
    name: str | None = None
    schema: JsonObject | None = None
    strict: bool | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        check_words(self)


class Changes(Value, frozen=True):
    """Settings that hold from a message on, until another one changes them again.

    Tools are named; the request has their definitions. One that is named in `tools_added` before it
    is named anywhere else is not there from the start."""

    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    effort: Effort | None = None
    response_format: ResponseFormat | None = None
    clear_at: str | None = None
    """When the text of the message expires: `next_user_message`, or `never`."""

    def __post_init__(self) -> None:
        check_words(self)


SCHEMA_VERSION = 1


@plain_members
class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


RoleWord = Literal["system", "developer", "user", "assistant", "tool"]

PLACEMENT: dict[Role, frozenset[str]] = {
    Role.SYSTEM: frozenset({"text", "compaction", "unknown"}),
    Role.DEVELOPER: frozenset({"text", "compaction", "unknown"}),
    Role.USER: frozenset({"text", "image", "audio", "video", "document", "compaction", "unknown"}),
    Role.ASSISTANT: frozenset(
        {"text", "thinking", "redacted_thinking", "tool_use", "refusal", "image", "audio", "video"}
        | {"document", "tool_result", "compaction", "unknown"}
    ),
    Role.TOOL: frozenset({"tool_result", "unknown"}),
}
"""The block types that each role may contain. Tool results in an assistant message are of calls
that the provider ran; a tool message contains exactly one result."""


class Part(Protocol):
    """A value that can be used in place of a block, such as a part of a view."""

    def as_block(self) -> Block: ...


B = TypeVar("B")
OneOrMany: TypeAlias = str | B | Part | JsonObject | Iterable[str | B | Part | JsonObject]
"""Text, a block or several; a block may also be a dict in the canonical form."""
UserContent = OneOrMany[UserBlock]
AssistantContent = OneOrMany[AssistantBlock]
InstructionContent = OneOrMany[InstructionBlock]
ResultContent = OneOrMany[ResultBlock]
Content = OneOrMany[Block]
NO_METADATA = MessageMetadata()
"""The metadata of a message without any; the very object that is the default."""


class Message(Value, frozen=True):
    """One entry of a conversation. A session fills in `id`, `session_id` and `created_at`."""

    role: Role
    content: tuple[Block, ...] = ()
    name: str | None = None
    id: str | None = None
    session_id: str | None = None
    metadata: MessageMetadata = NO_METADATA
    created_at: datetime | None = None
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)  # always written
    changes: Changes | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            role: Role | RoleWord,
            content: Content = (),
            name: str | None = None,
            id: str | None = None,
            session_id: str | None = None,
            metadata: MessageMetadata = NO_METADATA,
            created_at: datetime | None = None,
            schema_version: int = SCHEMA_VERSION,
            changes: Changes | None = None,
        ) -> None: ...

    def __repr__(self) -> str:
        # msgspec's own shows `schema_version`, whose default is made anew to be written always.
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        defaults = _defaults(Message)
        shown = [f"{k}={v!r}" for k, v in fields.items() if not same(v, defaults[k])]
        return f"Message({', '.join(shown)})"

    def __post_init__(self) -> None:
        created = self.created_at
        zoned = created is None or created.tzinfo is UTC
        if zoned and type(self.content) is tuple and type(self.role) is Role:
            return  # as readers make them
        if type(self.content) is not tuple:
            msgspec.structs.force_setattr(self, "content", blocks_of(self.content))
        if type(self.role) is not Role:
            check_words(self)
        if created is not None and not zoned:
            msgspec.structs.force_setattr(self, "created_at", _utc(created))

    @classmethod
    def system(cls, content: InstructionContent) -> Message:
        return cls(Role.SYSTEM, blocks_of(content))

    @classmethod
    def developer(cls, content: InstructionContent) -> Message:
        return cls(Role.DEVELOPER, blocks_of(content))

    @classmethod
    def user(cls, content: UserContent, name: str | None = None) -> Message:
        return cls(Role.USER, blocks_of(content), name)

    @classmethod
    def assistant(
        cls, content: AssistantContent, metadata: MessageMetadata | None = None
    ) -> Message:
        return cls(Role.ASSISTANT, blocks_of(content), metadata=metadata or NO_METADATA)

    @classmethod
    def tool_result(
        cls,
        tool_use_id: str | None = None,
        content: ResultContent = (),
        is_error: bool = False,
        tool_name: str | None = None,
        *,
        tool_call_id: str | None = None,
    ) -> Message:
        """The answer to a call; `tool_call_id` is another name for `tool_use_id`."""
        tool_use_id = tool_use_id if tool_call_id is None else tool_call_id
        if tool_use_id is None:
            raise TypeError("a tool result needs the id of its call, as tool_use_id")
        block = ToolResultBlock(tool_use_id, blocks_of(content), is_error, tool_name)  # type: ignore[arg-type]  # a misplaced block is for validate() to name
        return cls.of_result(block)

    @classmethod
    def of_result(cls, block: ToolResultBlock) -> Message:
        """The tool message that holds one result."""
        metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
        return cls(Role.TOOL, (block,), metadata=metadata)

    @property
    def tool_call_id(self) -> str | None:
        """The call that a tool message answers; None for messages of other roles."""
        results = [block for block in self.content if type(block) is ToolResultBlock]
        return results[0].tool_use_id if self.role is Role.TOOL and results else None

    @property
    def text(self) -> str:
        """All text blocks joined in order; empty if there are none."""
        return "".join([block.text for block in self.content if type(block) is TextBlock])

    @property
    def reasoning(self) -> str:
        """All readable thinking, one block a line; empty without any."""
        return "\n".join([block.text for block in self.content if type(block) is ThinkingBlock])

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        """Copies of the calls, in order; changing one changes no message."""
        return [deepcopy(block) for block in self.content if type(block) is ToolUseBlock]

    def content_digest(self) -> str:
        """The digest of role and blocks alone, to find the same content elsewhere."""
        return Message(self.role, self.content).digest()


def blocks_of(content: OneOrMany[Any]) -> tuple[Block, ...]:
    """A string is one text block, an empty string no block; strings in a list are text blocks."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    if isinstance(content, (Value, dict)) or hasattr(content, "as_block"):
        return (_block(content),)
    if not isinstance(content, Iterable) or isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"content is text, a block or several, found {a_type(content)}")
    return tuple([_block(part) for part in content])


def _block_of_dict(part: JsonObject) -> Block:
    """A block in canonical form, or as some provider writes it."""
    from interlingua.errors import ReadError
    from interlingua.model import codec

    try:
        block: Block = codec.convert(part, Block)  # type: ignore[arg-type]  # a union is no class
    except ReadError as error:
        from interlingua.coerce import as_messages

        try:
            messages = as_messages([{"role": "user", "content": [part]}])
        except (TypeError, ReadError):
            raise error from None
        content = messages[0].content if len(messages) == 1 else ()
        if len(content) != 1 or content[0].type == "unknown":
            raise error from None
        block = content[0]
    return block


def _block(part: Any) -> Block:
    if type(part) in TYPE_OF:
        return part  # type: ignore[no-any-return]  # just checked
    if isinstance(part, str):
        return TextBlock(part)
    if isinstance(part, dict):
        return _block_of_dict(part)
    if hasattr(part, "as_block"):
        return part.as_block()  # type: ignore[no-any-return]  # by its protocol
    raise TypeError(f"content is made of blocks, found {a_type(part)}")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(time: datetime) -> int:
    """Microseconds since 1970 in UTC, exactly: no floating point on the way."""
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_micros(count: int) -> datetime:
    """The inverse of `micros`."""
    from datetime import timedelta

    return _EPOCH + timedelta(microseconds=count)


def _utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise ValueError("created_at needs a time zone")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("created_at lies outside the years 1 to 9999") from None


def walk(messages: Iterable[Message]) -> Iterator[tuple[str, Message, Block]]:
    """Each block with its path in the list and its message; results' own blocks come after them."""
    for number, message in enumerate(messages):
        yield from walk_message(message, f"$[{number}]")


def walk_message(message: Message, path: str = "$") -> Iterator[tuple[str, Message, Block]]:
    for index, block in enumerate(message.content):
        place = f"{path}.content[{index}]"
        yield place, message, block
        for inner_place, inner in _inside(block, place):
            yield inner_place, message, inner


def _inside(block: Block, path: str) -> Iterator[tuple[str, Block]]:
    inner = getattr(block, "content", None)
    source = getattr(block, "source", None)
    if inner is None and source is not None:
        inner, path = source.content, f"{path}.source"
    for index, each in enumerate(inner or ()):
        place = f"{path}.content[{index}]"
        yield place, each
        yield from _inside(each, place)


def rewrite(message: Message, change: Callable[[Block], Iterable[Block]]) -> Message:
    """The message with each block replaced by the blocks that `change` returns (none drops it)."""
    content = tuple([new for block in message.content for new in change(block)])
    if len(content) == len(message.content) and all(map(is_, content, message.content)):
        return message  # `==` would not do: it does not see `raw`
    return message.replace(content=content)


if TYPE_CHECKING:

    class UserMessage(Message, frozen=True):
        def __init__(self, content: UserContent, name: str | None = None) -> None: ...

    class AssistantMessage(Message, frozen=True):
        def __init__(
            self, content: AssistantContent, metadata: MessageMetadata | None = None
        ) -> None: ...

    class ToolMessage(Message, frozen=True):
        def __init__(
            self,
            tool_call_id: str,
            content: ResultContent = (),
            is_error: bool = False,
            tool_name: str | None = None,
        ) -> None: ...

else:

    class _Kind(type):
        """The metaclass of message classes for one role."""

        role: Role

        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, Message) and value.role is cls.role

        def __new__(meta, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
            if bases:
                raise TypeError("the kinds of message are a closed set")
            return super().__new__(meta, name, bases, members)

    class UserMessage(metaclass=_Kind):
        """A message of the user; making one gives a `Message`."""

        role = Role.USER

        def __new__(cls, content, name=None):
            return Message.user(content, name)

    class AssistantMessage(metaclass=_Kind):
        """A model's message; making one gives a `Message`."""

        role = Role.ASSISTANT

        def __new__(cls, content, metadata=None):
            return Message.assistant(content, metadata)

    class ToolMessage(metaclass=_Kind):
        """The result of a tool; making one gives a `Message`."""

        role = Role.TOOL

        def __new__(cls, tool_call_id, content=(), is_error=False, tool_name=None):
            return Message.tool_result(tool_call_id, content, is_error, tool_name)


APPENDED = "made elsewhere and appended; no model was chosen here"
"""The reason in the routing record of such an answer."""


def with_provenance(message: Message) -> Message:
    """The message as a session holds it: a complete answer gets its known provenance; any other
    message, and an answer that has all of it, is unchanged."""
    metadata = message.metadata
    if message.role is not Role.ASSISTANT or metadata.status is not MessageStatus.COMPLETE:
        return message
    if metadata.model and metadata.provider and metadata.routing and metadata.usage is not None:
        return message
    model = _model(metadata)
    return message.replace(
        metadata=metadata.replace(
            model=model,
            provider=metadata.provider or model.partition(":")[0],
            routing=metadata.routing or RoutingRecord(RoutingMode.DEFAULT, model, APPENDED),
            usage=Usage() if metadata.usage is None else metadata.usage,
        )
    )


def is_from_elsewhere(message: Message) -> bool:
    """Whether an answer was not made in the session that holds it."""
    routing = message.metadata.routing
    return routing is not None and routing.reason == APPENDED


def _model(metadata: MessageMetadata) -> str:
    """`<provider>:<name>`, as far as either is known."""
    provider = metadata.provider
    name = metadata.model or metadata.response_model
    if metadata.model and ":" in metadata.model and provider is None:
        return metadata.model
    if name is not None and provider is not None and name.startswith(f"{provider}:"):
        return name
    return f"{provider or UNKNOWN}:{name or UNKNOWN}"
