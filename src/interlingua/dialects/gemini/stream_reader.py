"""Reading a stream: frames in, events out.

Each frame is a response of its own, with the next piece of every candidate that has one. There is
no sign of the end but a reason to stop for every candidate, or a prompt that was blocked: with
that the answer is complete as soon as the connection ends."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from interlingua.dialects.base import Wire, parse
from interlingua.dialects.gemini.response import read_response
from interlingua.dialects.gemini.spelling import SNAKE, Taking, WrongShapeError
from interlingua.dialects.gemini.stream_frames import (
    ALONE,
    INDEXLESS,
    MODEL_VERSION,
    RESPONSE_ID,
    PlainFrame,
)
from interlingua.dialects.gemini.stream_merge import merge
from interlingua.dialects.gemini.stream_parts import Candidate, Run
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.gemini.usage import quick_usage, read_usage
from interlingua.dialects.streaming import failed
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
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"
BROKEN_OFF = "the stream ended before the message did"

_BODY = frozenset({"candidates"})

_decode_plain = msgspec.json.Decoder(PlainFrame).decode


class StreamReader:
    """One stream of `streamGenerateContent`."""

    def __init__(self) -> None:
        self._number = -1
        self._started = False
        self._over = False
        self._model: str | None = None
        self._id: str | None = None
        self._last_id: str | None = None
        self._same: tuple[Any, Any] = (UNSET, UNSET)
        self._body: Wire = {}
        self._candidates: dict[int, Candidate] = {}
        self._block_word: str | None = None

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        try:
            wire = _decode_plain(frame.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._feed(frame)
        first = self._candidates.get(0)
        run = None if first is None else first.run
        (candidate,) = wire.candidates
        (part,) = candidate.content.parts
        if (
            run is None
            or run.sealed
            or part.thought is not run.thought
            or not part.text
            or wire.model_version != self._same[0]
            or wire.response_id != self._same[1]
            or frame.event is not None
            or self._block_word is not None
            or self._over
        ):
            return self._feed(frame)
        return self._plain(wire, run, part.text, candidate.index is UNSET) or self._feed(frame)

    def _plain(self, wire: PlainFrame, run: Run, text: str, indexless: bool) -> list[Event]:
        """The next piece of a text; nothing where its usage has to be looked at."""
        counts, usage = wire.usage_metadata, None
        if counts is not UNSET and (usage := quick_usage(counts)) is None:
            return []
        plain = mark = FrameMark(self._number)
        if usage is None or indexless or wire.create_time is not UNSET:
            mark = FrameMark(self._number, {NAME: self._rest_of_plain(wire, indexless)})
        pieces = run.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        self._candidates[0].finished = False
        piece = run.event(run.index, text, frame=mark)
        if usage is None:
            return [piece]
        self._body["usageMetadata"] = counts
        return [piece, UsageUpdate(usage, frame=plain)]

    def _rest_of_plain(self, wire: PlainFrame, indexless: bool) -> Wire:
        rest: Wire = {}
        if wire.create_time is not UNSET:
            rest["createTime"] = self._body["createTime"] = wire.create_time
        if indexless:
            rest["candidates"] = [INDEXLESS]
        return rest if wire.usage_metadata is not UNSET else {**rest, **ALONE}

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._over:
            return []
        told = [each.finished for each in self._candidates.values()]
        if self._block_word is None and not (told and all(told)):
            return [self._break_off(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]
        self._over = True
        response = self._response()
        events: list[Event] = []
        messages = (response.message, *response.alternatives)
        for (_, candidate), message in zip(
            sorted(self._candidates.items()), messages, strict=False
        ):
            events += candidate.end(message)
        return [*events, MessageComplete(response)]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._over:
            return []
        wire = None if frame.data == "[DONE]" else parse(frame.data, WHAT)
        body, listed = wire, False
        if type(wire) is list and len(wire) == 1:
            body, listed = wire[0], True
        if type(body) is not dict:  # from servers that speak more than one dialect
            return self._other({"$data": frame.data}, frame.event)
        form: Wire = {"list": True} if listed else {}
        try:
            if body.get("error") is not None:
                return self._error(wire, frame.event)
            events = self._chunk(body, form, frame.event)
        except WrongShapeError as odd:
            raise odd.error("stream") from None
        return events or self._other(body if not listed else {"$data": frame.data}, frame.event)

    def _other(self, rest: Wire, name: str | None) -> list[Event]:
        """A frame that says nothing."""
        if name is not None:
            rest = {**rest, "$event": name}
        return [Other(frame=FrameMark(self._number, {NAME: rest}))]

    def _error(self, wire: Any, name: str | None) -> list[Event]:
        response = read_response(wire)
        assert response.error is not None
        rest = dict(response.raw[NAME]) if response.raw is not None else {}
        if name is not None:
            rest["$event"] = name
        return [self._break_off(response.error, FrameMark(self._number, {NAME: rest}))]

    def _break_off(self, error: ProviderError, mark: FrameMark | None = None) -> StreamError:
        self._over = True
        return StreamError(error, self._partial(error) if self._started else None, frame=mark)

    def _chunk(self, wire: Wire, form: Wire, name: str | None) -> list[Event]:
        body, mark = Taking(wire), FrameMark(self._number)
        body.form = form
        model, id = body.take(MODEL_VERSION, str), body.take(RESPONSE_ID, str)
        usage = body.inside("usageMetadata")
        counts = None if usage is None else read_usage(usage)[0]
        candidates = body.take("candidates", list, due=True)
        self._last_id = self._last_id if id is None else id
        first = not self._started
        events = self._begin(model, id, mark) if first else []
        if candidates:
            self._block_word = None
            told, left = self._tell(candidates, mark)
            events += told
        else:
            left = None
            if candidates is not None:
                form["void"] = True
            events += self._blocked(body, mark)
        merge(self._body, wire, _BODY)
        if counts is not None:
            events.append(UsageUpdate(counts, frame=mark))
        elif events:
            form["events"] = len(events)
        rest = self._rest(body, model, id, left, name)
        if events and (rest or first):
            events[0] = events[0].replace(frame=FrameMark(self._number, {NAME: rest}))
        return events

    def _begin(self, model: str | None, id: str | None, mark: FrameMark) -> list[Event]:
        self._started, self._model, self._id = True, model, id
        self._same = (UNSET if model is None else model, UNSET if id is None else id)
        return [MessageStart(model, id, frame=mark)]

    def _rest(
        self, body: Taking, model: str | None, id: str | None, left: list[Wire] | None, name: Any
    ) -> Wire:
        """What the events of a frame do not say."""
        rest, form = dict(body.left), body.form
        for key, told, first in ((MODEL_VERSION, model, self._model), (RESPONSE_ID, id, self._id)):
            if told is not None and told != first:
                rest[key] = told
            elif told != first:
                form.setdefault("without", []).append(key)
        if left is not None:
            rest["candidates"] = left
        if form:
            rest["$form"] = form
        if name is not None:
            rest["$event"] = name
        return rest

    def _tell(
        self, candidates: list[Any], mark: FrameMark
    ) -> tuple[list[Event], list[Wire] | None]:
        """The events of all candidates of a frame, and what they do not say."""
        events: list[Event] = []
        left: list[Wire] = []
        seen: set[int] = set()
        for at, each in enumerate(candidates):
            candidate = Taking(each, ((None, "candidates"), at))
            index = candidate.take("index", int, due=True)
            if index is not None and index != at:
                candidate.left["index"] = index
            choice = at if index is None or index < 0 else index
            while choice in seen:
                choice += 1
            seen.add(choice)
            known = self._candidates.get(choice)
            if known is None:
                known = self._candidates[choice] = Candidate(choice, self._id or 0)
                if choice:
                    start = MessageStart(self._model, self._id, choice=choice, frame=mark)
                    events.append(start)
            events += known.tell(each, candidate, mark)
            raw = candidate.raw()
            left.append({} if raw is None else raw[NAME])
        return events, left if len(left) > 1 or left[0] else None

    def _blocked(self, body: Taking, mark: FrameMark) -> list[Event]:
        """A frame without candidates: the prompt may have been blocked."""
        feedback = body.left.get("promptFeedback")
        if type(feedback) is not dict or type(feedback.get("blockReason")) is not str:
            return []
        left = dict(feedback)
        self._block_word = left.pop("blockReason")
        body.left["promptFeedback"] = left
        return [Stop(StopReason.CONTENT_FILTER, self._block_word, frame=mark)]

    # -- the whole --------------------------------------------------------------------------------

    def _response(self) -> Response:
        """What reading the whole answer gives."""
        wire = dict(self._body)
        if self._candidates:
            wire["candidates"] = [each.whole() for _, each in sorted(self._candidates.items())]
        if self._last_id != self._id:  # ids of calls are made of the first
            wire.pop(SNAKE[RESPONSE_ID], None)
            wire[RESPONSE_ID] = self._id
        response = read_response(wire)
        message = response.message
        if self._last_id != self._id:
            metadata = message.metadata.replace(response_id=self._last_id)
            message = message.replace(metadata=metadata)
            response = response.replace(message=message)
        if self._block_word is not None and message.metadata.stop_reason is None:
            metadata = message.metadata.replace(
                stop_reason=StopReason.CONTENT_FILTER, raw_stop_reason=self._block_word
            )
            response = response.replace(message=message.replace(metadata=metadata))
        return response

    def _partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        return failed(self._response().message, error)
