"""Thinking beside the content of an assistant message, in the four ways that hosts spell it:

    thinking_blocks     a list of Anthropic's blocks (LiteLLM and others)
    reasoning_details   a list of items, each with the format of its issuer (OpenRouter and others)
    reasoning_content   a string (DeepSeek, vLLM, xAI and others)
    reasoning           a string (Groq, Ollama, OpenRouter)

A string that repeats a list, or another string, is spelling: `$form.thinking` names the keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.cache import read_cache, write_cache
from interlingua.dialects.openai_chat.details import KEY as DETAILS
from interlingua.dialects.openai_chat.details import is_detail, read_details, write_details
from interlingua.dialects.openai_chat.parts import write_unknown
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock, UnknownBlock

LISTS = ("thinking_blocks", "reasoning_details")
STRINGS = ("reasoning_content", "reasoning")
KEYS = frozenset({*LISTS, *STRINGS})

Found = tuple[list[Block], list[str], str]
"""Blocks, the keys that say them, and the protocol of who signed them."""


def read_thinking(wire: Wire, t: Tables, origin: int | str | None) -> Found:
    if wire.get("thinking_blocks"):
        blocks = each(wire["thinking_blocks"], ".thinking_blocks", lambda item: _read(item, t))
        return blocks, _places(wire, "thinking_blocks", blocks), _BLOCKS_OF
    if wire.get("reasoning_details"):
        blocks, issuer = read_details(wire["reasoning_details"], t, origin)
        return blocks, _places(wire, "reasoning_details", blocks), issuer
    texts = [key for key in STRINGS if wire.get(key)]
    if not texts:
        return [], [], t.name
    text = want(wire[texts[0]], str, f".{texts[0]}")
    return [ThinkingBlock(text)], [key for key in texts if wire[key] == text], t.name


def _places(wire: Wire, key: str, blocks: list[Block]) -> list[str]:
    if not wire.keys() & STRINGS:
        return [key]
    text = joined(blocks)
    return [each for each in STRINGS if text and wire.get(each) == text] + [key]


def joined(blocks: Iterable[Block]) -> str:
    """What the strings beside a list repeat."""
    return "".join([block.text for block in blocks if isinstance(block, ThinkingBlock)])


def read_signed(item: Any, raw: Raw) -> Any:
    """Thinking with text and signature alone, as it usually is; None for anything else."""
    if type(item) is dict and len(item) == 3 and item.get("type") == "thinking":
        text, signature = item.get("thinking"), item.get("signature")
        if type(text) is str and type(signature) is str:
            return ThinkingBlock(text, signature, None, None, raw)
    return None


def signed_by_anthropic(name: str) -> Raw:
    """Whoever handed on `thinking_blocks`, these are Anthropic's."""
    return {name: {"$form": {"issuer": _BLOCKS_OF}}}


_BLOCKS_OF = "anthropic"


def _read(item: Any, t: Tables) -> Block:
    """One of `thinking_blocks`."""
    if type(item) is not dict:
        raise ShapeError("", "an object", item)
    kind, signature = item.get("type"), maybe(item, "signature", str)
    if kind == "thinking" and type(item.get("thinking")) is str:
        if len(item) == 3 and signature is not None:
            return ThinkingBlock(item["thinking"], signature, raw=signed_by_anthropic(t.name))
        taken = {"type", "thinking"} if signature is None else {"type", "thinking", "signature"}
        return ThinkingBlock(item["thinking"], signature, **_beside(item, t, taken))
    if kind == "redacted_thinking" and type(item.get("data")) is str:
        return RedactedThinkingBlock(item["data"], **_beside(item, t, {"type", "data"}))
    return UnknownBlock(keep_whole(t.name, item, {"in": "thinking"}))


def _beside(item: Wire, t: Tables, taken: set[str]) -> dict[str, Any]:
    note = Note()
    note.form["issuer"] = _BLOCKS_OF
    cache = read_cache(item, t, "thinking", note.form, taken)
    note.leave(item, taken, ("signature",))
    return {"cache": cache, "raw": note.raw(t.name)}


def usual_places(blocks: Sequence[Block], t: Tables, calls: bool, own: bool) -> list[str]:
    """The keys under which thinking is written where nothing says otherwise; `own` thinking came by
    this dialect itself."""
    host = t.host
    if t.answer:
        return _places_of_answer(blocks, t)
    if host.replay == "own":
        if own and any(is_detail(block, t.name) for block in blocks):
            return [DETAILS]
        return _places_of_answer(blocks, t) if own else []
    if host.thinking is None or host.replay == "never" or (host.replay == "calls" and not calls):
        return []
    return [host.thinking]


def _places_of_answer(blocks: Sequence[Block], t: Tables) -> list[str]:
    plain = len(blocks) == 1 and _is_text(blocks[0])
    places = t.plain_thinking if plain else t.answer_thinking
    text = plain or joined(blocks)
    return [key for key in places if text or key not in STRINGS]


def _is_text(block: Block) -> bool:
    return isinstance(block, ThinkingBlock) and block.signature is None and bool(block.text)


def write_thinking(
    wire: Wire, blocks: Sequence[Block], places: Sequence[str], t: Tables, scribe: Scribe, by: str
) -> None:
    """Put thinking under the keys `places`; `by` is the protocol of who made it."""
    if "thinking_blocks" in places:
        items = [item for block in blocks for item in _write(block, t, scribe)]
        if items:
            wire["thinking_blocks"] = items
    elif "reasoning_details" in places:
        wire["reasoning_details"] = write_details(blocks, t, scribe, by)
    else:
        _account(blocks, bool(places), scribe)
    text = joined(blocks)
    for key in places:
        if text and key in STRINGS:
            wire[key] = text


def _account(blocks: Sequence[Block], has_place: bool, scribe: Scribe) -> None:
    """What strings alone do not say."""
    first = True
    for block in blocks:
        if not isinstance(block, ThinkingBlock) or not has_place or not block.text:
            scribe.dropped(block)
            continue
        if block.signature or block.id or block.cache or block.raw:
            scribe.unsaid(block, _SAID_TEXT)
        if not first:
            scribe.lost(block, None, "joined with the thinking before it", "approximated", "info")
        first = False


def _write(block: Block, t: Tables, scribe: Scribe) -> list[Wire]:
    """One of `thinking_blocks`."""
    if isinstance(block, ThinkingBlock):
        item: Wire = {"type": "thinking", "thinking": block.text}
        if block.signature is not None:
            item["signature"] = block.signature
        if block.raw is None and block.cache is None and block.id is None:
            return [item]
    elif isinstance(block, RedactedThinkingBlock):
        item = {"type": "redacted_thinking", "data": block.data}
    elif isinstance(block, UnknownBlock):
        return write_unknown(block, t, scribe)
    else:
        scribe.dropped(block)
        return []
    mine = mine_of(t.name, block.raw)
    write_cache(item, block, block.cache, t, scribe, "thinking", form_in(mine))
    scribe.unsaid(block, _SAID)
    return [put_back(item, mine)]


_SAID_TEXT = frozenset({"text"})
_SAID = frozenset({"text", "signature", "data", "cache"})
