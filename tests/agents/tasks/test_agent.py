"""Agents in a program: messages are added or queued, runs take them up, all is told once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.agents.tasks import (
    Agent,
)
from tests.agents.tasks.agents import opened
from tests.agents.tasks.talk import MODEL, Model, told, tools


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
