"""A message: a role and an ordered tuple of blocks, and which blocks each role may hold."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from interlingua.model.base import JsonObject, Value, plain_members
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
from interlingua.model.changes import Changes
from interlingua.model.metadata import MessageMetadata

SCHEMA_VERSION = 1


@plain_members
class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


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
"""Which block types each role may hold. An assistant's tool results are those of calls that the
provider itself ran; a tool message holds exactly one result."""


class Part(Protocol):
    """Something else that stands for a block, such as a part of a view."""

    def as_block(self) -> Block: ...


B = TypeVar("B")
Some: TypeAlias = str | B | Part | JsonObject | Iterable[str | B | Part | JsonObject]
"""Text, a block or several; a block may also be a dict in the canonical form."""
UserContent = Some[UserBlock]
AssistantContent = Some[AssistantBlock]
InstructionContent = Some[InstructionBlock]
ResultContent = Some[ResultBlock]
Content = Some[Block]
NO_METADATA = MessageMetadata()
"""What is known of a message of which nothing is known; the very object that is the default."""


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

    def __post_init__(self) -> None:
        if type(self.content) is tuple and type(self.role) is Role and self.created_at is None:
            return  # as readers make them
        if type(self.content) is not tuple:
            msgspec.structs.force_setattr(self, "content", blocks_of(self.content))
        if type(self.role) is not Role:
            msgspec.structs.force_setattr(self, "role", Role(self.role))
        if self.created_at is not None and self.created_at.tzinfo is not UTC:
            msgspec.structs.force_setattr(self, "created_at", _utc(self.created_at))

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
        tool_use_id: str,
        content: ResultContent = (),
        is_error: bool = False,
        tool_name: str | None = None,
    ) -> Message:
        block = ToolResultBlock(tool_use_id, blocks_of(content), is_error, tool_name)  # type: ignore[arg-type]  # a misplaced block is for validate() to name
        return cls.of_result(block)

    @classmethod
    def of_result(cls, block: ToolResultBlock) -> Message:
        """The tool message that holds one result."""
        metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
        return cls(Role.TOOL, (block,), metadata=metadata)

    @property
    def text(self) -> str:
        """All text blocks in order, joined; empty when there are none."""
        return "".join([block.text for block in self.content if type(block) is TextBlock])

    @property
    def reasoning(self) -> str:
        """All thinking that can be read, one block a line; empty when there is none."""
        return "\n".join([block.text for block in self.content if type(block) is ThinkingBlock])

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        """Copies of the calls, in order; changing one changes no message."""
        return [deepcopy(block) for block in self.content if type(block) is ToolUseBlock]

    def content_digest(self) -> str:
        """The digest of role and blocks alone, for finding the same words in other places."""
        return Message(self.role, self.content).digest()


def blocks_of(content: Some[Any]) -> tuple[Block, ...]:
    """A string is one text block, an empty string is none; strings in a list are text blocks."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    if isinstance(content, (Value, dict)) or hasattr(content, "as_block"):
        return (_block(content),)
    if not isinstance(content, Iterable) or isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"content is text, a block or several, found a {type(content).__name__}")
    return tuple([_block(part) for part in content])


def _block(part: Any) -> Block:
    if type(part) in TYPE_OF:
        return part  # type: ignore[no-any-return]  # just checked
    if isinstance(part, str):
        return TextBlock(part)
    if isinstance(part, dict):
        from interlingua.model import codec

        block: Block = codec.convert(part, Block)  # type: ignore[arg-type]  # a union is no class
        return block
    if hasattr(part, "as_block"):
        return part.as_block()  # type: ignore[no-any-return]  # by its protocol
    raise TypeError(f"content is made of blocks, found a {type(part).__name__}")


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
