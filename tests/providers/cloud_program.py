"""Asks a model several times, at once and later, by a client or through a gateway, and prints what
came of it. A process of its own: the vendors' packages read their variables when they are imported.

    python -m tests.providers.cloud_program client|gateway <model> <seconds between the rounds>
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua import config
from interlingua.gateway.config import read
from tests.gateway.serving import asked, served

AT_ONCE = 10


async def by_client(model: str) -> list[str]:
    async with il.AsyncClient() as client:

        async def ask() -> str:
            try:
                return (await client.generate(model, "hi")).text
            except il.InterlinguaError as error:
                return f"{type(error).__name__}: {error}"

        return await rounds(ask)


async def by_gateway(model: str) -> list[str]:
    file = config.gateway_path()
    async with served(Path(), read(file.read_bytes(), file)) as gateway:

        async def ask() -> str:
            body = asked("hi", model)
            status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
            return str(reply["choices"][0]["message"]["content"] if status == 200 else reply)

        return await rounds(ask)


async def rounds(ask: Any) -> list[str]:
    first = await asyncio.gather(*[ask() for _ in range(AT_ONCE)])
    await asyncio.sleep(float(sys.argv[3]))
    return [*first, await ask()]


async def times(over: asyncio.Event) -> list[float]:
    """When the loop ran something else."""
    found = []
    while not over.is_set():
        await asyncio.sleep(0.01)
        found.append(time.monotonic())
    return found


async def main() -> None:
    over = asyncio.Event()
    watching = asyncio.ensure_future(times(over))
    work = by_client if sys.argv[1] == "client" else by_gateway
    answers = await work(sys.argv[2])
    over.set()
    print(json.dumps({"answers": answers, "ran_at": await watching}))


if __name__ == "__main__":
    asyncio.run(main())
