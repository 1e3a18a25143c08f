"""A session's price table is kept in its store, so that every cost can be computed again."""

from __future__ import annotations

from interlingua.prices.own import is_bundled, with_own_version
from interlingua.prices.table import PriceTable
from interlingua.sessions.effects import Effects, ask
from interlingua.store.errors import NotFoundError


def kept_prices(table: PriceTable | None) -> Effects[PriceTable | None]:
    """The table as costs will name it. The package has its own tables; any other is kept under its
    version, or a version of its own where that names other prices already."""
    if table is None or is_bundled(table):
        return table
    for each in (table, with_own_version(table)):
        if (yield from _is_there(each)):
            return each
    return with_own_version(table)


def _is_there(table: PriceTable) -> Effects[bool]:
    """Whether these prices are what their version stands for, now if not before."""
    document = table.to_dict()
    try:
        there = yield from ask(lambda store: store.prices(table.version))
    except NotFoundError:
        yield from ask(lambda store: store.save_prices(table.version, document))
        return True
    return bool(there == document)
