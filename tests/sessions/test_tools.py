"""A session together with the dispatcher that runs its tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.sessions import AsyncSession
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import CallContext
from tests.sessions.wires import MODELS, TOOLS, answer

pytest.importorskip("jsonschema_rs", reason="the extra `schema` is not installed")


def registry(handlers: dict[str, Any]) -> il.ToolRegistry:
    made = il.ToolRegistry()
    for tool in TOOLS:
        made.register(tool.replace(requires_workspace=False), handlers[tool.name])
    return made


def read(given: dict[str, Any]) -> str:
    return f"read {given['path']}"


def fail(given: dict[str, Any]) -> str:
    raise OSError("no network")


async def types_of(store: AsyncStore, session: AsyncSession) -> list[str]:
    return [event.type for event in await store.events(session.id)]


@pytest.mark.requirement("S002-89")
def test_a_turn_with_tools_that_run(tmp_path: Path) -> None:
    async def run() -> None:
        tools = registry({"read_file": read, "get_weather": fail})
        dispatcher = Dispatcher(tools)
        async with await open_async_store(tmp_path / "x.db") as store:
            session = await AsyncSession.create(store, model=MODELS["anthropic"], tools=tools)
            turn = await session.begin("hi")
            content = await (await turn.call()).complete(answer("anthropic", 1, calls=True))
            context = CallContext(session.id, turn.id, turn.trace)
            await turn.results(*await dispatcher.run(content, context))
            await (await turn.call()).complete(answer("anthropic", 2))
            assert turn.ended
            types = await types_of(store, session)
            assert types[:5] == [
                "session.created",
                "turn.started",
                "route.decided",
                "llm.call_started",
                "llm.call_completed",
            ]
            assert sorted(types[5:9]) == [
                "tool.called",
                "tool.called",
                "tool.completed",
                "tool.failed",
            ]
            assert types[9:] == ["llm.call_started", "llm.call_completed", "turn.completed"]
            events = await store.events(session.id)
            ends = {e.id for e in events if e.type in ("tool.completed", "tool.failed")}
            assert events[9].parent_event_id in ends
            statuses = {row.name: row.status for row in await store.tool_calls(session.id)}
            assert (statuses["read_file"], statuses["get_weather"]) == ("succeeded", "failed")
            results = [m for m in await session.messages() if m.role is il.Role.TOOL]
            assert "read a.txt" in il.dumps(results[0]).decode()
            assert il.validate(await session.messages()) == []

    asyncio.run(run())


def test_cancelling_while_tools_run_tells_each_of_them_once(tmp_path: Path) -> None:
    async def run() -> None:
        started = asyncio.Event()

        async def slow(_: dict[str, Any]) -> str:
            started.set()
            await asyncio.sleep(60)
            return "never"

        tools = registry({"read_file": slow, "get_weather": slow})
        dispatcher = Dispatcher(tools)
        async with await open_async_store(tmp_path / "x.db") as store:
            session = await AsyncSession.create(store, model=MODELS["anthropic"], tools=tools)
            turn = await session.begin("hi")
            content = await (await turn.call()).complete(answer("anthropic", 1, calls=True))
            batch = dispatcher.batch(content, CallContext(session.id, turn.id, turn.trace))
            running = asyncio.create_task(batch.run())
            await started.wait()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await turn.cancel()
            types = await types_of(store, session)
            assert types.count("tool.failed") == 2
            assert types[-1] == "turn.cancelled"
            assert "llm.call_failed" not in types
            rows = [r for r in await store.tool_calls(session.id) if r.executor == "client"]
            assert [row.status for row in rows] == ["cancelled", "cancelled"]

    asyncio.run(run())
