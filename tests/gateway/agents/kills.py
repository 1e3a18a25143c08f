"""A gateway that is killed (signal 9) in the middle of a response in the background, and of a
compaction: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai

import interlingua as il
from tests.gateway.serving import ANTHROPIC, Upstream
from tests.gateway.tasks.kills import Gateway

PATIENCE = 60.0


class Slow(Upstream):
    """A model that waits before its answer until it is released."""

    def __init__(self) -> None:
        super().__init__(pace=0.005)
        self.hold = threading.Event()
        self.asked = threading.Event()

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        self.asked.set()
        if words.startswith("wait") or "summary alone" in words:
            self.hold.wait(30)
        yield from super()._events(words, request)


def client(gateway: Gateway) -> Any:
    return openai.AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="none", max_retries=0)


async def _asked(model: Slow) -> None:
    await asyncio.to_thread(model.asked.wait, PATIENCE)
    model.asked.clear()


async def background(gateway: Gateway, model: Slow, streamed: bool) -> str | None:
    """Kills the gateway while a response runs; the problem, if there is one."""
    calls = len(model.requests)
    async with client(gateway) as ai:
        words = "slow" if streamed else "wait here"
        run = await ai.responses.create(model=ANTHROPIC, input=words, background=True)
        await _asked(model)
        await asyncio.sleep(random.uniform(0.0, 0.5))
    gateway.kill()
    model.hold.set()
    gateway.start()
    async with client(gateway) as ai:
        async with asyncio.timeout(PATIENCE):
            while True:
                response = await ai.responses.retrieve(run.id)
                if response.status not in ("queued", "in_progress"):
                    break
                await asyncio.sleep(0.2)
        events = [e async for e in await ai.responses.retrieve(run.id, stream=True)]
    model.hold.clear()
    numbers = [event.sequence_number for event in events]
    ends = [event.type for event in events if event.type == "response.completed"]
    if response.status != "completed" or not response.output_text:
        return f"status {response.status}"
    if numbers != list(range(len(numbers))) or len(ends) != 1:
        return f"events {numbers[:5]}…, {len(ends)} ends"
    if len(model.requests) - calls > 2:
        return f"the model was asked {len(model.requests) - calls} times"
    return None


async def compaction(gateway: Gateway, model: Slow) -> str | None:
    """Kills the gateway while a summary is written; the client asks again, and goes on."""
    items = [{"role": "user", "content": "the fact is amber"}, {"type": "compaction_trigger"}]
    async with client(gateway) as ai:
        asking = asyncio.ensure_future(ai.responses.create(model=ANTHROPIC, input=items))
        await _asked(model)
        gateway.kill()
        try:
            await asking
        except openai.APIConnectionError:
            pass
        else:
            return "an answer came from a gateway that was killed"
    model.hold.set()
    gateway.start()
    async with client(gateway) as ai:
        first = await ai.responses.create(model=ANTHROPIC, input=items)
        gateway.kill()
        gateway.start()
    async with client(gateway) as ai:  # what was sealed before opens after it
        again = [first.output[0].to_dict(), {"role": "user", "content": "which?"}]
        await ai.responses.create(model=ANTHROPIC, input=again)
    model.hold.clear()
    model.asked.clear()
    return None if "Answer" in str(model.requests[-1]) else "the summary was not sent on"


async def run(home: Path, kills: int) -> list[str]:
    """What went wrong in so many kills of each kind."""
    problems: list[str] = []
    home.mkdir(parents=True)
    with Slow() as model:
        model.configure(home)
        gateway = Gateway(home, str(home / "store.db"))
        gateway.start()
        try:
            for number in range(kills):
                found = [
                    await background(gateway, model, streamed=number % 2 == 0),
                    await compaction(gateway, model),
                ]
                problems += [problem for problem in found if problem is not None]
        finally:
            gateway.kill()
    return problems
