"""Work that a model hands to another: a session of its own, within limits, told in the trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.agents.chat.chat import AsyncChat
from interlingua.agents.chat.delegate import Delegation
from interlingua.agents.chat.files import register_files
from interlingua.agents.chat.setup import Setup
from interlingua.store.rows import WORKER, EventRow, SessionRow
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.registry import ToolRegistry
from tests.agents.chat.provider import ANTHROPIC, OPENAI, Provider
from tests.agents.chat.test_chat import all_of


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path / "home"))
    with Provider(0.01) as served:
        served.configure(tmp_path / "home")
        yield served


@asynccontextmanager
async def planning(
    tmp_path: Path, delegation: Delegation | None = None, **more: Any
) -> AsyncIterator[AsyncChat]:
    work = tmp_path / "work"
    (work / "inner").mkdir(parents=True, exist_ok=True)
    (work / "a.txt").write_text("outer text")
    (work / "inner" / "a.txt").write_text("inner text")
    tools = ToolRegistry()
    register_files(tools)
    (delegation or Delegation()).register(tools)
    setup = Setup()
    async with await il.open_async_store(tmp_path / "chat.db") as store, setup.client() as client:
        session = await il.AsyncSession.create(
            store, str(work), model=ANTHROPIC, router=setup.router, tools=tools
        )
        yield AsyncChat(session, client, Dispatcher(tools, workspace=work, **more))


def inputs(*inputs: dict[str, Any]) -> str:
    return f"delegate {json.dumps(inputs)}"


async def results(chat: AsyncChat, words: str) -> list[tuple[bool, str]]:
    """Whether each call failed, and the text of its result."""
    content = await all_of(chat.say(words))
    found = [each for each in content if isinstance(each, il.ToolResultBlock)]
    return [
        (each.is_error, "".join(getattr(b, "text", "") for b in each.content)) for each in found
    ]


async def workers(chat: AsyncChat, of: str | None = None) -> list[SessionRow]:
    return await chat.session.store.forks_of(of or chat.session.id, 100)


async def trace(chat: AsyncChat, id: str | None = None) -> list[EventRow]:
    return await chat.session.store.events(id or chat.session.id, 0, 1000)


@pytest.mark.requirement("S002-40", "S002-41")
def test_the_answer_of_a_worker_is_the_result_of_the_call(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            words = inputs({"task": "read a.txt", "model": OPENAI, "folder": "inner"})
            assert await results(chat, words) == [(False, "Answer 3 to: read a.txt")]
            (row,) = await workers(chat)
            assert row.workspace_path == str(tmp_path / "work" / "inner")
            asked, call, result, answer = await chat.session.store.messages(row.id)
            assert asked.text == "read a.txt"
            assert "inner text" in str(result.content)
            for message in (call, answer):
                assert message.metadata.model == OPENAI
                assert message.metadata.routing is not None
                assert message.metadata.routing.mode is il.RoutingMode.DELEGATE
            own = [m for m in await chat.session.messages() if m.role is il.Role.ASSISTANT]
            assert {m.metadata.model for m in own} == {ANTHROPIC}
            (call,) = own[0].tool_calls
            assert (row.routing_policy or {})[WORKER] == call.id

    asyncio.run(main())


def test_the_events_of_a_worker_stand_between_those_of_its_call(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            await results(chat, "delegate hello")
            rows = await trace(chat)
            assert [row.type for row in rows][1:] == [
                *("turn.started", "route.decided", "llm.call_started", "llm.call_completed"),
                *("tool.called", "delegate.started", "delegate.completed", "tool.completed"),
                *("llm.call_started", "llm.call_completed", "turn.completed"),
            ]
            by_type = {row.type: row for row in rows}
            started, completed = by_type["delegate.started"], by_type["delegate.completed"]
            assert started.parent_event_id == by_type["tool.called"].id
            assert completed.parent_event_id == started.id
            (worker,) = await workers(chat)
            for row in (started, completed):
                assert row.payload["worker_session_id"] == worker.id
                assert row.payload["model"] == ANTHROPIC
                assert row.actor == "worker"
            assert "hello" not in json.dumps(started.payload)
            assert float(completed.payload["cost_usd"]) > 0
            result = await trace(chat, worker.id)
            assert [row.type for row in result] == [
                *("session.created", "turn.started", "route.decided", "llm.call_started"),
                *("llm.call_completed", "turn.completed", "session.ended"),
            ]
            assert result[3].payload["is_worker"] is True
            first = next(row for row in rows if row.type == "llm.call_started")
            assert not first.payload.get("is_worker")

    asyncio.run(main())


def test_events_of_several_workers_name_their_own_calls(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            found = await results(chat, inputs({"task": "one"}, {"task": "two"}))
            assert sorted(text.partition("to: ")[2] for _, text in found) == ["one", "two"]
            rows = await trace(chat)
            by_id = {row.id: row for row in rows}
            for row in rows:
                if row.type.startswith("delegate."):
                    parent = by_id[row.parent_event_id or ""]
                    assert parent.payload["tool_use_id"] == row.payload["tool_use_id"]

    asyncio.run(main())


def test_workers_have_workers_down_to_the_limit(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            await results(chat, "delegate delegate delegate hi")
            (first,) = await workers(chat)
            (second,) = await workers(chat, first.id)
            assert await workers(chat, second.id) == []
            offered = [
                [tool["name"] for tool in wire.get("tools", ())] for wire in provider.requests
            ]
            assert "delegate" in offered[0]
            assert "delegate" in offered[1]
            assert offered[2] == ["read_file", "list_files", "write_file"]
            (called, *_) = [
                m for m in await chat.session.store.messages(second.id) if m.role is il.Role.TOOL
            ]
            assert "There is no tool" in str(called.content)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("input", "words"),
    [
        ({"folder": "../home"}, "leaves the workspace"),
        ({"folder": "/"}, "only relative paths"),
        ({"folder": "link"}, "symbolic link"),
        ({"folder": "missing"}, "not a folder"),
        ({"tools": ["read_file", "shell"]}, "no such tools: shell"),
        ({"model": "openai:gpt-4.1-mini"}, "work cannot be delegated to"),
        ({"model": "nobody/knows"}, "nobody/knows"),
    ],
)
def test_a_worker_gets_nothing_that_its_planner_has_not(
    provider: Provider, tmp_path: Path, input: dict[str, Any], words: str
) -> None:
    async def main() -> None:
        async with planning(tmp_path, Delegation(models=(ANTHROPIC, OPENAI))) as chat:
            (tmp_path / "work" / "link").symlink_to(tmp_path / "home")
            ((failed, text),) = await results(chat, inputs({"task": "read a.txt", **input}))
            assert failed
            assert words in text
            assert await workers(chat) == []

    asyncio.run(main())


def test_a_task_cannot_choose_a_model_by_its_first_word(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path, Delegation(models=(ANTHROPIC,))) as chat:
            await results(chat, f"delegate @{OPENAI} hello")
            (row,) = await workers(chat)
            answer = (await chat.session.store.messages(row.id))[-1]
            assert answer.metadata.model == ANTHROPIC

    asyncio.run(main())


def test_what_a_worker_writes_is_confirmed_as_in_its_planner(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        questions: list[str] = []

        def confirm(question: Any) -> bool:
            questions.append(question.tool.name)
            return False

        async with planning(tmp_path, confirm=confirm) as chat:
            await results(chat, "delegate write b.txt")
            assert questions == ["write_file"]
            assert not (tmp_path / "work" / "b.txt").exists()
            await results(chat, inputs({"task": "write b.txt", "tools": ["read_file"]}))
            assert questions == ["write_file"], "it was not offered"

    asyncio.run(main())


def test_a_worker_that_has_spent_its_budget_asks_no_more(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        async with planning(tmp_path, Delegation(budget_usd="1")) as chat:
            words = inputs({"task": "read a.txt", "budget_usd": 0.0001})
            ((failed, text),) = await results(chat, words)
            assert failed
            assert "of 0.0001 USD" in text
            failures = [row for row in await trace(chat) if row.type == "delegate.failed"]
            assert [row.payload["error_class"] for row in failures] == ["budget_exceeded"]
            assert len(provider.requests) == 3, "the planner twice, the worker once"

    asyncio.run(main())


def test_the_last_turn_of_a_worker_is_without_tools(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            await results(chat, inputs({"task": "hello", "max_turns": 1}))
            assert provider.requests[1]["tool_choice"] == {"type": "none"}

    asyncio.run(main())


def test_a_turn_has_so_many_workers_and_no_more(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path, Delegation(workers=2)) as chat:
            found = await results(chat, inputs(*[{"task": f"number {n}"} for n in range(4)]))
            assert sorted(failed for failed, _ in found) == [False, False, True, True]
            assert len(await workers(chat)) == 2

    asyncio.run(main())


def test_a_worker_that_fails_is_an_error_of_its_call(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            ((failed, text),) = await results(chat, "delegate fail now")
            assert failed
            assert "no such luck" in text
            (last,) = [row for row in await trace(chat) if row.type == "delegate.failed"]
            assert last.payload["error_class"] == "invalid_request"
            assert (await chat.session.messages())[-1].text.startswith("Answer")

    asyncio.run(main())


@pytest.mark.parametrize("leaving", [False, True])
def test_stopping_a_planner_stops_its_worker(
    provider: Provider, tmp_path: Path, leaving: bool
) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            work = asyncio.ensure_future(all_of(chat.say("delegate slow")))
            while not (rows := await workers(chat)) or rows[0].message_count < 2:
                await asyncio.sleep(0.01)
            chat.leaving = leaving
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert await asyncio.to_thread(provider.left.wait, 5)
            (row,) = await workers(chat)
            answer = (await chat.session.store.messages(row.id))[-1]
            status = il.MessageStatus.ERROR if leaving else il.MessageStatus.CANCELLED
            assert answer.metadata.status is status
            assert row.turn is None
            types = [row.type for row in await trace(chat)]
            assert "delegate.failed" in types

    asyncio.run(main())


def test_a_worker_that_was_cut_off_is_not_started_again(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with planning(tmp_path) as chat:
            work = asyncio.ensure_future(all_of(chat.say("delegate slow")))
            while not (rows := await workers(chat)) or rows[0].message_count < 2:
                await asyncio.sleep(0.01)
            chat.leaving = True
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            again = AsyncChat(chat.session, chat.client, chat.dispatcher)
            content = await all_of(again.resume())
            (result,) = [each for each in content if isinstance(each, il.ToolResultBlock)]
            assert result.is_error
            assert "interrupted" in str(result.content)
            assert len(await workers(chat)) == 1
            assert (await chat.session.messages())[-1].text.startswith("Answer")

    asyncio.run(main())
