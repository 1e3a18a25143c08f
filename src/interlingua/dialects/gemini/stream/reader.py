"""Reading a stream: frames in, events out.

Each frame is a response of its own, with the next piece of every candidate that has one. There is
no sign of the end but a reason to stop for every candidate, or a prompt that was blocked: with
that the answer is complete as soon as the connection ends."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from interlingua.dialects.gemini.response import (
    BODY,
    CANDIDATE,
    read_response,
    read_usage,
)
from interlingua.dialects.gemini.stream.answer import Candidate, Run, merge
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.kernel.errors import ShapeError, below, want
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF, failed
from interlingua.dialects.kernel.wire import Wire, parse
from interlingua.dialects.kernel.words import snake_case
from interlingua.model import events as ev
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"

_BODY = frozenset({"candidates"})


class _Part(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str
    thought: bool | UnsetType = UNSET


class _Content(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    parts: tuple[_Part]
    role: Literal["model"]


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    content: _Content
    index: Literal[0] | UnsetType = UNSET


class _PlainFrame(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """The frame that there are most of, with nothing unusual in it: a piece of text."""

    candidates: tuple[_Candidate]
    usage_metadata: dict[str, Any] | UnsetType = UNSET
    model_version: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    create_time: str | UnsetType = UNSET


_decode_plain = msgspec.json.Decoder(_PlainFrame).decode


class StreamReader:
    """One stream of `streamGenerateContent`."""

    def __init__(self) -> None:
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
            or self._block_word is not None
            or self._over
        ):
            return self._feed(frame)
        return self._plain(wire, first, run, part.text)  # type: ignore[arg-type]  # it has the run

    def _plain(self, wire: _PlainFrame, first: Candidate, run: Run, text: str) -> list[Event]:
        """The next piece of a text."""
        pieces = run.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        if wire.create_time is not UNSET:
            self._body["createTime"] = wire.create_time
        first.tell_usual(wire.candidates[0].index is not UNSET)
        piece: Event = run.event(run.index, text)
        if wire.usage_metadata is UNSET:
            return [piece]
        self._body["usageMetadata"] = wire.usage_metadata
        return [piece, ev.UsageUpdate(read_usage(wire.usage_metadata)[0])]

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
        candidates = [each for _, each in sorted(self._candidates.items())]
        messages = (response.message, *response.alternatives)
        for candidate, message in zip(candidates, messages, strict=False):
            events += candidate.end(message)
        return [*events, ev.MessageComplete(response)]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        if self._over:
            return []
        wire = None if frame.data == "[DONE]" else parse(frame.data, WHAT)
        body = wire[0] if type(wire) is list and len(wire) == 1 else wire
        if type(body) is not dict:  # from servers that speak more than one dialect
            return [ev.Other()]
        if body.get("error") is not None:
            failure = read_response(wire).error
            assert failure is not None
            return [self._break_off(failure)]
        try:
            return self._chunk(body) or [ev.Other()]
        except ShapeError as error:
            raise error.error(WHAT) from None

    def _break_off(self, error: ProviderError) -> ev.StreamError:
        self._over = True
        partial = failed(self._response().message, error) if self._started else None
        return ev.StreamError(error, partial)

    def _chunk(self, wire: Wire) -> list[Event]:
        kept = Kept()
        body = BODY.usual(wire, kept)
        model = kept.may_take(body, "modelVersion", str)
        id = kept.may_take(body, "responseId", str)
        counts = kept.may_take(body, "usageMetadata", dict)
        usage = None if counts is None else read_usage(counts)[0]
        candidates = kept.may_take(body, "candidates", list)
        self._last_id = self._last_id if id is None else id
        events = [] if self._started else self._begin(model, id)
        if candidates:
            self._block_word = None
            events += self._tell(candidates)
        else:
            events += self._blocked(body)
        merge(self._body, wire, _BODY)
        if usage is not None:
            events.append(ev.UsageUpdate(usage))
        return events

    def _begin(self, model: str | None, id: str | None) -> list[Event]:
        self._started, self._model, self._id = True, model, id
        self._same = (UNSET if model is None else model, UNSET if id is None else id)
        return [ev.MessageStart(model, id)]

    def _tell(self, candidates: list[Any]) -> list[Event]:
        """The events of all candidates of a frame."""
        events: list[Event] = []
        seen: set[int] = set()
        for at, each in enumerate(candidates):
            events += below(f".candidates[{at}]", self._tell_one, each, at, seen)
        return events

    def _tell_one(self, wire: Any, at: int, seen: set[int]) -> list[Event]:
        kept = Kept()
        candidate = CANDIDATE.usual(want(wire, dict), kept)
        index = kept.may_take(candidate, "index", int)
        choice = at if index is None or index < 0 else index
        while choice in seen:
            choice += 1
        seen.add(choice)
        known = self._candidates.get(choice)
        if known is not None:
            return known.tell(wire, candidate)
        known = self._candidates[choice] = Candidate(choice, self._id or 0)
        start = [ev.MessageStart(self._model, self._id, choice=choice)] if choice else []
        return [*start, *known.tell(wire, candidate)]

    def _blocked(self, body: Wire) -> list[Event]:
        """A frame without candidates: the prompt may have been blocked."""
        feedback = body.get("promptFeedback")
        if type(feedback) is not dict or type(feedback.get("blockReason")) is not str:
            return []
        self._block_word = feedback["blockReason"]
        return [ev.Stop(StopReason.CONTENT_FILTER, self._block_word)]

    # -- the whole --------------------------------------------------------------------------------

    def _response(self) -> Response:
        """What reading the whole answer gives."""
        wire = dict(self._body)
        if self._candidates:
            wire["candidates"] = [each.whole() for _, each in sorted(self._candidates.items())]
        if self._last_id != self._id:  # ids of calls are made of the first
            wire.pop(snake_case("responseId"), None)
            wire["responseId"] = self._id
        response = read_response(wire)
        message, changes = response.message, dict[str, Any]()
        if self._last_id != self._id:
            changes["response_id"] = self._last_id
        if self._block_word is not None and message.metadata.stop_reason is None:
            changes["stop_reason"] = StopReason.CONTENT_FILTER
            changes["raw_stop_reason"] = self._block_word
        metadata = message.metadata.replace(**changes)
        return response.replace(message=message.replace(metadata=metadata))
