"""Agents in a program: messages are added or queued, runs take them up, all is told once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.agents.tasks import (
    Agent,
    AsyncAgent,
    NothingToDoError,
    TaskBusyError,
    assistant_message,
    events,
    system_message,
    tool_message,
    user_message,
)
from interlingua.agents.tasks.core import queue
from interlingua.agents.tasks.runner import Runner
from interlingua.client.errors import ServerError
from interlingua.sessions.effects import run_async
from interlingua.sessions.setting import lookup, registry
from interlingua.store.errors import ConflictError
from tests.agents.tasks.talk import MODEL, Model, told, tools


async def opened(address: str, cwd: str = "/w", **more: Any) -> AsyncAgent:
    store = await il.open_async_store(address)
    return await AsyncAgent.create(store, cwd, model=MODEL, **more)


@pytest.mark.requirement("S004-10", "S004-11")
def test_messages_are_added_at_once_or_queued(address: str) -> None:
    with il.open_store(address) as store:
        agent = Agent.create(store, "/w", model=MODEL, name="first")
        agent.add_message(agent.system_message("Be brief."))
        agent.add_message(user_message("hi"))
        call = il.ToolUseBlock("call_1", "read_file", {"path": "a"})
        agent.add_message(assistant_message("Let me see.", [call]))
        agent.add_message(tool_message("the text", "call_1"))
        id = agent.queue_message(user_message("and now?"))
        assert agent.queue_message(user_message("and now?"), id) == id
        assert [(each.id, each.message.text) for each in agent.queued() if each.message] == [
            (id, "and now?")
        ]
        assert [m.role.value for m in agent.session.reload()] == [
            *("system", "user", "assistant", "tool")
        ]
        assert told(agent.events()) == [
            ("added", "system", "Be brief."),
            ("added", "user", "hi"),
            ("added", "assistant", "Let me see."),
            ("PreToolCall", "read_file"),
            ("PostToolCall", "read_file"),
            ("added", "tool", "the text"),
            "MessageQueued",
        ]
        again = Agent.open(store, agent.id)
        assert (again.cwd, again.status, again.row.name) == ("/w", "idle", "first")
        taken = again.unqueue_message(id)
        assert taken is not None
        assert taken.text == "and now?"
        assert again.unqueue_message(id) is None
        assert again.events()[-1].body["reason"] == "removed"
        with pytest.raises(il.SessionError):
            again.add_message(tool_message("of nothing", "call_9"))
        assert again.reload().status == "idle"


@pytest.mark.requirement("S004-10")
def test_a_constructor_per_role() -> None:
    made = [
        AsyncAgent.user_message("u"),
        AsyncAgent.system_message("s"),
        AsyncAgent.assistant_message("a"),
        AsyncAgent.tool_message("t", "call_1"),
    ]
    assert made == [
        user_message("u"),
        system_message("s"),
        assistant_message("a"),
        tool_message("t", "call_1"),
    ]
    assert [message.role.value for message in made] == ["user", "system", "assistant", "tool"]


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


def test_a_program_without_an_event_loop_can_run_an_agent(address: str) -> None:
    class Client:
        def work(self, make: Any) -> Any:
            async def main() -> Any:
                return await make(Model())

            return asyncio.run(main())

    with il.open_store(address) as store:
        agent = Agent.create(store, "/w", model=MODEL)
        agent.queue_message(agent.user_message("hi"))
        agent.run(Client())  # type: ignore[arg-type]  # as much of one as is used
        assert told(agent.events())[-2:] == [
            ("added", "assistant", "Answer to: hi"),
            "PostConversation",
        ]
        assert agent.status == "idle"


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


def test_who_has_lost_a_task_tells_nothing_more(address: str) -> None:
    """A process that slept for longer than its lease finds the task in other hands."""

    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        runner = Runner(agent, model)
        await runner.claim()
        running = asyncio.ensure_future(runner.run())
        await model.holding.wait()
        other = await AsyncAgent.open(agent.store, agent.id)
        await run_async(other.store, other._core.recover(runner.holder))
        count = len(await other.events())
        assert told(await other.events())[-1] == "Failed"
        model.let_go.set()
        with pytest.raises((TaskBusyError, ConflictError)):
            await running
        assert len(await other.events()) == count
        history = await other.session.reload()
        assert [m.role.value for m in history] == ["user", "assistant"]
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


def test_a_new_message_gives_up_the_interrupted_turn(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        await agent.add_message(agent.user_message("go"))
        call = il.ToolUseBlock("c1", "read_file", {"path": "a"})
        await agent.add_message(agent.assistant_message("", [call]))
        await agent.queue_message(agent.user_message("never mind"))
        await agent.run(Model())  # type: ignore[arg-type]  # a stand-in
        happened = told(await agent.events())
        post = happened.index(("PostToolCall", "read_file"))
        assert post < happened.index(("added", "user", "never mind"))
        assert await agent.session.unanswered() == {}
        await agent.store.close()

    asyncio.run(main())


def test_the_note_which_of_the_queue_a_message_was_is_nobodys_loss() -> None:
    message = events.marked(user_message("hi"), "7aa2537f")
    assert events.mark_of(message) == "7aa2537f"
    assert events.mark_of(il.loads(il.dumps(message))) == "7aa2537f"
    request = il.Request(messages=(message,), model="m", options=il.Options(max_output_tokens=9))
    for name in il.dialects():
        retold = il.retell(request, name)
        assert retold.report.losses == []
        assert il.dialect(name).write_request(retold.value).report.losses == []


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


def test_who_wanted_a_run_stopped_does_not_stop_what_came_since(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        runner = Runner(agent, model)
        await runner.claim()
        running = asyncio.ensure_future(runner.run())
        await model.holding.wait()
        meant = runner.stops
        await agent.queue_message(agent.user_message("hold this"))
        model.holding.clear()
        runner.stop(meant)
        await model.holding.wait()
        runner.stop(meant)  # the same wish, heard late
        model.let_go.set()
        await running
        assert model.asked == ["hold on", "hold this"]
        names = told(await agent.events())
        assert names.count("Cancelled") == 1
        assert names[-1] == "PostConversation"
        await agent.store.close()

    asyncio.run(main())


def test_an_agent_hands_work_to_a_worker(address: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the text")

    async def main() -> None:
        dispatcher = tools(workspace=tmp_path)
        il.Delegation(depth=1).register(dispatcher.registry)
        agent = await opened(address, str(tmp_path), tools=dispatcher.registry)
        model = Model()
        await agent.queue_message("delegate read a.txt")
        await agent.run(model, dispatcher)  # type: ignore[arg-type]  # in the place of a client
        (worker,) = await agent.store.forks_of(agent.id)
        assert model.asked == ["delegate read a.txt", *["read a.txt"] * 2, "delegate read a.txt"]
        assert model.offered == [4, 3, 3, 4]
        texts = [m.text for m in await agent.store.messages(worker.id)]
        assert texts[-1] == "Answer to: read a.txt"
        post = [each for each in told(await agent.events()) if each[0] == "PostToolCall"]
        assert post == [("PostToolCall", "delegate")]
        await agent.store.close()

    asyncio.run(main())
