"""Costs of a request: the maximum before it is sent, and the real cost afterwards; and headers with
the rest of its key's minute, in the form of the client's SDK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import NamedTuple

import msgspec

from interlingua.client.targets import Target
from interlingua.costs.cost import EXACT, cost_of, is_usual
from interlingua.costs.table import PriceTable, Rates, bundled
from interlingua.errors import InterlinguaError
from interlingua.gateway.shared.principal import KeyPrincipal, picodollars
from interlingua.gateway.shared.sizes import window
from interlingua.model.metadata import Usage
from interlingua.profiles.capabilities import capabilities
from interlingua.store.cap_rules import Counted

_DIGITS = 24
"""Picodollars: a rate has eighteen places, and is for a million tokens."""


class _Known(NamedTuple):
    """Rates of one model in one minute, in 10⁻²⁴ dollars a token."""

    since: datetime
    until: datetime
    input: int
    cached: int
    written: int
    output: int


class Pricer:
    """Costs by one table."""

    def __init__(self, table: PriceTable | None = None) -> None:
        self.use(table)

    def use(self, table: PriceTable | None) -> None:
        """Price by this table from now on; None: by the package's."""
        self.table = table or bundled()
        self._known: dict[str, _Known | None] = {}

    @property
    def version(self) -> str:
        return self.table.version

    def cost(
        self, usage: Usage, model: str, at: datetime, answered_by: str | None = None
    ) -> Decimal | None:
        """In US dollars; None if it is unknown. A model without a price, such as a router, costs as
        much as the model that answered."""
        if usage.plausible() is not usage:
            return None
        known = self._known.get(model)
        if known is None or not known.since <= at < known.until:
            known = self._look_up(model, at.astimezone(UTC))
            if known is None and (by := self.table.priced_as(model, answered_by)) != model:
                return self.cost(usage, by, at)
        fresh, output = usage.input_tokens, usage.output_tokens
        counts_alone = usage.is_plain and (usage.raw is None or is_usual(usage, model))
        if known is None or fresh is None or output is None or not counts_alone:
            try:
                return cost_of(usage, model, self.table, at).total
            except (InterlinguaError, ValueError):
                return None
        total = fresh * known.input + output * known.output
        total += (usage.cached_input_tokens or 0) * known.cached
        total += (usage.cache_creation_input_tokens or 0) * known.written
        return EXACT.scaleb(Decimal(total), -_DIGITS).normalize(EXACT)

    def _look_up(self, model: str, at: datetime) -> _Known | None:
        try:
            period = self.table[model].period(at.date())
        except InterlinguaError:
            return None
        if period is None or period.tiers or not is_usual(_NOTHING, model):
            return None
        now = at.time()
        rates: Rates = next((hours for hours in period.hours if hours.holds(now)), period)
        cached = rates.input if rates.cached_read is None else rates.cached_read
        written = rates.input if rates.cache_write is None else rates.cache_write
        all_rates = (rates.input, cached, written, rates.output)
        figures = [int(EXACT.scaleb(rate, _DIGITS - 6)) for rate in all_rates]
        minute = at.replace(second=0, microsecond=0)
        known = _Known(minute, minute + timedelta(minutes=1), *figures)
        # Within a minute the hour does not change: prices begin and end at whole minutes.
        if len(self._known) >= _MODELS:
            self._known.clear()
        self._known[model] = known
        return known


MARGIN = 1.2
"""Estimates of a prompt's tokens are taken to be this much too small."""
FEW_TOKENS = 16
MOST_OUTPUT = 65_536
"""Tokens of an answer without a limit by request or model."""
TOKENS_A_SECOND = 250
"""Assumed output speed, to estimate the cost of an answer whose end was not received."""
BYTES_A_TOKEN = 3
"""Bytes for each token of an answer without usage; most tokens are longer."""
LOOPS = 2
"""Token counts are plausible up to this multiple of the model's limits; a provider that continues
on its own (`UNBOUNDED_LOOPS`) reads its prompt again for each search and each tool."""
UNBOUNDED_LOOPS = 32
_NOTHING = Usage()
_MODELS = 1000
_A_MILLION = 1_000_000


class Worst(msgspec.Struct, frozen=True):
    """The worst case of a request: its cost, and the tokens of prompt and answer."""

    cost: int
    """In picodollars, of the models that have a price."""
    input_tokens: int
    output_tokens: int
    unpriced: tuple[str, ...] = ()
    """The models without a known price."""


NO_COST = Worst(0, 0, 0)
"""The cost of requests that generate nothing, such as counting."""


class _Tariff(NamedTuple):
    """Picodollars for a token of a prompt larger than `above`, and of its answer."""

    above: int
    input: int
    output: int


class Tariffs:
    """Prices of models as whole numbers, looked up once a day."""

    def __init__(self, table: PriceTable | None = None) -> None:
        self._pricer = Pricer()
        self._outputs: dict[str, int] = {}
        self.use(table)

    def use(self, table: PriceTable | None) -> None:
        """Price by this table from now on; None: by the package's."""
        self._pricer.use(table)
        self.table = self._pricer.table
        self._day = 0
        self._known: dict[str, tuple[_Tariff, ...] | None] = {}

    def worst(
        self,
        targets: Sequence[Target],
        input_tokens: int,
        most_output: int | None,
        at: datetime,
        times: int = 1,
    ) -> Worst:
        """The highest cost among the possible models, for so many answers. Without an output limit,
        the model's own is used."""
        prompt = ceil(input_tokens * MARGIN) + FEW_TOKENS
        cost = output = 0
        unpriced: tuple[str, ...] = ()
        for target in targets:
            answer = self._output(target.model, most_output) * times
            if answer > output:
                output = answer
            tariffs = self._tariffs(target.model, at)
            if tariffs is None:
                if target.model not in unpriced:
                    unpriced += (target.model,)
                continue
            for above, input, out in tariffs:
                worst = input * prompt + out * answer
                if prompt > above and worst > cost:
                    cost = worst
        return Worst(cost, prompt, output, unpriced)

    def affordable(
        self, targets: Sequence[Target], prompt: int, left: int, at: datetime, times: int = 1
    ) -> int:
        """Output tokens of each answer that so many picodollars pay for at any of the targets,
        with a prompt of so many tokens."""
        fitting = [
            (left - input * prompt) // (output * times)
            for target in targets
            for above, input, output in self._tariffs(target.model, at) or ()
            if prompt > above and output
        ]
        return max(0, min(fitting, default=0))

    def cost(
        self, model: str, usage: Usage, at: datetime, answered_by: str | None = None
    ) -> Decimal | None:
        """The exact cost in dollars; None where it cannot be known."""
        return self._pricer.cost(usage, model, at, answered_by)

    def credible(self, model: str, usage: Usage, worst: Worst, loops: int = LOOPS) -> bool:
        """Whether the reported usage is possible. A count beyond the model's limits is not
        believed: it would lock its owner out for the rest of a window."""
        prompt, answer = usage.prompt_tokens or 0, usage.output_tokens or 0
        if prompt > worst.input_tokens * loops and prompt > window(model) * loops:
            return False
        return answer <= worst.output_tokens * loops or answer <= self._output(model, None) * loops

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


_TIMES = ("anthropic",)
"""Dialects whose SDK reads when a limit is renewed; the others read the seconds until then."""


def rate_headers(
    dialect: str, who: KeyPrincipal, counted: Counted, now: datetime
) -> Iterator[tuple[str, str]]:
    """OpenAI's names and seconds, or Anthropic's names and times."""
    limits = (
        ("requests", who.requests_per_minute, counted.requests),
        ("tokens", who.tokens_per_minute, counted.tokens),
    )
    for what, limit, used in limits:
        if limit is None:
            continue
        left = str(max(0, limit - used))
        if dialect in _TIMES:
            reset = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
            name = f"anthropic-ratelimit-{what}"
            yield f"{name}-limit", str(limit)
            yield f"{name}-remaining", left
            yield f"{name}-reset", f"{reset:%Y-%m-%dT%H:%M:%SZ}"
        else:
            yield f"x-ratelimit-limit-{what}", str(limit)
            yield f"x-ratelimit-remaining-{what}", left
            yield f"x-ratelimit-reset-{what}", f"{60 - now.second}s"
