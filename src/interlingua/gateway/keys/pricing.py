"""What an exchange cost, quickly: rates are looked up once a minute, and whole numbers are added.
The result is exactly that of `interlingua.prices`, which is asked where prices are not that simple.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.model.metadata import Usage
from interlingua.prices.cost import EXACT, cost_of
from interlingua.prices.table import PriceTable, Rates, bundled

_MODELS = 1000
_PLACES = 24
"""Of a dollar: a rate has eighteen places, and is for a million tokens."""


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
        self.table = table or bundled()
        self._known: dict[str, _Known | None] = {}

    @property
    def version(self) -> str:
        return self.table.version

    def cost(self, usage: Usage, model: str, at: datetime) -> Decimal | None:
        """In US dollars; None where it cannot be known."""
        known = self._known.get(model)
        if known is None or not known.since <= at < known.until:
            known = self._look_up(model, at.astimezone(UTC))
        fresh, output = usage.input_tokens, usage.output_tokens
        if known is None or fresh is None or output is None:
            try:
                return cost_of(usage, model, self.table, at).total
            except (InterlinguaError, ValueError):
                return None
        total = fresh * known.input + output * known.output
        total += (usage.cached_input_tokens or 0) * known.cached
        total += (usage.cache_creation_input_tokens or 0) * known.written
        return EXACT.scaleb(Decimal(total), -_PLACES).normalize(EXACT)

    def _look_up(self, model: str, at: datetime) -> _Known | None:
        try:
            period = self.table[model].period(at.date())
        except InterlinguaError:
            return None
        if period is None or period.tiers:
            return None
        now = at.time()
        rates: Rates = next((hours for hours in period.hours if hours.holds(now)), period)
        cached = rates.input if rates.cached_read is None else rates.cached_read
        written = rates.input if rates.cache_write is None else rates.cache_write
        figures = [_of_token(rate) for rate in (rates.input, cached, written, rates.output)]
        minute = at.replace(second=0, microsecond=0)
        known = _Known(minute, minute + timedelta(minutes=1), *figures)
        # Within a minute the hour does not change: prices begin and end at whole minutes.
        if len(self._known) >= _MODELS:
            self._known.clear()
        self._known[model] = known
        return known


def _of_token(rate: Decimal) -> int:
    return int(EXACT.scaleb(rate, _PLACES - 6))
