"""What the answers of sessions cost, by the price table of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from interlingua.costs.cost import Costs
from interlingua.costs.table import own_table, with_own_version
from interlingua.dialects.anthropic.response import hour_cache_tokens
from interlingua.errors import InterlinguaError
from interlingua.transcripts.transcript import Answer


class Prices:
    """What answers cost by the price table of this machine."""

    def __init__(self) -> None:
        self.table = own_table()
        self.prices = with_own_version(self.table).version

    def __call__(self, answers: Iterable[Answer]) -> tuple[Decimal | None, int]:
        """The sum, and how many have no known price. None where nothing is known."""
        costs, noted, count, unpriced = Costs(self.table), Decimal(0), 0, 0
        for answer in answers:
            count += 1
            if answer.usage.cost_usd is not None:
                noted += answer.usage.cost_usd
                continue
            try:
                longer = hour_cache_tokens(answer.usage)
                costs.add(answer.usage, answer.model or "", answer.created_at, longer)
            except (InterlinguaError, ValueError):  # no known model, or no known price
                unpriced += 1
        return (noted + costs.total if count > unpriced else None), unpriced
