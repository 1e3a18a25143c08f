"""Writing a stream that came from this dialect: each frame as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.response import write_response
from interlingua.dialects.gemini.spelling import mine
from interlingua.dialects.gemini.stream_frames import (
    ALONE,
    INDEXLESS,
    MODEL_VERSION,
    RESPONSE_ID,
    spell_frame,
)
from interlingua.dialects.gemini.stream_held import Held
from interlingua.dialects.gemini.stream_said import QUIET
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.gemini.usage import spell_usage
from interlingua.dialects.streaming import FAILED, call_of, kept_in
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import Response
from interlingua.streams.frames import Frame

_HEAD = '{"candidates":[{"content":{"parts":[{"text":'
_MIDDLE = f'}}],"role":"{MODEL}"}}'
_TAIL = "}]"

_encode = msgspec.json.Encoder().encode


class Home:
    """Events in, frames out. A frame goes out when all of its events have come: the one that tells
    of its usage is the last."""

    def __init__(self) -> None:
        self._held: Held | None = None
        self._one: Any = None
        self._failed = False
        self._model: str | None = None
        self._id: str | None = None
        self._tail = _TAIL
        self._kinds: dict[tuple[int, int], type[Block]] = {}
        self._calls: dict[tuple[int, int], ToolUseStart] = {}
        self.steps: dict[type, Callable[[Any], list[Frame]]] = dict.fromkeys(_STEPS, self._step)
        for kind in (TextDelta, ThinkingDelta):
            self.steps[kind] = self._piece
        self.steps |= {
            UsageUpdate: self._count,
            MessageComplete: self._complete,
            StreamError: self._fail,
            Other: self._other,
        }

    def close(self) -> list[Frame]:
        self._hold_piece()
        held, self._held = self._held, None
        return [] if held is None else [held.frame(self._model, self._id)]

    # -- a piece of text and the usage so far, which most frames are ------------------------------

    def _piece(self, event: TextDelta | ThinkingDelta) -> list[Frame]:
        mark = event.frame
        if (
            self._held is not None
            or self._one is not None
            or self._failed
            or event.choice
            or mark is None
        ):
            return self._step(event)
        if mark.rest is not None:
            rest = kept_in(mark, NAME)
            if not _is_plain(rest):
                return self._step(event)
            if "$form" in rest:
                return [self._say(event, None)]
        self._one = event
        return []

    def _count(self, event: UsageUpdate) -> list[Frame]:
        one, mark = self._one, event.frame
        if one is None or mark is None or mark.number != one.frame.number:
            return self._step(event)
        counts = spell_usage(event.usage)
        if counts is None:
            return self._step(event)
        self._one = None
        return [self._say(one, counts)]

    def _say(self, event: TextDelta | ThinkingDelta, counts: Wire | None) -> Frame:
        text = _encode(event.text).decode()
        thought = "" if type(event) is TextDelta else ',"thought":true'
        index, more = ',"index":0', ""
        if event.frame is not None and event.frame.rest is not None:
            rest = kept_in(event.frame, NAME)
            index = "" if "candidates" in rest else index
            if "createTime" in rest:
                more = f',"createTime":{_encode(rest["createTime"]).decode()}'
        if counts is not None:
            more += f',"usageMetadata":{_encode(counts).decode()}'
        data = f"{_HEAD}{text}{thought}{_MIDDLE}{index}{self._tail}{more}}}"
        return tuple.__new__(Frame, (None, data))

    def _hold_piece(self) -> None:
        one, self._one = self._one, None
        if one is not None:
            held = self._held = Held(one.frame.number, kept_in(one.frame, NAME))
            _STEPS[type(one)](self, one, held)
            held.count = 1

    # -- everything else --------------------------------------------------------------------------

    def _step(self, event: Any) -> list[Frame]:
        if self._failed:
            return []
        self._hold_piece()
        frames: list[Frame] = []
        held, mark = self._held, event.frame
        if mark is None:  # the end of a block, after the last frame
            return self.close()
        if held is None or held.number != mark.number:
            frames = self.close()
            held = self._held = Held(mark.number, kept_in(mark, NAME))
        _STEPS[type(event)](self, event, held)
        held.count += 1
        if held.count == held.due or type(event) is UsageUpdate:
            frames += self.close()
        return frames

    # -- the events of a frame --------------------------------------------------------------------

    def _start(self, event: MessageStart, held: Held) -> None:
        if event.choice == 0:
            self._model, self._id = event.model, event.response_id
            about = {MODEL_VERSION: event.model, RESPONSE_ID: event.response_id}
            told = [
                f",{_encode({key: item}).decode()[1:-1]}"
                for key, item in about.items()
                if item is not None
            ]
            self._tail = f"{_TAIL}{''.join(told)}"

    def _block(self, event: BlockStart, held: Held) -> None:
        block = event.block
        kind = self._kinds[event.choice, event.index] = type(block)
        if (kind is not TextBlock and kind is not ThinkingBlock) or "with" in mine(block.raw)[1]:
            held.add(event.choice, event.index, block)

    def _text(self, event: TextDelta, held: Held) -> None:
        held.add(event.choice, event.index, TextBlock(event.text))

    def _thinking(self, event: ThinkingDelta, held: Held) -> None:
        held.add(event.choice, event.index, ThinkingBlock(event.text))

    def _delta(self, event: BlockDelta, held: Held) -> None:
        """A signature, with the text that it came with or by itself."""
        items = held.items.setdefault(event.choice, [])
        if event.field != "signature":
            return
        if items and items[-1][0] == event.index:
            items[-1] = (event.index, items[-1][1].replace(signature=event.value))
        elif self._kinds.get((event.choice, event.index)) is ThinkingBlock:
            items.append((event.index, ThinkingBlock("", event.value)))
        else:
            items.append((event.index, TextBlock("", event.value)))

    def _call(self, event: ToolUseStart, held: Held) -> None:
        self._calls[event.choice, event.index] = event

    def _call_end(self, event: ToolUseEnd, held: Held) -> None:
        start = self._calls.pop((event.choice, event.index), None)
        if start is not None and (start.frame is None or start.frame.number == held.number):
            held.add(event.choice, event.index, call_of(start, event))

    def _stop(self, event: Stop, held: Held) -> None:
        held.stops[event.choice] = event

    def _usage(self, event: UsageUpdate, held: Held) -> None:
        held.usage = event.usage

    def _nothing(self, event: Event, held: Held) -> None:
        pass

    # -- what ends a stream, or says nothing ------------------------------------------------------

    def _complete(self, event: MessageComplete) -> list[Frame]:
        return [] if self._failed else self.close()

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        frames = self.close()
        self._failed = True
        rest = kept_in(event.frame, NAME)
        beyond = {key: item for key, item in rest.items() if key != "$event"}
        raw = {NAME: beyond} if beyond else None
        wire = write_response(Response(FAILED, error=event.error, raw=raw), QUIET)
        return [*frames, spell_frame(wire, rest.get("$event"))]

    def _other(self, event: Other) -> list[Frame]:
        frames = self.close()
        if self._failed or event.frame is None or NAME not in (event.frame.rest or ()):
            return frames
        rest = kept_in(event.frame, NAME)
        if "$data" in rest:
            return [*frames, Frame(rest.get("$event"), rest["$data"])]
        wire = {key: item for key, item in rest.items() if key != "$event"}
        return [*frames, spell_frame(wire, rest.get("$event"))]


def _is_plain(rest: Wire) -> bool:
    """Whether a frame says no more than what nearly all say."""
    for key, item in rest.items():
        if key not in _PLAIN or (_PLAIN[key] is not None and _PLAIN[key] != item):
            return False
    return True


_PLAIN: Wire = {"createTime": None, "candidates": [INDEXLESS], "$form": ALONE["$form"]}


_STEPS: dict[type, Callable[[Home, Any, Held], None]] = {
    MessageStart: Home._start,
    BlockStart: Home._block,
    TextDelta: Home._text,
    ThinkingDelta: Home._thinking,
    BlockDelta: Home._delta,
    BlockEnd: Home._nothing,
    ToolUseStart: Home._call,
    ToolUseInputDelta: Home._nothing,
    ToolUseEnd: Home._call_end,
    Stop: Home._stop,
    UsageUpdate: Home._usage,
}
