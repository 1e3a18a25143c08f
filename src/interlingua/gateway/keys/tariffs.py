"""What a request may cost at most, before it goes out, and what it did cost afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil
from typing import NamedTuple

from interlingua.client.targets import Target
from interlingua.errors import InterlinguaError
from interlingua.gateway.keys.pricing import Pricer
from interlingua.gateway.shared.principal import picodollars
from interlingua.gateway.shared.sizes import window
from interlingua.model.metadata import Usage
from interlingua.models.capabilities import capabilities
from interlingua.prices.table import PriceTable, Rates, bundled

MARGIN = 1.2
"""Estimates of a prompt's tokens are taken to be this much too small."""
FEW_TOKENS = 16
MOST_OUTPUT = 65_536
"""Of an answer for which neither the request nor the model has a limit."""
TOKENS_A_SECOND = 250
"""What a fast model makes; tells what an answer cost of which nobody heard the end."""
BYTES_A_TOKEN = 3
"""Of an answer that does not say what it used; most tokens are longer."""
LOOPS = 2
"""Times the model's own limits that a count of tokens is believed; a provider that goes on by
itself (`UNBOUNDED_LOOPS`) reads its prompt anew for each search and each tool."""
UNBOUNDED_LOOPS = 32
_MODELS = 1000
_A_MILLION = 1_000_000


class Worst(NamedTuple):
    """The worst case of a request: its cost, and the tokens of prompt and answer."""

    cost: int | None
    """In picodollars; None where nobody knows the price."""
    input_tokens: int
    output_tokens: int


NO_COST = Worst(0, 0, 0)
"""Of requests that make nothing, such as counting."""


class _Tariff(NamedTuple):
    """Picodollars for a token of a prompt larger than `above`, and of its answer."""

    above: int
    input: int
    output: int


class Tariffs:
    """Prices of models as whole numbers, looked up once a day."""

    def __init__(self, table: PriceTable | None = None) -> None:
        self.table = table or bundled()
        self._pricer = Pricer(self.table)
        self._day = 0
        self._known: dict[str, tuple[_Tariff, ...] | None] = {}
        self._outputs: dict[str, int] = {}

    def worst(
        self,
        targets: Sequence[Target],
        input_tokens: int,
        most_output: int | None,
        at: datetime,
        times: int = 1,
    ) -> Worst:
        """The worst case among the models that may be asked, with so many answers. Without a limit
        for an answer it is the model's own."""
        prompt = ceil(input_tokens * MARGIN) + FEW_TOKENS
        cost: int | None = 0
        output = 0
        for target in targets:
            answer = self._output(target.model, most_output) * times
            if answer > output:
                output = answer
            tariffs = self._tariffs(target.model, at)
            if tariffs is None:
                cost = None
            elif cost is not None:
                for above, input, out in tariffs:
                    worst = input * prompt + out * answer
                    if prompt > above and worst > cost:
                        cost = worst
        return Worst(cost, prompt, output)

    def cost(self, model: str, usage: Usage, at: datetime) -> Decimal | None:
        """The exact cost in dollars; None where it cannot be known."""
        return self._pricer.cost(usage, model, at)

    def credible(self, model: str, usage: Usage, worst: Worst, loops: int = LOOPS) -> bool:
        """Whether an answer can have used so much. What is beyond a model's limits tells nothing of
        what was used, and would lock its owner out for the rest of a window."""
        prompt = max(window(model), worst.input_tokens)
        answer = max(self._output(model, None), worst.output_tokens)
        claimed = (usage.prompt_tokens or 0, usage.output_tokens or 0)
        return claimed[0] <= prompt * loops and claimed[1] <= answer * loops

    def _output(self, model: str, most: int | None) -> int:
        of_model = self._outputs.get(model)
        if of_model is None:
            if len(self._outputs) >= _MODELS:
                self._outputs.clear()
            of_model = self._outputs[model] = _limit_of(model)
        if most is None:
            return MOST_OUTPUT if of_model == _NO_LIMIT else of_model
        return most if most < of_model else of_model

    def _tariffs(self, model: str, at: datetime) -> tuple[_Tariff, ...] | None:
        if at.tzinfo is not UTC:
            at = at.astimezone(UTC)
        ordinal = at.toordinal()
        if ordinal != self._day or len(self._known) >= _MODELS:
            self._day = ordinal
            self._known.clear()
        if model in self._known:
            return self._known[model]
        found: tuple[_Tariff, ...] | None = None
        day = at.date()
        if model in self.table and (period := self.table[model].period(day)) is not None:
            rates: list[tuple[int, Rates]] = [(-1, period)]
            rates += [(-1, each) for each in period.hours]
            rates += [(tier.above_prompt_tokens, tier) for tier in period.tiers]
            found = tuple([_tariff(above, each) for above, each in rates])
        self._known[model] = found
        return found


def _limit_of(model: str) -> int:
    try:
        limit = capabilities(model).max_output_tokens
    except InterlinguaError:
        return _NO_LIMIT
    return _NO_LIMIT if limit is None else limit


_NO_LIMIT = 2**62


def _tariff(above: int, rates: Rates) -> _Tariff:
    """The dearest kind of prompt token: some cost more because they are written to a cache."""
    kinds = (rates.input, rates.cached_read, rates.cache_write, rates.cache_write_1h)
    dearest = max([rate for rate in kinds if rate is not None])
    return _Tariff(above, _of_token(dearest), _of_token(rates.output))


def _of_token(rate: Decimal) -> int:
    return picodollars(rate / _A_MILLION)
