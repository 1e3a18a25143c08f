"""An answer while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.stream_reader import failed
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.messages import read_calls
from interlingua.dialects.ollama.response import read_answer, reason_of
from interlingua.dialects.ollama.usage import read_usage
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import TextDelta, ThinkingDelta
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, StopReason, Usage

_MANY = 1000
_PLACES: dict[type[Block], int] = {
    ThinkingBlock: 0,
    TextBlock: _MANY,
    ImageBlock: 2 * _MANY,
    ToolUseBlock: 3 * _MANY,
}
"""Where the indexes of each kind begin."""


class Run:
    """A block that is being told: neighbouring pieces of one kind."""

    __slots__ = ("event", "index", "kind", "pieces", "wire")

    def __init__(self, index: int, kind: type[TextBlock | ThinkingBlock], wire: Wire) -> None:
        self.index = index
        self.kind = kind
        self.event: Any = TextDelta if kind is TextBlock else ThinkingDelta
        self.pieces: list[str] = []
        self.wire = wire
        """What the lines say beside their blocks."""


class Answer:
    """The message of a stream, so far. Its blocks stand where a whole answer has them: thinking,
    text, images, calls; those of one kind in the order in which they came."""

    def __init__(self, first: Wire) -> None:
        self.wire: Wire = {}
        self.run: Run | None = None
        self._blocks: dict[int, Block] = {}
        self._places = dict(_PLACES)
        self._message: Wire | None = None
        self._told: set[str] = set()
        """Keys of the message that blocks tell."""
        self._logprobs: list[Any] = []
        self._calls = 0
        self._found: list[Diagnostic] = []
        self._time = first.get("created_at")
        self._made_ids = False

    # -- blocks -----------------------------------------------------------------------------------

    def open(self, kind: type[TextBlock | ThinkingBlock]) -> Run:
        self.run = Run(self._place(kind), kind, self.wire)
        return self.run

    def close(self) -> Block | None:
        """The end of the run, if there is one."""
        run, self.run = self.run, None
        if run is None:
            return None
        block = self._blocks[run.index] = run.kind("".join(run.pieces))
        return block

    def put(self, block: Block) -> int:
        """A block that came whole; its index."""
        index = self._place(type(block))
        self._blocks[index] = block
        return index

    def _place(self, kind: type[Block]) -> int:
        """The next index for a block of this kind."""
        band = kind if kind in _PLACES else ToolUseBlock
        if self._places[band] - _PLACES[band] >= _MANY:
            band = ToolUseBlock  # the last kind has no end
        self._places[band] += 1
        return self._places[band] - 1

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple([block for _, block in sorted(self._blocks.items())])

    def read_calls(self, listed: list[Any]) -> list[Block]:
        """The calls of a line. An id that has to be made is made of what the first line said."""
        place = self._time if type(self._time) is str else 0
        calls = read_calls(listed, place, self._calls, self._found)
        self._calls += len(calls)
        self._made_ids = self._made_ids or not all(each.get("id") for each in listed)
        return calls

    # -- what is said beside them -----------------------------------------------------------------

    def add(self, line: Wire) -> None:
        """What a line says beside its blocks. A null does not undo what was said before."""
        for key, value in line.items():
            if key == "logprobs" and type(value) is list:
                self._logprobs += value
                self.wire[key] = self._logprobs
            elif key not in self.wire or (key != "message" and value is not None):
                self.wire[key] = value
        if type(line.get("message")) is dict:
            self._add_message(line["message"])

    def _add_message(self, given: Wire) -> None:
        message = self._message = self._message or {}
        for key, value in given.items():
            if key == "content":
                message[key] = "" if type(value) is str else message.get(key)
            elif key in ("thinking", "images", "tool_calls"):
                if value:
                    self._told.add(key)
                message.setdefault(key, value)
            elif value is not None or key not in message:
                message[key] = value

    def is_usual(self) -> bool:
        """Whether a plain line adds nothing but its piece, and its time."""
        message = self._message or {}
        usual = message.get("role") == "assistant" and message.get("content") == ""
        return usual and self.wire.get("done") is False

    def usage(self) -> Usage | None:
        """The counts of all lines so far."""
        return read_usage(self.wire, [])

    def reason(self, word: Any) -> StopReason | None:
        return reason_of(word, self.blocks)

    def response(self) -> Response:
        """What reading the whole answer gives. Its time is that of its last line, unless it has to
        be the one that ids were made of."""
        wire = dict(self.wire)
        if self._message is not None:
            wire["message"] = {k: v for k, v in self._message.items() if k not in self._told}
        if self._made_ids:
            wire["created_at"] = self._time
            if self._time is None:
                del wire["created_at"]
        response = read_answer(wire)
        message, metadata = response.message, response.message.metadata
        changes: Wire = {}
        if metadata.raw_stop_reason is not None:
            changes["stop_reason"] = self.reason(metadata.raw_stop_reason)
        if self._found:
            changes["diagnostics"] = (*self._found, *metadata.diagnostics)
        if changes:
            metadata = metadata.replace(**changes)
        return response.replace(message=message.replace(content=self.blocks, metadata=metadata))

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        self.close()
        return failed(self.response().message, error)
