"""Events of a stream.

In this order: `message_start`; blocks, each opened, filled and closed, overlapping or not; `stop`
and `usage_update` at any time, the last one counts; at the end exactly one `message_complete` or
`error`. `index` orders the blocks of the finished message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from interlingua.model.base import JsonObject, Raw, Value, check_words
from interlingua.model.blocks import Block, Executor
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason, Usage

_READ = "read"


class FrameMark(Value, frozen=True):
    """The wire frame that an event came from; the frame's first event also has its other fields."""

    number: int
    rest: Raw | None = None


class _Event(Value, frozen=True, kw_only=True):
    choice: int = 0
    frame: FrameMark | None = None


class MessageStart(_Event, frozen=True, tag="message_start"):
    type: ClassVar[Literal["message_start"]] = "message_start"
    model: str | None = None
    response_id: str | None = None
    role: Role = Role.ASSISTANT

    def __post_init__(self) -> None:
        if type(self.role) is not Role:
            check_words(self)


class BlockStart(_Event, frozen=True, tag="block_start"):
    type: ClassVar[Literal["block_start"]] = "block_start"
    index: int
    block: Block


class BlockDelta(_Event, frozen=True, tag="block_delta"):
    """A piece of a field other than text, thinking or tool input; `field` names it."""

    type: ClassVar[Literal["block_delta"]] = "block_delta"
    index: int
    field: str
    value: Any


class BlockEnd(_Event, frozen=True, tag="block_end"):
    type: ClassVar[Literal["block_end"]] = "block_end"
    index: int
    block: Block


class TextDelta(_Event, frozen=True, tag="text_delta"):
    type: ClassVar[Literal["text_delta"]] = "text_delta"
    index: int
    text: str


class ThinkingDelta(_Event, frozen=True, tag="thinking_delta"):
    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    index: int
    text: str


class ToolUseStart(_Event, frozen=True, tag="tool_use_start"):
    type: ClassVar[Literal["tool_use_start"]] = "tool_use_start"
    index: int
    id: str
    name: str
    executor: Executor = "client"
    call_type: str | None = None
    raw: Raw | None = None
    caller: str | None = None

    def __post_init__(self) -> None:
        if self.executor != "client":
            check_words(self)


class ToolUseInputDelta(_Event, frozen=True, tag="tool_use_input_delta", gc=True, dict=True):
    type: ClassVar[Literal["tool_use_input_delta"]] = "tool_use_input_delta"
    index: int
    text: str

    @property
    def partial(self) -> JsonObject | None:
        """The whole input as far as it can be read up to this piece, to be shown and not to be run:
        a number or a text may go on. It is read on demand. None on an event that no fold has seen,
        since the pieces before it are not known then."""
        read: Callable[[], JsonObject] | None = self.__dict__.get(_READ)
        return None if read is None else read()

    def read_by(self, read: Callable[[], JsonObject]) -> None:
        """Sets the function that computes `partial`, which is not part of the value."""
        self.__dict__[_READ] = read


class ToolUseEnd(_Event, frozen=True, tag="tool_use_end"):
    type: ClassVar[Literal["tool_use_end"]] = "tool_use_end"
    index: int
    input: JsonObject
    raw_arguments: str | None = None
    signature: str | None = None
    raw: Raw | None = None


class Stop(_Event, frozen=True, tag="stop"):
    type: ClassVar[Literal["stop"]] = "stop"
    stop_reason: StopReason | None = None
    raw_stop_reason: str | int | float | bool | None = None

    def __post_init__(self) -> None:
        if self.stop_reason is not None and type(self.stop_reason) is not StopReason:
            check_words(self)


class UsageUpdate(_Event, frozen=True, tag="usage_update"):
    """Cumulative usage: it replaces earlier updates."""

    type: ClassVar[Literal["usage_update"]] = "usage_update"
    usage: Usage


class MessageComplete(_Event, frozen=True, tag="message_complete"):
    type: ClassVar[Literal["message_complete"]] = "message_complete"
    response: Response


class StreamError(_Event, frozen=True, tag="error"):
    """The end of a stream that failed or broke off, with all that had arrived."""

    type: ClassVar[Literal["error"]] = "error"
    error: ProviderError
    partial: Message | None = None


class Other(_Event, frozen=True, tag="other"):
    """A frame without canonical content; it is written back unchanged."""

    type: ClassVar[Literal["other"]] = "other"
    progress: str | None = None
    """The provider's name of a frame that shows the progress of a block."""


Event = (
    MessageStart
    | BlockStart
    | BlockDelta
    | BlockEnd
    | TextDelta
    | ThinkingDelta
    | ToolUseStart
    | ToolUseInputDelta
    | ToolUseEnd
    | Stop
    | UsageUpdate
    | MessageComplete
    | StreamError
    | Other
)
StreamEvent = Event

WIRE_NAMES: dict[str, str] = {
    "message_start": "message.start",
    "text_delta": "text.delta",
    "thinking_delta": "thinking.delta",
    "tool_use_start": "tool.use_start",
    "tool_use_input_delta": "tool.use_input_delta",
    "tool_use_end": "tool.use_end",
    "message_complete": "message.complete",
}
"""The names these events have on a live connection to a client."""

Ending = Literal["message_complete", "error"]
