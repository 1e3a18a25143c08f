"""Reading a stream: what concerns its blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire, rest_of
from interlingua.dialects.bedrock.cited import read_citation
from interlingua.dialects.bedrock.shape import form_of
from interlingua.dialects.bedrock.stream_frames import DELTA, INPUT, START, TEXT, THINKING
from interlingua.dialects.bedrock.stream_parts import Answer, Part, read_part
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.shape import ShapeError, may_take, take, want
from interlingua.dialects.streaming import kept_in
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.events import BlockDelta, Event, FrameMark, MessageStart

_OPENED = frozenset({"contentBlockIndex", "start"})
_DELTA = frozenset({"contentBlockIndex", "delta"})


class BlockReader:
    """The frames of blocks in, events out. A method gives None for a frame that said nothing."""

    def __init__(self) -> None:
        self._number = -1
        self._beside: Wire = {}
        self._answer: Answer | None = None
        self._open: dict[int, Part] = {}
        self._stopped = False

    def _mark(self, rest: Wire | None, form: Wire | None = None) -> FrameMark:
        """The mark of a frame's first event."""
        kept = {**(rest or {}), **self._beside}
        if form:
            kept["$form"] = form
        return FrameMark(self._number, {NAME: kept} if kept else None)

    def _within(self, frame: str, **form: int) -> FrameMark:
        return FrameMark(self._number, {NAME: {"$form": {"within": frame, **form}}})

    def _begin(self, answer: Answer) -> Answer:
        self._answer, self._open, self._stopped = answer, answer.open, False
        return answer

    def _begun(self, frame: str) -> tuple[Answer, list[Event]]:
        """The message, also if it began without saying so."""
        if self._answer is not None:
            return self._answer, []
        return self._begin(Answer()), [MessageStart(frame=self._within(frame))]

    def _block_start(self, wire: Wire) -> list[Event] | None:
        at, given = take(wire, "contentBlockIndex", int), take(wire, "start", dict)
        if not given:
            return None  # a text is to come, or not
        try:
            block = _first_state(given)
        except ShapeError as odd:
            raise odd.inside(".start") from None
        answer, events = self._begun(START)
        if at in self._open:
            events.append(self._close(answer, self._open[at], self._within(START)))
        form = {"index": at} if at != answer.count else None
        part = answer.add(at, block, given)
        rest = rest_of(wire, _OPENED) or {}
        if type(block) is ToolUseBlock and "input" in given["toolUse"]:
            rest["start"] = {"toolUse": {"input": given["toolUse"]["input"]}}
        return [*events, part.start(self._mark(rest, form))]

    def _block_delta(self, wire: Wire) -> list[Event] | None:
        at, delta = take(wire, "contentBlockIndex", int), take(wire, "delta", dict)
        key = next((each for each in delta if each in _DELTAS), None)
        if key is None:
            return None
        try:
            return _DELTAS[key](self, at, delta[key], wire)
        except ShapeError as odd:
            raise odd.inside(f".delta.{key}") from None

    def _fitting(self, at: int, block: Block) -> tuple[Part, list[Event]]:
        """The open block, if it is of this kind; else a new one."""
        part = self._open.get(at)
        if part is not None and type(part.block) is type(block):
            return part, []
        answer, events = self._begun(DELTA)
        if part is not None:
            events.append(self._close(answer, part, self._within(DELTA)))
        form = {"index": at} if at != answer.count else {}
        part = answer.add(at, block)
        return part, [*events, part.start(self._within(DELTA, **form))]

    def _text(self, at: int, text: Any, wire: Wire) -> list[Event] | None:
        part = self._open.get(at)
        if not want(text, str) and (part is None or part.piece is not TEXT):
            return None
        part, events = self._fitting(at, TextBlock(""))
        part.pieces.append(text)
        mark = self._delta_mark(wire, "text")
        return [*events, part.event(part.index, text, frame=mark)]

    def _input(self, at: int, given: Any, wire: Wire) -> list[Event] | None:
        part = self._open.get(at)
        text = take(want(given, dict), "input", str)
        if part is None or part.piece is not INPUT:
            return None
        part.pieces.append(text)
        mark = self._delta_mark(wire, "toolUse", "input")
        return [part.event(part.index, text, frame=mark)]

    def _reasoning(self, at: int, given: Any, wire: Wire) -> list[Event] | None:
        want(given, dict)
        text = may_take(given, "text", str, {})
        signature = may_take(given, "signature", str, {})
        if type(given.get("redactedContent")) is str:
            return self._redacted(at, given["redactedContent"], wire)
        part = self._open.get(at)
        is_open = part is not None and part.piece is THINKING
        if (text is None and signature is None) or not (text or signature or is_open):
            return None
        part, events = self._fitting(at, ThinkingBlock(""))
        mark = self._delta_mark(wire, "reasoningContent", "signature" if text is None else "text")
        if text is not None:
            part.pieces.append(text)
            events.append(part.event(part.index, text, frame=mark))
            mark = self._within(DELTA)
        if signature is not None:
            part.signature = (part.signature or "") + signature
            events.append(BlockDelta(part.index, "signature", part.signature, frame=mark))
        return events

    def _redacted(self, at: int, blob: str, wire: Wire) -> list[Event] | None:
        block = read_part({"reasoningContent": {"redactedContent": blob}})
        mark = self._delta_mark(wire, "reasoningContent", "redactedContent")
        part = self._open.get(at)
        if part is not None and type(part.block) is RedactedThinkingBlock:
            part.blobs.append(blob)
            rest = {**kept_in(mark, NAME), "$form": form_of(block.raw)}
            mark = FrameMark(self._number, {NAME: rest})
            return [BlockDelta(part.index, "data", getattr(block, "data", ""), frame=mark)]
        part, events = self._fitting(at, block)
        part.blobs.append(blob)
        form = {"index": at} if at != part.index else None
        return [*events[:-1], part.start(self._mark(kept_in(mark, NAME), form))]

    def _citation(self, at: int, given: Any, wire: Wire) -> list[Event] | None:
        citation = read_citation(given)
        part, events = self._fitting(at, TextBlock(""))
        part.citations.append(given)
        mark = self._delta_mark(wire, "citation")
        return [*events, BlockDelta(part.index, "citations", citation, frame=mark)]

    def _result(self, at: int, given: Any, wire: Wire) -> list[Event] | None:
        """The end of a result tells all of it."""
        part = self._open.get(at)
        if part is not None and type(part.block) is ToolResultBlock:
            part.items += want(given, list)
        return None

    def _image(self, at: int, given: Any, wire: Wire) -> list[Event] | None:
        part = self._open.get(at)
        if part is not None and type(part.block) is ImageBlock:
            source = want(given, dict).get("source")
            if type(source) is dict and type(source.get("bytes")) is str:
                part.blobs.append(source["bytes"])
            else:
                part.items.append(given)
        return None

    def _delta_mark(self, wire: Wire, key: str, inner: str | None = None) -> FrameMark:
        """The mark of a delta; what it says beyond its piece is kept."""
        rest = rest_of(wire, _DELTA) or {}
        beyond = rest_of(wire["delta"], (key,)) or {}
        if inner is not None and (left := rest_of(wire["delta"][key], (inner,))):
            beyond[key] = left
        if beyond:
            rest["delta"] = beyond
        return self._mark(rest)

    def _block_stop(self, wire: Wire) -> list[Event] | None:
        part = self._open.get(take(wire, "contentBlockIndex", int))
        if part is None or self._answer is None:
            return None
        mark = self._mark(rest_of(wire, ("contentBlockIndex",)))
        return [self._close(self._answer, part, mark)]

    def _close_all(self, answer: Answer, frame: str) -> list[Event]:
        """The ends of blocks that nothing has closed."""
        left = list(answer.open.values())
        return [self._close(answer, part, self._within(frame)) for part in left]

    def _close(self, answer: Answer, part: Part, mark: FrameMark) -> Event:
        del answer.open[part.at]
        return part.end(answer.finish(part), mark)


def _first_state(given: Wire) -> Block:
    """A block as its start tells it."""
    if len(given) == 1:
        ((key, inner),) = given.items()
        if key == "toolUse" and type(inner) is dict:
            return read_part({key: {"input": {}, **inner}})
        if key == "toolResult" and type(inner) is dict:
            return read_part({key: {**inner, "content": []}})
        if key == "image" and type(inner) is dict:
            return read_part({key: {**inner, "source": {"bytes": ""}}})
    return UnknownBlock({NAME: given})


_DELTAS: dict[str, Callable[[BlockReader, int, Any, Wire], list[Event] | None]] = {
    "text": BlockReader._text,
    "toolUse": BlockReader._input,
    "reasoningContent": BlockReader._reasoning,
    "citation": BlockReader._citation,
    "toolResult": BlockReader._result,
    "image": BlockReader._image,
}
