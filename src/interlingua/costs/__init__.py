"""Costs of tokens: versioned price tables, exact sums, repricing of history."""

from interlingua.costs.cost import Cost, UnknownCostError, cost_of, price, priced
from interlingua.costs.history import Repriced, SpendGroup, cost_by, reprice
from interlingua.costs.table import ModelPrice, PriceTable, bundled, versions
from interlingua.profiles.names import UnknownModelError

__all__ = [
    "Cost",
    "ModelPrice",
    "PriceTable",
    "Repriced",
    "SpendGroup",
    "UnknownCostError",
    "UnknownModelError",
    "bundled",
    "cost_by",
    "cost_of",
    "price",
    "priced",
    "reprice",
    "versions",
]
