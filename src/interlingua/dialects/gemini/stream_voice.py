"""One answer while it is written into a stream: its blocks one after the other."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Scribe, Wire, encode
from interlingua.dialects.gemini.content import WRITERS
from interlingua.dialects.gemini.spelling import mine
from interlingua.dialects.gemini.stream_frames import spell_frame
from interlingua.dialects.gemini.stream_said import QUIET
from interlingua.dialects.gemini.tables import MODEL
from interlingua.dialects.gemini.turn import Turn
from interlingua.dialects.streaming import call_of
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_KINDS: dict[type[Block], Wire] = {
    TextBlock: {"text": ""},
    RefusalBlock: {"text": ""},
    ThinkingBlock: {"text": "", "thought": True},
}
"""Blocks that are told in pieces, and an empty piece of each. All others come whole."""

_encode_text = msgspec.json.Encoder().encode


class Voice:
    """One block is open at a time; what others say meanwhile waits. `head` is how a piece of the
    open block begins, once one was said."""

    def __init__(self, choice: int, about: Wire) -> None:
        self.index: int | None = None
        self.head: str | None = None
        self.length = 0
        self._choice = choice
        self._about = about
        more = encode(about).decode()[1:-1]
        self._tail = f'}}],"role":"{MODEL}"}},"index":{choice}}}]{"," if more else ""}{more}}}'
        self._empty: Wire | None = None
        self._start: ToolUseStart | None = None
        self._last: Wire | None = None
        self._waiting: dict[int, list[Any]] = {}
        self._seen: set[int] = set()
        self._told: set[int] = set()
        self._turn = Turn(QUIET, model=True, cites=True)

    # -- events -----------------------------------------------------------------------------------

    def hear(self, event: Any) -> list[Frame]:
        self._seen.add(event.index)
        if self.index is not None and self.index != event.index:
            self._waiting.setdefault(event.index, []).append(event)
            return []
        return [*self._tell(event), *self._go_on()]

    def finish(self) -> list[Frame]:
        """All that still waits; a block that nothing ended has said all it had to say."""
        frames: list[Frame] = []
        while self.index is not None:
            self._close()
            frames += self._go_on()
        return frames

    def _go_on(self) -> list[Frame]:
        frames: list[Frame] = []
        while self.index is None and self._waiting:
            for event in self._waiting.pop(min(self._waiting)):
                frames += self._tell(event)
        return frames

    def _tell(self, event: Any) -> list[Frame]:
        match event:
            case BlockStart():
                return self._open(event.index, event.block)
            case ToolUseStart():
                self._open(event.index, None)
                self._start = event
                return []
            case BlockEnd() if self.index is not None:
                return self._end(event.block)
            case ToolUseEnd() if self._start is not None:
                call = call_of(self._start, event)
                return self._end(call)
            case TextDelta() | ThinkingDelta() if self.index is None and event.text:
                blank = TextBlock("") if type(event) is TextDelta else ThinkingBlock("")
                return [*self._open(event.index, blank), *self._say(event.text)]
            case TextDelta() | ThinkingDelta():
                return self._say(event.text)
            case BlockDelta(field="text", value=str()):
                return self._say(event.value)
            case _:
                return []

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        self.index, self.length, self._start = index, 0, None
        kind = _KINDS.get(type(block))
        if kind is None or mine(block.raw)[0]:
            return []
        self._empty = kind
        return self._say(block.text)

    def _say(self, text: str) -> list[Frame]:
        """A piece of the open text. The first may have to be kept apart from the text before."""
        if self._empty is None or not text:
            return []
        self.length += len(text)
        if self.head is None:
            extra = encode({key: item for key, item in self._empty.items() if key != "text"})
            more = extra.decode()[1:-1]
            self.head = (
                f'{{"candidates":[{{"content":{{"parts":[{{{more}{"," if more else ""}"text":'
            )
            frame = self._frame({**self._empty, "text": text})
            self._last = self._empty
            return [frame]
        return [self.say(text)]

    def say(self, text: str) -> Frame:
        """The frame that there are most of, so it is made the fastest way."""
        data = f"{self.head}{_encode_text(text).decode()}{self._tail}"
        return tuple.__new__(Frame, (None, data))

    def _end(self, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        part = WRITERS[type(block)](block, self._turn)
        frames: list[Frame] = []
        empty = self._empty
        if part is not None and empty is None:
            frames.append(self._frame(part, follows=type(block) not in _KINDS))
            self._last = None
        elif part is not None and empty is not None:
            frames += self._say((part.get("text") or "")[self.length :])
            if part.get("thoughtSignature"):
                late = {**empty, "thoughtSignature": part["thoughtSignature"]}
                frames.append(self._frame(late, follows=self.head is not None))
                self._last = None
        self._close()
        return frames

    def _frame(self, part: Wire, follows: bool = False) -> Frame:
        """A frame of one part. `follows` says that it needs not be kept apart."""
        assert self.index is not None
        self._told.add(self.index)
        apart = self._last is not None and not follows and self._last == _kind_of(part)
        parts = [self._last, part] if apart else [part]
        candidate = {"content": {"role": MODEL, "parts": parts}, "index": self._choice}
        return spell_frame({"candidates": [candidate], **self._about})

    def _close(self) -> None:
        self.index = self.head = self._empty = self._start = None

    # -- what was not said ------------------------------------------------------------------------

    def report_partial(self, partial: Message, scribe: Scribe, reason: str) -> None:
        """What was said before a stream broke off is no loss, all else is."""
        told = [index in self._told for index in sorted(self._seen)]
        if len(told) != len(partial.content):
            told = [True] * len(partial.content)
        turn = Turn(scribe, model=True, cites=True)
        for block, was_told in zip(partial.content, told, strict=True):
            if was_told:
                WRITERS[type(block)](block, turn)
            else:
                scribe.dropped(block, reason)


def _kind_of(part: Wire) -> Wire:
    """An empty piece of the kind of text that a part is."""
    return {key: item for key, item in {**part, "text": ""}.items() if key in ("text", "thought")}
