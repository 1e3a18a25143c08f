"""Reading a stream: frames in, events out.

A frame is usually one event. Frames that repeat earlier content have none: the end of their item
and the last frame are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, at_path, require, require_key
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF, UNREADABLE, json_of
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_responses import tables as t
from interlingua.dialects.openai_responses.response import BODIES, is_failure
from interlingua.dialects.openai_responses.stream.answer import (
    Part,
    ResponseBuilder,
    blank,
    kind_of,
)
from interlingua.dialects.openai_responses.tables import NAME, Piece
from interlingua.dialects.openai_responses.text import read_citation
from interlingua.errors import DepthError
from interlingua.model import codec
from interlingua.model import events as ev
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.streams.frames import MANY, Frame, thin

WHAT = f"{NAME} stream"
UNSET = msgspec.UNSET
_BY_DELTA = {piece.delta: piece for piece in (*t.CALL_PIECES.values(), *t.PART_PIECES.values())}


# -- the frame that there are most of -------------------------------------------------------------


class _Plain(msgspec.Struct, tag_field="type", forbid_unknown_fields=True, kw_only=True, gc=False):
    """A piece with nothing unusual in it."""

    item_id: str
    output_index: int
    delta: str
    sequence_number: int | msgspec.UnsetType = UNSET
    logprobs: list[Any] | None = None
    obfuscation: str | None = None


def _decoder(piece: Piece) -> Callable[[str], Any]:
    """The decoder for pieces of one kind, which refuses all others. Some have a number."""
    more: list[Any] = [] if piece.key is None else [("number", int, msgspec.field(name=piece.key))]
    less = {"number": None} if piece.key is None else {}
    plain = msgspec.defstruct(
        "Plain", more, bases=(_Plain,), namespace=less, tag=piece.delta, kw_only=True
    )
    return msgspec.json.Decoder(plain).decode


_DECODERS = {piece: _decoder(piece) for piece in _BY_DELTA.values()}


# -- the stream -----------------------------------------------------------------------------------


class StreamReader:
    """One stream of the Responses API. Several responses may follow each other in it.

    An `error` may be followed by the response that failed (OpenAI, seen 2026-11): it waits for the
    next frame or the end."""

    def __init__(self) -> None:
        self.waits = False
        """OpenAI names its frames, and its last frame is the last. Hosts that name none may send
        `[DONE]` after it (OpenRouter, seen 2026-11)."""
        self._answer: ResponseBuilder | None = None
        self._is_over = False
        self._failure: ev.StreamError | None = None
        """An `error`, while the response may follow that failed."""
        self._after: Any = 0
        """The number of the next frame; not set where they have none."""
        self._numbered: dict[int, int] = {}
        """Digests of the frames so far, except those of single pieces, by their numbers."""
        self._live: Part | None = None
        """The part of the last piece, and how its plain pieces are read."""
        self._decode: Any = None

    def feed(self, frame: Frame) -> list[Event]:
        part = self._live
        if part is None:
            return self._feed(frame)
        try:
            wire = self._decode(frame.data)
        except UNREADABLE:
            return self._feed(frame)
        if (
            wire.sequence_number != self._after
            or wire.output_index != part.item.at
            or wire.number != part.number
            or wire.logprobs
        ):
            return self._feed(frame)
        text = wire.delta
        pieces = part.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        if self._after is not UNSET:
            self._after += 1
        return [part.event(part.index, text)]  # type: ignore[misc] # it comes in pieces

    def close(self) -> list[Event]:
        """The stream has ended; a response that has not is broken off."""
        failure, self._failure = self._failure, None
        if failure is not None:
            return [failure]
        if self._is_over:
            return []
        self._is_over, self._live = True, None
        return [self._broken(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    def _broken(self, error: ProviderError) -> ev.StreamError:
        return ev.StreamError(error, None if self._answer is None else self._answer.partial(error))

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        self._live = None
        wire = json_of(frame, WHAT, "type", _STEPS)
        kind = wire.get("type") if type(wire) is dict else None
        events: list[Event] = []
        if self._is_over:
            if not (kind == t.CREATED or (kind == t.FAILED and self._failure and self._answer)):
                return []
            events = self._reopen(kind == t.CREATED)
        if type(wire) is not dict or self._is_repeated(wire, frame.data):
            return [*events, ev.Other()]
        events += self._step(wire, kind)
        if type(events[-1]) is ev.MessageComplete or type(events[-1]) is ev.StreamError:
            self._answer, self._is_over, self.waits = None, True, frame.event is None
        return events if self._failure is None else []

    def _reopen(self, is_another: bool) -> list[Event]:
        """Another response begins, or that one follows its error which failed."""
        events: list[Event] = []
        if is_another:
            events, self._answer = self.close(), None
            self._numbered.clear()
        self._failure, self._is_over, self.waits = None, False, False
        return events

    def _is_repeated(self, wire: Wire, data: str) -> bool:
        """Whether a frame was delivered before, by its number. OpenAI's frames had no numbers in
        early 2025 (recordings, seen 2026-11); some bridges start again with each item, or number
        all with 0."""
        number, kind = wire.get("sequence_number"), wire.get("type")
        if type(number) is not int or number <= 0:
            return False
        if type(kind) is str and kind.endswith(".delta"):
            return type(self._after) is int and number < self._after
        before, digest = self._numbered.get(number), hash(data)
        self._numbered[number] = digest
        return before == digest

    def _step(self, wire: Wire, kind: Any) -> list[Event]:
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and is_failure(wire):
            step = StreamReader._error
        try:
            events = step(self, wire) if step is not None else None
        except ShapeError as error:
            raise error.error(WHAT) from None
        except RecursionError:
            raise DepthError(WHAT, codec.STORED_DEPTH) from None
        number = wire.get("sequence_number", UNSET)
        self._after = number + 1 if type(number) is int else UNSET
        is_progress = type(kind) is str and kind in t.PROGRESS
        return events or [ev.Other(progress=kind if is_progress else None)]

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, wire: Wire) -> list[Event]:
        return (
            [] if self._answer is not None else self._begun(require_key(wire, "response", dict))[1]
        )

    def _begun(self, body: Wire) -> tuple[ResponseBuilder, list[Event]]:
        """The current answer; starts one if the stream has not."""
        if self._answer is not None:
            return self._answer, []
        self._answer = ResponseBuilder(body)
        id, model = body.get("id"), body.get("model")
        start = ev.MessageStart(
            model if type(model) is str else None, id if type(id) is str else None
        )
        return self._answer, [start]

    def _ended(self, wire: Wire) -> list[Event]:
        body = require_key(wire, "response", dict)
        answer, events = self._begun(body)
        response, more = at_path(".response", answer.finish, body)
        events += more
        metadata = response.message.metadata
        if metadata.stop_reason is not None:
            events.append(ev.Stop(metadata.stop_reason, metadata.raw_stop_reason))
        if metadata.usage is not None:
            events.append(ev.UsageUpdate(metadata.usage))
        if kind_of(wire) == t.FAILED or response.error is not None:
            failure = response.error or ProviderError(ErrorKind.OTHER, "")
            return [*events, ev.StreamError(failure, response.message)]
        return [*events, ev.MessageComplete(response)]

    def _error(self, wire: Wire) -> list[Event]:
        body = {key: item for key, item in wire.items() if key not in ("type", "sequence_number")}
        error = BODIES.read_failure(body).error if is_failure(body) else None
        self._failure = self._broken(error or ProviderError(ErrorKind.OTHER, ""))
        self._is_over = True
        return []

    # -- items ------------------------------------------------------------------------------------

    def _item_added(self, wire: Wire) -> list[Event]:
        item, at = require_key(wire, "item", dict), _number(wire, "output_index")
        answer, events = self._begun({})
        return events + answer.add(at, item)

    def _item_done(self, wire: Wire) -> list[Event]:
        item, at = require_key(wire, "item", dict), _number(wire, "output_index")
        answer, events = self._begun({})
        return events + at_path(".item", answer.end, answer.place(at, item.get("id")), item)

    # -- parts ------------------------------------------------------------------------------------

    def _part(self, wire: Wire, key: str | None) -> Part | None:
        """The part that a frame is about."""
        at, number = _number(wire, "output_index"), _number(wire, key)
        answer = self._answer
        if answer is None:
            return None
        item = answer.items.get(answer.place(at, wire.get("item_id")))
        return None if item is None else item.parts.get((key, number))

    def _part_added(self, wire: Wire) -> list[Event]:
        part = require_key(wire, "part", dict)
        key = t.SUMMARY_INDEX if kind_of(wire) == t.SUMMARY_ADDED else t.CONTENT_INDEX
        if self._part(wire, key) is not None:
            # Parts without numbers (Lemonade 11.9; its tracker, read 2026-11) cannot be
            # distinguished.
            require_key(wire, key, int)
            return []
        piece = t.PART_PIECES.get(kind_of(part))
        if piece is not None and part.get(piece.whole) is not None:
            require(part[piece.whole], str, f".part.{piece.whole}")
        return self._open(wire, piece, part)[1]

    def _open(self, wire: Wire, piece: Piece | None, part_wire: Wire) -> tuple[Part, list[Event]]:
        answer, events = self._begun({})
        id = wire.get("item_id")
        at = answer.place(_number(wire, "output_index"), id)
        number = _number(wire, t.CONTENT_INDEX if piece is None else piece.key)
        part, more = answer.open(at, id, piece, number, part_wire)
        return part, events + more

    def _delta(self, wire: Wire) -> list[Event]:
        piece, text = _BY_DELTA[wire["type"]], require_key(wire, "delta", str)
        part = self._part(wire, piece.key)
        events: list[Event] = []
        if part is None:
            if piece.key is None or not text:
                return []
            part, events = self._open(wire, piece, blank(piece))
        elif part.is_over or part.piece is not piece:
            return []
        self._go_on_with(part)
        logprobs = wire.get("logprobs")
        if piece is t.TEXT and type(logprobs) is list:
            part.logprobs += logprobs
        return [*events, part.add_text(text)]

    def _go_on_with(self, part: Part) -> None:
        self._live, self._decode = part, _DECODERS.get(part.piece)  # type: ignore[arg-type]  # it is one
        if self._answer is not None:
            self._answer.item = part.item

    def _annotation(self, wire: Wire) -> list[Event]:
        part = self._part(wire, t.CONTENT_INDEX)
        if part is None or part.piece is not t.TEXT or part.is_over:
            return []
        note = require_key(wire, "annotation", dict)
        part.notes.append(note)
        self._go_on_with(part)
        return [ev.BlockDelta(part.index, "citations", read_citation(note))]


def _number(wire: Wire, key: str | None) -> int | None:
    value = wire.get(key) if key is not None else None
    return None if value is None else require(value, int, f".{key}")


_STEPS: dict[str, Callable[[StreamReader, Wire], list[Event]]] = {
    t.CREATED: StreamReader._start,
    t.ITEM_ADDED: StreamReader._item_added,
    t.ITEM_DONE: StreamReader._item_done,
    t.PART_ADDED: StreamReader._part_added,
    t.SUMMARY_ADDED: StreamReader._part_added,
    **dict.fromkeys(_BY_DELTA, StreamReader._delta),
    t.ANNOTATION: StreamReader._annotation,
    **dict.fromkeys((t.COMPLETED, t.INCOMPLETE, t.FAILED), StreamReader._ended),
    t.ERROR: StreamReader._error,
}
"""By the type of the frame; no event for frames without content."""
