"""Reading a stream: frames in, events out.

A frame is one event as a rule. Where it is several, as the end of an item that holds two blocks,
the last of them has what the frame says; the others have a mark that says `within` which frame
they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.base import Wire, expect, parse
from interlingua.dialects.openai_responses.failures import is_failure, read_failure
from interlingua.dialects.openai_responses.spelling import inside
from interlingua.dialects.openai_responses.stream_frames import (
    ANNOTATION,
    BY_DELTA,
    BY_DONE,
    CREATED,
    ERROR,
    FAILED,
    ITEM_ADDED,
    ITEM_DONE,
    LAST,
    PART_ADDED,
    PART_DONE,
    SUMMARY_ADDED,
    SUMMARY_DONE,
    TEXT,
    difference,
    kind_of,
)
from interlingua.dialects.openai_responses.stream_plain import UNSET, PlainDelta
from interlingua.dialects.openai_responses.stream_told import Ending, Told
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.errors import DepthError, ReadError
from interlingua.model import codec
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
from interlingua.model.message import Message
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"
BROKEN_OFF = "the stream ended before the response did"

_decode_plain: Callable[[str], Any] = msgspec.json.Decoder(PlainDelta).decode


class StreamReader(Told):
    """One stream of the Responses API. Several responses may follow each other in it.

    OpenAI names its frames, and its last frame is the last. Servers that name none may send
    `[DONE]` after it, and an `error` may be followed by the response that failed: there the last
    event waits for the next frame or the end."""

    def __init__(self) -> None:
        super().__init__()
        self._number = -1
        self._name: str | None = None
        self._ending: Ending | None = None
        self._over = False
        self._numbered: dict[int, int] = {}
        """Digests of the frames that came, but for those of single pieces, by their numbers."""

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        try:
            wire = _decode_plain(frame.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._feed(frame)
        sketch = self._sketch
        part = sketch.part
        if (
            part is None
            or part.piece is None
            or type(wire) is not part.takes
            or part.block is not None
            or self._over
            or wire.item_id != part.id
            or wire.output_index != part.item.at
            or wire.number != part.number
            or wire.sequence_number != sketch.number
            or (part.piece is TEXT and wire.logprobs != sketch.logprobs)
            or frame.event not in (part.piece.delta, None)
        ):
            return self._feed(frame)
        text = wire.delta
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        if sketch.number is not UNSET:
            sketch.number += 1
        if wire.obfuscation is UNSET:
            mark = FrameMark(self._number)
        else:
            mark = FrameMark(self._number, {NAME: {"obfuscation": wire.obfuscation}})
        return [part.event(part.index, text, frame=mark)]

    def close(self) -> list[Event]:
        """The stream has ended; a response that has not is broken off."""
        if self._ending is not None:
            ending, self._ending = self._ending, None
            return ending.events()
        if self._over:
            return []
        error = ProviderError(ErrorKind.NETWORK, BROKEN_OFF)
        self._over = True
        return [StreamError(error, self._partial(error))]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        wire = None if frame.data == "[DONE]" else parse(frame.data, WHAT)
        kind = wire.get("type") if type(wire) is dict else None
        events: list[Event] = []
        if self._over:
            if self._follows(kind):
                events += self._reopen()
            elif kind == CREATED:
                events += self.close()
                self._over = False
                self._numbered.clear()
            else:
                return self._late(frame)
        if type(wire) is not dict:
            return [*events, Other(frame=self._mark({"$data": frame.data}, frame.event))]
        if self._is_repeated(wire, frame.data):
            return [*events, Other(frame=self._mark({"$data": frame.data}, frame.event))]
        self._name = None if frame.event in (kind, None) else frame.event
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and is_failure(wire):
            step = StreamReader._error
        try:
            told = step(self, wire) if step is not None else None
            events += self._tell(told or [Other()], wire)
        except ReadError as odd:
            raise ReadError(WHAT, odd.path, odd.expected, odd.found) from None
        except RecursionError:
            raise DepthError(WHAT, codec.STORED_DEPTH) from None
        if isinstance(events[-1], MessageComplete | StreamError):
            self._end(events, wire, frame.event is None)
        return events

    def _is_repeated(self, wire: Wire, data: str) -> bool:
        """Whether a frame was delivered before: frames are numbered, so that it can be known. Some
        servers begin again with each item, others number nothing, or all with 0."""
        number, kind = wire.get("sequence_number"), wire.get("type")
        if type(number) is not int or number <= 0:
            return False
        if type(kind) is str and kind.endswith(".delta"):
            after = self._sketch.number
            return type(after) is int and number < after
        before, digest = self._numbered.get(number), hash(data)
        self._numbered[number] = digest
        return before == digest

    def _tell(self, events: list[Event], wire: Wire) -> list[Event]:
        """The events with their marks: what the sketch does not know of the frame is kept."""
        sketch, turn, block, is_another = self._sketch, self._turn, self._block, self._is_another
        self._turn, self._block, self._is_another = UNSET, None, False
        *others, main = events
        form: Wire = {"within": wire.get("type")}
        if turn is not UNSET and (sketch.item is None or sketch.item.at != turn or is_another):
            form["item"] = turn
            if is_another:
                form["another"] = True
        within = FrameMark(self._number, {NAME: {"$form": form}})
        for event in others:
            sketch.tell_within(event, form)
        hint: Wire = {}
        if (type(main) is Other or type(main) is StreamError) and "type" in wire:
            hint["type"] = wire["type"]
        if block is not None:
            hint["$form"] = {"block": block}
        sketch.tell(main)
        rest = difference(sketch.expect(main, hint), wire)
        sketch.note(wire, main)
        if hint:
            spelled = {**hint.get("$form", {}), **rest.get("$form", {})}
            rest = {**hint, **rest, **({"$form": spelled} if spelled else {})}
        is_known = type(main) is MessageStart or type(main) is Other  # for one of ours
        mark = self._mark(rest, self._name, is_known)
        return [*(event.replace(frame=within) for event in others), main.replace(frame=mark)]

    def _mark(self, rest: Wire, name: str | None, always: bool = False) -> FrameMark:
        if name is not None:
            rest["$event"] = name
        return FrameMark(self._number, {NAME: rest} if rest or always else None)

    # -- the end ----------------------------------------------------------------------------------

    def _end(self, events: list[Event], wire: Wire, is_nameless: bool) -> None:
        """Keep the last event back where something may follow."""
        is_error = kind_of(wire) not in LAST
        if is_error or is_nameless:
            self._ending = Ending(events.pop(), wire, self._answer if is_error else None)
        self._answer, self._over = None, True

    def _follows(self, kind: Any) -> bool:
        ending = self._ending
        return kind == FAILED and ending is not None and ending.answer is not None

    def _reopen(self) -> list[Event]:
        """An `error` was not the last frame after all."""
        ending, self._ending, self._over = self._ending, None, False
        assert ending is not None
        self._answer = ending.answer
        return ending.others()

    def _late(self, frame: Frame) -> list[Event]:
        """Nothing may come after the last event."""
        if self._ending is not None:
            rest: Wire = {"$data": frame.data}
            if frame.event is not None:
                rest["$event"] = frame.event
            self._ending.after.append(rest)
        return []

    def _partial(self, error: ProviderError) -> Message | None:
        return None if self._answer is None else self._answer.partial(error)

    def _ended(self, wire: Wire) -> list[Event]:
        given = expect(wire.get("response"), dict, NAME, "$.response")
        answer, events = self._begun(given)
        try:
            output, more = self._finish(answer, given.get("output"))
            response = answer.response(given, output)
        except ReadError as odd:
            raise inside(odd, "$.response") from None
        events += more
        told = response.message.metadata
        if told.stop_reason is not None:
            events.append(Stop(told.stop_reason, told.raw_stop_reason))
        if told.usage is not None:
            events.append(UsageUpdate(told.usage))
        if wire.get("type") == FAILED or response.error is not None:
            error = response.error or ProviderError(ErrorKind.OTHER, "")
            return [*events, StreamError(error, response.message)]
        return [*events, MessageComplete(response)]

    def _error(self, wire: Wire) -> list[Event]:
        body = {key: item for key, item in wire.items() if key not in ("type", "sequence_number")}
        error = read_failure(body).error if is_failure(body) else None
        error = error or ProviderError(ErrorKind.OTHER, "")
        return [StreamError(error, self._partial(error))]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event] | None:
        if self._answer is not None:
            return None
        return self._begun(expect(wire.get("response"), dict, NAME, "$.response"))[1]


_STEPS: dict[str, Callable[[StreamReader, Wire], list[Event] | None]] = {
    CREATED: StreamReader._start,
    ITEM_ADDED: StreamReader._item_added,
    ITEM_DONE: StreamReader._item_done,
    PART_ADDED: StreamReader._part_added,
    SUMMARY_ADDED: StreamReader._part_added,
    **dict.fromkeys(BY_DELTA, StreamReader._delta),
    **dict.fromkeys(BY_DONE, StreamReader._done),
    PART_DONE: StreamReader._done,
    SUMMARY_DONE: StreamReader._done,
    ANNOTATION: StreamReader._annotation,
    **dict.fromkeys(LAST, StreamReader._ended),
    ERROR: StreamReader._error,
}
"""By the type of the frame; None for one that said nothing."""
