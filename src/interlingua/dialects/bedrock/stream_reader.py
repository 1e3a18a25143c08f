"""Reading a stream: frames in, events out.

Calls, results and images have a start; text and reasoning begin with their first piece. An event
that the wire leaves to be understood has a mark that says `within` which frame it stands. A message
is over with its `metadata`, which comes after `messageStop`, or where the stream ends after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.base import Wire, parse, rest_of
from interlingua.dialects.bedrock.failure import read_error
from interlingua.dialects.bedrock.response import read_word
from interlingua.dialects.bedrock.stream_blocks import BlockReader
from interlingua.dialects.bedrock.stream_frames import (
    BEGIN,
    DELTA,
    END,
    EXCEPTION,
    KINDS,
    METADATA,
    START,
    STOP,
    code_of,
    kind_of,
    name_of,
)
from interlingua.dialects.bedrock.stream_parts import UNSET, Answer, PlainDelta
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.usage import read_usage
from interlingua.dialects.shape import ShapeError, may_take
from interlingua.model.events import (
    Event,
    FrameMark,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    UsageUpdate,
)
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"
BROKEN_OFF = "the stream ended before the message did"


_decode_plain = msgspec.json.Decoder(PlainDelta).decode


class StreamReader(BlockReader):
    """One stream of Converse. Several messages may follow each other in it."""

    def __init__(self) -> None:
        super().__init__()
        self._complete = False
        self._failed = False

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        if frame.event != DELTA:
            return self._feed(frame)
        try:
            wire = _decode_plain(frame.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._feed(frame)
        part = self._open.get(wire.index)
        text = wire.text_for(part.piece) if part is not None else None
        if part is None or text is None:
            return self._feed(frame)
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        rest = None if wire.p is UNSET else {NAME: {"p": wire.p}}
        told: Event = part.event(part.index, text, frame=FrameMark(self._number, rest))
        return [told]

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._failed or self._is_over():
            return []
        if self._stopped and self._answer is not None:
            return self._finish(self._answer, END)
        return [self._break_off(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    def _is_over(self) -> bool:
        return self._complete and self._answer is None

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._failed:
            return []
        wire = parse(frame.data, WHAT)
        kind = self._unwrap(frame.event, wire)
        if self._beside.get("$wrapped"):
            wire = wire[kind]
        if type(wire) is dict and any(key[:1] == "$" for key in wire):  # as our own keys begin
            self._beside["$keys"] = {key: wire[key] for key in wire if key[:1] == "$"}
            wire = {key: wire[key] for key in wire if key[:1] != "$"}
        if self._is_over() and kind != BEGIN:
            return []
        try:
            events = self._step(kind, wire) if type(wire) is dict else None
        except ShapeError as odd:
            raise odd.error(f"{NAME} stream") from None
        if type(wire) is not dict:
            wire = {"$data": frame.data}
        return [self._other(kind, wire)] if events is None else events

    def _other(self, kind: str | None, wire: Wire) -> Other:
        """A frame that says nothing."""
        rest = {**wire, **self._beside}
        if kind is not None:
            rest["$kind"] = kind
        return Other(frame=FrameMark(self._number, {NAME: rest}))

    def _unwrap(self, name: str | None, wire: Any) -> str | None:
        """What a frame is. Programs that take streams apart say it by a key around the data."""
        self._beside = {}
        if name is not None and (name in KINDS or name.endswith(EXCEPTION)):
            return name
        if type(wire) is dict and len(wire) == 1:
            ((key, inner),) = wire.items()
            if type(inner) is dict and (key in KINDS or key.endswith(EXCEPTION)):
                self._beside = {"$wrapped": True}
                if name is not None:
                    self._beside["$event"] = name
                return str(key)
        if name is not None:
            self._beside = {"$event": name}
        return kind_of(wire) if type(wire) is dict else None

    def _step(self, kind: str | None, wire: Wire) -> list[Event] | None:
        if kind is None or kind.endswith(EXCEPTION):
            return self._error(kind, wire)
        return _STEPS[kind](self, wire)

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event] | None:
        role = may_take(wire, "role", str, {})
        events: list[Event] = []
        if self._answer is not None:
            if not self._stopped:
                return None
            events = self._finish(self._answer, BEGIN)
        unsaid = ("p", "content", *(("role",) if role is None else ()))
        self._begin(Answer(rest_of(wire, unsaid)))
        rest = rest_of(wire, ("role",) if role == "assistant" else ())
        form = {"without": "role"} if "role" not in wire else None
        mark = self._mark(rest, form)
        if mark.rest is None:  # there is always one, so that the stream is known for ours
            mark = FrameMark(self._number, {NAME: {}})
        return [*events, MessageStart(frame=mark)]

    def _stop(self, wire: Wire) -> list[Event]:
        word = wire.get("stopReason")
        if type(word) is dict or type(word) is list:
            raise ShapeError(".stopReason", "a string", word)
        answer, events = self._begun(END)
        events += self._close_all(answer, END)
        self._stopped = True
        answer.say(wire)
        if word is None:
            return [*events, self._other(END, wire)]
        mark = self._mark(rest_of(wire, ("stopReason",)))
        return [*events, Stop(read_word(word), word, frame=mark)]

    def _metadata(self, wire: Wire) -> list[Event] | None:
        fields: Wire = {}
        read_usage(wire, fields, {})
        answer, events = self._begun(METADATA)
        answer.say(wire)
        usage = fields.get("usage")
        mark = self._mark(rest_of(wire, ("usage",) if usage is not None else ()))
        if usage is not None:
            events.append(UsageUpdate(usage, frame=mark))
            mark = FrameMark(self._number)
        if self._stopped:
            if mark.rest is None and usage is None:
                mark = FrameMark(self._number, {NAME: {}})
            events += self._finish(answer, METADATA, mark)
        elif usage is None:
            events.append(self._other(METADATA, wire))
        return events

    def _finish(self, answer: Answer, frame: str, mark: FrameMark | None = None) -> list[Event]:
        events = self._close_all(answer, frame)
        self._answer, self._open, self._stopped, self._complete = None, {}, False, True
        return [*events, MessageComplete(answer.response(), frame=mark)]

    def _error(self, kind: str | None, wire: Wire) -> list[Event] | None:
        """An exception, whose type is the name of its frame; or a body without a name."""
        if kind is None and not ("message" in wire or "__type" in wire):
            return None
        code = code_of(kind) if kind is not None and "__type" not in wire else None
        error = read_error({**wire, "__type": code} if code is not None else wire).error
        if error is None:
            return None
        form: Wire = {"typed": True} if code is not None else {}
        if error.code is None or name_of(error.code) != kind:
            form["kind"] = kind
        return [self._break_off(error, self._mark({}, form or {"kind": kind}))]

    def _break_off(self, error: ProviderError, mark: FrameMark | None = None) -> StreamError:
        partial = None if self._answer is None else self._answer.partial(error)
        self._failed, self._open = True, {}
        return StreamError(error, partial, frame=mark)


_STEPS: dict[str, Callable[[StreamReader, Wire], list[Event] | None]] = {
    BEGIN: StreamReader._start,
    START: StreamReader._block_start,
    DELTA: StreamReader._block_delta,
    STOP: StreamReader._block_stop,
    END: StreamReader._stop,
    METADATA: StreamReader._metadata,
}
"""By the name of the frame; None for one that said nothing."""
