"""Thinking beside the content of a stream's deltas, in the ways that `thinking.py` lists.

Strings may come alone, or repeat what a list says. An item of `thinking_blocks` that repeats what
strings have told so far, or has no text, ends it, and may sign it; items of `reasoning_details`
with the same type and index are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.shape import maybe, want
from interlingua.dialects.openai_chat.stream_frames import hole
from interlingua.dialects.openai_chat.stream_parts import Part, Telling
from interlingua.dialects.openai_chat.thinking import KEY as DETAILS
from interlingua.dialects.openai_chat.thinking import STRINGS, TEXTS, read_detail, read_thinking
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock
from interlingua.model.events import ThinkingDelta

if TYPE_CHECKING:
    from interlingua.dialects.openai_chat.stream_choice import Choice

_ITEMS = "thinking_blocks"
_OWN = frozenset({"type", "thinking", "signature", "index"})

Spoken = list[tuple[Part, str, int]]
"""The pieces of one delta's list: part, text, and number of the event."""


class Detail:
    """One item of `reasoning_details`, which may come in several pieces."""

    def __init__(self, wire: Wire, ordinal: int) -> None:
        self.wire: Wire = {}
        self.ordinal = ordinal
        self.key = TEXTS.get(wire["type"]) if type(wire.get("type")) is str else None
        self.parts: list[Part] = []

    def merge(self, wire: Wire) -> None:
        for key, value in wire.items():
            if key != self.key and (value or key not in self.wire):
                self.wire[key] = value

    def whole(self, text: str) -> Wire:
        wire = dict(self.wire)
        if wire.get("signature") == "":
            del wire["signature"]
        if self.key is not None and text:
            wire[self.key] = text
        return wire


class Thoughts:
    """The thinking of one choice."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._told: list[Part | Wire] = []
        """By strings and by `thinking_blocks`."""
        self._has_items = False
        self._details: list[Detail] = []

    def read(self, delta: Wire, telling: Telling) -> None:
        spoken: Spoken = []
        if delta.get(DETAILS):
            each(delta[DETAILS], f".{DETAILS}", lambda item: self._detail(item, telling, spoken))
        if delta.get(_ITEMS):
            each(delta[_ITEMS], f".{_ITEMS}", lambda item: self._item(item, telling, spoken))
        keys = [key for key in STRINGS if maybe(delta, key, str)]
        if not keys:
            return
        if delta.get(DETAILS) or delta.get(_ITEMS):
            self._repeat(delta, keys, telling, spoken)
        elif not self._details:
            self._say(delta, keys, telling)

    # -- strings ----------------------------------------------------------------------------------

    def _say(self, delta: Wire, keys: list[str], telling: Telling) -> None:
        part = self._told[-1] if self._told else None
        if type(part) is not Part or not part.is_open or part.is_item:
            part = self._open(telling, ThinkingBlock(""))
        text = delta[keys[0]]
        same = [key for key in keys if delta[key] == text]
        part.also.update(same)
        telling.say(part, text, *((delta, key) for key in same))

    def _open(self, telling: Telling, block: Block) -> Part:
        part = self._choice.open(telling, "thinking", ThinkingDelta, block, self._finish)
        self._told.append(part)
        return part

    def _finish(self, part: Part) -> Block:
        if not part.wire and not part.is_item:
            return ThinkingBlock(part.text)
        return self._read_item(_whole_item(part))[0]

    def _repeat(self, delta: Wire, keys: list[str], telling: Telling, spoken: Spoken) -> None:
        """Strings that say what a list says."""
        text = "".join([text for _, text, _ in spoken])
        for key in keys:
            if delta[key] != text:
                continue
            for part, _, _ in spoken:
                part.also.add(key)
            if len(spoken) == 1:
                part, _, number = spoken[0]
                delta[key] = hole(number, "text")
                if telling.piece is not None:
                    telling.piece = (part, (*telling.piece[1], key))

    # -- thinking_blocks --------------------------------------------------------------------------

    def _item(self, item: Any, telling: Telling, spoken: Spoken) -> None:
        if type(item) is not dict:
            raise ShapeError("", "an object", item)
        self._has_items = True
        if item.get("type") != "thinking":
            whole = {key: value for key, value in item.items() if key != "index"}
            self._told.append(whole)
            self._choice.whole(self._read_item(whole), telling, "thinking")
            return
        text, signature = maybe(item, "thinking", str) or "", maybe(item, "signature", str)
        part = self._told[-1] if self._told else None
        loose = part if type(part) is Part and not part.wire else None
        repeats = loose is not None and not loose.is_item and loose.text == text
        if text and not repeats:
            if loose is None or not loose.is_open or not loose.is_item:
                loose = self._open(telling, ThinkingBlock(""))
                loose.is_item = True
            number = telling.say(loose, text, (item, "thinking"))
            spoken.append((loose, text, number))
            if not signature:
                return
        if loose is None:
            if not signature and "index" not in item:
                return  # the beginning of one, as some servers say it
            loose = self._open(telling, ThinkingBlock(""))
            loose.is_item = True
        self._sign(loose, item, signature, telling)

    def _sign(self, part: Part, item: Wire, signature: str | None, telling: Telling) -> None:
        """The end of what was told so far."""
        part.wire = {"type": "thinking"}
        part.wire.update({key: value for key, value in item.items() if key not in _OWN})
        if signature is not None:
            part.wire["signature"] = signature
        if part.is_open:
            if signature is not None:
                telling.change(part, "signature", signature, item, "signature")
            self._choice.close(part, telling)

    def _read_item(self, item: Wire) -> list[Block]:
        return read_thinking({_ITEMS: [item]}, self._choice.t, self._choice.origin)[0]

    # -- reasoning_details ------------------------------------------------------------------------

    def _detail(self, item: Any, telling: Telling, spoken: Spoken) -> None:
        detail = self._find(want(item, dict, ""))
        detail.merge(item)
        choice = self._choice
        if detail.key is None:
            blocks = read_detail(detail.whole(""), detail.ordinal, choice.t, choice.origin)
            choice.whole(blocks, telling, "thinking")
            if isinstance(blocks[0], RedactedThinkingBlock):
                item["data"] = hole(len(telling.events) - 2, "data")
            return
        text, signature = maybe(item, detail.key, str), maybe(item, "signature", str)
        if not text and not signature:
            return
        part = detail.parts[-1] if detail.parts else None
        if part is None or not part.is_open:
            start = self._read_detail(detail, "")
            part = choice.open(
                telling,
                "thinking",
                ThinkingDelta,
                start.replace(signature=None) if isinstance(start, ThinkingBlock) else start,
                lambda part: self._read_detail(detail, part.text),
            )
            detail.parts.append(part)
        if text:
            spoken.append((part, text, telling.say(part, text, (item, detail.key))))
        if signature:
            telling.change(part, "signature", signature, item, "signature")

    def _find(self, item: Wire) -> Detail:
        """The item that this piece belongs to."""
        kind = item.get("type")
        if type(kind) is str and kind in TEXTS:
            for detail in reversed(self._details):
                known = detail.wire
                if known.get("type") == kind and known.get("index") == item.get("index"):
                    return detail
        detail = Detail(item, len(self._details))
        self._details.append(detail)
        return detail

    def _read_detail(self, detail: Detail, text: str) -> Block:
        wire = detail.whole(text)
        return read_detail(wire, detail.ordinal, self._choice.t, self._choice.origin)[0]

    # -- the whole --------------------------------------------------------------------------------

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        parts = [part for part in self._told if type(part) is Part]
        if self._has_items:
            items = [_whole_item(each) if type(each) is Part else each for each in self._told]
            wire[_ITEMS] = items
        if self._details:
            wire[DETAILS] = [
                detail.whole("".join([part.text for part in detail.parts]))
                for detail in self._details
            ]
            parts += [part for detail in self._details for part in detail.parts]
        for key in STRINGS:
            text = "".join([part.text for part in parts if key in part.also])
            if text:
                wire[key] = text
        return wire


def _whole_item(part: Any) -> Wire:
    return {"type": "thinking", "thinking": part.text, **part.wire}
