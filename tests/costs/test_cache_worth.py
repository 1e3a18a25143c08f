"""The replay that shows what caching is worth, on a session of our own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.adapt.test_caching import chat
from tests.costs.cache_worth import MODEL, Vendor, direct, relayed, table


def test_caching_that_is_added_is_worth_as_much_as_the_vendors_own(tmp_path: Path) -> None:
    found = [{**chat(turns), "model": MODEL, "max_tokens": 50} for turns in range(1, 9)]
    with Vendor() as vendor:
        added, passed = asyncio.run(relayed(vendor, found, tmp_path))
        own = direct(vendor, found)
    assert (added.turns, passed.turns, own.turns) == (8, 8, 8)
    assert passed.read == passed.written == 0
    assert added.share > 0.8
    assert added.dollars < passed.dollars / 3
    assert abs(added.share - own.share) < 0.02
    assert (added.invalid, passed.invalid, own.invalid) == (0, 0, 0)
    assert len(table([added, passed, own])) == 5
