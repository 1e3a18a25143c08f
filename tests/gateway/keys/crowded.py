"""`python -m tests.gateway.keys.crowded --count 3000`: two processes on one store, 32 requests at a
time in each, and a cap that has room for a part of them; on SQLite, and on PostgreSQL if there is
one.

The law: what is spent and set aside never is more than the cap, what was spent is what the ledger
and those who spent it say, and in the end nothing is set aside."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.gateway.shared.principal import usd
from interlingua.store.base import Store
from interlingua.store.open import open_store
from tests.gateway.forks import Fork
from tests.store.conftest import Server, in_schema, new_schema
from tests.store.places import ask

ROOT = Path(__file__).parents[3]
PROCESSES, TASKS = 2, 32


def addresses(stack: ExitStack) -> Iterator[str]:
    yield str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "caps.db")
    try:
        server = Server()
    except ImportError:
        print("PostgreSQL is not installed here")
        return
    stack.callback(server.close)
    yield in_schema(server.address, new_schema(server.address))


def crowd(address: str, count: int) -> tuple[int, list[str]]:
    """How many of so many requests were admitted, and what is wrong."""
    each = max(count // (PROCESSES * TASKS), 1)
    cap = Decimal(count) / 400
    wrong: list[str] = []
    with open_store(address) as store:
        issued = issue(store, "k", "/w", Terms(daily_cap_usd=cap))
        began = [_spender(address, issued.token, each, seed) for seed in range(PROCESSES)]
        while any(process.poll() is None for process in began):
            if (now := sum(_spent(store, issued.key.id))) > cap:
                wrong.append(f"{now} of {cap} at one moment")
            time.sleep(0.05)
        collected = [
            line.split() for process in began for line in process.communicate()[0].splitlines()
        ]
        costs = [Decimal(line[2]) for line in collected if line[0] == "cost"]
        spent, reserved = _spent(store, issued.key.id)
        ledger = usd(sum(row[0] for row in ask(store, "SELECT cost FROM ledger")))
    if not spent == ledger == sum(costs) or reserved:
        wrong.append(f"spent {spent}, ledger {ledger}, told {sum(costs)}, set aside {reserved}")
    return len(costs), wrong


def _spender(address: str, token: str, each: int, seed: int) -> Fork:
    numbers = [str(TASKS), str(each), str(seed)]
    return Fork(["tests.gateway.keys.spenders", address, token, *numbers], cwd=ROOT)


def _spent(store: Store, key: str) -> tuple[Decimal, Decimal]:
    today = datetime.now(UTC).date().isoformat()
    rows = [row for row in store.spent([key], today) if row.period == today]
    return (usd(rows[0].spent), usd(rows[0].reserved)) if rows else (Decimal(0), Decimal(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    arguments = parser.parse_args()
    failed = False
    with ExitStack() as stack:
        for address in addresses(stack):
            admitted, wrong = crowd(address, arguments.count)
            failed = failed or bool(wrong)
            engine = "PostgreSQL" if "://" in address else "SQLite"
            print(
                f"{engine}: {arguments.count} requests, {admitted} admitted, {wrong or 'all well'}"
            )
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
