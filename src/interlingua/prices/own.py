"""The price table of this machine, and those that costs of a store were made with."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Protocol

from interlingua import config
from interlingua.model.codec import dumps
from interlingua.prices.table import PriceTable, bundled, versions


def own_table() -> PriceTable:
    """The newest table of the package, with the user's own prices over it where there are any."""
    path = config.prices_path()
    return bundled().overlay(PriceTable.load(path)) if path.exists() else bundled()


class PriceStore(Protocol):
    """A store, as far as price tables are concerned."""

    def prices(self, version: str) -> Mapping[str, Any]: ...


def table_of(version: str, store: PriceStore | None = None) -> PriceTable:
    """The table that a cost names: one of the package, else one that the store kept when it was
    used. So a cost can be computed again long after its prices were changed."""
    if version in versions() or store is None:
        return bundled(version)
    return PriceTable.from_dict(store.prices(version))


def is_bundled(table: PriceTable) -> bool:
    """Whether the package has this table, so that nobody has to keep it."""
    if table.version not in versions():
        return False
    own = bundled(table.version)
    return table is own or table.models == own.models


def with_own_version(table: PriceTable) -> PriceTable:
    """The table under a version that no other prices have: for one whose version names others
    already."""
    digest = sha256(dumps(table.to_dict())).hexdigest()[:8]
    return table.under(f"{table.version}.{digest}")
