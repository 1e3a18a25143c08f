"""What an answer cost, by the prices of this machine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from interlingua.model.metadata import Usage

if TYPE_CHECKING:
    from interlingua.costs.table import PriceTable


def with_cost(usage: Usage | None, model: str) -> Usage | None:
    """The usage with its cost, unless the provider gave one or it cannot be known."""
    if usage is None or usage.cost_usd is not None or not usage.is_known:
        return usage
    from interlingua.costs.cost import priced
    from interlingua.dialects.anthropic.response import hour_cache_tokens
    from interlingua.profiles.names import UnknownModelError

    try:
        return priced(usage, model, _prices(), None, hour_cache_tokens(usage))
    except (UnknownModelError, ValueError):
        return usage


@cache
def _prices() -> PriceTable:
    from interlingua.costs.table import own_table

    return own_table()
