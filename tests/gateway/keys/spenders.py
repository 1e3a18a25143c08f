"""`python -m tests.gateway.keys.spenders ADDRESS TOKEN TASKS REQUESTS SEED`: a process that spends.

So many tasks ask at the same time, each for so many requests, one after the other. What each
admitted request did cost is printed as a line; those that are told to go on for ever are killed."""

from __future__ import annotations

import asyncio
import random
import sys

from interlingua.client.targets import Targets
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.keys import Keys
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Refusal
from interlingua.model.ids import Ulids
from interlingua.model.metadata import Usage
from interlingua.store.open import open_async_store

MODEL = "anthropic:claude-sonnet-4-6"
PROMPT, MOST = 1000, 1000
"""Tokens of every request's prompt, and of its answer at most."""


async def spend(address: str, token: str, tasks: int, requests: int, seed: int) -> None:
    chance, ids = random.Random(seed), Ulids()
    target = Targets(environ={}).find(MODEL)
    async with await open_async_store(address) as store:
        keys, caps = Keys(store), Caps(store, patience=2.0)

        async def task() -> None:
            for _ in range(requests):
                arrival = Arrival(ids.new(), "openai-chat", await keys.find(token))
                exchange = Exchange(arrival, Decision(target))
                try:
                    reservation = await caps.reserve(arrival, Most(PROMPT, MOST), [target])
                except Refusal as odd:
                    if odd.status != 429:
                        raise
                    continue
                exchange.outcome.reservation = reservation
                print("began", exchange.arrival.id, flush=True)
                await asyncio.sleep(chance.random() / 100)
                exchange.outcome.status = 200
                output = chance.randrange(MOST)
                exchange.outcome.usage = Usage(input_tokens=PROMPT, output_tokens=output)
                await caps.settle(exchange)
                print("cost", exchange.arrival.id, exchange.outcome.cost, flush=True)

        await asyncio.gather(*[task() for _ in range(tasks)])
        await caps.close()


if __name__ == "__main__":
    place, secret, *numbers = sys.argv[1:]
    asyncio.run(spend(place, secret, *map(int, numbers)))
