"""Cohere's chat as a gateway serves it: v2, and v1 for older clients."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.dialects.cohere.response import write_response
from interlingua.dialects.cohere.stream import StreamReader
from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.front import Filler, Front, NamedEnding, StreamWrapper, Wrapping
from interlingua.dialects.kernel.preserved import FORM
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.events import (
    Event,
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.losses import Report
from interlingua.streams import sse

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class ChatEnding(NamedEnding):
    marks = (b"message-end",)
    last = frozenset({"message-end"})


FRONT = Front(
    dialect=NAME,
    provider="cohere",
    paths={"/v2/chat": "generate"},
    needs_id=True,
    ending=ChatEnding,
    texts=b"text|thinking|arguments|tool_plan",
    unbounded={
        "connectors": "searches run by the provider",
        "conversation_id": "a conversation stored at the provider",
    },
)


# -- v1 -------------------------------------------------------------------------------------------


def as_v1(response: Response) -> Response:
    """The answer in the form of v1, from any source: with itself as the last turn of its
    history."""
    own = (response.raw or {}).get(NAME)
    own_raw = own if isinstance(own, dict) else {}
    form = own_raw.get(FORM, {})
    if form.get("version") != 1:
        form = {**form, "version": 1, "history": [], "echo": True}
    return response.replace(raw={**(response.raw or {}), NAME: {**own_raw, FORM: form}})


def v1_wire(response: Response) -> Wire:
    recorder = LossRecorder(NAME, response, Report(NAME))
    wire: Wire = write_response(as_v1(response), recorder)
    return wire


class HistoryFiller(Filler):
    """Adds the turns before it to the history of an answer: clients send it back with the results
    of calls."""

    def __init__(self, request: bytes) -> None:
        try:
            asked = _decode(request)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            asked = None
        asked = asked if isinstance(asked, dict) else {}
        before = asked.get("chat_history")
        self._turns: list[Any] = [*before] if isinstance(before, list) else []
        if asked.get("message"):
            self._turns.append({"role": "USER", "message": asked["message"]})
        if asked.get("tool_results"):
            self._turns.append({"role": "TOOL", "tool_results": asked["tool_results"]})

    def whole(self, wire: Wire) -> Wire:
        history = wire.get("chat_history")
        if not isinstance(history, list) or len(history) != 1:
            return wire  # Cohere's own
        return {**wire, "chat_history": [*self._turns, *history]}

    def frames(self, data: bytes) -> bytes:
        """The turns before the answer go with the last frame, where `V1Stream` takes them."""
        if b'"message-end"' not in data:
            return data
        turns = b'"chat_history":%s,' % _encode(self._turns)
        return data.replace(b'{"type":"message-end",', b'{"type":"message-end",' + turns)


class V1Stream(StreamWrapper):
    """Frames of v2 as lines of v1; those of v1 are not changed."""

    def __init__(self) -> None:
        self._decoder = sse.Decoder()
        self._turns: list[Any] = []
        self._reader = StreamReader()
        self._calls: dict[int, int] = {}

    def feed(self, data: bytes) -> bytes:
        lines: list[Wire] = []
        for frame in self._decoder.feed(data):
            wire: Any = _decode(frame.data) if frame.data.startswith("{") else None
            if isinstance(wire, dict) and "event_type" in wire:
                lines.append(wire)
                continue
            if isinstance(wire, dict):
                self._turns = wire.pop("chat_history", self._turns)
            for event in self._reader.feed(frame):
                lines += self._lines(event)
            if isinstance(wire, dict) and wire.get("type") == "message-end":
                for event in self._reader.close():
                    lines += self._lines(event)
        return b"".join([_encode({"is_finished": False, **line}) + b"\n" for line in lines])

    def _lines(self, event: Event) -> list[Wire]:
        match event:
            case MessageStart():
                return [{"event_type": "stream-start", "generation_id": event.response_id or ""}]
            case TextDelta():
                return [{"event_type": "text-generation", "text": event.text}]
            case ToolUseStart():
                number = self._calls.setdefault(event.index, len(self._calls))
                return [_chunk({"index": number, "name": event.name})]
            case ToolUseInputDelta() if event.index in self._calls:
                return [_chunk({"index": self._calls[event.index], "parameters": event.text})]
            case MessageComplete():
                wire = v1_wire(event.response)
                return _end({**wire, "chat_history": [*self._turns, *wire["chat_history"]]})
            case StreamError():
                failed = {"finish_reason": "ERROR", "error": event.error.message}
                response = {"text": "", "finish_reason": "ERROR"}
                return [_last({**failed, "response": response})]
            case _:
                return []


def _chunk(delta: Wire) -> Wire:
    return {"event_type": "tool-calls-chunk", "tool_call_delta": delta}


def _last(line: Wire) -> Wire:
    return {"event_type": "stream-end", "is_finished": True, **line}


def _end(wire: Wire) -> list[Wire]:
    """The members of an answer besides its text, and its end."""
    lines: list[Wire] = []
    if wire.get("tool_calls"):
        calls = {"tool_calls": wire["tool_calls"], "text": wire.get("text", "")}
        lines.append({"event_type": "tool-calls-generation", **calls})
    if wire.get("citations"):
        lines.append({"event_type": "citation-generation", "citations": wire["citations"]})
    return [*lines, _last({"finish_reason": wire.get("finish_reason"), "response": wire})]


class V1Wrapping(Wrapping):
    """Streams of v1 are lines of JSON."""

    stream_type = "application/stream+json"
    passes = False

    def stream(self) -> StreamWrapper:
        return V1Stream()


HOSTED = (
    replace(
        FRONT,
        paths={"/v1/chat": "generate"},
        wrapping=V1Wrapping(),
        restyle=as_v1,
        filler=HistoryFiller,
        fills_frames=True,
    ),
)
"""The older version."""
