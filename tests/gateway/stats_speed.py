"""How long `GET /stats` takes with many requests in a SQLite store.

python -m tests.gateway.stats_speed --count 1000000
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import interlingua as il
from interlingua.model.ids import Ulids
from interlingua.model.metadata import Usage
from interlingua.store.requests import RequestRow
from tests.gateway.serving import served

MODELS = [f"provider{n % 4}:model-{n}" for n in range(20)]
AT_ONCE = 5000
SEED = 7


def rows(count: int, days: int = 30, keys: int = 50) -> Iterator[RequestRow]:
    """Requests of the last days: 20 models, 10 routes, so many keys, 10 teams; some fail."""
    dice, ids, now = random.Random(SEED), Ulids(), datetime.now(UTC)
    for n in range(count):
        key = dice.randrange(keys)
        failed = dice.random() < 0.02
        took = int(dice.lognormvariate(7, 1))
        read, fresh, out = dice.randrange(4000), dice.randrange(2000), dice.randrange(800)
        yield RequestRow(
            f"req_{ids.new()}",
            now - timedelta(days=days) * (1 - n / count),
            "anthropic",
            500 if failed else 200,
            took,
            tenant=f"usr_{key % 25}",
            key_id=f"key_{key}",
            team_id=f"team_{key % 10}",
            asked=f"route-{dice.randrange(10)}",
            model=dice.choice(MODELS),
            error="server_error" if failed else None,
            attempts=1 + (dice.random() < 0.05),
            first_byte_ms=took // 3,
            usage=Usage(fresh, out, read, cost_usd=Decimal(fresh + 4 * out) / 10**6),
            losses=int(dice.random() < 0.1),
        )


def fill(path: Path, count: int) -> float:
    """Seconds that writing them took."""
    made, began = rows(count), time.monotonic()
    with il.open_store(str(path)) as store:
        while some := [row for _, row in zip(range(AT_ONCE), made, strict=False)]:
            store.append_requests(some)
    return time.monotonic() - began


async def timed(home: Path, days: int, times: int = 5) -> float:
    """The median of some answers, in milliseconds, over HTTP."""
    async with served(home) as gateway:
        took = []
        for _ in range(times):
            began = time.monotonic()
            status, found, _ = await gateway.ask("GET", f"/stats?days={days}")
            took.append(time.monotonic() - began)
            assert status == 200
            assert found["month"]["requests"] > 0
        return sorted(took)[times // 2] * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        print(f"{count:,} requests written in {fill(home / 'gateway.db', count):.0f} s")
        for days in (1, 7, 30):
            print(f"GET /stats?days={days}: {asyncio.run(timed(home, days)):.0f} ms")


if __name__ == "__main__":
    main()
