"""Sums over the answers of a session."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.transcripts.transcript import ModelChange

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
)


def total(usages: Iterable[Usage | None]) -> Usage:
    """All of them added up; a count that none of them has stays unknown."""
    counts: dict[str, int] = {}
    cost: Decimal | None = None
    for usage in usages:
        if usage is None:
            continue
        for name in _COUNTS:
            count = getattr(usage, name)
            if count is not None:
                counts[name] = counts.get(name, 0) + count
        if usage.cost_usd is not None:
            cost = (cost or Decimal(0)) + usage.cost_usd
    return Usage(cost_usd=cost, **counts)  # type: ignore[arg-type]  # the names are those of ints


def usage_with(
    prompt: int | None, output: int | None, cached: int | None, written: int | None
) -> Usage:
    """Usage of counts of which the prompt's includes what was read from a cache, and written to
    it."""
    fresh = None if prompt is None else max(prompt - (cached or 0) - (written or 0), 0)
    return Usage(fresh, output, cached, written)


def usage_of(messages: Iterable[Message]) -> Usage:
    """What these messages used together."""
    return total(message.metadata.usage for message in messages)


def models_of(messages: Iterable[Message]) -> tuple[str, ...]:
    """The models that answered, in the order in which they came in, without their providers."""
    names = (
        message.metadata.response_model or bare(message.metadata.model) for message in messages
    )
    return tuple(dict.fromkeys(name for name in names if name))


def bare(model: str | None) -> str | None:
    """A model's name without its provider."""
    return None if model is None else model.partition(":")[2] or model


def model_changes(messages: Iterable[Message]) -> tuple[ModelChange, ...]:
    """Where another model than before goes on."""
    changes: list[ModelChange] = []
    for at, message in enumerate(messages):
        model = message.metadata.model
        if model is not None and (not changes or changes[-1].model != model):
            changes.append(ModelChange(at, model))
    return tuple(changes[1:])
