"""What there is to say about a whole session beside its messages: tokens and money by model, what
caching saved, and where the model changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from interlingua.costs.cost import cost_of, total
from interlingua.costs.table import PriceTable
from interlingua.errors import InterlinguaError
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage

BARS = 120
"""Parts of the picture of a session's prompts; more answers share one."""
MOST_CHANGES = 200
COUNTS = (
    *("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
    *("output_tokens", "reasoning_tokens"),
)


class AnswerUsage(NamedTuple):
    """One answer of a session."""

    id: str
    model: str
    usage: Usage
    saved: Decimal | None


def totals_of(answers: list[AnswerUsage]) -> dict[str, Any]:
    """Counts, money and changes of model; losses and branches are for those who have a store."""
    return {
        "total": _sums(answers),
        "models": [
            {"model": model, **_sums(part)} for model, part in sorted(_by_model(answers).items())
        ],
        "prompts": _bars(answers),
        "changes": [{**change, "losses": None} for change in _changes(answers)],
        "branches": [],
        "copied_until": None,
    }


def answers_of(messages: Iterable[Message], prices: PriceTable) -> list[AnswerUsage]:
    """The messages that have a usage."""
    return [
        answer(message.id or "", message.created_at, message.metadata, prices)
        for message in messages
        if message.metadata.usage is not None
    ]


def answer(
    id: str, at: datetime | None, metadata: MessageMetadata, prices: PriceTable
) -> AnswerUsage:
    model = metadata.model or metadata.response_model or "unknown"
    usage = metadata.usage or Usage()
    return AnswerUsage(id, model, usage, saved_by_caching(usage, model, prices, at))


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


def _by_model(answers: Iterable[AnswerUsage]) -> dict[str, list[AnswerUsage]]:
    parts: dict[str, list[AnswerUsage]] = {}
    for answer in answers:
        parts.setdefault(answer.model, []).append(answer)
    return parts


def _sums(answers: list[AnswerUsage]) -> dict[str, Any]:
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


def _bars(answers: list[AnswerUsage]) -> list[dict[str, Any]]:
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


def _changes(answers: list[AnswerUsage]) -> list[dict[str, Any]]:
    pairs = pairwise(answers)
    found = [
        {"message_id": after.id, "from": before.model, "to": after.model}
        for before, after in pairs
        if before.model != after.model
    ]
    return found[:MOST_CHANGES]


def losses_of(
    message_ids: Iterable[str], payloads: Iterable[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Losses of these answers by message id, from trace events; untraced answers are left out."""
    named = frozenset(message_ids)
    return {
        payload["message_id"]: payload.get("losses") or {"count": 0, "losses": []}
        for payload in payloads
        if payload.get("message_id") in named
    }
