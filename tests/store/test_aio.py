"""Stores for an event loop: the same rows, and many callers in one commit."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.message import Message
from interlingua.store import aio
from interlingua.store.aio import AsyncSqliteStore
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import BusyError, ConflictError, NotFoundError, StoreError
from interlingua.store.library import library
from interlingua.store.open import open_async_store, open_store
from tests.store.places import TU_1
from tests.store.test_base import event

TAKEN = "01HZ0000000000000000000000"


def in_loop(address: str, work: Callable[[AsyncStore], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with await open_async_store(address) as store:
            return await work(store)

    return asyncio.run(run())


def test_both_kinds_of_store_have_the_same_calls() -> None:
    def calls(cls: type) -> dict[str, list[str]]:
        return {
            name: [str(each) for each in inspect.signature(call).parameters.values()]
            for name, call in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert calls(Store) == calls(AsyncStore)
    assert len(calls(Store)) > 15


def test_what_one_kind_writes_the_other_reads(address: str) -> None:
    async def write(store: AsyncStore) -> str:
        session = await store.create_session("/w", name="n", routing_policy={"a": 1})
        used = Message.assistant([ToolUseBlock(TU_1, "f", {"x": 1})])
        added = await store.append(session.id, [Message.user("hello"), used])
        assert list(added.seqs) == [1, 2]
        assert tuple(await store.messages(session.id)) == added.messages
        assert await store.tail(session.id, 1) == [added.messages[1]]
        assert await store.message(session.id, added.messages[0].id or "") == added.messages[0]
        assert [row.id for row in await store.unanswered(session.id)] == [TU_1]
        await store.append(session.id, [Message.tool_result(TU_1, "no", is_error=True)])
        assert [row.id for row in await store.failed(session.id)] == [TU_1]
        assert len(await store.tool_calls(session.id)) == 1
        await store.save(added.messages[0].replace(name="Ada"))
        await store.append_events([event("1", session.id)])
        assert len(await store.events(session.id)) == 1
        assert [hit.seq for hit in await store.search("hello")] == [1]
        fork = await store.fork(session.id)
        assert {row.id for row in await store.sessions()} == {session.id, fork.id}
        await store.delete_session(fork.id)
        changed = await store.update_session(session.id, name="m")
        assert await store.session(session.id) == changed
        return session.id

    session = in_loop(address, write)
    with open_store(address) as store:
        assert [message.role.value for message in store.messages(session)] == [
            "user",
            "assistant",
            "tool",
        ]
        assert store.messages(session)[0].name == "Ada"
        assert store.session(session).name == "m"


def test_many_callers_append_without_gap_or_repetition(address: str) -> None:
    async def write(store: AsyncStore) -> None:
        sessions = [(await store.create_session("/w")).id for _ in range(3)]

        async def caller(number: int) -> list[int]:
            session = sessions[number % 3]
            seqs = []
            for turn in range(5):
                added = await store.append(session, [Message.user(f"{number}/{turn}")])
                seqs += added.seqs
            assert seqs == sorted(seqs)
            return seqs

        found = await asyncio.gather(*[caller(number) for number in range(30)])
        for place, session in enumerate(sessions):
            seqs = [seq for number, own in enumerate(found) if number % 3 == place for seq in own]
            assert sorted(seqs) == list(range(1, 51))
            messages = await store.messages(session)
            assert len({message.text for message in messages}) == 50
            ids = [message.id or "" for message in messages]
            assert ids == sorted(set(ids))

    in_loop(address, write)


def test_what_one_caller_does_wrong_does_not_touch_the_others(address: str) -> None:
    async def write(store: AsyncStore) -> None:
        session = (await store.create_session("/w")).id
        await store.append(session, [Message.user("x").replace(id=TAKEN)])
        jobs: list[Awaitable[Any]] = []
        for number in range(12):
            jobs.append(store.append(session, [Message.user(str(number))]))
            taken = [Message.user("gone"), Message.user("x").replace(id=TAKEN)]
            jobs.append(store.append(session, taken))
            jobs.append(store.append("nowhere", [Message.user("x")]))
        results = await asyncio.gather(*jobs, return_exceptions=True)
        kinds = {type(result) for result in results[1::3]} | {type(r) for r in results[2::3]}
        assert kinds == {ConflictError, NotFoundError}
        texts = [message.text for message in await store.messages(session)]
        assert sorted(texts[1:], key=int) == [str(number) for number in range(12)]

    in_loop(address, write)


def sqlite_store(path: Path, work: Callable[[AsyncSqliteStore], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with await AsyncSqliteStore.open(path, timeout=0.3) as store:
            return await work(store)

    return asyncio.run(run())


def test_callers_that_wait_together_share_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    write = aio.Writer._write

    def counted(self: aio.Writer, jobs: Any) -> None:
        sizes.append(len(jobs))
        write(self, jobs)

    monkeypatch.setattr(aio.Writer, "_write", counted)

    async def work(store: AsyncSqliteStore) -> None:
        session = (await store.create_session("/w")).id
        jobs = [store.append(session, [Message.user(str(number))]) for number in range(200)]
        await asyncio.gather(*jobs)
        assert sum(sizes) == 201
        assert len(sizes) < 20
        texts = [message.text for message in await store.messages(session)]
        assert texts == [str(number) for number in range(200)]

    sqlite_store(tmp_path / "s.db", work)


def test_an_append_is_acknowledged_only_after_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    deliver = aio._deliver

    def delivered(jobs: Any) -> None:
        order.append("told")
        deliver(jobs)

    monkeypatch.setattr(aio, "_deliver", delivered)

    async def work(store: AsyncSqliteStore) -> None:
        db = store._file._writer
        execute = db.execute

        class Watching:
            def __getattr__(self, name: str) -> Any:
                return getattr(db, name)

            def execute(self, sql: str, values: Any = ()) -> list[Any]:
                rows = execute(sql, values)
                if sql == "COMMIT":
                    order.append("committed")
                return rows

        store._file._writer = Watching()
        session = (await store.create_session("/w")).id
        await asyncio.gather(*[store.append(session, [Message.user("x")]) for _ in range(10)])
        store._file._writer = db

    sqlite_store(tmp_path / "s.db", work)
    assert order[0] == "committed"
    assert order == ["committed", "told"] * (len(order) // 2)


def test_a_held_file_never_holds_up_the_event_loop(tmp_path: Path) -> None:
    async def work(store: AsyncSqliteStore) -> None:
        session = (await store.create_session("/w")).id
        other = library().connect(str(tmp_path / "s.db"), "other", 0)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(store.append(session, [Message.user("x")]))
        slowest = 0.0
        while not waiting.done():
            before = time.monotonic()
            await asyncio.sleep(0.005)
            slowest = max(slowest, time.monotonic() - before)
        with pytest.raises(BusyError):
            waiting.result()
        assert slowest < 0.2
        other.execute("ROLLBACK")
        other.close()
        await store.append(session, [Message.user("x")])
        assert len(await store.messages(session)) == 1

    sqlite_store(tmp_path / "s.db", work)


def test_a_cancelled_caller_leaves_the_writer_at_work(tmp_path: Path) -> None:
    async def work(store: AsyncSqliteStore) -> None:
        session = (await store.create_session("/w")).id
        tasks = [
            asyncio.create_task(store.append(session, [Message.user(str(number))]))
            for number in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        last = await store.append(session, [Message.user("last")])
        texts = [message.text for message in await store.messages(session)]
        assert {str(number) for number in range(1, 20, 2)} < set(texts)
        assert last.first == len(texts)

    sqlite_store(tmp_path / "s.db", work)


def test_too_many_waiting_callers_are_turned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aio, "WAITING", 3)

    async def work(store: AsyncSqliteStore) -> None:
        session = (await store.create_session("/w")).id
        jobs = [store.append(session, [Message.user(str(number))]) for number in range(200)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        turned_away = [result for result in results if isinstance(result, BusyError)]
        assert turned_away
        assert len(await store.messages(session)) == 200 - len(turned_away)

    sqlite_store(tmp_path / "s.db", work)


def test_closing_writes_what_waits_and_then_refuses(address: str) -> None:
    async def run() -> None:
        store = await open_async_store(address)
        session = (await store.create_session("/w")).id
        jobs = [
            asyncio.create_task(store.append(session, [Message.user(str(number))]))
            for number in range(4)
        ]
        await asyncio.gather(*jobs)
        await store.close()
        await store.close()
        for call in (lambda: store.sessions(), lambda: store.append(session, [Message.user("x")])):
            with pytest.raises(StoreError, match="closed"):
                await call()
        async with await open_async_store(address) as again:
            assert len(await again.messages(session)) == 4

    asyncio.run(run())
