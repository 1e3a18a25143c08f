"""What there is to say about a whole session beside its messages: tokens and money by model, what
caching saved, where the model changed and what was lost by that, and its branches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.gateway.sessions.finding import Own
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.prices.cost import cost_of, total
from interlingua.prices.table import PriceTable
from interlingua.store.base import AsyncStore
from interlingua.store.rows import SessionRow

BARS = 120
"""Parts of the picture of a session's prompts; more answers share one."""
MOST_CHANGES, MOST_BRANCHES = 200, 200
PAGE = 1000
COUNTS = (
    *("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
    *("output_tokens", "reasoning_tokens"),
)


class Answer(NamedTuple):
    """One answer of a session."""

    id: str
    model: str
    usage: Usage
    saved: Decimal | None


async def summary(
    store: AsyncStore, row: SessionRow, own: Own, prices: PriceTable
) -> dict[str, Any]:
    answers = [
        _answer(each.message_id, each.created_at, each.metadata, prices)
        async for each in store.usages(session_id=row.id)
    ]
    changes = _changes(answers)
    losses = await _losses(store, row.id, {change["message_id"] for change in changes})
    return {
        "total": _sums(answers),
        "models": [
            {"model": model, **_sums(part)} for model, part in sorted(_by_model(answers).items())
        ],
        "prompts": _bars(answers),
        "changes": [{**each, "losses": losses.get(each["message_id"])} for each in changes],
        **await _branches(store, row, own),
    }


def _answer(id: str, at: datetime, metadata: MessageMetadata, prices: PriceTable) -> Answer:
    model = metadata.model or metadata.response_model or "unknown"
    usage = metadata.usage or Usage()
    return Answer(id, model, usage, saved_by_caching(usage, model, prices, at))


def saved_by_caching(
    usage: Usage, model: str, prices: PriceTable, at: datetime | None = None
) -> Decimal | None:
    """What the same prompt would have cost more without a cache; less than nothing where writing
    to it was dearer than reading from it saved. None where that cannot be known."""
    prompt = usage.prompt_tokens
    if prompt is None:
        return None
    if not usage.cached_input_tokens and not usage.cache_creation_input_tokens:
        return Decimal(0)
    plain = Usage(input_tokens=prompt, output_tokens=usage.output_tokens)
    try:
        without, real = (cost_of(each, model, prices, at) for each in (plain, usage))
    except (InterlinguaError, ValueError):
        return None
    return total(without.total, -real.total)


def _by_model(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    parts: dict[str, list[Answer]] = {}
    for answer in answers:
        parts.setdefault(answer.model, []).append(answer)
    return parts


def _sums(answers: list[Answer]) -> dict[str, Any]:
    """Counts are sums of what is known; money is exact, as text."""
    costs = [a.usage.cost_usd for a in answers if a.usage.cost_usd is not None]
    saved = [a.saved for a in answers if a.saved is not None]
    counts = {name: sum(getattr(a.usage, name) or 0 for a in answers) for name in COUNTS}
    return {
        "answers": len(answers),
        **counts,
        "cost_usd": str(total(*costs)) if costs else None,
        "unpriced": len(answers) - len(costs),
        "saved_usd": str(total(*saved)) if saved else None,
        "saving_unknown": len(answers) - len(saved),
    }


def _bars(answers: list[Answer]) -> list[dict[str, Any]]:
    """The prompts in their order, several together where there are many."""
    size = max(1, -(-len(answers) // BARS))
    parts = [answers[at : at + size] for at in range(0, len(answers), size)]
    return [
        {
            "message_id": part[0].id,
            "answers": len(part),
            "fresh": sum(a.usage.input_tokens or 0 for a in part),
            "cached": sum(a.usage.cached_input_tokens or 0 for a in part),
            "written": sum(a.usage.cache_creation_input_tokens or 0 for a in part),
        }
        for part in parts
    ]


def _changes(answers: list[Answer]) -> list[dict[str, Any]]:
    pairs = itertools.pairwise(answers)
    found = [
        {"message_id": after.id, "from": before.model, "to": after.model}
        for before, after in pairs
        if before.model != after.model
    ]
    return found[:MOST_CHANGES]


async def _losses(store: AsyncStore, id: str, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """What the requests of these answers could not say. One that lost nothing says so; of one that
    the trace does not know, nothing is known."""
    found: dict[str, dict[str, Any]] = {}
    after = 0
    while wanted - found.keys():
        rows = await store.events(id, after, PAGE, ["llm.call_completed"])
        for row in rows:
            answer = row.payload.get("message_id")
            if answer in wanted:
                found[answer] = row.payload.get("losses") or {"count": 0, "losses": []}
        if len(rows) < PAGE:
            break
        after = rows[-1].seq
    return found


async def _branches(store: AsyncStore, row: SessionRow, own: Own) -> dict[str, Any]:
    """All sessions of a family, parents before their children, and how far this one is a copy."""
    first = row
    for _ in range(MOST_BRANCHES):
        parent = None if first.parent_id is None else await own.row(first.parent_id)
        if parent is None:
            break
        first = parent
    family = [first]
    for each in family:
        if len(family) < MOST_BRANCHES:
            forks = await store.forks_of(each.id, MOST_BRANCHES)
            family += [fork for fork in forks if await own.row(fork.id) is not None]
    return {
        "branches": [_branch(each) for each in family[:MOST_BRANCHES]] if len(family) > 1 else [],
        "copied_until": await _copied_until(store, row, own),
    }


def _branch(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "parent_id": row.parent_id,
        "parent_message_id": row.parent_message_id,
        "message_count": row.message_count,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


async def _copied_until(store: AsyncStore, row: SessionRow, own: Own) -> str | None:
    """The last message of a fork that is a copy of its parent's."""
    parent = None if row.parent_id is None else await own.row(row.parent_id)
    if parent is None or row.parent_message_id is None:
        return None
    place = await place_of(store, parent, row.parent_message_id)
    here = [] if place is None else await store.messages(row.id, place - 1, 1)
    return here[0].id if here else None


async def place_of(store: AsyncStore, row: SessionRow, id: str) -> int | None:
    """The number of a message. Ids of a session increase, so it is found by halving."""
    low, high = 1, row.message_count
    while low <= high:
        middle = (low + high) // 2
        found = await store.messages(row.id, middle - 1, 1)
        here = found[0].id if found else None
        if here == id:
            return middle
        if here is None or here > id:
            high = middle - 1
        else:
            low = middle + 1
    return None
