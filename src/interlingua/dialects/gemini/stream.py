"""Streams, read and written: server-sent events, or one JSON array.

Each frame is a response of its own, with the next piece of every candidate that has one. The end is
marked only by a finish reason for every candidate, or by a blocked prompt; the answer is complete
when the connection ends after that."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from interlingua.dialects.framing import EitherDecoder
from interlingua.dialects.gemini.messages import WRITERS
from interlingua.dialects.gemini.parts import Turn
from interlingua.dialects.gemini.response import (
    BODY,
    CANDIDATE,
    read_response,
    read_usage,
    write_failure,
    write_response,
)
from interlingua.dialects.gemini.stream_candidate import Candidate, Run, merge
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.errors import ShapeError, at_path, require
from interlingua.dialects.kernel.preserved import Preserved, content_of
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF, failed, json_of
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    OpenBlock,
    beside_error,
    encode_text,
    json_frame,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason
from interlingua.model.reasons import because
from interlingua.streams import jsonarray
from interlingua.streams.frames import MANY, Frame, thin

_BLANK = because("empty")
_QUIET = quiet(NAME)
_NOTHING: Wire = {"role": MODEL, "parts": [{"text": ""}]}
"""The content of a frame that only ends a candidate."""
_END = "STOP"
_BLOCKED = "BLOCKED_REASON_UNSPECIFIED"
"""Without a reason a stream without an answer would look cut."""


class ForeignWriter(stream_writer.ForeignWriter):
    """Writes the frames for events of other dialects. Each choice has a queue and writes one
    block after the other; usage, citations and stop reasons are written at the end, and losses
    are counted there."""

    def __init__(self, name: str, report: Report) -> None:
        super().__init__(name, report)
        self._begin_anew()
        self.steps[ev.ToolUseInputDelta] = self._nothing

    def _begin_anew(self) -> None:
        self._about: Wire = {}
        self._queues: dict[int, _ChoiceQueue] = {}

    def _start(self, event: ev.MessageStart) -> list[Frame]:
        if event.choice == 0 and not self._queues:
            fields = {"modelVersion": event.model, "responseId": event.response_id}
            self._about = {key: item for key, item in fields.items() if item is not None}
        return []

    def _queue(self, choice: int) -> _ChoiceQueue:
        queue = self._queues.get(choice)
        if queue is None:
            queue = self._queues[choice] = _ChoiceQueue(choice, self._about)
        return queue

    def _piece(self, event: ev.TextDelta | ev.ThinkingDelta) -> list[Frame]:
        queue, text = self._queues.get(event.choice), event.text
        open_block = None if queue is None else queue._current
        if (
            open_block is None
            or open_block.index != event.index
            or open_block.cuts is None
            or not text
        ):
            return self._block(event)
        open_block.length += len(text)
        return [tuple.__new__(Frame, (None, encode_text(text).decode().join(open_block.cuts)))]

    def _block(self, event: Any) -> list[Frame]:
        """Handles every event of a block."""
        return [] if self._failed else self._queue(event.choice).push(event)

    # -- the end ----------------------------------------------------------------------------------

    def _complete(self, event: ev.MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        frames = [frame for queue in self._queues.values() for frame in queue.close_all()]
        response = event.response
        recorder = LossRecorder(NAME, response, self._report)
        wire = write_response(response, recorder)
        if blanks := _blanks_of(response):
            wire = write_response(_without_blanks(response), _QUIET)
        for block in blanks:
            recorder.lost(block, None, _BLANK)
        body = wire[0] if type(wire) is list else wire
        if not body.get("candidates"):
            body["promptFeedback"] = {"blockReason": _BLOCKED, **(body.get("promptFeedback") or {})}
        messages = (response.message, *response.alternatives)
        for choice, candidate in enumerate(body.get("candidates") or ()):
            self._end(choice, candidate, messages[choice], recorder)
        frames.append(json_frame(None, {**self._about, **body}))
        self._begin_anew()
        return frames

    def _end(self, choice: int, candidate: Wire, message: Message, recorder: LossRecorder) -> None:
        """The rest of a candidate: all of it, if nothing was written yet."""
        content = candidate.get("content")
        if choice in self._queues or not content or not content.get("parts"):
            candidate["content"] = {**(content or {}), **_NOTHING}
        if candidate.get("finishReason") is None:
            candidate["finishReason"] = _END
            reason = because("stop_reason_guessed")
            recorder.lost(message, "metadata.stop_reason", reason, kind="approximated")

    def _fail(self, event: ev.StreamError) -> list[Frame]:
        if self._failed:
            return []
        self._failed = True
        blank, recorder = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._queue(0).report_partial(event.partial, recorder)
        self._begin_anew()
        failure = Response(blank, error=event.error)
        return [json_frame(None, write_failure(failure, event.error, recorder))]


def _blanks_of(response: Response) -> list[Block]:
    """Empty texts, which open no block of a stream."""
    messages = (response.message, *response.alternatives)
    return [block for each in messages for block in each.content if _is_blank(block)]


def _without_blanks(response: Response) -> Response:
    message, *others = [
        each.replace(content=tuple([block for block in each.content if not _is_blank(block)]))
        for each in (response.message, *response.alternatives)
    ]
    return response.replace(message=message, alternatives=tuple(others))


def _is_blank(block: Any) -> bool:
    is_text = type(block) is TextBlock or type(block) is ThinkingBlock
    return is_text and not block.text and not block.signature


# -- one answer -----------------------------------------------------------------------------------

_EMPTY: tuple[Wire, ...] = ({"text": ""}, {"text": "", "thought": True})
"""An empty piece of each kind of block that is streamed in pieces."""


class _ChoiceQueue(stream_writer.BlockQueue[OpenBlock]):
    def __init__(self, choice: int, about: Wire) -> None:
        super().__init__()
        self._choice = choice
        self._about = about
        self._last: Wire | None = None
        """The last text, as an empty piece."""
        self._written: set[int] = set()
        self._turn = Turn(_QUIET, model=True, cites=True)

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = None if content_of(NAME, block.raw) else KINDS.get(type(block))
        open_block = self._current = OpenBlock(index, kind)
        return [] if kind is None else self._write_text(open_block, block.text)

    def _first(self, open_block: OpenBlock, text: str) -> list[Frame]:
        """It may have to be separated from the text before."""
        if open_block.kind is None:
            return []
        open_block.length += len(text)
        empty = _EMPTY[open_block.kind]
        open_block.spell_as(None, self._wire({**empty, "text": PIECE}))
        frame = self._whole(open_block, {**empty, "text": text}, self._last == empty)
        self._last = empty
        return [frame]

    def _end(self, open_block: OpenBlock, block: Block) -> list[Frame]:
        """The rest that was not streamed in pieces, and the end."""
        part = WRITERS[type(block)](block, self._turn)
        frames: list[Frame] = []
        if part is not None and open_block.kind is None:
            kind = KINDS.get(type(block))
            frames = [
                self._whole(open_block, part, kind is not None and self._last == _EMPTY[kind])
            ]
            self._last = None
        elif part is not None and open_block.kind is not None:
            frames = self._write_text(open_block, (part.get("text") or "")[open_block.length :])
            if signature := part.get("thoughtSignature"):
                empty = _EMPTY[open_block.kind]
                apart = open_block.cuts is None and self._last == empty
                frames.append(
                    self._whole(open_block, {**empty, "thoughtSignature": signature}, apart)
                )
                self._last = None
        return [*frames, *self._close(open_block)]

    def _whole(self, open_block: OpenBlock, part: Wire, apart: bool) -> Frame:
        """A frame of one part, and an empty one before it if it has to be separated."""
        self._written.add(open_block.index)
        return json_frame(None, self._wire(*[self._last or {}] if apart else [], part))

    def _wire(self, *parts: Wire) -> Wire:
        content = {"role": MODEL, "parts": list(parts)}
        return {"candidates": [{"content": content, "index": self._choice}], **self._about}

    def _unwritten(self) -> set[int]:
        return self._seen - self._written

    def report_partial(self, partial: Message, recorder: LossRecorder) -> None:
        """Before a stream broke off, the frames written so far lose nothing; all else is lost."""
        turn = Turn(recorder, model=True, cites=True)
        for block, was_written in self._with_turns(partial):
            if was_written:
                WRITERS[type(block)](block, turn)
            else:
                reason = because("stream_cut")
                recorder.dropped(block, reason)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of `streamGenerateContent`."""

    name = NAME
    foreign_writer = ForeignWriter


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
        first.read_usual(wire.candidates[0].index is not UNSET)
        piece: Event = run.event(run.index, text)
        if wire.usage_metadata is UNSET:
            return [piece]
        self._body["usageMetadata"] = wire.usage_metadata
        return [piece, ev.UsageUpdate(read_usage(wire.usage_metadata)[0])]

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._over:
            return []
        finished = [each.finished for each in self._candidates.values()]
        if self._block_word is None and not (finished and all(finished)):
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
        wire = json_of(frame, WHAT)
        body = wire[0] if type(wire) is list and len(wire) == 1 else wire
        if type(body) is not dict:  # from servers that serve several dialects
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
        if not self._started:
            return ev.StreamError(error, None)
        if 0 not in self._candidates:  # what there is belongs to others
            self._candidates.clear()
        return ev.StreamError(error, failed(self._response().message, error))

    def _chunk(self, wire: Wire) -> list[Event]:
        preserved = Preserved()
        body = BODY.usual(wire, preserved)
        model = preserved.may_take(body, "modelVersion", str)
        id = preserved.may_take(body, "responseId", str)
        counts = preserved.may_take(body, "usageMetadata", dict)
        usage = None if counts is None else read_usage(counts)[0]
        candidates = preserved.may_take(body, "candidates", list)
        self._last_id = self._last_id if id is None else id
        events = [] if self._started else self._begin(model, id)
        if candidates:
            self._block_word = None
            events += self._read_candidates(candidates)
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

    def _read_candidates(self, candidates: list[Any]) -> list[Event]:
        """The events of all candidates of a frame."""
        events: list[Event] = []
        seen: set[int] = set()
        for at, each in enumerate(candidates):
            events += at_path(f".candidates[{at}]", self._read_candidate, each, at, seen)
        return events

    def _read_candidate(self, wire: Any, at: int, seen: set[int]) -> list[Event]:
        preserved = Preserved()
        candidate = CANDIDATE.usual(require(wire, dict), preserved)
        index = preserved.may_take(candidate, "index", int)
        choice = at if index is None or index < 0 else index
        while choice in seen:
            choice += 1
        seen.add(choice)
        known = self._candidates.get(choice)
        if known is not None:
            return known.read(wire, candidate)
        known = self._candidates[choice] = Candidate(choice, self._id or 0)
        start = [ev.MessageStart(self._model, self._id, choice=choice)] if choice else []
        return [*start, *known.read(wire, candidate)]

    def _blocked(self, body: Wire) -> list[Event]:
        """A frame without candidates: the prompt may have been blocked."""
        feedback = body.get("promptFeedback")
        if type(feedback) is not dict or type(feedback.get("blockReason")) is not str:
            return []
        self._block_word = feedback["blockReason"]
        return [ev.Stop(StopReason.CONTENT_FILTER, self._block_word)]

    # -- the whole --------------------------------------------------------------------------------

    def _response(self) -> Response:
        """The response as the reader reads the whole answer."""
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


def make_decoder() -> EitherDecoder:
    return EitherDecoder(b"[", jsonarray.Decoder)
