"""Blocks while they are written into a stream."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.stream_frames import Cuts, hole
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.thinking import KEY as DETAILS
from interlingua.dialects.openai_chat.thinking import STRINGS, TEXTS, format_of, write_thinking
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from interlingua.model.events import ToolUseStart

CONTENT, REASONING, REFUSAL = "content", "reasoning", "refusal"
CHANNELS: dict[type[Block], str] = {
    TextBlock: CONTENT,
    DocumentBlock: CONTENT,
    ThinkingBlock: REASONING,
    RedactedThinkingBlock: REASONING,
    RefusalBlock: REFUSAL,
}
"""Where blocks are told as they come, one after the other. All others are told at the end."""
_TEXTS = ("thinking", "text", "summary")
_BARE = frozenset({"type", "format", "index", *_TEXTS})
"""What an item of thinking has that says nothing but text."""


class Said:
    """A block on its way: how its pieces are said, and how much of it was."""

    __slots__ = ("channel", "cuts", "index", "length", "ordinal", "start")

    def __init__(self, index: int, channel: str | None) -> None:
        self.index = index
        self.channel = channel
        self.cuts: Cuts | None = None
        self.length = 0
        self.ordinal = 0
        """Of a call, or of a piece of thinking."""
        self.start: ToolUseStart | None = None


def thinking_delta(block: Block, t: Tables, scribe: Scribe, ordinal: int, by: str) -> Wire:
    """A piece of thinking, with holes under all keys that say it."""
    delta: Wire = {}
    piece = hole(0, "text")
    for key in t.plain_thinking:
        if key in STRINGS:
            delta[key] = piece
        else:
            item = thinking_item(block, t, scribe, ordinal, by) or {"type": "reasoning.text"}
            bare = {name: item[name] for name in ("type", "format", "index") if name in item}
            delta[key] = [{**bare, TEXTS.get(item["type"], "text"): piece}]
    return delta


def thinking_item(block: Block, t: Tables, scribe: Scribe, ordinal: int, by: str) -> Wire | None:
    """The block's item in the list for thinking."""
    key = list_of(t)
    wire: Wire = {}
    write_thinking(wire, (block,), (key,), t, scribe, by)
    items: Sequence[Wire] = wire.get(key) or ()
    if not items:
        return None
    filler = {"format": format_of(by)} if key == DETAILS else {}
    return {**filler, **items[0], "index": ordinal}


def list_of(t: Tables) -> str:
    """The key of the list for thinking."""
    return t.answer_thinking[-1]


def is_bare(item: Wire) -> bool:
    """Whether an item of thinking says nothing but text."""
    return item.keys() <= _BARE


def without_text(item: Wire) -> Wire:
    """An item whose text was said before."""
    return {name: value for name, value in item.items() if name not in _TEXTS}
