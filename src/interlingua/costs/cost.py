"""From tokens to money: exact, by category, never guessed.

A count that nobody reported is unknown, not zero. Without the fresh input or the output there is
no cost, unless that kind is free. The two cache counts are different: providers leave them out
when nothing was cached, and then all of the prompt is in the fresh count, so there None adds
nothing.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import NamedTuple

from interlingua.costs.table import Period, PriceTable, Rates, bundled
from interlingua.errors import InterlinguaError
from interlingua.model.metadata import CostBreakdown, Usage

# Independent of the program's own decimal context; rounding would be an error, and cannot happen
# with prices of eighteen places and counts below 10 ** 18.
EXACT = Context(prec=80, traps=[Inexact, InvalidOperation, Overflow])
_MOST_TOKENS = 10**18


class UnknownCostError(InterlinguaError):
    """A model with a price, and tokens whose cost still cannot be computed."""

    def __init__(self, model: str, problem: str) -> None:
        self.model = model
        self.problem = problem
        super().__init__(f"cost of {model}: {problem}")


class Cost(NamedTuple):
    """What some tokens cost, in US dollars, and by which entry of which table."""

    model: str
    pricing_version: str
    breakdown: CostBreakdown
    total: Decimal

    @property
    def input(self) -> Decimal:
        return self.breakdown.input

    @property
    def output(self) -> Decimal:
        return self.breakdown.output

    @property
    def cached_input(self) -> Decimal:
        return self.breakdown.cached_input

    @property
    def cache_creation(self) -> Decimal:
        return self.breakdown.cache_creation


def price(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> CostBreakdown:
    """The cost of a usage by category.

    `at` is when the call was made: prices change, and some depend on the hour; without it the
    prices at the table's version are used. `cache_write_1h_tokens` of the tokens written to the
    cache were written to the one-hour cache.
    """
    return cost_of(usage, model, table, at, cache_write_1h_tokens).breakdown


def priced(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> Usage:
    """The usage with its cost and the version of the table. Where counts are missing, the usage
    without a cost: unknown, which is not zero."""
    try:
        cost = cost_of(usage, model, table, at, cache_write_1h_tokens)
    except UnknownCostError:
        return usage.replace(cost_usd=None, cost_breakdown=None, pricing_version=None)
    return usage.replace(
        cost_usd=cost.total, cost_breakdown=cost.breakdown, pricing_version=cost.pricing_version
    )


def cost_of(
    usage: Usage,
    model: str,
    table: PriceTable | None = None,
    at: datetime | date | None = None,
    cache_write_1h_tokens: int = 0,
) -> Cost:
    """The cost with the entry and the version it was computed by."""
    table = bundled() if table is None else table
    id = table.find(model)
    rates = _rates(id, table, usage, at)
    fresh = _known(usage.input_tokens, "input_tokens", rates.input, id)
    output = _known(usage.output_tokens, "output_tokens", rates.output, id)
    cached = _count(usage.cached_input_tokens or 0, "cached_input_tokens")
    written = _count(usage.cache_creation_input_tokens or 0, "cache_creation_input_tokens")
    longer = _count(cache_write_1h_tokens, "cache_write_1h_tokens")
    if longer > written:
        raise ValueError(f"{longer} tokens in the one-hour cache, but only {written} written")
    read_rate = rates.input if rates.cached_read is None else rates.cached_read
    write_rate = rates.input if rates.cache_write is None else rates.cache_write
    longer_rate = write_rate if rates.cache_write_1h is None else rates.cache_write_1h
    parts = (
        _dollars(fresh, rates.input),
        _dollars(cached, read_rate),
        total(_dollars(written - longer, write_rate), _dollars(longer, longer_rate)),
        _dollars(output, rates.output),
    )
    return Cost(id, table.version, CostBreakdown(*parts), total(*parts))


class Costs:
    """The exact cost of many usages. Those with the same rates are counted together, and their
    tokens priced once, which gives the same sum."""

    def __init__(self, table: PriceTable) -> None:
        self.table = table
        self._counts: dict[int, list[int]] = {}
        self._rates: dict[int, Rates] = {}

    def add(
        self, usage: Usage, model: str, at: datetime | date | None = None, longer: int = 0
    ) -> None:
        """Raises what `cost_of` raises, and then counts nothing."""
        name = self.table.find(model)
        rates = _rates(name, self.table, usage, at)
        fresh = _known(usage.input_tokens, "input_tokens", rates.input, name)
        output = _known(usage.output_tokens, "output_tokens", rates.output, name)
        cached = _count(usage.cached_input_tokens or 0, "cached_input_tokens")
        written = _count(usage.cache_creation_input_tokens or 0, "cache_creation_input_tokens")
        self._rates[id(rates)] = rates
        counts = self._counts.setdefault(id(rates), [0, 0, 0, 0, 0])
        for kind, count in enumerate((fresh, cached, written - longer, longer, output)):
            counts[kind] += count

    @property
    def total(self) -> Decimal:
        return total(*(self._cost(key, counts) for key, counts in self._counts.items()))

    def _cost(self, key: int, counts: list[int]) -> Decimal:
        rates = self._rates[key]
        read = rates.input if rates.cached_read is None else rates.cached_read
        write = rates.input if rates.cache_write is None else rates.cache_write
        longer = write if rates.cache_write_1h is None else rates.cache_write_1h
        prices = (rates.input, read, write, longer, rates.output)
        return total(*(_dollars(n, rate) for n, rate in zip(counts, prices, strict=True)))


def total(*amounts: Decimal) -> Decimal:
    """The exact sum, whatever the program's decimal context."""
    sum = Decimal(0)
    for amount in amounts:
        sum = EXACT.add(sum, amount)
    return _plain(sum)


def _rates(id: str, table: PriceTable, usage: Usage, at: datetime | date | None) -> Rates:
    entry = table.entries[id]
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError("the time of a call needs a time zone")
        at = at.astimezone(UTC)
    period = entry.period(at.date() if isinstance(at, datetime) else at)
    if period is None:
        raise UnknownCostError(id, f"price table {table.version} has no price for {at}")
    if period.hours:
        if not isinstance(at, datetime):
            raise UnknownCostError(
                id, "the price depends on the time of day, and no time was given"
            )
        return next((hours for hours in period.hours if hours.holds(at.time())), period)
    return _tier(period, usage)


def _tier(period: Period, usage: Usage) -> Rates:
    prompt = usage.prompt_tokens or 0
    reached = [tier for tier in period.tiers if prompt > tier.above_prompt_tokens]
    return max(reached, key=lambda tier: tier.above_prompt_tokens, default=period)


def _known(count: int | None, name: str, rate: Decimal, id: str) -> int:
    if count is not None:
        return _count(count, name)
    if rate == 0:
        return 0
    raise UnknownCostError(id, f"{name} is unknown")


def _count(count: int, name: str) -> int:
    if not 0 <= count < _MOST_TOKENS:
        raise ValueError(f"{name} is not a valid token count: {count}")
    return count


def _dollars(count: int, rate: Decimal) -> Decimal:
    if not count:
        return _ZERO
    return _plain(EXACT.scaleb(EXACT.multiply(Decimal(count), rate), -6))


_ZERO = Decimal(0)


def _plain(amount: Decimal) -> Decimal:
    """One spelling for equal amounts: no zeros at the end, no exponent above zero."""
    short = EXACT.normalize(amount)
    exponent = short.as_tuple().exponent
    if isinstance(exponent, int) and exponent > 0:
        return EXACT.quantize(short, Decimal(1))
    return short
