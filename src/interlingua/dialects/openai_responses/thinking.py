"""Reasoning items, and compacted history: one block for each part, the item's encrypted content as
the signature of its last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire, expect
from interlingua.dialects.openai_responses.spelling import (
    RESERVED,
    absent,
    begin,
    form,
    inside,
    made_id,
    own,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.errors import ReadError, found
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    ThinkingBlock,
)

_LISTS = {"summary": "summary_text", "content": "reasoning_text"}
"""The lists of a reasoning item in order, and the type of their parts."""
_KNOWN = frozenset({"type", "id", "summary", "content", "encrypted_content"})
_SAID = frozenset({"text", "signature", "id"})
_COMPACTION = frozenset({"type", "encrypted_content"})


def read_reasoning(item: Wire, follows: ThinkingBlock | None) -> list[Block]:
    """`follows` is the thinking right before it, which must not be taken for the same item."""
    id = item.get("id")
    if id is not None:
        expect(id, str, NAME, "$.id")
    signature = item.get("encrypted_content")
    if signature is not None:
        expect(signature, str, NAME, "$.encrypted_content")
    summary = item.get("summary")
    is_bare = summary == [] and len(item) == (3 if signature is None else 4)
    if is_bare and id is not None and (follows is None or follows.id != id):
        return [ThinkingBlock("", signature, id)]
    parts = [*_read_list(item, "summary", id), *_read_list(item, "content", id)]
    if not parts:
        parts = [ThinkingBlock("", None, id)]
    if signature is not None:
        parts[-1] = parts[-1].replace(signature=signature)
    spelling, rest = _spelling(item)
    if spelling or rest or _joins(follows, parts[0]):
        parts[0] = begin(parts[0], spelling.pop("item", {}), rest, spelling)
    return list(parts)


def _read_list(item: Wire, key: str, id: str | None) -> list[ThinkingBlock]:
    parts = item.get(key)
    if parts is None:
        return []
    if type(parts) is not list:
        raise ReadError(NAME, f"$.{key}", "a list", found(parts))
    return [_read_part(part, key, id, index) for index, part in enumerate(parts)]


def _read_part(part: Any, key: str, id: str | None, index: int) -> ThinkingBlock:
    try:
        if type(part) is not dict:
            raise ReadError(NAME, "$", "an object", found(part))
        text = expect(part.get("text"), str, NAME, "$.text")
    except ReadError as odd:
        raise inside(odd, f"$.{key}[{index}]") from None
    spelling: Wire = {}
    if key != "summary":
        spelling["list"] = key
    elif not text:
        spelling["list"] = key  # a part without text, where we would write none
    if part.get("type") != _LISTS[key]:
        spelling["type"] = part.get("type")
        if "type" not in part:
            spelling["absent"] = ["type"]
    rest, spelled = spare(part, ("type", "text"))
    if spelled:
        spelling["spelled"] = spelled
    return ThinkingBlock(text, None, id, raw=raw_of(rest, spelling))


def _spelling(item: Wire) -> tuple[Wire, Wire]:
    rest, spelled = spare(item, _KNOWN)
    if "status" in rest:
        spelled["status"] = rest.pop("status")
    for key in ("id", "encrypted_content", "summary", "content"):
        if key in item and (item[key] is None or (key == "content" and item[key] == [])):
            spelled[key] = item[key]
    spelling: Wire = {"item": spelled} if spelled else {}
    gone = [key for key in ("id", "summary") if key not in item]
    if gone:
        spelling["absent"] = gone
    return spelling, rest


def _joins(before: Block | None, block: Block) -> bool:
    """Whether a writer would take a block for the next part of the same reasoning item."""
    return (
        type(before) is ThinkingBlock
        and type(block) is ThinkingBlock
        and before.signature is None
        and before.id == block.id
        and "item" not in form(block.raw)
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


def write_reasoning(parts: list[ThinkingBlock], scribe: Scribe, seed: object) -> Wire | None:
    """`seed` is what a made-up id is made from; None where thinking must come from here to have a
    place: then it needs an id or a signature of its own."""
    first, last = parts[0], parts[-1]
    spelling = form(first.raw)
    begun = spelling.get("item")
    if seed is None and begun is None and first.id is None and last.signature is None:
        for part in parts:
            scribe.dropped(part, "thinking goes back with its id or its signature only")
        return None
    item: Wire = {"type": "reasoning"}
    gone = spelling.get("item_absent", ())
    if first.id is not None:
        item["id"] = first.id
    elif "id" not in gone and "id" not in (begun or ()):
        item["id"] = made_id("rs", *((last.signature,) if seed is None else (seed,)))
    _write_lists(item, parts, scribe)
    if "summary" in gone and not item["summary"]:
        del item["summary"]
    if last.signature is not None:
        item["encrypted_content"] = last.signature
    for key, value in (begun or {}).items():
        if key not in item or (key == "summary" and item[key] == []):
            item[key] = value
    for key, value in own(first.raw).get("$item", {}).items():
        item.setdefault(key, value)
    return item


def _write_lists(item: Wire, parts: list[ThinkingBlock], scribe: Scribe) -> None:
    item["summary"] = []
    for part in parts:
        spelling = form(part.raw)
        key = spelling.get("list") or "summary"
        if part.raw is not None or part.cache is not None:
            scribe.unsaid(part, _SAID)
        is_bare = not part.text and "list" not in spelling and len(parts) == 1
        if is_bare and all(each in RESERVED for each in own(part.raw)):
            continue
        wire: Wire = {"type": _LISTS[key], "text": part.text}
        if "type" in spelling:
            wire["type"] = spelling["type"]
        if absent(spelling, "type"):
            del wire["type"]
        item.setdefault(key, []).append(put_back(wire, part.raw))


def read_compaction(item: Wire) -> CompactionBlock:
    """History that its issuer alone can read."""
    data = expect(item.get("encrypted_content"), str, NAME, "$.encrypted_content")
    rest, spelled = spare(item, _COMPACTION)
    if "id" in rest:
        spelled["id"] = rest.pop("id")
    return CompactionBlock(data=data, raw=raw_of(rest, {"item": spelled} if spelled else None))


def write_compaction(block: CompactionBlock, scribe: Scribe) -> Wire:
    """One that is sealed."""
    scribe.unsaid(block, frozenset({"data"}))
    return put_back({"type": "compaction", "encrypted_content": block.data}, block.raw, "item")


def write_redacted(block: RedactedThinkingBlock, scribe: Scribe) -> Wire | None:
    """A compaction as messages of earlier versions of this package have it; nothing else."""
    if form(block.raw).get("item", {}).get("type") != "compaction":
        scribe.dropped(block, "only its issuer can read it")
        return None
    scribe.unsaid(block, frozenset({"data"}))
    return put_back({"type": "compaction", "encrypted_content": block.data}, block.raw, "item")
