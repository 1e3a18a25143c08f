"""An answer while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from interlingua.dialects.anthropic.parts import ANSWER, read_part
from interlingua.dialects.anthropic.response import read_response
from interlingua.dialects.anthropic.stream_frames import (
    COMPACTION,
    INPUT,
    TEXT,
    THINKING,
    Piece,
    piece_of,
)
from interlingua.dialects.base import Wire, encode
from interlingua.dialects.streaming import failed, finish_call, start_of_block
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    Event,
    FrameMark,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic


class _Text(msgspec.Struct, tag="text_delta", forbid_unknown_fields=True, gc=False):
    text: str


class _Thinking(msgspec.Struct, tag="thinking_delta", forbid_unknown_fields=True, gc=False):
    text: str = msgspec.field(name="thinking")


class _Input(msgspec.Struct, tag="input_json_delta", forbid_unknown_fields=True, gc=False):
    text: str = msgspec.field(name="partial_json")


class PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The frame that there are most of, with nothing unusual in it."""

    type: Literal["content_block_delta"]
    index: int
    delta: _Text | _Thinking | _Input


def _told_anew(index: int, text: str, frame: FrameMark | None = None) -> BlockDelta:
    return BlockDelta(index, "text", text, frame=frame)


_TAKES: dict[Piece | None, tuple[type | None, Any]] = {
    TEXT: (_Text, TextDelta),
    THINKING: (_Thinking, ThinkingDelta),
    INPUT: (_Input, ToolUseInputDelta),
    COMPACTION: (None, _told_anew),
    None: (None, None),
}
_FIXED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""What later frames do not change; usage is merged."""


class Part:
    """A block that is being told: how it began, and what came since."""

    __slots__ = ("block", "citations", "event", "index", "piece", "pieces", "takes", "wire")

    def __init__(self, index: int, wire: Wire, block: Block) -> None:
        self.index = index
        self.wire = dict(wire)
        self.block = block
        self.pieces: list[str] = []
        self.citations: list[Wire] = []
        self.piece = INPUT if type(block) is ToolUseBlock else piece_of(wire)
        self.takes, self.event = _TAKES[self.piece]

    def finish(self) -> tuple[Block, Diagnostic | None]:
        """The block as reading a whole answer gives it."""
        if type(self.block) is ToolUseBlock:
            return finish_call(self.block, self.pieces)
        wire = self.wire
        if self.piece is not None and self.pieces:
            wire[self.piece.key] = (wire.get(self.piece.key) or "") + "".join(self.pieces)
            self.pieces = []
        if self.citations:
            wire["citations"] = [*(wire.get("citations") or ()), *self.citations]
            self.citations = []
        return read_part(wire, ANSWER), None

    def start(self, mark: FrameMark) -> Event:
        return start_of_block(self.index, self.block, mark)

    def end(self, block: Block, mark: FrameMark, within: FrameMark) -> list[Event]:
        """The events of its end. A call that came whole is told in one piece by then."""
        if type(block) is not ToolUseBlock:
            return [BlockEnd(self.index, block, frame=mark)]
        more = (block.raw_arguments, block.signature, block.raw)
        events: list[Event] = [ToolUseEnd(self.index, block.input, *more, frame=mark)]
        if block.input and not any(self.pieces):
            text = encode(block.input).decode()
            events.insert(0, ToolUseInputDelta(self.index, text, frame=within))
        return events


class Answer:
    """The message of a stream, so far."""

    def __init__(self, wire: Wire) -> None:
        self.wire = {**wire, "content": []}
        self.usage: Wire = dict(wire.get("usage") or ())
        self.count = 0
        self.open: dict[int, Part] = {}
        self._blocks: dict[int, Block] = {}
        self._found: list[Diagnostic] = []

    def add(self, wire: Wire, block: Block) -> Part:
        """A block that begins."""
        part = Part(self.count, wire, block)
        self.count += 1
        if wire.get("type") == "fallback":
            self._follow(wire.get("to"))
        return part

    def _follow(self, to: Any) -> None:
        """The model that took over is the one that a whole answer names."""
        if type(to) is dict and type(to.get("model")) is str:
            self.wire["model"] = to["model"]

    def finish(self, part: Part) -> Block:
        block, found = part.finish()
        self._blocks[part.index] = block
        if found is not None:
            self._found.append(found)
        return block

    def change(self, changes: Wire) -> None:
        """A null does not undo what was said before."""
        for key, value in changes.items():
            if key not in _FIXED and (value is not None or key not in self.wire):
                self.wire[key] = value

    def count_tokens(self, counts: Wire) -> None:
        """Counts are of all so far, so the later ones stand; a null keeps what was there."""
        for key, value in counts.items():
            if value is not None or key not in self.usage:
                self.usage[key] = value

    def response(self) -> Response:
        """What reading the whole answer gives."""
        wire = {**self.wire, "usage": self.usage} if self.usage else self.wire
        response = read_response(wire)
        message = response.message
        content = tuple([block for _, block in sorted(self._blocks.items())])
        metadata = message.metadata
        if self._found:
            metadata = metadata.replace(diagnostics=(*metadata.diagnostics, *self._found))
        return response.replace(message=message.replace(content=content, metadata=metadata))

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        for part in self.open.values():
            self._blocks[part.index], _ = part.finish()
        return failed(self.response().message, error)


def rest_of_change(wire: Wire, changes: Wire, beyond: Wire) -> tuple[Wire, Wire]:
    """What a `message_delta` says beyond a stop reason and counts, and what it does not say."""
    rest = dict(beyond)
    delta = {
        key: item
        for key, item in changes.items()
        if key != "stop_reason" and (key != "stop_sequence" or item is not None)
    }
    if delta:
        rest["delta"] = delta
    rest.update({key: None for key in ("delta", "usage") if key in wire and wire[key] is None})
    without = [key for key in ("stop_reason", "stop_sequence") if key not in changes]
    if wire.get("delta") is None:
        without.append("delta")
    return rest, {"without": without} if without else {}


def spell_counts(counts: Wire, answer: Answer, rest: Wire, form: Wire) -> None:
    """Which of the counts so far this frame says, if not all of them; and its nulls."""
    nulls = {key: None for key, value in counts.items() if value is None and key in answer.usage}
    answer.count_tokens(counts)
    if counts.keys() != answer.usage.keys():
        form["usage"] = list(counts)
    if nulls:
        rest["usage"] = nulls
