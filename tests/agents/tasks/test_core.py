"""A task: its messages, and who holds it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import interlingua as il
from interlingua.agents.tasks import (
    Agent,
    AsyncAgent,
    TaskBusyError,
    assistant_message,
    tool_message,
    user_message,
)
from interlingua.agents.tasks.runner import Runner
from interlingua.sessions.effects import run_async
from interlingua.store.errors import ConflictError
from tests.agents.tasks.agents import opened
from tests.agents.tasks.talk import MODEL, Model, told


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


def test_who_has_lost_a_task_tells_nothing_more(address: str) -> None:
    """A process that slept for longer than its lease finds the task in other hands."""

    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        runner = Runner(agent, model)
        await runner.claim()
        running = asyncio.ensure_future(runner.run())
        await asyncio.wait_for(model.holding.wait(), 30)
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


def test_who_wanted_a_run_stopped_does_not_stop_what_came_since(address: str) -> None:
    async def main() -> None:
        agent = await opened(address)
        model: Any = Model()
        await agent.queue_message(agent.user_message("hold on"))
        runner = Runner(agent, model)
        await runner.claim()
        running = asyncio.ensure_future(runner.run())
        await asyncio.wait_for(model.holding.wait(), 30)
        meant = runner.stops
        await agent.queue_message(agent.user_message("hold this"))
        model.holding.clear()
        runner.stop(meant)
        await asyncio.wait_for(model.holding.wait(), 30)
        runner.stop(meant)  # the same wish, heard late
        model.let_go.set()
        await running
        assert model.asked == ["hold on", "hold this"]
        names = told(await agent.events())
        assert names.count("Cancelled") == 1
        assert names[-1] == "PostConversation"
        await agent.store.close()

    asyncio.run(main())
