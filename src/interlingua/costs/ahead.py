"""What the next request of a conversation will read from the cache and cost, before it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from interlingua.costs.caching import CachePrediction, CacheSimulator, Prompt
from interlingua.costs.cost import UnknownCostError, cost_of
from interlingua.costs.prompts import prompt_of
from interlingua.costs.table import PriceTable
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.profiles.names import UnknownModelError

_LOOKED_AT = 4
"""The last answers of a model whose prompts may be in its cache."""


class Ahead(NamedTuple):
    """The prompt of the next request: its tokens, and their cost without an answer; None where no
    price is known. `sure` is False where the vendor promises no hit."""

    cached: int
    written: int
    fresh: int
    cost_usd: Decimal | None
    sure: bool

    @property
    def text(self) -> str:
        """For people: where the tokens come from."""
        if not self.cached and not self.written:
            return f"{self.fresh:,} tokens, none of them cached"
        likely = "" if self.sure else " if they are still there"
        parts = [
            f"{self.cached:,} from the cache{likely}" if self.cached else "",
            f"{self.written:,} written to it" if self.written else "",
            f"{self.fresh:,} fresh" if self.fresh else "",
        ]
        whole = self.cached + self.written + self.fresh
        return f"{whole:,} tokens, {', '.join(part for part in parts if part)}"


def ahead(request: Request, model: str, at: datetime, table: PriceTable | None = None) -> Ahead:
    """What a request is predicted to use on a model. The answers of this model among its messages
    say which prompts its cache has seen, and how many tokens they had."""
    cache, estimator = CacheSimulator(model), Estimator(model)
    fine = cache.rule.finds == "prefix"
    scale = 1.0
    for length, answer in _answers(request.messages, model):
        beginning = request.replace(messages=request.messages[:length])
        earlier = prompt_of(beginning, estimator, fine=fine)
        usage, estimate = answer.metadata.usage, earlier.tokens(earlier.length)
        if usage is not None and usage.prompt_tokens and estimate:
            scale = usage.prompt_tokens / estimate
        if answer.created_at is not None:
            cache.send(_sent(earlier, scale), answer.created_at.timestamp())
    predicted = cache.send(_sent(prompt_of(request, estimator, fine=fine), scale), at.timestamp())
    cost = _cost(predicted, model, table, at)
    return Ahead(predicted.cached, predicted.written, predicted.fresh, cost, predicted.sure)


def _answers(history: Sequence[Message], model: str) -> Iterator[tuple[int, Message]]:
    """The last answers of this model, and how many messages stand before each."""
    own = [
        (at, message)
        for at, message in enumerate(history)
        if message.role is Role.ASSISTANT and message.metadata.model == model
    ]
    yield from own[-_LOOKED_AT:]


def _sent(prompt: Prompt, scale: float) -> Prompt:
    """With a mark at its end, as the package sets one, unless the request has its own."""
    ends = [end * scale for end in prompt.ends]
    return prompt._replace(ends=ends, marks=prompt.marks or {prompt.length: None})


def _cost(
    predicted: CachePrediction, model: str, table: PriceTable | None, at: datetime
) -> Decimal | None:
    usage = Usage(predicted.fresh, 0, predicted.cached, predicted.written)
    try:
        return cost_of(usage, model, table, at).total
    except (UnknownModelError, UnknownCostError):
        return None
