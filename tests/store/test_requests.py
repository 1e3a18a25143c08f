"""What passed a gateway, as both engines keep it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua.model.ids import Ulids
from interlingua.model.message import micros
from interlingua.model.metadata import Usage
from interlingua.store.base import Store
from interlingua.store.errors import NotFoundError
from interlingua.store.open import open_async_store, open_store
from interlingua.store.requests import RequestFilter, RequestRow
from interlingua.store.rows import EventRow
from interlingua.store.statements import TOGETHER

DAY = datetime(2026, 11, 10, 12, tzinfo=UTC)
IDS = Ulids()


def row(minutes: int = 0, **known: Any) -> RequestRow:
    usual: dict[str, Any] = {"front": "anthropic", "status": 200, "duration_ms": 12}
    at = DAY + timedelta(minutes=minutes)
    return RequestRow(f"req_{IDS.new()}", at, **{**usual, **known})


WHOLE: dict[str, Any] = {
    "tenant": "usr_1",
    "key_id": "gk_1",
    "user_id": "usr_1",
    "team_id": "team_1",
    "session_id": "s",
    "action": "count_tokens",
    "asked": "sonnet",
    "model": "anthropic:claude-sonnet-4-6",
    "dialect": "anthropic",
    "stream": True,
    "error": "rate_limit",
    "code": "quota_exceeded",
    "stop_reason": "end_turn",
    "attempts": 2,
    "first_byte_ms": 7,
    "usage": Usage(1, 2, 3, 4, 5, Decimal("0.000000000000000001"), pricing_version="v"),
    "losses": 1,
}


def test_everything_about_a_request_comes_back(store: Store) -> None:
    bare = row()
    whole = row(**WHOLE, tries=({"model": "m", "status": 429},), report={"losses": ["a\x00b"]})
    store.append_requests([bare, whole])
    found = store.request(whole.id)
    assert found == replace(whole, seq=2)
    listed = store.requests()
    assert [each.id for each in listed] == [whole.id, bare.id]
    assert listed[1].usage is None
    with pytest.raises(NotFoundError):
        store.request("req_nothing")


def test_what_was_paid_for_beside_tokens_comes_back(store: Store) -> None:
    usage = Usage(
        10,
        2,
        service_tier="batch",
        tool_uses={"web_search": 3},
        cache_writes={"1h": 7},
        input_modalities={"audio": 4},
        raw={"provider": {"cost": "0.25"}},
    )
    store.append_requests([row(usage=usage)])
    (found,) = store.all_requests(RequestFilter())
    assert found.usage == usage


def test_a_list_is_read_page_by_page_the_newest_first(store: Store) -> None:
    rows = [row(minutes) for minutes in (3, 1, 2, 2, 0)]
    store.append_requests(rows)
    inorder = sorted(rows, key=lambda each: (each.at, each.id), reverse=True)
    first = store.requests(limit=2)
    second = store.requests(limit=2, before=first[-1])
    rest = store.requests(limit=2, before=second[-1])
    assert [each.id for each in (*first, *second, *rest)] == [each.id for each in inorder]
    assert [each.id for each in store.all_requests()] == [each.id for each in inorder]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (RequestFilter(), [4, 3, 2, 1, 0]),
        (RequestFilter(tenant="usr_1"), [2, 0]),
        (RequestFilter(key_id="gk_2"), [1]),
        (RequestFilter(model="openai:gpt-5"), [1, 0]),
        (RequestFilter(model="gpt-5"), [1, 0]),
        (RequestFilter(model="fast"), [2]),
        (RequestFilter(statuses=(400, 499)), [3]),
        (RequestFilter(failed=True), [4, 3]),
        (RequestFilter(failed=False), [2, 1, 0]),
        (RequestFilter(since=DAY + timedelta(minutes=1), until=DAY + timedelta(minutes=3)), [2, 1]),
        (RequestFilter(besides="sessions"), [3, 2, 1, 0]),
        (RequestFilter(tenant="usr_1", model="gpt-5", failed=False), [0]),
    ],
)
def test_some_can_be_chosen(store: Store, wanted: RequestFilter, numbers: list[int]) -> None:
    rows = [
        row(0, tenant="usr_1", key_id="gk_1", model="openai:gpt-5"),
        row(1, tenant="usr_2", key_id="gk_2", model="openai:gpt-5", asked="gpt-5"),
        row(2, tenant="usr_1", key_id="gk_1", model="anthropic:claude", asked="fast"),
        row(3, status=429, error="rate_limit"),
        row(4, status=502, error="server_error", front="sessions"),
    ]
    store.append_requests(rows)
    assert [each.id for each in store.requests(wanted)] == [rows[number].id for number in numbers]
    behind = store.requests_after(0, store.last_request(), wanted)
    assert [each.id for each in behind] == [rows[number].id for number in sorted(numbers)]


def test_what_was_written_already_is_not_written_again(store: Store) -> None:
    first, second = row(status=200), row(status=200)
    store.append_requests([first])
    store.append_requests([replace(first, status=500), second])
    assert store.request(first.id).status == 200
    assert len(store.requests()) == 2
    assert store.request(second.id).seq > store.request(first.id).seq


def test_a_request_and_its_event_are_written_together_and_found_together(store: Store) -> None:
    plain, lossy = row(), row(losses=1)
    events = [
        event(plain.id.removeprefix("req_"), "system"),
        event(lossy.id.removeprefix("req_"), lossy.id),
    ]
    store.append_requests([plain, lossy], events)
    for each, made in ((plain, events[0]), (lossy, events[1])):
        assert [found.id for found in store.request_trace(each.id, "system")] == [made.id]
    assert store.request_trace("req_nothing", "system") == []


def test_many_at_once_are_all_written_in_their_order(store: Store) -> None:
    """More than one statement takes, and not a multiple of that."""
    count = 2 * TOGETHER + 17
    rows = [row(model="openai:gpt-5", asked=f"m{number}") for number in range(count)]
    events = [event(each.id.removeprefix("req_"), "system") for each in rows]
    store.append_requests(rows[:3], events[:3])
    store.append_requests([*rows, rows[-1]], [*events, events[-1]])
    behind = store.requests_after(0, store.last_request(), limit=1000)
    assert [each.id for each in behind] == [each.id for each in rows]
    assert [each.seq for each in behind] == [*range(1, len(rows) + 1)]
    assert [(each.id, each.seq) for each in store.events("system")] == [
        (each.id, number) for number, each in enumerate(events, 1)
    ]
    sums = [each for each in store.request_stats(None, micros(DAY), 1) if each.window == 1]
    assert [each.counts[0] for each in sums if each.kind == "route"] == [1] * count
    assert [each.counts[0] for each in sums if each.kind == "model"] == [count]


def event(id: str, session_id: str) -> EventRow:
    return EventRow(id, session_id, "llm.call_completed", DAY, "system", "private", {"a": 1})


def test_what_requests_cost_can_be_written_anew(store: Store) -> None:
    first, second = row(usage=Usage(1, 2)), row(1, **WHOLE)
    store.append_requests([first, second])
    new = Usage(1, 2, cost_usd=Decimal("1E-7"), pricing_version="w")
    store.save_costs([(second.id, new), (first.id, new)])
    assert store.request(first.id).usage == new
    stored = WHOLE["usage"].replace(cost_usd=new.cost_usd, pricing_version="w")
    assert store.request(second.id).usage == stored


def test_ids_are_found_by_their_beginning(store: Store) -> None:
    made = row()
    store.append_requests([made, row(1)])
    assert made.id in [each.id for each in store.requests_named(made.id[:8])]
    assert [each.id for each in store.requests_named(made.id)] == [made.id]
    assert store.requests_named("req_ZZ") == []


def test_who_reads_on_from_a_number_misses_nothing_while_several_write(address: str) -> None:
    """Numbers are given in the order in which rows become visible."""
    rounds, writers = 15, 4
    every = rounds * writers * 2

    def write(_: int) -> None:
        with open_store(address) as own:
            for _ in range(rounds):
                own.append_requests([row(), row()])

    with open_store(address) as store, ThreadPoolExecutor(writers) as pool:
        done = [pool.submit(write, number) for number in range(writers)]
        seen: list[int] = []
        while len(seen) < every:
            after = seen[-1] if seen else 0
            seen += [each.seq for each in store.requests_after(after, store.last_request())]
            if all(each.done() for each in done):
                for each in done:
                    each.result()
                after = seen[-1] if seen else 0
                rest = store.requests_after(after, store.last_request(), limit=every)
                seen += [each.seq for each in rest]
                break
        assert seen == sorted(set(seen))
        assert len(seen) == every


def test_programs_with_an_event_loop_have_the_same_calls(address: str) -> None:
    async def work() -> None:
        async with await open_async_store(address) as store:
            made = row(**WHOLE)
            await store.append_requests([made], [event(made.id.removeprefix("req_"), "system")])
            assert (await store.request(made.id)).usage == made.usage
            assert [each.id for each in await store.requests()] == [made.id]
            assert [each.id async for each in store.all_requests()] == [made.id]
            assert [each.id for each in await store.requests_named("req_")] == [made.id]
            last = await store.last_request()
            assert [each.seq for each in await store.requests_after(0, last)] == [1]
            assert len(await store.request_trace(made.id, "system")) == 1

    asyncio.run(work())
