"""Reading a stream: frames in, events out.

The wire has no starts and ends: a block begins with its first real content and ends when another
one begins, when its choice has a reason to end, or with the stream. A `finish_reason` for every
choice is the end; a `[DONE]` that does not follow is noted, but for hosts that repeat the whole
message with every chunk, which send none. A `[DONE]` before it is an end for which nobody gave a
reason, and no answer at all if nothing was said."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Quiet, Wire, encode, parse
from interlingua.dialects.openai_chat.errors import is_failure, read_failure, write_failure
from interlingua.dialects.openai_chat.shape import want
from interlingua.dialects.openai_chat.stream_answer import GROQ, Answer
from interlingua.dialects.openai_chat.stream_choice import Choice
from interlingua.dialects.openai_chat.stream_frames import (
    DONE,
    PADS,
    SAID,
    decode_text,
    head_of,
    hole,
    pattern_of,
    shorten,
)
from interlingua.dialects.openai_chat.stream_parts import Part, Telling
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, Tables
from interlingua.dialects.openai_chat.usage import read_usage, write_usage
from interlingua.dialects.shape import ShapeError
from interlingua.errors import DepthError
from interlingua.losses import Report
from interlingua.model import codec
from interlingua.model.base import same
from interlingua.model.events import (
    BlockDelta,
    Event,
    FrameMark,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    UsageUpdate,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

BROKEN_OFF = "the stream ended before the message did"
NOTHING_SAID = "the stream ended without an answer"

_FEW = 16
"""So many patterns are looked for at least; for more of them, earlier ones must have served."""
_SERVED = 4
"""So many frames a block goes on if a pattern was worth the while."""


class StreamReader:
    """One stream of Chat Completions. Pieces that are spelled like those before them are read by
    comparing texts, without parsing the whole chunk."""

    tables: Tables = ANSWER_TABLES

    def __init__(self) -> None:
        self._number = -1
        self._answer = Answer(self.tables)
        self._head: Wire | None = None
        self._live: list[Part] = []
        self._tries = _FEW
        self._is_over = False
        self._quiet = Quiet(self.tables.name, None, Report(self.tables.name))

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        event, data = frame
        for part in self._live:
            pattern = part.pattern
            if data.startswith(pattern.before) and data.endswith(pattern.after):
                mark = FrameMark(self._number)
                try:
                    if pattern.between:
                        found = pattern.find(data)
                        if found is None:
                            break
                        text, pads = found
                        if pads is not None:
                            mark = FrameMark(self._number, {self.tables.name: {"pads": pads}})
                    else:
                        text = decode_text(data[pattern.starts : pattern.ends])
                except (msgspec.DecodeError, UnicodeError):
                    break
                if not text or event is not None:
                    break
                pieces = part.pieces
                pieces.append(text)
                if len(pieces) > MANY:
                    thin(pieces)
                return [part.event(part.index, text, choice=part.choice, frame=mark)]
        return self._feed(frame)

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._is_over:
            return []
        self._is_over, self._live = True, []
        if self._answer.has_stopped():
            telling = Telling(self._number + 1, {})
            self._finish(telling, self._answer.is_whole())
            return [event.replace(frame=None) for event in telling.events]
        error = ProviderError(ErrorKind.NETWORK, BROKEN_OFF)
        return [StreamError(error, self._answer.partial(error))]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._is_over:
            return []
        name = self.tables.name
        rest: Wire = {"$data": frame.data}
        telling = Telling(self._number, {})
        try:
            if frame.data.strip() == DONE:
                self._finish(telling, has_done=True)
                self._is_over = True
            elif type(wire := parse(frame.data, f"{name} stream")) is dict:
                telling.wire = wire
                self._read(wire, telling)
                if telling.events and SAID not in frame.data:  # a word that nobody sends
                    rest = self._rest(telling, frame)
        except ShapeError as odd:
            raise odd.error(f"{name} stream") from None
        except RecursionError:
            raise DepthError(f"{name} stream", codec.STORED_DEPTH) from None
        if frame.event is not None:
            rest = {**rest, "$event": frame.event}
        self._forget()
        mark = FrameMark(self._number, {name: rest} if rest else None)
        if not telling.events:
            return [Other(frame=mark)]
        events = telling.events
        if len(events) > 1:
            rest["$form"] = {**rest.get("$form", {}), "events": len(events)}
        events[0] = events[0].replace(frame=mark)
        return events

    def _rest(self, telling: Telling, frame: Frame) -> Wire:
        """What the mark of the frame keeps."""
        wire = telling.wire
        if self._head is None:
            self._head = head_of(parse(frame.data, ""))
            return {"chunk": wire}
        rest = shorten(wire, self._head)
        if len(telling.events) > 1 or telling.piece is None:
            return rest
        part, keys = telling.piece
        if part.event is BlockDelta:
            return rest
        pads = {key: rest["chunk"].pop(key) for key in PADS if key in rest["chunk"]}
        shape = encode(rest)
        is_like_before = part.shape == shape
        if not is_like_before:
            part.shape, part.pattern = shape, None
        self._learn(part, keys, frame, rest)
        kept: Wire = {"pads": pads} if pads else {}
        return kept if is_like_before else {**rest, **kept}

    def _learn(self, part: Part, keys: tuple[str, ...], frame: Frame, rest: Wire) -> None:
        """The pattern of a part's pieces, so that the next ones are read by it."""
        if part not in self._live:
            self._live.append(part)
        if not self._tries or frame.event is not None:
            return
        self._tries -= 1
        part.since = self._number
        part.pattern = pattern_of(frame.data, keys, rest, self._head or {})

    def _forget(self) -> None:
        """Patterns of blocks that have ended; for each that served there may be another."""
        for part in self._live:
            if not part.is_open and part.pattern is not None:
                self._tries += self._number - part.since > _SERVED
        self._live = [part for part in self._live if part.is_open and part.pattern is not None]

    # -- chunks -----------------------------------------------------------------------------------

    def _read(self, wire: Wire, telling: Telling) -> None:
        choices = wire.get("choices")
        failure = self._failure(wire) if is_failure(wire) else None
        if failure is None or type(choices) is list:
            self._answer.merge(wire)
            if choices is not None:
                self._read_choices(want(choices, list, ".choices"), wire, telling)
            place, path = _place_of_usage(wire)
            if place.get("usage") is not None:
                self._read_usage(place, path, telling)
        if failure is not None and failure.error is not None:
            self._fail(failure, failure.error, telling)

    def _read_choices(self, choices: list[Any], wire: Wire, telling: Telling) -> None:
        for position, choice in enumerate(choices):
            try:
                index = want(choice, dict, "").get("index")
                number = index if type(index) is int else position
                self._begin(number, wire, telling).read(choice, telling)
            except ShapeError as odd:
                raise odd.inside(f".choices[{position}]") from None

    def _begin(self, number: int, wire: Wire, telling: Telling) -> Choice:
        choice = self._answer.choices.get(number)
        if choice is not None:
            return choice
        found = {}
        for key in ("model", "id"):
            value = wire.get(key)
            found[key] = value if type(value) is str and value else None
        mark = FrameMark(telling.number)
        start = MessageStart(found["model"], found["id"], choice=number, frame=mark)
        event = telling.add(start)
        if self._head is None and not event:
            for key, field in (("model", "model"), ("id", "response_id")):
                if found[key] is not None:
                    wire[key] = hole(event, field)
        return self._answer.choice(number)

    def _read_usage(self, place: Wire, path: str, telling: Telling) -> None:
        """The counts in this place of a chunk."""
        if not self._answer.choices:
            self._begin(0, telling.wire, telling)
        self._answer.usage = counts = want(place["usage"], dict, f"{path}.usage")
        usage, _ = read_usage(counts, self.tables)
        mark, choice = FrameMark(telling.number), min(self._answer.choices)
        number = telling.add(UsageUpdate(usage, choice=choice, frame=mark))
        if same(write_usage(usage, self.tables, self._quiet), counts):
            place["usage"] = hole(number, "usage")

    def _finish(self, telling: Telling, has_done: bool) -> None:
        """The end of all choices, and of the message."""
        mark = FrameMark(telling.number)
        if self._answer.is_void():
            error = ProviderError(ErrorKind.SERVER_ERROR, NOTHING_SAID)
            telling.add(StreamError(error, self._answer.partial(error), frame=mark))
            return
        for choice in self._answer.choices.values():
            choice.finish(telling)
            if choice.word is None:
                telling.add(Stop(StopReason.OTHER, choice=choice.number, frame=mark))
        telling.add(MessageComplete(self._answer.ended(has_done), frame=mark))

    def _failure(self, wire: Wire) -> Response:
        """An error, which may stand in a chunk that says more."""
        told = {key: item for key, item in wire.items() if key not in ("choices", "usage")}
        return read_failure(told, self.tables)

    def _fail(self, failure: Response, error: ProviderError, telling: Telling) -> None:
        self._is_over, self._live = True, []
        partial, mark = self._answer.partial(error), FrameMark(telling.number)
        telling.add(StreamError(error, partial, frame=mark))
        written = write_failure(failure.replace(raw=None), error, self.tables, self._quiet)
        wire = telling.wire
        if all(same(wire.get(key), item) for key, item in written.items()):
            for key in written:
                del wire[key]


def _place_of_usage(wire: Wire) -> tuple[Wire, str]:
    """The object of a chunk that has the counts, and its path: the chunk itself, or what a host
    puts them into."""
    if wire.get("usage") is None:
        choices = wire.get("choices")
        only = choices[0] if type(choices) is list and len(choices) == 1 else None
        for inner, path in ((wire.get(GROQ), f".{GROQ}"), (only, ".choices[0]")):
            if type(inner) is dict and type(inner.get("usage")) is dict:
                return inner, path
    return wire, ""
