"""Reading a stream: frames in, events out.

The wire tells a block by its start, its pieces and its end; the plan has pieces alone. A text stays
open behind its end, since citations of it may follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.cohere.citations import place_of, read_citation
from interlingua.dialects.cohere.errors import read_error
from interlingua.dialects.cohere.stream.answer import CALLS, PLAN, Answer, Part
from interlingua.dialects.cohere.tables import CITED_PLAN, DONE, NAME, STOP_REASONS
from interlingua.dialects.cohere.usage import read_usage
from interlingua.dialects.kernel.errors import read_whole, take, want
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF
from interlingua.dialects.kernel.wire import Wire, parse
from interlingua.model import events as ev
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.streams.frames import Frame

WHAT = f"{NAME} stream"
_TOLD_LATER = frozenset({"content", "tool_plan", "tool_calls", "citations"})
"""What the message of the first frame has, and has nothing in it."""
_OF_THE_END = frozenset({"finish_reason", "usage", "error"})


class StreamReader:
    """One stream of the chat."""

    def __init__(self) -> None:
        self._answer: Answer | None = None
        self._last: Event | None = None
        """How it ended, which is told when `[DONE]` has come, or nothing more."""
        self._over = False

    def feed(self, frame: Frame) -> list[Event]:
        if self._over:
            return []
        if frame.data == DONE:
            return self._tell_last() or [ev.Other()]
        wire = parse(frame.data, WHAT)
        return read_whole(WHAT, self._frame, wire) if type(wire) is dict else [ev.Other()]

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._over:
            return []
        if self._last is None:
            self._last = self._failed(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))
        return self._tell_last()

    def _tell_last(self) -> list[Event]:
        self._over = self._last is not None
        return [] if self._last is None else [self._last]

    def _frame(self, wire: Wire) -> list[Event]:
        if self._last is not None:
            return []
        kind = wire.get("type")
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and type(wire.get("message")) is str:
            step = StreamReader._error
        events = step(self, wire) if step is not None else []
        return events if events or self._last is not None else [ev.Other()]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event]:
        if self._answer is not None:
            return []
        return self._begin(wire)[1]

    def _begin(self, wire: Wire) -> tuple[Answer, list[Event]]:
        message, id = _said(wire), wire.get("id")
        known = {} if id is None else {"id": want(id, str, ".id")}
        kept = {key: item for key, item in message.items() if key not in _TOLD_LATER}
        self._answer = answer = Answer(known, {"role": "assistant", **kept})
        return answer, [ev.MessageStart(None, known.get("id"))]

    def _begun(self) -> tuple[Answer, list[Event]]:
        """The message, also if it began without saying so."""
        return self._begin({}) if self._answer is None else (self._answer, [])

    def _end(self, wire: Wire) -> list[Event]:
        answer, events = self._begun()
        delta = want(wire.get("delta") or {}, dict, ".delta")
        if delta.get("error"):
            return [*events, *self._error(_error_body(delta))]
        events += answer.close()
        self._add_end(answer, wire, delta)
        word = delta.get("finish_reason")
        if word is not None:
            events.append(ev.Stop(STOP_REASONS.read(word), word))
        usage = read_usage(delta.get("usage"), [])
        if usage is not None:
            events.append(ev.UsageUpdate(usage))
        self._last = ev.MessageComplete(answer.response())
        return events

    def _add_end(self, answer: Answer, wire: Wire, delta: Wire) -> None:
        answer.wire |= {key: delta[key] for key in delta if key != "error"}
        if wire.get("id") is not None and "id" not in answer.wire:
            answer.wire["id"] = wire["id"]

    def _error(self, wire: Wire) -> list[Event]:
        error = read_error(wire).error
        assert error is not None
        self._last = self._failed(error)
        return []

    def _failed(self, error: ProviderError) -> ev.StreamError:
        partial = None if self._answer is None else self._answer.partial(error)
        return ev.StreamError(error, partial)

    # -- content ----------------------------------------------------------------------------------

    def _content_start(self, wire: Wire) -> list[Event]:
        index, given = take(wire, "index", int), _inside(wire, "content")
        answer, events = self._begun()
        return [*events, *answer.close(last=PLAN), *answer.open(index, given)[1]]

    def _content_delta(self, wire: Wire) -> list[Event]:
        index, given = take(wire, "index", int), _inside(wire, "content")
        answer, events = self._begun()
        part = answer.parts.get(index)
        if part is None or part.has_ended:
            part, opened = answer.open(index, {key: "" for key in given if key == "thinking"})
            events += opened
        if wire.get("logprobs") is not None:
            answer.logprobs.append(wire["logprobs"])
        text = given.get(part.key)
        if text is None:
            return events
        return [*events, part.tell(want(text, str, f".delta.message.content.{part.key}"))]

    def _content_end(self, wire: Wire) -> list[Event]:
        """Texts stay open for their citations."""
        index = take(wire, "index", int)
        part = None if self._answer is None else self._answer.parts.get(index)
        if part is None or self._answer is None or part.key == "text":
            return []
        return self._answer.close(index, index)

    def _plan(self, wire: Wire) -> list[Event]:
        text = _said(wire).get("tool_plan")
        if not text:
            return []
        answer, events = self._begun()
        part = answer.parts.get(PLAN)
        if part is None:
            events += answer.close(last=PLAN)
            part, opened = answer.open_plan()
            events += opened
        return [*events, part.tell(want(text, str, ".delta.message.tool_plan"))]

    # -- calls ------------------------------------------------------------------------------------

    def _call_start(self, wire: Wire) -> list[Event]:
        index, given = take(wire, "index", int), _inside(wire, "tool_calls")
        answer, events = self._begun()
        return [*events, *answer.close(last=PLAN), *answer.open_call(index, given)[1]]

    def _call_delta(self, wire: Wire) -> list[Event]:
        part = self._call(wire)
        function = _inside(wire, "tool_calls").get("function")
        text = function.get("arguments") if type(function) is dict else None
        if part is None or not text:
            return []
        path = ".delta.message.tool_calls.function.arguments"
        return [part.tell(want(text, str, path))]

    def _call_end(self, wire: Wire) -> list[Event]:
        part = self._call(wire)
        return (
            []
            if part is None or self._answer is None
            else self._answer.close(part.index, part.index)
        )

    def _call(self, wire: Wire) -> Part | None:
        index = CALLS + take(wire, "index", int)
        part = None if self._answer is None else self._answer.parts.get(index)
        return None if part is None or part.has_ended else part

    # -- citations --------------------------------------------------------------------------------

    def _citation(self, wire: Wire) -> list[Event]:
        given = _inside(wire, "citations")
        answer, events = self._begun()
        answer.citations.append(given)
        place = place_of(given)
        part = answer.parts.get(PLAN if place == CITED_PLAN else place)  # type: ignore[arg-type]  # a number then
        if part is None or part.has_ended or part.key not in ("text", "tool_plan"):
            return events
        citation = read_citation(given, part.whole()[part.key])
        return [*events, ev.BlockDelta(part.index, "citations", citation)]


def _said(wire: Wire) -> Wire:
    """The message of a frame, or what it says of it."""
    delta = want(wire.get("delta") or {}, dict, ".delta")
    return want(delta.get("message") or {}, dict, ".delta.message")


def _inside(wire: Wire, key: str) -> Wire:
    return want(_said(wire).get(key), dict, f".delta.message.{key}")


def _error_body(delta: Wire) -> Wire:
    others = {key: item for key, item in delta.items() if key not in _OF_THE_END}
    return {"message": want(delta["error"], str, ".delta.error"), **others}


_STEPS: dict[str, Callable[[StreamReader, Any], list[Event]]] = {
    "message-start": StreamReader._start,
    "content-start": StreamReader._content_start,
    "content-delta": StreamReader._content_delta,
    "content-end": StreamReader._content_end,
    "tool-plan-delta": StreamReader._plan,
    "tool-call-start": StreamReader._call_start,
    "tool-call-delta": StreamReader._call_delta,
    "tool-call-end": StreamReader._call_end,
    "citation-start": StreamReader._citation,
    "message-end": StreamReader._end,
}
"""By the type of the frame; no events for one that said nothing."""
