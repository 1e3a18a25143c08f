"""What the next request of a conversation will read from the cache and cost, before it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from interlingua.costs.caching import CachePrediction, CacheSimulator, Prompt, seconds_of
from interlingua.costs.cost import UnknownCostError, cost_of
from interlingua.costs.elsewhere import estimate_error
from interlingua.costs.prompts import prompt_of
from interlingua.costs.table import PriceTable
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.profiles.names import UnknownModelError

_LOOKED_AT = 4
"""The last answers of a model whose prompts may be in its cache."""
_SHORT = frozenset({None, "in_memory", "5m"})
"""Lifetimes that the shortest stands for; all others become the longest."""
_HEAD = frozenset({Role.SYSTEM, Role.DEVELOPER})


class Ahead(NamedTuple):
    """The prompt of the next request: its tokens, and their cost without an answer; None where no
    price is known. `sure` is False where the vendor promises no hit."""

    cached: int
    written: int
    fresh: int
    cost_usd: Decimal | None
    sure: bool
    reason: str | None = None
    """Why nothing of it is read from the cache, where the rules say so."""
    unknown: tuple[str, ...] = ()
    """What the prediction does not know."""

    @property
    def text(self) -> str:
        """For people: where the tokens come from."""
        whole = self.cached + self.written + self.fresh
        why = "" if self.reason is None else f" ({self.reason})"
        if not self.cached and not self.written:
            return f"{whole:,} tokens, none of them cached{why}"
        likely = "" if self.sure else " if they are still there"
        cache = "it" if self.cached else "the cache"
        parts = [
            f"{self.cached:,} from the cache{likely}" if self.cached else "",
            f"{self.written:,} written to {cache}" if self.written else "",
            f"{self.fresh:,} fresh" if self.fresh else "",
        ]
        return f"{whole:,} tokens, {', '.join(part for part in parts if part)}{why}"


def ahead(
    request: Request,
    model: str,
    at: datetime,
    table: PriceTable | None = None,
    caching: str = "auto",
) -> Ahead:
    """What a request is predicted to use on a model. The answers of this model among its messages
    say which prompts its cache has seen, and how many tokens they had; `caching` is the mode in
    which it is sent."""
    cache, estimator = CacheSimulator(model), Estimator(model)
    fine = cache.rule.finds == "prefix"
    scale, last, seen, measured = 1.0, 0, None, False
    for length, answer in _answers(request.messages, model):
        beginning = request.replace(messages=request.messages[:length])
        earlier = prompt_of(beginning, estimator, fine=fine)
        usage, estimate = answer.metadata.usage, earlier.tokens(earlier.length)
        if usage is not None and usage.prompt_tokens and estimate:
            scale, measured = usage.prompt_tokens / estimate, True
        if answer.created_at is not None:
            seen = answer.created_at
            cache.send(_sent(cache, earlier, beginning, scale, last, caching), seen.timestamp())
            last = earlier.length
    prompt = prompt_of(request, estimator, fine=fine)
    prompt = _sent(cache, prompt, request, scale, last, caching)
    predicted = cache.send(prompt, at.timestamp())
    cost = _cost(predicted, model, table, at)
    reason = None if predicted.cached else _reason(cache, prompt, seen, at)
    unknown = tuple(_unknown(cache, predicted, cost, measured, reason))
    return Ahead(*predicted[:3], cost, predicted.sure, reason, unknown)


def _answers(history: Sequence[Message], model: str) -> Iterator[tuple[int, Message]]:
    """The last answers of this model, and how many messages stand before each."""
    own = [
        (at, message)
        for at, message in enumerate(history)
        if message.role is Role.ASSISTANT and message.metadata.model == model
    ]
    yield from own[-_LOOKED_AT:]


def _sent(
    cache: CacheSimulator, prompt: Prompt, request: Request, scale: float, last: int, caching: str
) -> Prompt:
    """As it is sent: with the marks that the package sets behind tools, instructions and the last
    two prompts, unless the request has its own; without any where caching is off."""
    prompt = prompt._replace(ends=[end * scale for end in prompt.ends])
    if caching == "off":
        return prompt._replace(marks={}, explicit=False)
    if cache.rule.finds != "marks" or caching == "pass" or prompt.marks or prompt.explicit:
        return prompt
    tools = len(request.tools)
    head = sum(len(each.content) for each in request.messages if each.role in _HEAD)
    marks = (tools, tools + head, last, prompt.length)
    life = prompt.lifetime if prompt.lifetime in _SHORT else cache.rule.lifetimes[-1]
    return prompt._replace(marks={at: life for at in marks if at})


def _reason(
    cache: CacheSimulator, prompt: Prompt, seen: datetime | None, at: datetime
) -> str | None:
    """Why nothing is read from the cache."""
    rule = cache.rule
    if rule.finds == "none":
        return None
    if prompt.tokens(prompt.length) < (rule.minimum or 0):
        return f"the model caches from {rule.minimum:,} on"
    if rule.finds == "marks" and not prompt.marks:
        return "the request has no breakpoints"
    if seen is not None and (at - seen).total_seconds() > seconds_of(rule.lifetimes[0]):
        minutes = round((at - seen).total_seconds() / 60)
        return f"the last prompt was sent {minutes:,} minutes ago and stays for {rule.lifetimes[0]}"
    return None


def _unknown(
    cache: CacheSimulator,
    predicted: CachePrediction,
    cost: Decimal | None,
    measured: bool,
    reason: str | None,
) -> Iterator[str]:
    rule, model = cache.rule, cache.model
    if not measured:
        error = f"{estimate_error(model) * 100:.0f} %"
        yield f"how many tokens the prompt has: they are estimated, typically to within {error}"
    if rule.finds == "none":
        yield f"how {model} caches: no rule is known"
    elif predicted.cached and not predicted.sure:
        yield f"whether the entry is still there: {model.partition(':')[0]} promises no hit"
    elif not predicted.cached and reason is None:
        yield "whether earlier requests of other conversations are still in the cache"
    if cost is None:
        yield f"what it costs: the table has no price for {model}"


def _cost(
    predicted: CachePrediction, model: str, table: PriceTable | None, at: datetime
) -> Decimal | None:
    longer = predicted.long_written
    writes = {"1h": longer, "5m": predicted.written - longer} if longer else None
    usage = Usage(predicted.fresh, 0, predicted.cached, predicted.written, cache_writes=writes)
    try:
        return cost_of(usage, model, table, at).total
    except (UnknownModelError, UnknownCostError):
        return None
