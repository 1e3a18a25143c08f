"""Thinking, signed or redacted, and the history that a compaction leaves."""

from __future__ import annotations

from interlingua.dialects.anthropic.kept import (
    finish,
    form_of,
    is_foreign,
    is_odd,
    mine_of,
    put_back,
    put_cache,
    read_cache,
    spare,
)
from interlingua.dialects.anthropic.parts import ANSWER, ASSISTANT, Place
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import write_text
from interlingua.dialects.base import Scribe, Wire, compaction_as_text
from interlingua.model.blocks import CompactionBlock, RedactedThinkingBlock, ThinkingBlock

_THINKING = frozenset({"type", "thinking", "signature", "cache_control"})
_COMPACTION = frozenset({"type", "content", "encrypted_content", "signature", "cache_control"})
_REDACTED = frozenset({"type", "data", "cache_control"})


def read_thinking(part: Wire, place: Place) -> ThinkingBlock:
    """Empty text is legal: the model thought, and only the signature was to be shown."""
    text, signature = part.get("thinking"), part.get("signature")
    if len(part) == 3 and type(signature) is str and signature and type(text) is str:
        return ThinkingBlock(text, signature)
    text = take(part, "thinking", str)
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    signature = may_take(part, "signature", str, spelled)
    if signature == "":
        spelled["signature"] = ""
    if "signature" not in part:
        form["unsigned"] = True
    if place is not ANSWER and (not signature or cache is not None):
        form["odd"] = True
    raw = spare(part, _THINKING, spelled, form)
    return ThinkingBlock(text, signature or None, None, cache, raw)


def write_thinking(block: ThinkingBlock, place: Place, scribe: Scribe) -> Wire | None:
    if place is ASSISTANT and is_bare(block):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if block.raw is not None and mine_of(block.raw).get("type") == "compaction":
        return _write_old_compaction(block, scribe)
    if place is not ANSWER and not is_odd(block.raw):
        if place is not ASSISTANT:
            scribe.dropped(block, "only a model thinks")
            return None
        if not block.signature:
            scribe.dropped(block, "it has no signature")
            return None
    out: Wire = {"type": "thinking", "thinking": block.text}
    if block.signature:
        out["signature"] = block.signature
    return _finish_thinking(out, block, scribe)


def is_bare(block: ThinkingBlock) -> bool:
    """Whether it is signed, and has nothing beside that which would have to be written or told."""
    if not block.signature or block.cache is not None or block.id is not None:
        return False
    raw = block.raw
    return raw is None or (NAME not in raw and not is_foreign(raw))


def _finish_thinking(out: Wire, block: ThinkingBlock, scribe: Scribe) -> Wire:
    if block.id is not None:
        scribe.lost(block, "id")
    _finish_uncached(out, block, scribe)
    if "signature" not in out and not form_of(block.raw).get("unsigned"):
        out["signature"] = ""  # answers have to have one
    return out


def _finish_uncached(
    out: Wire, block: ThinkingBlock | RedactedThinkingBlock, scribe: Scribe
) -> Wire:
    if block.cache is not None:
        if is_odd(block.raw):
            put_cache(out, block, scribe)
        else:
            scribe.lost(block, "cache", "no breakpoint may stand on thinking")
    if block.raw is not None:
        put_back(out, block, block.raw, scribe, cached=True)
    return out


def read_redacted(part: Wire, place: Place) -> RedactedThinkingBlock:
    data = take(part, "data", str)
    if len(part) == 2:
        return RedactedThinkingBlock(data)
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    if cache is not None:
        form["odd"] = True
    return RedactedThinkingBlock(data, cache, spare(part, _REDACTED, spelled, form))


def write_redacted(block: RedactedThinkingBlock, place: Place, scribe: Scribe) -> Wire | None:
    if place is not ASSISTANT and place is not ANSWER and not is_odd(block.raw):
        scribe.dropped(block, "only a model thinks")
        return None
    return _finish_uncached({"type": "redacted_thinking", "data": block.data}, block, scribe)


def read_compaction(part: Wire, place: Place) -> CompactionBlock:
    """History in a shorter form, with its summary; null where the service could not make one."""
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    text = may_take(part, "content", str, spelled)
    data = may_take(part, "encrypted_content", str, spelled)
    signature = may_take(part, "signature", str, spelled)
    raw = spare(part, _COMPACTION, spelled, form)
    return CompactionBlock(text, data, signature, None, cache, raw)


def write_compaction(block: CompactionBlock, place: Place, scribe: Scribe) -> Wire | None:
    here = place is ASSISTANT or place is ANSWER or is_odd(block.raw)
    ours = block.raw is not None and NAME in block.raw
    if not here or (block.text is None and block.data is not None and not ours):
        text = compaction_as_text(block, scribe)
        return None if text is None else write_text(text, place, scribe)
    out: Wire = {"type": "compaction"}
    for key, item in (
        ("content", block.text),
        ("encrypted_content", block.data),
        ("signature", block.signature),
    ):
        if item is not None:
            out[key] = item
    if block.replaces is not None:
        scribe.lost(block, "replaces", "it stands for all that came before", severity="info")
    return finish(out, block, scribe)


def _write_old_compaction(block: ThinkingBlock, scribe: Scribe) -> Wire:
    """As messages of earlier versions of this package have it."""
    out: Wire = {"type": "compaction"}
    if block.text or form_of(block.raw).get("content") != "none":
        out["content"] = block.text
    if block.signature is not None:
        out["signature"] = block.signature
    return finish(out, block, scribe)
