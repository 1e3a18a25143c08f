"""An answer while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Wire
from interlingua.dialects.ollama.calls import read_call
from interlingua.dialects.ollama.response import COUNTS, read_reason, read_response, read_usage
from interlingua.dialects.shape import Kept, ShapeError
from interlingua.dialects.streaming import failed
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import TextDelta, ThinkingDelta
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, StopReason, Usage


class _PlainMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: str
    thinking: str | msgspec.UnsetType = msgspec.UNSET


class PlainLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The frame that there are most of, with nothing unusual in it."""

    model: str
    created_at: str
    message: _PlainMessage
    done: bool


class Run:
    """A block that is being told: neighbouring pieces of one kind."""

    __slots__ = ("event", "index", "kind", "pieces")

    def __init__(self, index: int, kind: type[TextBlock | ThinkingBlock]) -> None:
        self.index = index
        self.kind = kind
        self.event: Any = TextDelta if kind is TextBlock else ThinkingDelta
        self.pieces: list[str] = []

    def block(self) -> Block:
        return self.kind("".join(self.pieces))


_LISTS = ("images", "tool_calls")


_MANY = 1000
_PLACES: dict[type[Block], int] = {
    ThinkingBlock: 0,
    TextBlock: _MANY,
    ImageBlock: 2 * _MANY,
    ToolUseBlock: 3 * _MANY,
}
"""Where the indexes of each kind begin."""


class Answer:
    """The message of a stream, so far. Its blocks stand where a whole answer has them: thinking,
    text, images, calls; those of one kind in the order in which they came."""

    def __init__(self, wire: Wire) -> None:
        self.wire: Wire = {}
        self._blocks: dict[int, Block] = {}
        self._places = dict(_PLACES)
        self.run: Run | None = None
        self._message: Wire | None = None
        self._said: set[str] = set()
        self._logprobs: list[Any] = []
        self._calls = 0
        self._found: list[Diagnostic] = []
        self._time = wire.get("created_at")
        self._made_ids = False

    def open(self, kind: type[TextBlock | ThinkingBlock]) -> Run:
        self.run = Run(self._place(kind), kind)
        return self.run

    def _place(self, kind: type[Block]) -> int:
        """The next index for a block of this kind."""
        band = kind if kind in _PLACES else ToolUseBlock
        if self._places[band] - _PLACES[band] >= _MANY:
            band = ToolUseBlock  # the last kind has no end
        self._places[band] += 1
        return self._places[band] - 1

    def put(self, block: Block) -> int:
        """A block that came whole; its index."""
        index = self._place(type(block))
        self._blocks[index] = block
        return index

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple([block for _, block in sorted(self._blocks.items())])

    def close(self) -> Block | None:
        """The end of the run, if there is one."""
        if self.run is None:
            return None
        block = self._blocks[self.run.index] = self.run.block()
        self.run = None
        return block

    def read_calls(self, listed: list[Any]) -> list[Block]:
        """The calls of a line. An id that has to be made is made of what the first line said."""
        place = self._time if type(self._time) is str else 0
        calls: list[Block] = []
        try:
            for each in listed:
                calls.append(read_call(each, place, self._calls + len(calls), self._found))
        except ShapeError as odd:
            raise odd.inside(f".message.tool_calls[{len(calls)}]") from None
        self._calls += len(calls)
        self._made_ids = self._made_ids or not all(each.get("id") for each in listed)
        return calls

    def add(self, wire: Wire) -> None:
        """What a line says beside its blocks. A null does not undo what was said before."""
        for key, value in wire.items():
            if key == "logprobs" and type(value) is list:
                self._logprobs += value
                self.wire[key] = self._logprobs
            elif key not in self.wire or (key != "message" and value is not None):
                self.wire[key] = value
        if type(wire.get("message")) is dict:
            self._add_message(wire["message"])

    def _add_message(self, given: Wire) -> None:
        message = self._message = self._message or {}
        for key, value in given.items():
            if key == "content":
                message[key] = "" if type(value) is str else message.get(key)
            elif key in ("thinking", *_LISTS):
                if value:
                    self._said.add(key)
                message.setdefault(key, value)
            elif value is not None or key not in message:
                message[key] = value

    def usage(self) -> Usage | None:
        """The counts of all lines so far."""
        return read_usage({key: self.wire.get(key) for key in COUNTS}, Kept({}, {}, {}), [])

    def reason(self, word: Any) -> StopReason | None:
        return read_reason(word, self.blocks)

    def response(self) -> Response:
        """What reading the whole answer gives. Its time is that of its last line, unless it has to
        be the one that ids were made of."""
        wire = self.wire
        if self._message is not None:
            left = {key: item for key, item in self._message.items() if key not in self._said}
            wire = {**wire, "message": left}
        if self._made_ids:
            wire = {**wire, "created_at": self._time}
            if self._time is None:
                del wire["created_at"]
        response = read_response(wire)
        message, told = response.message, response.message.metadata
        changes: Wire = {}
        if told.raw_stop_reason is not None:
            changes["stop_reason"] = self.reason(told.raw_stop_reason)
        if self._found:
            changes["diagnostics"] = (*self._found, *told.diagnostics)
        metadata = told.replace(**changes) if changes else told
        return response.replace(message=message.replace(content=self.blocks, metadata=metadata))

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        self.close()
        return failed(self.response().message, error)
