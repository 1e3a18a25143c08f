"""Reading a stream: frames in, events out.

The wire has explicit starts and ends, so that a frame is one event as a rule. An event that the
wire leaves to be understood, as the end of a block that nothing closed, has a mark that says
`within` which frame it stands."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from interlingua.dialects.anthropic.failure import is_failure
from interlingua.dialects.anthropic.parts import ANSWER, read_part
from interlingua.dialects.anthropic.response import read_response
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.stream_frames import DELTA, START, STOP, TEXT, THINKING
from interlingua.dialects.anthropic.stream_parts import (
    Answer,
    Part,
    PlainDelta,
    rest_of_change,
    spell_counts,
)
from interlingua.dialects.anthropic.tables import NAME, STOP_REASONS
from interlingua.dialects.anthropic.text import read_citations
from interlingua.dialects.anthropic.usage import read_usage
from interlingua.dialects.base import Wire, parse, rest_of
from interlingua.dialects.shape import ShapeError
from interlingua.dialects.streaming import kept_in
from interlingua.errors import ReadError
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
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
from interlingua.streams.frames import Frame
from interlingua.streams.pieces import MANY, thin

WHAT = f"{NAME} stream"
OWN_IDS = "msg_"
"""How the ids of Anthropic's own messages begin (`msg_vrtx_`, `msg_bdrk_` too)."""
BROKEN_OFF = "the stream ended before the message did"

_STARTED = frozenset({"type", "message"})
_OPENED = frozenset({"type", "index", "content_block"})
_DELTA = frozenset({"type", "index", "delta"})
_CLOSED = frozenset({"type", "index"})
_CHANGED = frozenset({"type", "delta", "usage"})
_UNOPENED: dict[str, tuple[Wire, Block]] = {
    "text": ({"type": "text", "text": ""}, TextBlock("")),
    "thinking": ({"type": "thinking", "thinking": "", "signature": ""}, ThinkingBlock("")),
}
"""How a block begins whose first piece comes without a start, by the piece's key."""

_decode_plain = msgspec.json.Decoder(PlainDelta).decode
_decode_text = msgspec.json.Decoder(str).decode
_STRING = r'\s*:\s*("(?:[^"\\]|\\.)*+")'


class StreamReader:
    """One stream of the Messages API. Several messages may follow each other in it.

    Anthropic's last frame is the last. Other hosts, whose messages have other ids, may send more
    after it, as OpenRouter's `[DONE]` (seen 2026-11). Nothing may come after a message's last
    event, so where their frames are to go home it waits for them."""

    marks = True

    def __init__(self) -> None:
        self._number = -1
        self._name: str | None = None
        self._answer: Answer | None = None
        self._open: dict[int, Part] = {}
        self._complete = False
        self._failed = False
        self._last: MessageComplete | None = None
        """The last event of a message, while frames may follow it; `_after` has them."""
        self._after: list[FrameMark] = []
        self._live: Part | None = None
        """The part whose pieces came last; `_like` is how they are spelled."""
        self._like: tuple[str, str, str | None, int, int] = ("", "", None, 0, 0)

    def feed(self, frame: Frame) -> list[Event]:
        self._number += 1
        event, data = frame
        part = self._live
        if part is not None:
            head, tail, name, start, end = self._like
            if data.startswith(head) and data.endswith(tail) and event == name:
                try:
                    text = _decode_text(data[start:end])
                except (msgspec.DecodeError, UnicodeError, RecursionError):
                    return self._plain(frame)
                pieces = part.pieces
                pieces.append(text)
                if len(pieces) > MANY:
                    thin(pieces)
                if not self.marks:
                    return [part.event(part.index, text)]
                return [part.event(part.index, text, frame=FrameMark(self._number))]
        return self._plain(frame)

    def _plain(self, frame: Frame) -> list[Event]:
        """A piece with nothing unusual in it; the first of many, as a rule."""
        try:
            wire = _decode_plain(frame.data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._feed(frame)
        part = self._open.get(wire.index)
        delta = wire.delta
        if part is None or type(delta) is not part.takes or frame.event not in (DELTA, None):
            return self._feed(frame)
        if part is not self._live:
            self._learn(part, frame)
        text = delta.text
        part.pieces.append(text)
        return [part.event(part.index, text, frame=FrameMark(self._number))]

    def _learn(self, part: Part, frame: Frame) -> None:
        """How the pieces of a part are spelled: all but the text, which is then read alone. It is
        right if the rest is the same piece with an empty text."""
        key = part.piece.key if part.piece is not None else ""
        found = re.search(f'"{key}"{_STRING}', frame.data)
        if found is None:
            return
        head, tail = frame.data[: found.start(1)], frame.data[found.end(1) :]
        try:
            blank = _decode_plain(f'{head}""{tail}')
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        if type(blank.delta) is part.takes and not blank.delta.text:
            self._live = part
            self._like = (head, tail, frame.event, len(head), -len(tail))

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._failed or self._is_over():
            return self._end() if self._last is not None else []
        return [self._break_off(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    def _is_over(self) -> bool:
        return self._complete and self._answer is None

    def _end(self) -> list[Event]:
        """What has waited since a message was over: frames, or its last event, which has them."""
        last, after = self._last, self._after
        self._last, self._after = None, []
        if last is None:
            return [Other(frame=mark) for mark in after]
        if after and last.frame is not None:
            late = [kept_in(mark, NAME) for mark in after]
            kept = {**kept_in(last.frame, NAME), "$after": late}
            last = last.replace(frame=FrameMark(last.frame.number, {NAME: kept}))
        return [last]

    # -- frames -----------------------------------------------------------------------------------

    def _feed(self, frame: Frame) -> list[Event]:
        self._live = None
        if self._failed:
            return []
        wire = None if frame.data == "[DONE]" else parse(frame.data, WHAT)
        if type(wire) is not dict:  # from servers that speak more than one dialect
            return self._other({"$data": frame.data}, frame.event)
        kind = wire.get("type")
        self._name = None if frame.event == kind else frame.event
        step = _STEPS.get(kind) if type(kind) is str else None
        if kind is None and is_failure(wire):
            step = StreamReader._error
        if self._is_over() and kind != "message_start":
            step = None
        try:
            events = step(self, wire) if step is not None else None
        except ShapeError as odd:
            raise odd.error(f"{NAME} stream") from None
        return self._other(wire, self._name) if events is None else events

    def _other(self, rest: Wire, name: str | None) -> list[Event]:
        """A frame that says nothing. After a message it waits for the next one, since nothing may
        come after the last."""
        if name is not None:
            rest = {**rest, "$event": name}
        mark = FrameMark(self._number, {NAME: rest})
        if self._is_over():
            self._after.append(mark)
            return []
        return [Other(frame=mark)]

    def _mark(self, rest: Wire | None, form: Wire | None = None) -> FrameMark:
        """The mark of a frame's first event."""
        kept = dict(rest) if rest else {}
        if form:
            kept["$form"] = form
        if self._name is not None:
            kept["$event"] = self._name
        return FrameMark(self._number, {NAME: kept} if kept else None)

    def _within(self, frame: str, **form: int) -> FrameMark:
        return FrameMark(self._number, {NAME: {"$form": {"within": frame, **form}}})

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
        rest = rest_of(wire, _STARTED) or {}
        if response.raw is not None:
            rest["message"] = response.raw[NAME]
        told = response.message.metadata
        mark, plain = self._mark(rest), FrameMark(self._number)
        if mark.rest is None:  # there is always one, so that the stream is known for ours
            mark = FrameMark(self._number, {NAME: {}})
        events = self._end()
        events.append(MessageStart(told.response_model, told.response_id, frame=mark))
        if told.usage is not None:
            events.append(UsageUpdate(told.usage, frame=plain))
        if told.stop_reason is not None:
            events.append(Stop(told.stop_reason, told.raw_stop_reason, frame=plain))
        for given, block in zip(message["content"], response.message.content, strict=True):
            part = answer.add(given, block)
            events += [part.start(plain), *part.end(answer.finish(part), plain, plain)]
        return events

    def _begin(self, message: Wire) -> Answer:
        self._answer = answer = Answer(message)
        self._open = answer.open
        return answer

    def _begun(self, frame: str) -> tuple[Answer, list[Event]]:
        """The message, also if it began without saying so."""
        if self._answer is not None:
            return self._answer, []
        events = self._end()
        return self._begin({}), [*events, MessageStart(frame=self._within(frame))]

    def _change(self, wire: Wire) -> list[Event] | None:
        changes = may_take(wire, "delta", dict, {}) or {}
        counts = may_take(wire, "usage", dict, {})
        word = changes.get("stop_reason")
        if type(word) is dict or type(word) is list:
            raise ShapeError(".delta.stop_reason", "a string", word)
        answer, events = self._begun("message_delta")
        beyond = rest_of(wire, _CHANGED) or {}
        answer.change({**beyond, **changes})
        rest, form = rest_of_change(wire, changes, beyond)
        if counts is not None:
            spell_counts(counts, answer, rest, form)
        mark = self._mark(rest, form)
        if word is not None:
            events.append(Stop(STOP_REASONS.read(word), word, frame=mark))
            mark = FrameMark(self._number)
        usage = read_usage(answer.usage)[0] if counts is not None else None
        if usage is not None:
            events.append(UsageUpdate(usage, frame=mark))
        if word is None and usage is None:
            events += self._other(wire, self._name)
        return events

    def _stop(self, wire: Wire) -> list[Event] | None:
        answer = self._answer
        if answer is None:
            return None
        events: list[Event] = []
        for part in self._open.values():
            events += self._close(answer, part, self._within("message_stop"))
        self._answer, self._open, self._complete = None, {}, True
        last = MessageComplete(answer.response(), frame=self._mark(rest_of(wire, ("type",))))
        if not self.marks or _is_own(last.response):
            return [*events, last]
        self._last = last
        return events

    def _error(self, wire: Wire) -> list[Event] | None:
        response = read_response(wire)
        if response.error is None:
            return None
        mark = self._mark(response.raw[NAME] if response.raw is not None else None)
        return [self._break_off(response.error, mark)]

    def _break_off(self, error: ProviderError, mark: FrameMark | None = None) -> StreamError:
        partial = None if self._answer is None else self._answer.partial(error)
        self._failed, self._open = True, {}
        return StreamError(error, partial, frame=mark)

    # -- blocks -----------------------------------------------------------------------------------

    def _block_start(self, wire: Wire) -> list[Event]:
        index, given = take(wire, "index", int), take(wire, "content_block", dict)
        try:
            block = read_part(given, ANSWER)
        except ShapeError as odd:
            raise odd.inside(".content_block") from None
        answer, events = self._begun(START)
        if index in self._open:
            events += self._close(answer, self._open.pop(index), self._within(START))
        rest = rest_of(wire, _OPENED) or {}
        if type(block) is ToolUseBlock:
            said = {key: given[key] for key in ("input", "cache_control") if given.get(key)}
            if said:
                rest["content_block"] = said
        form = {"index": index} if index != answer.count else None
        part = self._open[index] = answer.add(given, block)
        return [*events, part.start(self._mark(rest, form))]

    def _block_delta(self, wire: Wire) -> list[Event] | None:
        index, delta = take(wire, "index", int), take(wire, "delta", dict)
        part = self._open.get(index)
        try:
            if part is not None:
                told = self._piece(part, delta, wire)
                return None if told is None else [told]
            for key, (given, block) in _UNOPENED.items():
                if delta.get("type") == f"{key}_delta" and take(delta, key, str):
                    events, part = self._open_late(index, given, block)
                    return [*events, self._text(part, key, delta, wire)]
        except ShapeError as odd:
            raise odd.inside(".delta") from None
        return None

    def _open_late(self, index: int, given: Wire, block: Block) -> tuple[list[Event], Part]:
        """A block whose first piece came without a start."""
        answer, events = self._begun(DELTA)
        form = {"index": index} if index != answer.count else {}
        part = self._open[index] = answer.add(given, block)
        return [*events, part.start(self._within(DELTA, **form))], part

    def _piece(self, part: Part, delta: Wire, wire: Wire) -> Event | None:
        kind = delta.get("type")
        if part.piece is not None and kind == part.piece.delta:
            if part.takes is None and not self._anew(part, delta):
                return None
            return self._text(part, part.piece.key, delta, wire)
        if kind == "citations_delta" and part.piece is TEXT:
            (citation,) = read_citations([take(delta, "citation", dict)])
            part.citations.append(delta["citation"])
            mark = self._delta_mark(wire, delta, "citation")
            return BlockDelta(part.index, "citations", citation, frame=mark)
        if kind == "signature_delta" and part.piece is THINKING:
            part.wire["signature"] = signature = take(delta, "signature", str)
            mark = self._delta_mark(wire, delta, "signature")
            return BlockDelta(part.index, "signature", signature, frame=mark)
        return None

    def _anew(self, part: Part, delta: Wire) -> bool:
        """Compaction is told anew by each delta; False for one without text."""
        text = may_take(delta, "content", str, {})
        part.pieces.clear()
        part.wire.update({key: item for key, item in delta.items() if key != "type"})
        part.wire["content"] = None
        return text is not None

    def _text(self, part: Part, key: str, delta: Wire, wire: Wire) -> Event:
        text = take(delta, key, str)
        part.pieces.append(text)
        told: Event = part.event(part.index, text, frame=self._delta_mark(wire, delta, key))
        return told

    def _delta_mark(self, wire: Wire, delta: Wire, key: str) -> FrameMark:
        rest = rest_of(wire, _DELTA)
        beyond = rest_of(delta, ("type", key))
        return self._mark({**(rest or {}), "delta": beyond} if beyond else rest)

    def _block_stop(self, wire: Wire) -> list[Event] | None:
        part = self._open.pop(take(wire, "index", int), None)
        if part is None or self._answer is None:
            return None
        return self._close(self._answer, part, self._mark(rest_of(wire, _CLOSED)))

    def _close(self, answer: Answer, part: Part, mark: FrameMark) -> list[Event]:
        return part.end(answer.finish(part), mark, self._within(STOP))


def _is_own(response: Response) -> bool:
    """Whether Anthropic made the message, in whose cloud ever."""
    return (response.message.metadata.response_id or "").startswith(OWN_IDS)


_STEPS: dict[str, Callable[[StreamReader, Wire], list[Event] | None]] = {
    "message_start": StreamReader._start,
    START: StreamReader._block_start,
    DELTA: StreamReader._block_delta,
    STOP: StreamReader._block_stop,
    "message_delta": StreamReader._change,
    "message_stop": StreamReader._stop,
    "error": StreamReader._error,
}
"""By the type of the frame; None for one that said nothing."""
