"""`python -m tests.gateway.faults.deaths --count 20`: a gateway is killed the moment that clients
have their answers; what they cost, and that they were given, is written all the same.

Half of the answers are streams; all have an `Idempotency-Key`. Looked at are those that a client
had to the last byte before the process was killed."""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sqlite3
import tempfile
from pathlib import Path

from tests.gateway.asking import Client, request
from tests.gateway.endurance.outside import Serving
from tests.gateway.scripted import Script, Scripted

TOGETHER = 12
PATIENCE = 60.0
"""Seconds for which enough answers are waited for."""


async def one(port: int, token: str, number: int, answered: list[str]) -> None:
    """Ask until the connection breaks; each answer that came whole is noted."""
    client = await Client.connect(port)
    try:
        while True:
            raw = request("anthropic", number, bool(number % 2), token)
            name = b"idempotency-key: k%d\r\n\r\n" % number
            client.writer.write(raw.head[:-2] + name + raw.body)
            await client.answer()
            if client.status == 200:
                answered.append(client.id)
            number += TOGETHER
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        return
    finally:
        client.leave()


async def death(home: Path, chance: random.Random) -> tuple[int, list[str]]:
    """One life of a gateway: how many were answered, and which of them were forgotten."""
    answered: list[str] = []
    async with Scripted(lambda number: Script()) as provider:
        serving = Serving(home, provider.url)
        await asyncio.to_thread(serving.__enter__)
        try:
            work = [
                asyncio.ensure_future(one(serving.port, serving.token, number, answered))
                for number in range(TOGETHER)
            ]
            enough = chance.randrange(5, 120)
            until = asyncio.get_running_loop().time() + PATIENCE
            while len(answered) < enough and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(0.001)
            serving.process.send_signal(signal.SIGKILL)
            await asyncio.wait(work, timeout=20)
            await asyncio.to_thread(serving.process.wait)
        finally:
            await asyncio.to_thread(serving.stop)
    return len(answered), forgotten(serving.store, answered)


def forgotten(store: Path, answered: list[str]) -> list[str]:
    """Requests that a client has an answer of, and that are not counted as such. Of a busy key most
    have no entry of their own: all together are charged for as many as there were."""
    with sqlite3.connect(store) as books:
        rows = {id: rest for id, *rest in books.execute("SELECT id, status, cost FROM ledger")}
        done = books.execute("SELECT count(*) FROM repeats WHERE status = 'done'").fetchone()[0]
    own = [id for id in answered if id in rows]
    lost = [id for id in own if rows[id][0] != "settled" or rows[id][1] <= 0]
    charged, least = sum(cost for _, cost in rows.values()), min([rows[id][1] for id in own] or [1])
    if charged < least * len(answered):
        lost.append(f"{len(answered)} answers of {least} at least, and {charged} was charged")
    missing = max(len(answered) - done, 0)
    return lost + [f"{missing} answers are not known as given"] * bool(missing)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance, total, lost = random.Random(arguments.seed), 0, []
    for _ in range(arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            count, gone = asyncio.run(death(Path(folder), chance))
            total, lost = total + count, lost + gone
    print(f"{arguments.count} kills, {total} answers, {len(lost)} forgotten")
    for line in lost[:20]:
        print(line)
    raise SystemExit(bool(lost))


if __name__ == "__main__":
    main()
