"""One of the answers of a stream. Its deltas are told as events, and put together as the wire would
have them whole, so that reading both ways gives the same value."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.messages import read_assistant
from interlingua.dialects.openai_chat.response import read_stop
from interlingua.dialects.openai_chat.shape import want
from interlingua.dialects.openai_chat.stream_calls import Calls
from interlingua.dialects.openai_chat.stream_content import Content
from interlingua.dialects.openai_chat.stream_frames import SNAPSHOT, hole
from interlingua.dialects.openai_chat.stream_parts import Part, Telling
from interlingua.dialects.openai_chat.stream_thoughts import Thoughts
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import AudioBlock, Block, RefusalBlock, Source
from interlingua.model.events import BlockDelta, FrameMark, Stop

_ORDER = (
    "thinking",
    "executed_tools",
    "content",
    "refusal",
    "images",
    "audio",
    "tool_calls",
    "function_call",
)
_MANY = 1_000_000
_PLACES = {place: number * _MANY for number, place in enumerate(_ORDER)}
"""Where the indexes of blocks begin, so that they stand where a whole answer has them, whenever
they come."""
_LISTS = ("executed_tools", "images")
"""Keys whose items come whole."""
_PASSING = frozenset({"index", "token_id", "content", "refusal", "annotations", "audio"}) | {
    *THINKING,
    *_LISTS,
    "tool_calls",
    "function_call",
}
"""What is put together from deltas, or is about one of them alone."""
_APART = frozenset({"index", "delta", SNAPSHOT, "finish_reason", "logprobs", "text", "usage"})
"""What is read elsewhere; Moonshot says usage in the choice of its last chunk (its API reference,
read 2025-10)."""


class Choice:
    """One answer, so far."""

    def __init__(self, number: int, t: Tables, origin: int | str) -> None:
        self.number = number
        self.t = t
        self.origin = origin
        self.word: Any = None
        self.is_snapshot = False
        self.parts: list[Part] = []
        """Those that are open."""
        self._message: Wire = {}
        self._around: Wire = {}
        self._blocks: list[Block] = []
        self._refusals: list[Part] = []
        self._audio: Part | None = None
        self._transcript: list[str] = []
        self._lists: dict[str, list[Any]] = {}
        self._places = dict(_PLACES)
        self.thoughts = Thoughts(self)
        self.content = Content(self)
        self.calls = Calls(self)

    # -- blocks -----------------------------------------------------------------------------------

    def _index(self, place: str) -> int:
        """The index of a new block."""
        self._places[place] += 1
        return self._places[place] - 1

    def open(
        self,
        telling: Telling,
        place: str,
        event: Any,
        block: Block,
        finish: Callable[[Part], Block],
    ) -> Part:
        """A new block, before which others end."""
        self.make_way(telling)
        part = Part(self.number, self._index(place), event, lambda: finish(part))
        self.parts.append(part)
        telling.start(part, block)
        return part

    def make_way(self, telling: Telling) -> None:
        """Nothing but calls goes on beside another block, and they only till they are whole."""
        for part in list(self.parts):
            if not self.calls.goes_on(part):
                self.close(part, telling)

    def close(self, part: Part, telling: Telling) -> None:
        self.parts.remove(part)
        self._blocks.append(telling.end(part))

    def whole(self, blocks: list[Block], telling: Telling, place: str) -> None:
        """Blocks that came in one piece."""
        self.make_way(telling)
        indexes = [self._index(place) for _ in blocks]
        telling.whole(self.number, indexes, blocks)
        self._blocks += blocks

    def finish(self, telling: Telling) -> None:
        self.calls.start_all(telling)
        for part in list(self.parts):
            self.close(part, telling)

    def blocks(self) -> tuple[Block, ...]:
        """All blocks so far that can be read, in the order of their coming."""
        blocks = list(self._blocks)
        for part in self.parts:
            with suppress(ShapeError):
                blocks.append(part.finish())
        return tuple(blocks)

    # -- reading ----------------------------------------------------------------------------------

    def read(self, wire: Wire, telling: Telling) -> None:
        """What a chunk says of this choice."""
        self._merge_around(wire)
        delta = wire.get("delta")
        key = "delta"
        if delta is None and type(wire.get(SNAPSHOT)) is dict:
            delta, key = wire[SNAPSHOT], SNAPSHOT
        elif type(wire.get(SNAPSHOT)) is dict:
            self.is_snapshot = True
        if delta is not None:
            try:
                self._read_delta(want(delta, dict, ""), telling)
            except ShapeError as odd:
                raise odd.inside(f".{key}") from None
        word = wire.get("finish_reason")
        if type(word) in (str, int, float, bool):
            self.word = word
            self.finish(telling)
            reason = read_stop(word, self._blocks)
            mark = FrameMark(telling.number)
            number = telling.add(Stop(reason, word, choice=self.number, frame=mark))
            wire["finish_reason"] = hole(number, "stop")

    def _merge_around(self, wire: Wire) -> None:
        for key, value in wire.items():
            if key not in _APART and (value is not None or key not in self._around):
                self._around[key] = value
        logprobs = wire.get("logprobs")
        if type(logprobs) is dict:
            so_far = self._around.get("logprobs") or {}
            self._around["logprobs"] = dict(so_far) | {
                key: _joined(so_far.get(key), value) for key, value in logprobs.items()
            }
        elif "logprobs" in wire:
            self._around.setdefault("logprobs", None)

    def _read_delta(self, delta: Wire, telling: Telling) -> None:
        for key, value in delta.items():
            if key not in _PASSING and (value is not None or key not in self._message):
                self._message[key] = value
        if not THINKING.isdisjoint(delta):
            self.thoughts.read(delta, telling)
        for key in _LISTS:
            if delta.get(key):
                self._read_list(delta, key, telling)
        if delta.get("content"):
            self.content.read(delta, telling)
        if delta.get("refusal"):
            self._read_refusal(delta, telling)
        elif "refusal" in delta:
            self._message["refusal"] = None
        if delta.get("audio"):
            self._read_audio(want(delta["audio"], dict, ".audio"), telling)
        if delta.get("tool_calls"):
            self.calls.read(delta, telling)
        if delta.get("function_call"):
            self.calls.read_legacy(delta, telling)
        if delta.get("annotations"):
            self.content.annotate(delta, telling)

    def _read_refusal(self, delta: Wire, telling: Telling) -> None:
        text = want(delta["refusal"], str, ".refusal")
        part = self._refusals[-1] if self._refusals else None
        if part is None or not part.is_open:
            part = self.open(
                telling,
                "refusal",
                BlockDelta,
                RefusalBlock(""),
                lambda part: RefusalBlock(part.text),
            )
            self._refusals.append(part)
        telling.say(part, text, (delta, "refusal"))

    def _read_audio(self, audio: Wire, telling: Telling) -> None:
        if not (audio.get("id") or audio.get("data") or audio.get("transcript")):
            return
        part = self._audio
        if part is None:
            start = AudioBlock(Source("base64", ""), transcript="")
            part = self.open(telling, "audio", BlockDelta, start, self._finish_audio)
            self._audio = part
        part.wire.update({key: audio[key] for key in audio if key not in ("data", "transcript")})
        for key, pieces in (("data", part.pieces), ("transcript", self._transcript)):
            if audio.get(key):
                piece = want(audio[key], str, f".audio.{key}")
                pieces.append(piece)
                if part.is_open:
                    telling.change(part, key, piece, audio, key)

    def _finish_audio(self, part: Part) -> Block:
        return self._alone("audio", self._whole_audio(part))[0]

    def _whole_audio(self, part: Part) -> Wire:
        return {**part.wire, "data": part.text, "transcript": "".join(self._transcript)}

    def _alone(self, key: str, value: Any) -> tuple[Block, ...]:
        """The blocks that a message has which says this alone."""
        said: Wire = {"role": "assistant", "content": None, key: value}
        return read_assistant(said, self.t, self.origin).content

    def _read_list(self, delta: Wire, key: str, telling: Telling) -> None:
        items = self._lists.setdefault(key, [])
        known = len(self._alone(key, items)) if items else 0
        items += want(delta[key], list, f".{key}")
        self.whole(list(self._alone(key, items)[known:]), telling, key)

    # -- the whole --------------------------------------------------------------------------------

    def wire(self) -> Wire:
        """The choice as a whole answer has it."""
        message = {"role": "assistant", "content": None, **self._message}
        message.update(self.content.wire())
        message.update(self._lists)
        if self._refusals:
            message["refusal"] = "".join([part.text for part in self._refusals])
        if self._audio is not None:
            message["audio"] = self._whole_audio(self._audio)
        message.update(self.thoughts.wire())
        message.update(self.calls.wire())
        choice = {"index": self.number, "message": message, **self._around}
        return {**choice, "finish_reason": self.word}


def _joined(so_far: Any, value: Any) -> Any:
    """Lists grow; for the rest, a null does not undo what was said."""
    if type(so_far) is list and type(value) is list:
        return so_far + value
    return so_far if value is None else value
