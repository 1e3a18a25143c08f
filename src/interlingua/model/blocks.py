"""The blocks that messages are made of: a closed set, distinguished by `type`.

New types may be added; none is ever given a second meaning. Order of blocks carries meaning and is
never changed.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from msgspec.structs import force_setattr

from interlingua.errors import a_type
from interlingua.model.base import JsonObject, Raw, Value, check_words

Executor = Literal["client", "provider"]
SourceKind = Literal["base64", "url", "file_ref", "file_id", "text", "blocks"]


class Cache(Value, frozen=True):
    """A cache breakpoint after the block or tool that carries it."""

    ttl: str | None = None


class Citation(Value, frozen=True):
    """The source of a piece of text; `start` and `end` count code points of the block's text."""

    cited_text: str | None = None
    url: str | None = None
    title: str | None = None
    file_id: str | None = None
    document_index: int | None = None
    start: int | None = None
    end: int | None = None
    raw: Raw | None = None


class Source(Value, frozen=True):
    """The source of media: `data` for all kinds but `blocks`, which has `content`.

    `file_ref` is a path inside the workspace; `file_id` belongs to `provider`.
    """

    kind: SourceKind
    data: str | None = None
    content: tuple[Block, ...] | None = None
    provider: str | None = None

    def __post_init__(self) -> None:
        check_words(self)
        data: object = self.data
        if data is not None and not isinstance(data, str):
            found = type(data).__name__
            raise TypeError(f"data is text, found {found}; Source.from_bytes takes bytes")

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Source:
        """The bytes of a file, as base64."""
        return cls("base64", b2a_base64(data, newline=False).decode())


SourceLike: TypeAlias = Source | str | bytes
"""A source, a URL (`data:` too), or the bytes of a file."""


def name_source(block: Any) -> None:
    """Turns a URL or bytes into the source of a media block."""
    found = block.source
    if isinstance(found, (bytes, bytearray, memoryview)):
        source = Source.from_bytes(found)
    elif not isinstance(found, str) or ":" not in found[:12]:
        takes = "il.Source, a URL, or bytes; a path is il.Source('file_ref', path)"
        shown = repr(found[:40]) if isinstance(found, str) else f"a {type(found).__name__}"
        raise TypeError(f"the source of a block is {takes}; found {shown}")
    elif found.startswith("data:") and ";base64," in found[:100]:
        head, _, data = found.partition(";base64,")
        source = Source("base64", data)
        if block.media_type is None:
            force_setattr(block, "media_type", head.removeprefix("data:") or None)
    else:
        source = Source("url", found)
    force_setattr(block, "source", source)


class TextBlock(Value, frozen=True, tag="text"):
    """Text. Text of an answer may have citations."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    signature: str | None = None
    citations: tuple[Citation, ...] = ()
    cache: Cache | None = None
    raw: Raw | None = None
    phase: str | None = None
    """The purpose of a model's text: `commentary` on the way, or `final_answer`."""


class ThinkingBlock(Value, frozen=True, tag="thinking"):
    """One part of reasoning. Empty text with a signature is a legal block."""

    type: ClassVar[Literal["thinking"]] = "thinking"
    text: str
    signature: str | None = None
    id: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None


class RedactedThinkingBlock(Value, frozen=True, tag="redacted_thinking"):
    """Thinking that only its provider can read."""

    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"
    data: str
    cache: Cache | None = None
    raw: Raw | None = None


class ToolUseBlock(Value, frozen=True, tag="tool_use"):
    """A call. `raw_arguments` is the provider's own text where `input` alone would not give it
    back; a `custom` call has free text, `input` is `{"input": text}`."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    input: JsonObject
    raw_arguments: str | None = None
    signature: str | None = None
    executor: Executor = "client"
    call_type: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None
    caller: str | None = None
    """The id of the call whose code made this one; None where the model made it."""

    def __post_init__(self) -> None:
        if self.executor != "client":
            check_words(self)
        if type(self.input) is not dict:
            read_input(self)


def read_input(call: ToolUseBlock) -> None:
    """Make the input of a call of the text that a model wrote, or refuse it."""
    found: Any = call.input
    if isinstance(found, str):
        from interlingua.model.arguments import recover

        recovered = recover(found)
        force_setattr(call, "input", recovered.input)
        if recovered.mode != "strict" and call.raw_arguments is None:
            force_setattr(call, "raw_arguments", found)
    elif not isinstance(found, dict):
        raise TypeError(f"the input of a call is a dict; found {a_type(found)}")


class ToolResultBlock(Value, frozen=True, tag="tool_result"):
    """The result of the call with this id."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: tuple[ResultBlock, ...] = ()
    is_error: bool = False
    tool_name: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            tool_use_id: str,
            content: str | ResultBlock | Iterable[str | ResultBlock] = (),
            is_error: bool = False,
            tool_name: str | None = None,
            cache: Cache | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.content) is not tuple:
            from interlingua.model.message import blocks_of

            force_setattr(self, "content", blocks_of(self.content))

    @property
    def text(self) -> str:
        """The text blocks of the result together."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


class ImageBlock(Value, frozen=True, tag="image"):
    """A picture: the user's, one in a tool's result, or one that the model made."""

    type: ClassVar[Literal["image"]] = "image"
    source: Source
    media_type: str | None = None
    name: str | None = None
    detail: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            source: SourceLike,
            media_type: str | None = None,
            name: str | None = None,
            detail: str | None = None,
            cache: Cache | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.source) is not Source:
            name_source(self)


class AudioBlock(Value, frozen=True, tag="audio"):
    """Sound: the user's, or one that the model made."""

    type: ClassVar[Literal["audio"]] = "audio"
    source: Source
    media_type: str | None = None
    name: str | None = None
    transcript: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            source: SourceLike,
            media_type: str | None = None,
            name: str | None = None,
            transcript: str | None = None,
            cache: Cache | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.source) is not Source:
            name_source(self)


class VideoBlock(Value, frozen=True, tag="video"):
    """A film: the user's, or one that the model made."""

    type: ClassVar[Literal["video"]] = "video"
    source: Source
    media_type: str | None = None
    name: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            source: SourceLike,
            media_type: str | None = None,
            name: str | None = None,
            cache: Cache | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.source) is not Source:
            name_source(self)


class DocumentBlock(Value, frozen=True, tag="document"):
    """A document: PDF, text, or blocks that can be cited."""

    type: ClassVar[Literal["document"]] = "document"
    source: Source
    media_type: str | None = None
    name: str | None = None
    title: str | None = None
    context: str | None = None
    cache: Cache | None = None
    raw: Raw | None = None
    cited: bool | None = None
    """Whether the answer is to cite it."""

    if TYPE_CHECKING:

        def __init__(
            self,
            source: SourceLike,
            media_type: str | None = None,
            name: str | None = None,
            title: str | None = None,
            context: str | None = None,
            cache: Cache | None = None,
            raw: Raw | None = None,
            cited: bool | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if type(self.source) is not Source:
            name_source(self)


class RefusalBlock(Value, frozen=True, tag="refusal"):
    """The text of a model that refuses to answer."""

    type: ClassVar[Literal["refusal"]] = "refusal"
    text: str
    cache: Cache | None = None
    raw: Raw | None = None


class CompactionBlock(Value, frozen=True, tag="compaction"):
    """History in a shorter form, from which the model continues.

    `text` is the readable summary, `data` a form that only its issuer can read; a block with
    neither is a failed compaction. It replaces the `replaces` messages before its own, by default
    all of them. They stay in the list.
    """

    type: ClassVar[Literal["compaction"]] = "compaction"
    text: str | None = None
    data: str | None = None
    signature: str | None = None
    replaces: int | None = None
    cache: Cache | None = None
    raw: Raw | None = None


SUMMARY = "[summary of the conversation so far]\n{}\n[end of the summary]"
"""Label of compacted history that is sent as text, possibly joined with other text."""


class UnknownBlock(Value, frozen=True, tag="unknown"):
    """A block that the reader did not know. All of its data is in `raw`, by which it is
    compared."""

    type: ClassVar[Literal["unknown"]] = "unknown"
    raw: Raw
    cache: Cache | None = None

    _aside = frozenset()


ImageSource = Source
"""Another name of it: the source of an image, and of everything else that is not text."""
MediaBlock = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
ResultBlock = TextBlock | ImageBlock | AudioBlock | VideoBlock | DocumentBlock | UnknownBlock
Block = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | AudioBlock
    | VideoBlock
    | DocumentBlock
    | RefusalBlock
    | CompactionBlock
    | UnknownBlock
)
ContentBlock = Block
UserBlock = (
    TextBlock
    | ImageBlock
    | AudioBlock
    | VideoBlock
    | DocumentBlock
    | CompactionBlock
    | UnknownBlock
)
AssistantBlock = Block
InstructionBlock = TextBlock | CompactionBlock | UnknownBlock
"""The blocks of a message of each role, for type checkers; `message.PLACEMENT` is the same as data,
and a test compares them."""

BLOCK_TYPES: dict[str, type[Block]] = {cls.type: cls for cls in get_args(Block)}
"""Block classes by their `type` word."""
TYPE_OF: dict[type[Block], str] = {cls: name for name, cls in BLOCK_TYPES.items()}
"""The `type` word of a block class."""
