"""The content of a message: a string where one will do, else a list of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from interlingua.dialects.base import PLACEHOLDER, Scribe, Wire, encode
from interlingua.dialects.openai_chat.parts import (
    SAID_TEXT,
    Parts,
    is_plain,
    read_parts,
    write_parts,
)
from interlingua.dialects.openai_chat.shape import Note, form_in, mine_of
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.message import Message

_PLAIN_TEXT = {"type", "text"}


def read_content(content: Any, granted: Parts, t: Tables, note: Note) -> list[Block]:
    """The blocks of a message's content; no block for an empty string, null or an empty list."""
    if type(content) is str:
        return [TextBlock(content)] if content else []
    if content is None or content == []:
        return []
    if type(content) is dict and t.answer:
        note.form["content"] = "object"
        return [TextBlock(encode(content).decode())]
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    blocks = read_parts(content, granted, t)
    if t.answer or is_string(blocks, t):
        note.form["content"] = "list"
    return blocks


def is_string(blocks: Sequence[Block], t: Tables) -> bool:
    """Whether content is written as a string where nothing says otherwise."""
    if len(blocks) != 1:
        return False
    block = blocks[0]
    if type(block) is not TextBlock or not block.text:
        return False
    if block.raw is None:
        return block.cache is None
    mine = mine_of(t.name, block.raw)
    spelled = form_in(mine)
    at_message = spelled.keys() == {"message_cache"}
    return (block.cache is None or at_message) and (not mine or (at_message and len(mine) == 1))


def write_content(
    blocks: Sequence[Block],
    granted: Parts,
    t: Tables,
    scribe: Scribe,
    form: Wire,
    aside: frozenset[str] = frozenset(),
) -> Any:
    """A string where one will do, else a list of parts; None where every block was dropped."""
    if form.get("content") != "list":
        if is_string(blocks, t):
            block = blocks[0]
            if not is_plain(block):  # type: ignore[arg-type]  # one text
                scribe.unsaid(block, aside | SAID_TEXT)
            return _spelled(block.text, form, t)  # type: ignore[union-attr, arg-type]  # one text
        if t.answer:
            return _write_answer(blocks, granted, t, scribe, aside)
    return write_parts(blocks, granted, t, scribe, aside) or None


def _spelled(text: str, form: Wire, t: Tables) -> Any:
    """The text; or the object that it is, where a host answers a wish for JSON with that
    (Cloudflare Workers AI, seen 2026-11)."""
    if not t.answer or form.get("content") != "object":
        return text
    try:
        found = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return found if type(found) is dict else text


_decode = msgspec.json.Decoder().decode


def placeholder(message: Message, scribe: Scribe) -> str:
    """The content of a message whose every block was left out."""
    reason = "nothing of it could be said; a placeholder stands for it"
    scribe.lost(message, "content", reason, "downgraded")
    return PLACEHOLDER


def _write_answer(
    blocks: Sequence[Block], granted: Parts, t: Tables, scribe: Scribe, aside: frozenset[str]
) -> Any:
    """In a response content is one string; a list only for parts that this dialect read itself."""
    parts = write_parts(blocks, granted, t, scribe, aside)
    if not all(type(part) is dict and part.keys() == _PLAIN_TEXT for part in parts):
        return parts
    texts = [block for block in blocks if type(block) is TextBlock]
    for block in texts[1:]:
        scribe.lost(block, None, "joined with the text before it", "approximated", "info")
    if len(texts) == 1 and not texts[0].text:
        scribe.lost(texts[0], None, "empty content is no text", severity="info")
    return "".join([part["text"] for part in parts])
