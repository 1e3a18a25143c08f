"""`python -m tests.store.piles --rows 1000000`: a store with that many requests and events, and how
long each query behind the page and the command line takes: at most 200 ms. `--postgres` for the
other engine."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from interlingua.events.event import NO_SESSION
from interlingua.model.ids import first_ulid
from interlingua.model.message import micros
from interlingua.model.metadata import Usage
from interlingua.store.base import Store
from interlingua.store.open import open_store
from interlingua.store.requests import RequestFilter, RequestRow, with_status
from interlingua.store.rows import EventRow
from interlingua.store.sessions import Sizes
from tests.store.conftest import Server, in_schema, new_schema

MOST_MS = 200.0
MODELS = ("openai:gpt-5", "anthropic:claude-sonnet-4-6", "gemini:gemini-2.5-pro", "openai:gpt-4.1")
NOW = datetime.now(UTC)
DAYS = 80
BY = ("model", "day", "user", "team", "key")
ALWAYS = ("model", "billed", "reported")
"""Kinds of costs that `interlingua cost` always reads."""
AT_ONCE = 10_000


COST, RAW = Decimal("0.0001375"), {"openrouter": {"cost": 0.00014}}


def fill(store: Store, rows: int) -> None:
    step = timedelta(days=DAYS) / rows
    for begin in range(0, rows, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, rows))
        store.append_requests([_request(number, rows, step) for number in numbers])
        store.append_events([_event(number, rows, step) for number in numbers])


def _at(number: int, rows: int, step: timedelta) -> datetime:
    return NOW - (rows - number) * step


def _id(number: int, at: datetime) -> str:
    return first_ulid(int(at.timestamp() * 1000))[:16] + f"{number:010}"


def _request(number: int, rows: int, step: timedelta) -> RequestRow:
    at, failed = _at(number, rows, step), number % 50 == 0
    return RequestRow(
        f"req_{_id(number, at)}",
        at,
        "openai-chat",
        503 if failed else 200,
        20,
        tenant=f"t{number % 20}",
        key_id=f"gk_{number % 40}",
        asked="fast" if number % 3 else "rare" if number % 9999 == 0 else "smart",
        model=MODELS[number % 4],
        dialect="openai-chat",
        error="server_error" if failed else None,
        attempts=1,
        user_id=f"usr_{number % 30}",
        team_id=f"team_{number % 6}",
        usage=None if failed else Usage(900 + number % 7, 90, cost_usd=COST, raw=RAW),
    )


def _event(number: int, rows: int, step: timedelta) -> EventRow:
    at = _at(number, rows, step)
    id = _id(number, at)
    session = f"req_{id}" if number % 10 == 0 else NO_SESSION
    payload = {"request_id": f"req_{id}", "losses": {"count": 0, "losses": []}}
    return EventRow(id, session, "llm.call_completed", at, "agent", "pseudonymous", payload)


def queries(store: Store) -> dict[str, Callable[[], Any]]:
    every, page = RequestFilter(), store.requests(limit=51)
    last = page[-1]
    month = NOW - timedelta(days=30)
    (middle,) = store.requests(RequestFilter(until=month), 1)
    return {
        "the newest requests": lambda: store.requests(every, 51),
        "the next page": lambda: store.requests(every, 51, last),
        "of a tenant": lambda: store.requests(RequestFilter(tenant="t3"), 51),
        "of a key": lambda: store.requests(RequestFilter(key_id="gk_3"), 51),
        "of a tenant and a model": lambda: store.requests(
            RequestFilter(tenant="t3", model="openai:gpt-5"), 51
        ),
        "of a model": lambda: store.requests(RequestFilter(model="gpt-5"), 51),
        "of a name that is rare": lambda: store.requests(RequestFilter(model="rare"), 51),
        "of a name that nobody asked for": lambda: store.requests(RequestFilter(model="none"), 51),
        "of a tenant and a name that is rare": lambda: store.requests(
            RequestFilter(tenant="t3", model="rare"), 51
        ),
        "failed": lambda: store.requests(RequestFilter(failed=True), 51),
        "failed of a tenant": lambda: store.requests(RequestFilter(tenant="t3", failed=True), 51),
        "a status that no request has": lambda: store.requests(with_status(every, "418"), 51),
        "4xx": lambda: store.requests(with_status(every, "4xx"), 51),
        "2xx of a key": lambda: store.requests(
            with_status(RequestFilter(key_id="gk_3"), "2xx"), 51
        ),
        "of a day a month ago": lambda: store.requests(
            RequestFilter(since=month, until=month + timedelta(days=1)), 51
        ),
        "besides sessions": lambda: store.requests(RequestFilter(besides="sessions"), 51),
        "one request": lambda: store.request(middle.id),
        "one by the start of its id": lambda: store.requests_named(middle.id[:16]),
        "the trace of one": lambda: store.request_trace(middle.id, NO_SESSION),
        "what is new": lambda: store.requests_after(last.seq, store.last_request(), every, 100),
        "what is new of a tenant": lambda: store.requests_after(
            last.seq, store.last_request(), RequestFilter(tenant="t3"), 100
        ),
        "the last number": store.last_request,
        "the newest events": lambda: store.events(NO_SESSION, 0, 50),
        "the counts of a month": lambda: store.request_stats(None, micros(NOW), 30),
        "the counts of a tenant": lambda: store.request_stats("t3", micros(NOW), 1),
        **{f"costs by {kind}": partial(store.request_costs, (kind, *ALWAYS)) for kind in BY},
        "costs of the last 7 days": lambda: store.request_costs(
            ("key", *ALWAYS), NOW - timedelta(days=7)
        ),
        "costs of parts of days": lambda: store.request_costs(
            ("key", *ALWAYS), month - timedelta(hours=9), month + timedelta(hours=9)
        ),
        "what is beyond a size": lambda: store.before_newest(
            Sizes(10_000_000, 50_000, 10_000_000), NO_SESSION
        ),
    }


def measure(address: str, rows: int) -> bool:
    with open_store(address) as store:
        begun = time.perf_counter()
        fill(store, rows)
        print(f"{rows} requests and events in {time.perf_counter() - begun:.0f} s", flush=True)
        slow = False
        for name, query in queries(store).items():
            times = []
            for _ in range(3):
                begun = time.perf_counter()
                query()
                times.append((time.perf_counter() - begun) * 1000)
            mark = " TOO SLOW" if min(times) > MOST_MS else ""
            slow = slow or bool(mark)
            print(f"  {min(times):8.1f} ms  {name}{mark}", flush=True)
    return slow


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address = str(Path(folder) / "pile.db")
        if options.postgres:
            server = Server()
            stack.callback(server.close)
            address = in_schema(server.address, new_schema(server.address))
        raise SystemExit(measure(address, options.rows))


if __name__ == "__main__":
    main()
