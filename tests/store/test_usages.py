"""Walking over what every answer used, and giving history new costs."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from interlingua.model import message as message_module
from interlingua.model import salvage
from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.store import usages as usages_module
from interlingua.store.base import Store
from interlingua.store.open import open_async_store
from interlingua.store.rows import UsageRow
from tests.store.places import ask

START = datetime(2026, 1, 1, tzinfo=UTC)


def answer(tokens: int, minutes: int = 0) -> Message:
    metadata = MessageMetadata(
        model="a:m", provider="a", usage=Usage(output_tokens=tokens), user_id="u", team_id="t"
    )
    time = START + timedelta(minutes=minutes)
    return Message.assistant("x", metadata).replace(created_at=time)


def tokens(rows: Iterator[UsageRow]) -> list[int | None]:
    return [row.metadata.usage.output_tokens for row in rows if row.metadata.usage]


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usages_module, "PAGE", 7)


def test_every_answer_of_every_session_is_given_once_with_its_place(store: Store) -> None:
    expected: dict[tuple[str, str], int] = {}
    for number in range(5):
        session = store.create_session("/w").id
        sent = [Message.user('says "usage"'), *[answer(number * 100 + n, n) for n in range(10)]]
        added = store.append(session, [*sent, Message.assistant("no usage")]).messages
        for tally, message in enumerate(added[1:-1]):
            expected[session, message.id or ""] = number * 100 + tally
    store.create_session("/empty")
    rows = list(store.usages())
    assert len(rows) == 50
    found = {(row.session_id, row.message_id): tokens(iter([row]))[0] for row in rows}
    assert found == expected
    places = [(row.session_id, row.created_at) for row in rows]
    assert places == sorted(places)
    assert rows[0].metadata.user_id == "u"


def test_answers_of_one_moment_are_given_once_each(store: Store) -> None:
    session = store.create_session("/w").id
    store.append(session, [answer(number) for number in range(30)])
    assert tokens(store.usages()) == list(range(30))
    assert tokens(store.usages(session_id=session)) == list(range(30))


def test_a_time_is_from_its_first_moment_to_before_its_last(store: Store) -> None:
    first, second = store.create_session("/w").id, store.create_session("/w").id
    store.append(first, [answer(number, number) for number in range(20)])
    store.append(second, [answer(100 + number, number) for number in range(20)])
    since, until = START + timedelta(minutes=5), START + timedelta(minutes=15)
    inside = list(range(5, 15))
    assert tokens(store.usages(since, until)) == inside + [100 + number for number in inside]
    assert tokens(store.usages(since, until, second)) == [100 + number for number in inside]
    assert tokens(store.usages(since=START + timedelta(minutes=19))) == [19, 119]
    assert tokens(store.usages(until=START)) == []
    assert tokens(store.usages(session_id="nowhere")) == []


def test_an_event_loop_walks_the_same_rows(store: Store, address: str) -> None:
    session = store.create_session("/w").id
    store.append(session, [answer(number, number) for number in range(20)])
    expected = list(store.usages())

    async def work() -> tuple[list[UsageRow], list[UsageRow]]:
        async with await open_async_store(address) as opened:
            rows = [row async for row in opened.usages()]
            new = rows[0].metadata.replace(user_id="v")
            return rows, await opened.save_metadata([(rows[0], new)])

    rows, saved = asyncio.run(work())
    assert rows == expected
    assert [row.metadata.user_id for row in saved] == ["v"]
    assert next(store.usages()) == saved[0]


def priced(row: UsageRow, amount: str) -> tuple[UsageRow, MessageMetadata]:
    assert row.metadata.usage is not None
    usage = row.metadata.usage.replace(cost_usd=Decimal(amount), pricing_version="2")
    return row, row.metadata.replace(usage=usage)


def test_new_costs_are_written_and_nothing_else_changes(store: Store) -> None:
    session = store.create_session("/w").id
    sent = [answer(number, number).replace(name="Ada") for number in range(10)]
    before = store.append(session, sent).messages
    order = [row.updated_at for row in store.sessions()]
    rows = list(store.usages())
    saved = store.save_metadata([priced(row, "0.25") for row in rows[:5]])
    assert [row.message_id for row in saved] == [row.message_id for row in rows[:5]]
    after = store.messages(session)
    for old, new, row in zip(before, after, rows, strict=True):
        changed = old.replace(metadata=priced(row, "0.25")[1]) if row in rows[:5] else old
        assert dumps(new) == dumps(changed)
    assert [row.updated_at for row in store.sessions()] == order
    assert store.save_metadata([]) == []


def test_what_was_changed_or_deleted_meanwhile_is_left_alone(store: Store) -> None:
    stored, gone = store.create_session("/w").id, store.create_session("/w").id
    store.append(stored, [answer(1), answer(2)])
    store.append(gone, [answer(3)])
    rows = list(store.usages())
    message = store.messages(stored)[0]
    cancelled = message.metadata.replace(
        status=MessageStatus.CANCELLED, stop_reason=StopReason.CANCELLED
    )
    store.save(message.replace(metadata=cancelled))
    store.delete_session(gone)
    saved = store.save_metadata([priced(row, "1") for row in rows])
    assert tokens(iter(saved)) == [2]
    assert store.messages(stored)[0].metadata == cancelled


def test_rows_of_another_version_are_upgraded_and_written_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.create_session("/w").id
    store.append(session, [answer(1)])

    def doubled(plain: dict[str, Any]) -> dict[str, Any]:
        usage = {**plain["metadata"]["usage"]}
        usage["output_tokens"] *= 2
        return {
            **plain,
            "content": [{"type": "text", "text": "new"}],
            "metadata": {**plain["metadata"], "usage": usage},
        }

    monkeypatch.setattr(message_module, "SCHEMA_VERSION", 2)
    monkeypatch.setitem(salvage.UPGRADES, 1, doubled)
    (row,) = store.usages()
    assert tokens(iter([row])) == [2]
    store.save_metadata([priced(row, "1")])
    assert ask(store, "SELECT schema_version FROM messages") == [(2,)]
    (message,) = store.messages(session)
    assert message.text == "new"
    assert tokens(store.usages()) == [2]


def test_a_walk_needs_the_memory_of_a_page(
    long_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usages_module, "PAGE", 100)
    session = long_store.create_session("/w").id
    padding = {"a": {"padding": "x" * 2000}}
    message = answer(1)
    metadata = message.metadata.replace(provider_raw=padding)
    for _ in range(4):
        long_store.append(session, [message.replace(metadata=metadata)] * 500)
    tracemalloc.start()
    try:
        assert sum(1 for _ in long_store.usages(session_id=session)) == 2000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        long_store.delete_session(session)
    assert peak < 2_000_000  # of 4 MB in all


def test_a_walk_uses_the_index_on_time(store: Store) -> None:
    if store.where.startswith("postgresql"):
        pytest.skip("PostgreSQL plans by what is in its tables")
    sql = store._do.sql
    for statement, values in (
        (sql.usages_of, ["s", 1, 1, 2, 10]),
        (sql.next_session, ["s", 1, 2]),
    ):
        plan = [row[-1] for row in ask(store, f"EXPLAIN QUERY PLAN {statement}", values)]
        assert any("idx_messages_session_created" in step for step in plan), plan
        assert not [step for step in plan if step.startswith("SCAN")], plan
        sorts = [step for step in plan if "TEMP B-TREE" in step]
        assert all("LAST TERM" in step for step in sorts), plan
