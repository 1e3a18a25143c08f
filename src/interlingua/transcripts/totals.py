"""Sums over the answers of a session."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.transcripts.transcript import ModelChange


def total(usages: Iterable[Usage | None]) -> Usage:
    """All of them added up; a count that none of them has stays unknown."""
    counted = [usage for usage in usages if usage is not None]
    costs = [usage.cost_usd for usage in counted if usage.cost_usd is not None]
    return Usage(
        _sum([usage.input_tokens for usage in counted]),
        _sum([usage.output_tokens for usage in counted]),
        _sum([usage.cached_input_tokens for usage in counted]),
        _sum([usage.cache_creation_input_tokens for usage in counted]),
        _sum([usage.reasoning_tokens for usage in counted]),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


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
