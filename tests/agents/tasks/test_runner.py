"""Running an agent: one message of the queue after the other becomes a turn."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.agents.tasks import AsyncAgent, NothingToDoError, TaskBusyError
from interlingua.agents.tasks.core import queue
from interlingua.agents.tasks.runner import Runner
from interlingua.client.errors import ServerError
from interlingua.sessions.effects import run_async
from interlingua.sessions.setting import lookup, registry
from tests.agents.tasks.agents import opened
from tests.agents.tasks.talk import MODEL, Model, told, tools


@pytest.mark.requirement("S004-4", "S004-11", "S004-20")
def test_a_run_takes_up_what_waits_and_tells_everything_once(address: str, tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "a.txt").write_text("the text")
        dispatcher = tools(workspace=tmp_path)
        agent = await opened(address, str(tmp_path), tools=dispatcher.registry)
        model: Any = Model()
        await agent.queue_message(agent.user_message("both"))
        await agent.queue_message(agent.user_message("thanks"))
        await agent.run(model, dispatcher)
        happened = await agent.events()
        assert told(happened) == [
            "MessageQueued",
            "MessageQueued",
            "PreConversation",
            "MessageUnqueued",
            ("added", "user", "both"),
            ("completed", "Answer to: both", ["list_files", "read_file"]),
            ("added", "assistant", "Answer to: both"),
            ("PreToolCall", "list_files"),
            ("PreToolCall", "read_file"),
            *told(happened)[9:13],
            ("completed", "Answer to: both", []),
            ("added", "assistant", "Answer to: both"),
            "MessageUnqueued",
            ("added", "user", "thanks"),
            ("completed", "Answer to: thanks", []),
            ("added", "assistant", "Answer to: thanks"),
            "PostConversation",
        ]
        results = {e.body["name"]: e.body for e in happened if e.msg == "PostToolCall"}
        assert set(results) == {"list_files", "read_file"}
        assert results["read_file"]["result"] == "the text"
        assert "error" not in results["read_file"]
        called = [e.body["tool_call"] for e in happened if e.msg == "PreToolCall"]
        answered = [e.body["tool_call"] for e in happened if e.msg == "PostToolCall"]
        assert sorted(called, key=str) == sorted(answered, key=str)
        usages = [e.body["usage"] for e in happened if e.msg == "RequestCompleted"]
        assert [len(usage) for usage in usages] == [1, 1, 1]
        assert usages[0][0]["prompt_tokens"] == 12
        assert [e.seq for e in happened] == list(range(1, len(happened) + 1))
        assert len({e.id for e in happened}) == len(happened)
        added = [e.body["message_id"] for e in happened if e.msg == "MessageAdded"]
        assert added == [m.id for m in await agent.session.reload()]
        assert (await agent.reload()).status == "idle"
        await agent.store.close()

    asyncio.run(main())


def test_a_message_that_comes_while_the_agent_runs_is_taken_up_by_it(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        running = asyncio.ensure_future(agent.run(model))
        await model.holding.wait()
        other = await AsyncAgent.open(agent.store, agent.id)
        assert other.status == "generating"
        with pytest.raises(TaskBusyError):
            await other.add_message(other.user_message("now"))
        with pytest.raises(TaskBusyError):
            await other.run(model)
        await other.queue_message(other.user_message("later"))
        model.let_go.set()
        await running
        assert model.asked == ["hold on", "later"]
        assert told(await agent.events())[-1] == "PostConversation"
        await agent.store.close()

    asyncio.run(main())


def test_a_run_that_fails_says_so_and_can_be_resumed(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("fail now"))
        await agent.queue_message(agent.user_message("next"))
        with pytest.raises(ServerError):
            await agent.run(model)
        happened = await agent.events()
        assert happened[-1].body["error"]["code"] == "server_error"
        assert happened[-1].body["interrupted"] is False
        (failed,) = [e for e in happened if e.body.get("status") == "error"]
        assert failed.msg == "MessageAdded"
        assert len(await agent.queued()) == 1, "what would fail again waits"
        assert (await agent.reload()).status == "idle"
        with pytest.raises(ServerError):
            await agent.run(model, resume=True)
        assert model.asked == ["fail now", "fail now"]
        await agent.run(model)
        assert model.asked[2:] == ["next"]
        with pytest.raises(NothingToDoError):
            await agent.run(model, resume=True)
        assert (await agent.reload()).status == "idle"
        await agent.store.close()

    asyncio.run(main())


def test_a_run_that_is_stopped_keeps_what_arrived(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        running = asyncio.ensure_future(agent.run(model))
        await model.holding.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        happened = await agent.events()
        assert told(happened)[-2:] == [("added", "assistant", "Answer to: hold on "), "Cancelled"]
        assert happened[-2].body["status"] == "cancelled"
        with pytest.raises(NothingToDoError):
            await agent.run(model, resume=True)
        await agent.store.close()

    asyncio.run(main())


def test_a_run_whose_program_ends_in_order_is_resumed(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        runner = Runner(agent, model)
        await runner.claim()
        running = asyncio.ensure_future(runner.run())
        await model.holding.wait()
        runner.leave()
        await running
        assert (await agent.reload()).interrupted
        assert (await agent.events())[-1].body["error"]["code"] == "interrupted"
        model.let_go.set()
        await agent.run(model, resume=True)
        assert told(await agent.events())[-1] == "PostConversation"
        assert model.asked == ["hold on", "hold on"]
        assert not (await agent.reload()).interrupted
        await agent.store.close()

    asyncio.run(main())


def test_a_first_message_that_cannot_be_asked_was_never_there(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        runner = Runner(agent, model)
        bad = agent.user_message("@nobody what is this?")
        done = await run_async(agent.store, queue(agent.id, bad, "m1", runner.holder))
        assert done.claimed
        await runner.take_over()
        with pytest.raises(il.InterlinguaError):
            await runner.run()
        assert not runner.begun.is_set()
        assert await agent.events() == []
        assert await agent.queued() == []
        assert (await agent.reload()).status == "idle"
        await agent.store.close()

    asyncio.run(main())


def test_calls_of_an_interrupted_turn_are_run_again_only_if_that_is_safe(
    address: str, tmp_path: Path
) -> None:
    async def main() -> None:
        dispatcher = tools(workspace=tmp_path, confirm=lambda question: True)
        agent = await opened(address, str(tmp_path), tools=dispatcher.registry)
        calls = [
            il.ToolUseBlock("c1", "list_files", {}),
            il.ToolUseBlock("c2", "write_file", {"path": "a.txt", "text": "1"}),
            il.ToolUseBlock("c3", "write_file", {"path": "b.txt", "text": "2"}),
        ]
        await agent.add_message(agent.user_message("go"))
        asked = await agent.add_message(agent.assistant_message("", calls))
        ids = [call.id for call in asked.tool_calls]
        store, holder = agent.store, agent._core.holder
        await store.claim_task(agent.id, holder, 9)
        await store.ask_confirmation(agent.id, ids[1], ("write_file", "write", {}), holder, 9)
        await store.answer_confirmation(agent.id, ids[1], "approved")
        await store.ask_confirmation(agent.id, ids[2], ("write_file", "write", {}), holder, 9)
        other = await AsyncAgent.open(store, agent.id, tools=dispatcher.registry)
        await run_async(store, other._core.recover(holder))
        assert (await other.reload()).interrupted
        await other.run(Model(), dispatcher, resume=True)  # type: ignore[arg-type]  # a stand-in
        results = {
            e.body["tool_call"]["id"]: e.body for e in await other.events() if "result" in e.body
        }
        assert set(results) == {ids[0], ids[2]}
        (doubtful,) = [
            e.body for e in await other.events() if e.msg == "PostToolCall" and "error" in e.body
        ]
        assert doubtful["tool_call"]["id"] == ids[1]
        assert "not known whether write_file ran" in doubtful["error"]
        assert not (tmp_path / "a.txt").exists(), "it may have run before"
        assert (tmp_path / "b.txt").read_text() == "2"
        await store.close()

    asyncio.run(main())


def test_a_model_that_takes_no_tools_is_asked_without(address: str, tmp_path: Path) -> None:
    async def main() -> None:
        dispatcher = tools(workspace=tmp_path)
        store = await il.open_async_store(address)
        agent = await AsyncAgent.create(
            store,
            str(tmp_path),
            model="ollama:llava",
            tools=dispatcher.registry,
            router=il.Router(registry(), lookup),
        )
        model: Any = Model()
        for words in ("hi", "again"):
            await agent.queue_message(agent.user_message(words))
        await agent.run(model, dispatcher)
        assert model.asked == ["hi", "again"]
        assert model.offered == [0, 0]
        await agent.session.swap(MODEL)
        await agent.queue_message(agent.user_message("now"))
        await agent.run(model, dispatcher)
        assert model.offered == [0, 0, 3]
        await store.close()

    asyncio.run(main())
