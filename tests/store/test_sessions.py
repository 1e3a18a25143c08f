"""Old rows are deleted a few at a time, and nothing else is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from interlingua.model.ids import first_ulid, ulid_time_ms
from interlingua.store.base import Store
from interlingua.store.idempotency import Claim
from interlingua.store.open import open_store
from interlingua.store.requests import RequestFilter, RequestRow, with_status
from interlingua.store.rows import EventRow
from interlingua.store.sessions import ROW, Before, Sizes, Swept
from tests.store.places import ask

SHARED = "system"
NOW = datetime.now(UTC)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as store:
        yield store


def ulid(days: float, number: int = 0) -> str:
    ms = int((NOW - timedelta(days=days)).timestamp() * 1000) + number
    return first_ulid(ms)


def request(days: float, number: int = 0, **more: object) -> RequestRow:
    at = NOW - timedelta(days=days)
    return RequestRow(f"req_{ulid(days, number)}", at, "openai-chat", 200, 5, **more)  # type: ignore[arg-type]  # by name


def event(days: float, number: int = 0, session: str = SHARED) -> EventRow:
    at = NOW - timedelta(days=days)
    id = ulid(days, number)
    return EventRow(id, session, "llm.call_completed", at, "agent", "pseudonymous", {"n": 1})


def swept(store: Store, limit: int = 200, **days: float) -> Swept:
    before = Before(**{name: NOW - timedelta(days=age) for name, age in days.items()})
    done = Swept()
    while not (some := store.sweep(before, SHARED, limit)).is_nothing:
        done = done.plus(some)
    return done._replace(bytes=0)


def test_requests_older_than_their_age_go_in_small_batches(store: Store) -> None:
    rows = [request(100, number) for number in range(25)] + [request(10), request(1)]
    store.append_requests(rows)
    assert store.sweep(Before(requests=NOW - timedelta(days=90)), SHARED, 10).requests == 10
    assert swept(store, 10, requests=90) == Swept(requests=15)
    assert [row.id for row in store.requests()] == [rows[-1].id, rows[-2].id]


def test_without_an_age_nothing_goes(store: Store) -> None:
    store.append_requests([request(10_000)], [event(10_000), event(10_000, 1, "req_X")])
    assert swept(store) == Swept()


def test_numbers_go_on_after_everything_else_was_deleted(store: Store) -> None:
    store.append_requests([request(100, number) for number in range(3)])
    store.append_events([event(100, number) for number in range(3)])
    assert swept(store, requests=1, events=1) == Swept(requests=2, events=2)
    store.append_requests([request(0)])
    store.append_events([event(0)])
    assert store.last_request() == 4
    assert [row.seq for row in store.events(SHARED)] == [3, 4]


def test_events_of_sessions_stay_with_their_sessions(store: Store) -> None:
    session = store.create_session("/w").id
    store.append_events([event(100, 1, session), event(100, 2, session), event(100), event(99)])
    assert swept(store, events=30, losses=90) == Swept(events=1)
    assert len(store.events(session)) == 2


def test_reports_of_losses_have_an_age_of_their_own(store: Store) -> None:
    old, new = request(100, report={"count": 1}), request(50, report={"count": 1})
    filed = [event(100, 5, f"req_{ulid(100, 5)}"), event(50, 5, f"req_{ulid(50, 5)}")]
    store.append_requests([old, new], filed)
    assert swept(store, losses=90, events=30) == Swept(losses=2)
    assert store.request(old.id).report is None
    assert store.request(new.id).report == {"count": 1}
    assert store.events(filed[0].session_id) == []
    assert len(store.events(filed[1].session_id)) == 1


def test_stored_answers_go_when_they_have_expired(store: Store) -> None:
    for name, seconds in (("old", -5.0), ("new", 60.0)):
        claim = Claim(name, "t", "p", "h")
        store.claim_repeat(claim, 60.0)
        store.finish_repeat(claim, b"{}", seconds)
    assert swept(store) == Swept(answers=1)


def test_a_file_gives_its_room_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(str(path)) as store:
        store.append_requests([request(100, n, report={"t": "x" * 3000}) for n in range(500)])
        before = ask(store, "PRAGMA page_count")[0][0]
        done = Swept()
        cut = Before(requests=NOW - timedelta(days=90))
        while not (some := store.sweep(cut, SHARED)).is_nothing:
            done = done.plus(some)
        assert done.bytes > 1_000_000
        assert ask(store, "PRAGMA page_count")[0][0] < before / 2


def test_an_older_file_gives_its_room_back_after_a_vacuum(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "s.db"
    with open_store(str(path)) as store:
        store.append_requests([request(100, n, report={"t": "x" * 3000}) for n in range(500)])
    with sqlite3.connect(path) as db:  # as files of earlier versions are
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA auto_vacuum = 0")
        db.execute("VACUUM")
    db.close()
    with open_store(str(path)) as store:
        assert swept(store, requests=90).requests == 499
        assert ask(store, "PRAGMA freelist_count")[0][0] > 100
        assert store.vacuum() > 1_000_000
        assert ask(store, "PRAGMA auto_vacuum")[0][0] == 2
        assert len(store.requests()) == 1


def test_the_least_ulid_of_a_moment_is_before_all_others_of_it() -> None:
    assert ulid_time_ms(first_ulid(1_800_000_000_000)) == 1_800_000_000_000
    assert first_ulid(5).endswith("0" * 16)


FILTERS: dict[str, RequestFilter] = {
    "model": RequestFilter(model="gpt-4.1"),
    "whole id": RequestFilter(model="openai:gpt-4.1"),
    "status": with_status(RequestFilter(), "5xx"),
    "model and status": with_status(RequestFilter(model="gpt-4.1"), "429"),
    "key": RequestFilter(key_id="k"),
    "failed": with_status(RequestFilter(), "failed"),
}


@pytest.mark.parametrize("wanted", FILTERS.values(), ids=list(FILTERS))
def test_every_filter_of_the_request_log_uses_an_index(
    tmp_path: Path, wanted: RequestFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        seen: list[tuple[str, object]] = []
        real = store._do.requests

        def watched(*given: object) -> Iterator[object]:
            op = real(*given)  # type: ignore[arg-type]  # passed on
            step = next(op)
            try:
                while True:
                    seen.append((step.sql, step.values))
                    step = op.send((yield step))
            except StopIteration as end:
                return end.value

        monkeypatch.setattr(store._do, "requests", watched)
        store.requests(wanted)
        for sql, values in seen:
            assert _plan(store, sql, values), sql


def _plan(store: Store, sql: str, values: object) -> bool:
    """Whether SQLite finds the rows by an index, and in the order of the list."""
    from interlingua.store.statements import Step

    def op() -> Iterator[object]:
        return (yield Step(f"EXPLAIN QUERY PLAN {sql}", values))  # type: ignore[arg-type]  # as above

    make: Callable[[], object] = op
    plan = [row[3] for row in store._read(make)]  # type: ignore[arg-type, attr-defined]  # rows
    return all("USING INDEX" in line and "TEMP B-TREE" not in line for line in plan)


def test_of_more_rows_than_their_size_the_oldest_go(store: Store) -> None:
    store.append_requests([request(20 - number) for number in range(20)])
    store.append_events([event(20 - number) for number in range(20)])
    ids = [f"req_{ulid(20 - number)}" for number in range(20)]
    store.append_events([event(20 - number, 1, ids[number]) for number in range(20)])
    assert store.before_newest(Sizes(), SHARED) == Before()
    assert store.before_newest(Sizes(20, 20, 20), SHARED) == Before(), "all of them stay"
    before = store.before_newest(Sizes(7, 5, 3), SHARED)
    done = Swept()
    while not (some := store.sweep(before, SHARED, 4)).is_nothing:
        done = done.plus(some)
    assert done._replace(bytes=0) == Swept(13, 15, 17)
    assert len(store.requests()) == 7
    assert [len(store.events(id)) for id in ids] == [0] * 15 + [1] * 5
    assert len(store.events(SHARED)) == 3


def test_of_more_bytes_than_their_size_the_oldest_go(store: Store) -> None:
    store.append_requests([request(20 - number) for number in range(20)])
    store.append_events([event(20 - number) for number in range(20)])
    ids = [f"req_{ulid(20 - number)}" for number in range(20)]
    store.append_events([event(20 - number, 1, ids[number]) for number in range(20)])
    plenty = Sizes(request_bytes=10**9, loss_bytes=10**9, event_bytes=10**9)
    assert store.before_newest(plenty, SHARED) == Before(), "all of them stay"
    few = Sizes(request_bytes=7 * ROW, loss_bytes=5 * (ROW + 10), event_bytes=3 * (ROW + 10))
    before = store.before_newest(few, SHARED)
    while not store.sweep(before, SHARED, 4).is_nothing:
        pass
    assert len(store.requests()) == 7
    assert [len(store.events(id)) for id in ids] == [0] * 15 + [1] * 5
    assert len(store.events(SHARED)) == 3
    both = store.before_newest(Sizes(requests=2, request_bytes=4 * ROW), SHARED)
    assert both.requests == store.before_newest(Sizes(requests=2), SHARED).requests


def test_others_write_while_old_rows_go(store: Store) -> None:
    store.append_requests([request(100, number) for number in range(4000)])
    before, written, stop = Before(requests=NOW - timedelta(days=90)), 0, threading.Event()
    longest = 0.0

    def write() -> None:
        nonlocal written, longest
        while not stop.is_set():
            begun = time.monotonic()
            store.append_requests([request(1, written)])
            written, longest = written + 1, max(longest, time.monotonic() - begun)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        batches = 0
        while not store.sweep(before, SHARED).is_nothing:
            batches += 1
            time.sleep(0.005)
    finally:
        stop.set()
        writer.join()
    assert batches >= 20
    assert written >= batches, "each batch lets others in"
    assert longest < 2.0
    assert len(store.requests(limit=written + 1)) == written


def test_the_later_of_age_and_size_counts() -> None:
    age, size = NOW - timedelta(days=9), NOW - timedelta(days=3)
    assert Before(age, None, age).or_later(Before(size, None, None)) == Before(size, None, age)
