"""Reasoning items, and compacted history: one block for each part, the item's encrypted content as
the signature of its last. Which of its two lists held a part, and which keys the item lacked, is
spelling (`$form.list`, `$form.item_absent`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.kernel.errors import read_each, require, require_key
from interlingua.dialects.kernel.fields import Table, constant, plain
from interlingua.dialects.kernel.preserved import NOTHING, Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.text import (
    RESERVED,
    add,
    begin,
    item_raw,
    own,
    own_spelling,
    put_item_back,
    spare,
    synthetic_id,
    written,
)
from interlingua.model.blocks import Block, CompactionBlock, RedactedThinkingBlock, ThinkingBlock
from interlingua.model.reasons import because

_LISTS = {
    key: Table(
        ThinkingBlock,
        plain("text", "text", str),
        constant("type", word),
        silent=("signature", "id"),
        blank=True,
    )
    for key, word in (("summary", "summary_text"), ("content", "reasoning_text"))
}
"""The lists of a reasoning item in order, and the types of their parts."""
_KNOWN = frozenset({"type", "id", "summary", "content", "encrypted_content"})


def read_reasoning(item: Wire, follows: ThinkingBlock | None) -> list[Block]:
    """`follows` is the thinking right before it, which must not be taken for the same item."""
    id, signature = item.get("id"), item.get("encrypted_content")
    if id is not None:
        require(id, str, ".id")
    if signature is not None:
        require(signature, str, ".encrypted_content")
    is_bare = item.get("summary") == [] and len(item) == (3 if signature is None else 4)
    if is_bare and id is not None and (follows is None or follows.id != id):
        return [ThinkingBlock("", signature, id)]
    return _read_reasoning(item, follows)


def _read_reasoning(item: Wire, follows: ThinkingBlock | None) -> list[Block]:
    id, signature = item.get("id"), item.get("encrypted_content")
    parts = [*_read_list(item, "summary", id), *_read_list(item, "content", id)]
    if not parts:
        parts = [ThinkingBlock("", None, id)]
    if signature is not None:
        parts[-1] = parts[-1].replace(signature=signature)
    rest, spelled = spare(item, _KNOWN, ("status",))
    for key, value in item.items():
        if key in _KNOWN and (value is None or (key == "content" and value == [])):
            spelled[key] = value
    gone = [key for key in ("id", "summary") if key not in item]
    if spelled or gone or rest or _joins(follows, parts[0]):
        parts[0] = begin(parts[0], spelled, rest, {"item_absent": gone} if gone else None)
    return list(parts)


def _read_list(item: Wire, key: str, id: str | None) -> list[ThinkingBlock]:
    parts = item.get(key)
    return (
        [] if parts is None else read_each(parts, f".{key}", lambda part: _read_part(part, key, id))
    )


def _read_part(part: Any, key: str, id: str | None) -> ThinkingBlock:
    if type(part) is dict and len(part) == 2 and part.get("type") == "summary_text":
        text = part.get("text")
        if type(text) is str and text and key == "summary":
            return ThinkingBlock(text, None, id)
    return _read_any_part(part, key, id)


def _read_any_part(part: Any, key: str, id: str | None) -> ThinkingBlock:
    # A part without text stands where we would write none.
    is_usual = key == "summary" and require(part, dict).get("text")
    preserved = Preserved(spelling={} if is_usual else {"list": key})
    return _LISTS[key].read_value(ThinkingBlock, require(part, dict), NAME, preserved, id=id)


def _joins(before: Block | None, block: Block) -> bool:
    """Whether a writer would take a block for the next part of the same reasoning item."""
    return (
        type(before) is ThinkingBlock
        and type(block) is ThinkingBlock
        and before.signature is None
        and before.id == block.id
        and "item" not in own_spelling(block.raw)
    )


def group(blocks: Sequence[Block], start: int) -> list[ThinkingBlock]:
    """The blocks of the reasoning item that begins at `start`."""
    first = blocks[start]
    assert type(first) is ThinkingBlock
    found = [first]
    for block in blocks[start + 1 :]:
        if type(block) is not ThinkingBlock or not _joins(found[-1], block):
            break
        found.append(block)
    return found


def write_reasoning(
    parts: list[ThinkingBlock], recorder: LossRecorder, seed: object
) -> Wire | None:
    """`seed` is used for a generated id; None if thinking of other issuers cannot be written: then
    it needs an id or a signature of its own."""
    first, last = parts[0], parts[-1]
    spelling = own_spelling(first.raw)
    begun = spelling.get("item")
    if seed is None and begun is None and first.id is None and last.signature is None:
        for part in parts:
            recorder.dropped(part, because("unsigned_thinking"))
        return None
    item: Wire = {"type": "reasoning"}
    gone = spelling.get("item_absent", ())
    if first.id is not None:
        item["id"] = first.id
    elif "id" not in gone and "id" not in (begun or ()):
        item["id"] = synthetic_id("rs", *((last.signature,) if seed is None else (seed,)))
    _write_lists(item, parts, recorder)
    if not item["summary"] and ("summary" in gone or "summary" in (begun or ())):
        del item["summary"]
    if last.signature is not None:
        item["encrypted_content"] = last.signature
    return add(add(item, begun), own(first.raw).get("$item"))


def _write_lists(item: Wire, parts: list[ThinkingBlock], recorder: LossRecorder) -> None:
    item["summary"] = []
    for part in parts:
        wire = _write_part(part, recorder)
        key = own_spelling(part.raw).get("list")
        is_bare = not part.text and key is None and len(parts) == 1
        if not (is_bare and own(part.raw).keys() <= RESERVED):
            item.setdefault(key or "summary", []).append(wire)


def _write_part(part: ThinkingBlock, recorder: LossRecorder) -> Wire:
    if part.raw is None and part.cache is None:
        return {"text": part.text, "type": "summary_text"}
    return _write_any_part(part, recorder)


def _write_any_part(part: ThinkingBlock, recorder: LossRecorder) -> Wire:
    return written(_LISTS[own_spelling(part.raw).get("list") or "summary"], part, recorder)


# -- compacted history ----------------------------------------------------------------------------

_COMPACTION = frozenset({"type", "encrypted_content"})
_SEALED = frozenset({"data"})


def read_compaction(item: Wire) -> CompactionBlock:
    """History that its issuer alone can read."""
    data = require_key(item, "encrypted_content", str)
    return CompactionBlock(data=data, raw=item_raw(item, _COMPACTION, {}))


def is_compaction(block: RedactedThinkingBlock) -> bool:
    """Whether it is one as messages of earlier versions of this package have it."""
    return bool(own_spelling(block.raw).get("item", NOTHING).get("type") == "compaction")


def write_compaction(
    block: CompactionBlock | RedactedThinkingBlock, recorder: LossRecorder
) -> Wire:
    """Writes an encrypted compaction."""
    recorder.unwritten(block, _SEALED)
    return put_item_back({"type": "compaction", "encrypted_content": block.data}, block.raw)
