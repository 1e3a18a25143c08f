"""What models cost: tables under a version, exact sums, history by another table."""

from interlingua.models.names import UnknownModelError
from interlingua.prices.cost import Cost, UnknownCostError, cost_of, price, priced
from interlingua.prices.history import Repriced, SpendGroup, cost_by, reprice
from interlingua.prices.table import ModelPrice, PriceTable, bundled, versions

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
