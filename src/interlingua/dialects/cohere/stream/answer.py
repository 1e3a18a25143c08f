"""An answer while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.calls import read_call
from interlingua.dialects.cohere.messages import read_part
from interlingua.dialects.cohere.response import read_answer
from interlingua.dialects.cohere.tables import COMMENTARY
from interlingua.dialects.kernel.stream_reader import failed, start_of_block
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.streams.pieces import MANY, thin

_MANY = 1000
PLAN = _MANY
CALLS = 2 * _MANY
"""Where the indexes of the plan and of the calls begin: content comes before both."""


class Part:
    """A block that is being told: how it began, and what came since."""

    __slots__ = ("event", "has_ended", "index", "key", "pieces", "wire")

    def __init__(self, index: int, wire: Wire, key: str, event: Any) -> None:
        self.index = index
        self.wire = wire
        self.key = key
        """What the pieces are of."""
        self.event = event
        self.pieces: list[str] = []
        self.has_ended = False

    def tell(self, text: str) -> Event:
        pieces = self.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        event: Event = self.event(self.index, text)
        return event

    def whole(self) -> Wire:
        """The part as a whole answer has it."""
        if self.pieces:
            self._owner[self.key] = (self._owner.get(self.key) or "") + "".join(self.pieces)
            self.pieces = []
        return self.wire

    @property
    def _owner(self) -> Wire:
        """The object that has the text: arguments are inside the function of a call."""
        inner: Wire = self.wire["function"] if self.key == "arguments" else self.wire
        return inner


class Answer:
    """The message of a stream, so far."""

    def __init__(self, wire: Wire, message: Wire) -> None:
        self.wire = wire
        self.parts: dict[int, Part] = {}
        self.citations: list[Wire] = []
        self.logprobs: list[Any] = []
        self._message = message

    def open(self, index: int, given: Wire) -> tuple[Part, list[Event]]:
        """An item of the content that begins."""
        is_thought = given.get("type", "thinking" if "thinking" in given else "text") == "thinking"
        key, event = ("thinking", ev.ThinkingDelta) if is_thought else ("text", ev.TextDelta)
        wire = {"type": key, key: "", **given}
        return self._add(Part(index, wire, key, event), read_part(wire))

    def open_plan(self) -> tuple[Part, list[Event]]:
        block = TextBlock("", phase=COMMENTARY)
        return self._add(Part(PLAN, {"tool_plan": ""}, "tool_plan", ev.TextDelta), block)

    def open_call(self, index: int, given: Wire) -> tuple[Part, list[Event]]:
        """A call that begins. What it has of its arguments is its first piece."""
        function = given.get("function")
        wire = {**given, "function": dict(function if type(function) is dict else {})}
        first = wire["function"].get("arguments")
        blank = {**wire, "function": {**wire["function"], "arguments": ""}}
        block = read_call(blank, self.wire.get("id") or 0, index, [])
        part, events = self._add(
            Part(CALLS + index, wire, "arguments", ev.ToolUseInputDelta), block
        )
        if type(first) is str and first and type(block) is ToolUseBlock:
            events.append(ev.ToolUseInputDelta(part.index, first))
        return part, events

    def _add(self, part: Part, block: Block) -> tuple[Part, list[Event]]:
        self.parts[part.index] = part
        return part, [start_of_block(part.index, block)]

    def close(self, first: int = 0, last: int | None = None) -> list[Event]:
        """The ends of the parts that are open, of those with these indexes."""
        events: list[Event] = []
        for index, part in sorted(self.parts.items()):
            if not part.has_ended and index >= first and (last is None or index <= last):
                events.append(self._end(part))
                part.has_ended = True
        return events

    def _end(self, part: Part) -> Event:
        block = self._block(part)
        if type(block) is ToolUseBlock:
            return ev.ToolUseEnd(part.index, block.input, block.raw_arguments, raw=block.raw)
        return ev.BlockEnd(part.index, block)

    def _block(self, part: Part) -> Block:
        """A part with all that is known of it, its citations too."""
        wire = part.whole()
        if part.index >= CALLS:
            return read_call(wire, self.wire.get("id") or 0, part.index - CALLS, [])
        if part.index == PLAN or wire["type"] == "text":
            blocks = self.response().message.content
            return blocks[sorted(self.parts).index(part.index)]
        return read_part(wire)

    def response(self) -> Response:
        """What reading the whole answer gives."""
        message = dict(self._message)
        content = [self.parts[index].whole() for index in sorted(self.parts) if index < PLAN]
        calls = [self.parts[index].whole() for index in sorted(self.parts) if index >= CALLS]
        if PLAN in self.parts:
            message["tool_plan"] = self.parts[PLAN].whole()["tool_plan"]
        message |= {"content": content} if content else {}
        message |= {"tool_calls": calls} if calls else {}
        message |= {"citations": self.citations} if self.citations else {}
        wire = {**self.wire, "message": message}
        if self.logprobs:
            wire["logprobs"] = self.logprobs
        return read_answer(wire)

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        return failed(self.response().message, error)
