"""Items of the Responses API in lists: their ids, and pages of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlingua.gateway.shared.bodies import number
from interlingua.gateway.shared.callers import ApiError

Wire = dict[str, Any]
MOST_LISTED = 100
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}


def numbered(items: Iterable[Any], seed: str) -> list[Wire]:
    """Items with a type, a status and an id each; the same seed gives the same ids."""
    out: list[Wire] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            kind = item.get("type") or "message"
            digest = hashlib.sha256(f"{seed}\0{index}".encode()).hexdigest()[:40]
            made = {"id": f"{_PREFIXES.get(kind, 'item')}_{digest}", "type": kind}
            if kind == "message":
                made["status"] = "completed"
            kept = {name: value for name, value in item.items() if value is not None}
            out.append({**made, **kept, **_content(kind, item)})
    return out


def _content(kind: str, item: Wire) -> Wire:
    """The content of a message as a list, which answers have."""
    content = item.get("content")
    if kind != "message" or not isinstance(content, str):
        return {}
    part = "output_text" if item.get("role") == "assistant" else "input_text"
    more: Wire = {"annotations": []} if part == "output_text" else {}
    return {"content": [{"type": part, "text": content, **more}]}


def input_of(value: Any) -> list[Any]:
    """The `input` of a request as items."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return list(value) if isinstance(value, list) else []


def without_triggers(items: Iterable[Any]) -> list[Any]:
    """Items without those that ask for a compaction, which are no part of a conversation."""
    return [
        item
        for item in items
        if not (isinstance(item, dict) and item.get("type") == "compaction_trigger")
    ]


def compacted(items: Sequence[Wire]) -> list[Wire]:
    """A conversation as it goes on: of what comes before its last compaction, the messages that
    are not the model's, as `/responses/compact` returns them."""
    items = without_triggers(items)
    places = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
    last = places[-1] if places else 0
    before = [item for item in items[:last] if item.get("role") not in (None, "assistant")]
    return [*before, *items[last:]]


def page(items: Sequence[Wire], query: Mapping[str, str]) -> Wire:
    """The part of a list that was asked for: `after`, `limit`, `order`."""
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise ApiError(400, "invalid_value", "order: expected 'asc' or 'desc'")
    limit = number(query, "limit", 20, 1, MOST_LISTED)
    listed = list(items) if order == "asc" else list(reversed(items))
    after = query.get("after")
    if after is not None:
        places = [index for index, item in enumerate(listed) if item.get("id") == after]
        if not places:
            raise ApiError(404, "not_found", f"Item with id '{after[:100]}' not found.")
        listed = listed[places[0] + 1 :]
    data = listed[:limit]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(listed) > len(data),
    }
