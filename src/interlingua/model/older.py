"""Values as earlier versions of this package stored them, in the form that they have now.

Compacted history was a thought of Anthropic's, and a sealed thought of OpenAI's, which its `raw`
told from others."""

from __future__ import annotations

from typing import Any

from interlingua.model.base import JsonObject, Raw, Value
from interlingua.model.blocks import CompactionBlock, RedactedThinkingBlock, ThinkingBlock

MARK = '"compaction"'
_MARK = MARK.encode()


def may_be_older(data: bytes | str) -> bool:
    """Whether stored JSON may have something in it that has another form now."""
    return (MARK in data) if isinstance(data, str) else (_MARK in data)


def renewed(value: Any) -> Any:
    """The value in its present form; itself where nothing has changed."""
    if type(value) is tuple or type(value) is list:
        items = [renewed(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    if not isinstance(value, Value):
        return value
    block = _thought(value) if type(value) is ThinkingBlock else _sealed(value)
    if block is not None:
        return block
    changes: dict[str, Any] = {}
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if isinstance(item, (Value, tuple)) and (new := renewed(item)) is not item:
            changes[name] = new
    return value.replace(**changes) if changes else value


def _thought(block: ThinkingBlock) -> CompactionBlock | None:
    mine = _kept(block.raw, "anthropic")
    if mine.get("type") != "compaction":
        return None
    form = {key: item for key, item in (mine.get("$form") or {}).items() if key != "content"}
    rest = {key: item for key, item in mine.items() if key not in _FIELDS}
    data = mine.get("encrypted_content")
    raw = {**rest, "$form": form} if form else rest
    return CompactionBlock(
        block.text or None, data, block.signature, None, block.cache, {"anthropic": raw}
    )


def _sealed(block: Value) -> CompactionBlock | None:
    if type(block) is not RedactedThinkingBlock:
        return None
    mine = _kept(block.raw, "openai-responses")
    form = mine.get("$form") or {}
    item = form.get("item") or {}
    if item.get("type") != "compaction":
        return None
    item = {key: each for key, each in item.items() if key != "type"}
    raw = {**mine, "$form": {**form, "item": item}}
    return CompactionBlock(None, block.data, None, None, block.cache, {"openai-responses": raw})


_FIELDS = frozenset({"type", "encrypted_content", "$form"})


def _kept(raw: Raw | None, dialect: str) -> JsonObject:
    mine = (raw or {}).get(dialect)
    return mine if isinstance(mine, dict) else {}
