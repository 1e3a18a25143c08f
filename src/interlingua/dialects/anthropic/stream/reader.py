"""Reading a stream: frames in, events out.

The wire has explicit starts and ends, so that a frame is one event as a rule. An answer is put
together as the wire would have it whole, and read as such, so that both ways give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.errors import is_error
from interlingua.dialects.anthropic.response import read_response
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import ANSWER, read_citations, read_part
from interlingua.dialects.anthropic.usage import read_usage
from interlingua.dialects.kernel.errors import ShapeError, below, may_take, scalar, take
from interlingua.dialects.kernel.numbered import NumberedReader, OpenPart, OpenParts
from interlingua.dialects.kernel.stream_reader import merge
from interlingua.dialects.kernel.wire import Wire, parse
from interlingua.errors import ReadError
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import Response
from interlingua.streams.frames import Frame

WHAT = f"{NAME} stream"

_FIXED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""What later frames do not change; usage is merged."""
_CHANGED = frozenset({"type", "delta", "usage"})
_UNOPENED: dict[str, tuple[Wire, Block]] = {
    "text": ({"type": "text", "text": ""}, TextBlock("")),
    "thinking": ({"type": "thinking", "thinking": "", "signature": ""}, ThinkingBlock("")),
}
"""How a block begins whose first piece comes without a start, by the piece's key."""
_TEXT, _THINKING, _COMPACTION, _INPUT = tables.PIECES.values()


# -- what is put together on the way --------------------------------------------------------------


class Part(OpenPart):
    """A block that is being told, as the wire has it whole."""

    def __init__(self, index: int, at: int, wire: Wire, block: Block) -> None:
        super().__init__(index, at, wire, block)
        kind = "tool_use" if type(block) is ToolUseBlock else wire.get("type")
        self.piece = tables.PIECES.get(kind) if type(kind) is str else None

    def _whole(self) -> Block:
        wire = self.wire
        if self.piece is not None and self.pieces:
            _, key = self.piece
            wire[key] = (wire.get(key) or "") + "".join(self.pieces)
            self.pieces = []
        if self.citations:
            wire["citations"] = [*(wire.get("citations") or ()), *self.citations]
            self.citations = []
        return read_part(wire, ANSWER)

    def tell(self, delta: Wire) -> Event | None:
        """What a delta says; None for nothing."""
        kind = delta.get("type")
        if self.piece is not None and kind == self.piece[0]:
            is_said = self.piece is not _COMPACTION or self._begin_anew(delta)
            return self.add(take(delta, self.piece[1], str)) if is_said else None
        if kind == "citations_delta" and self.piece is _TEXT:
            (citation,) = read_citations([take(delta, "citation", dict)])
            self.citations.append(delta["citation"])
            return ev.BlockDelta(self.index, "citations", citation)
        if kind == "signature_delta" and self.piece is _THINKING:
            self.wire["signature"] = signature = take(delta, "signature", str)
            return ev.BlockDelta(self.index, "signature", signature)
        return None

    def _begin_anew(self, delta: Wire) -> bool:
        """Compaction is told anew by each delta; False for one without text."""
        text = may_take(delta, "content", str, {})
        self.pieces.clear()
        self.wire.update({key: item for key, item in delta.items() if key != "type"})
        self.wire["content"] = None
        return text is not None


class Answer(OpenParts[Part]):
    """The message of a stream, so far."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(Part)
        self.wire = {**wire, "content": []}
        self.usage: Wire = dict(wire.get("usage") or ())

    def begin(self, at: int, wire: Wire, block: Block) -> list[Event]:
        """The model that took over is the one that a whole answer names."""
        to = wire.get("to") if wire.get("type") == "fallback" else None
        if type(to) is dict and type(to.get("model")) is str:
            self.wire["model"] = to["model"]
        return super().begin(at, wire, block)

    def response(self) -> Response:
        """What reading the whole answer gives."""
        wire = {**self.wire, "usage": self.usage} if self.usage else self.wire
        return self.filled(read_response(wire))


# -- the stream -----------------------------------------------------------------------------------


class StreamReader(NumberedReader[Answer]):
    """One stream of the Messages API. Several messages may follow each other in it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = False
        """Anthropic's last frame is the last. Other hosts, whose messages have other ids, may send
        more after it, as OpenRouter's `[DONE]` (seen 2026-11)."""

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        wire = None if frame.data == "[DONE]" else parse(frame.data, WHAT)
        # What is no object comes from servers that speak more than one dialect.
        kind = wire.get("type") if type(wire) is dict else None
        if self._is_over() and kind != "message_start":
            return []
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and type(wire) is dict and is_error(wire):
            step = StreamReader._error
        try:
            return (step(self, wire) if step is not None else None) or [ev.Other()]
        except ShapeError as error:
            raise error.error(WHAT) from None

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event] | None:
        if self._answer is not None:
            return None
        message = take(wire, "message", dict)
        try:
            response = read_response(message)
        except ReadError as odd:
            raise ReadError(WHAT, f"$.message{odd.path[1:]}", odd.expected, odd.found) from None
        answer = self._begin(message)
        told = response.message.metadata
        events: list[Event] = [ev.MessageStart(told.response_model, told.response_id)]
        if told.usage is not None:
            events.append(ev.UsageUpdate(told.usage))
        if told.stop_reason is not None:
            events.append(ev.Stop(told.stop_reason, told.raw_stop_reason))
        for given, block in zip(message["content"], response.message.content, strict=True):
            events += answer.begin(0, given, block)
        return [*events, *answer.end_all()]

    def _begin(self, message: Wire) -> Answer:
        self._answer, self.waits = Answer(message), False
        return self._answer

    def _change(self, wire: Wire) -> list[Event] | None:
        changes = may_take(wire, "delta", dict, {}) or {}
        counts = may_take(wire, "usage", dict, {})
        word = below(".delta", scalar, changes, "stop_reason")
        answer, events = self._begun()
        merge(answer.wire, wire, _FIXED | _CHANGED)
        merge(answer.wire, changes, _FIXED)
        if word is not None:
            events.append(ev.Stop(tables.STOP_REASONS.read(word), word))
        if counts is not None:
            merge(answer.usage, counts)  # they are of all so far
            usage = read_usage(answer.usage)[0]
            events += [] if usage is None else [ev.UsageUpdate(usage)]
        return events

    def _stop(self, wire: Wire) -> list[Event] | None:
        answer = self._answer
        if answer is None:
            return None
        events = answer.end_all()
        self._answer, self._complete = None, True
        response = answer.response()
        self.waits = not (response.message.metadata.response_id or "").startswith(tables.OWN_IDS)
        return [*events, ev.MessageComplete(response)]

    def _error(self, wire: Wire) -> list[Event] | None:
        response = read_response(wire)
        return None if response.error is None else [self._break_off(response.error)]

    # -- blocks -----------------------------------------------------------------------------------

    def _block_start(self, wire: Wire) -> list[Event]:
        at, given = take(wire, "index", int), take(wire, "content_block", dict)
        block = below(".content_block", read_part, given, ANSWER)
        answer, events = self._begun()
        return events + answer.begin(at, given, block)

    def _block_delta(self, wire: Wire) -> list[Event] | None:
        at, delta = take(wire, "index", int), take(wire, "delta", dict)
        kind, part = delta.get("type"), self._open.get(at)
        if part is None:
            return below(".delta", self._open_unsaid, at, kind, delta)
        told = below(".delta", part.tell, delta)
        if part.piece not in (None, _COMPACTION) and kind == part.piece[0]:
            self._learn(part, wire, (delta, part.piece[1]))
        return None if told is None else [told]

    def _open_unsaid(self, at: int, kind: Any, delta: Wire) -> list[Event] | None:
        """A block whose first piece comes without a start."""
        for key, (given, block) in _UNOPENED.items():
            if kind == f"{key}_delta" and (text := take(delta, key, str)):
                answer, events = self._begun()
                events += answer.begin(at, given, block)
                return [*events, answer.open[at].add(text)]
        return None

    def _block_stop(self, wire: Wire) -> list[Event] | None:
        part = self._open.get(take(wire, "index", int))
        return None if part is None or self._answer is None else self._answer.end(part)


_STEPS: dict[str, Callable[[StreamReader, Any], list[Event] | None]] = {
    "message_start": StreamReader._start,
    tables.BLOCK_START: StreamReader._block_start,
    tables.BLOCK_DELTA: StreamReader._block_delta,
    tables.BLOCK_STOP: StreamReader._block_stop,
    "message_delta": StreamReader._change,
    "message_stop": StreamReader._stop,
    "error": StreamReader._error,
}
"""By the type of the frame; None for one that said nothing."""
