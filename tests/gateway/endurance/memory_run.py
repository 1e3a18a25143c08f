"""`python -m tests.gateway.endurance.memory_run --count 100000`: the memory of a gateway that runs
for long.

Requests of all kinds, whole and streamed, on connections that are kept and on new ones, with what
grows in careless programs: every text is new, and so are many names of models; some requests fail,
some cannot be said without a loss, some have a wrong key. Keys, caps, trace and store are on. In
the second half of the run memory stays as it is, and never is it more than 150 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from tests.gateway.asking import FRONTS, Client, Raw, all_of, request
from tests.gateway.endurance.outside import MEGABYTE, Serving, require
from tests.gateway.scripted import Script, Scripted

CONNECTIONS = 32
LIMIT = 150 * MEGABYTE
SHARE, FLOOR = 0.03, 5 * MEGABYTE
"""How much it may grow in the second half: the larger of both."""
SAMPLES = 20
SCRIPT = Script(pieces=8)
STATUSES = {"plain": 200, "stream": 200, "lossy": 200, "unknown": 404, "odd": 400, "stranger": 401}
"""What is asked, and what is answered."""
WEIGHTS = (45, 40, 6, 3, 3, 3)


class Seen(NamedTuple):
    requests: int
    seconds: float
    sizes: list[int]
    """Bytes of memory: at the beginning, and after each part of the run."""
    peak: int
    kinds: dict[str, int]

    @property
    def growth(self) -> int:
        """From the middle to the end. What the allocator holds goes up and down, so that the
        median of some samples is taken."""
        half = len(self.sizes) // 2
        part = max(1, len(self.sizes) // 5)
        middle = sorted(self.sizes[half : half + part])[part // 2]
        end = sorted(self.sizes[-part:])[part // 2]
        return end - middle


class Load:
    def __init__(self, gateway: Serving, seed: int) -> None:
        self.gateway = gateway
        self.done = 0
        self.kinds: Counter[str] = Counter()
        self._chance = random.Random(seed)

    async def run(self, count: int) -> None:
        """So many more requests."""
        numbers = iter(range(self.done, self.done + count))
        await all_of([self._some(numbers) for _ in range(CONNECTIONS)])

    async def _some(self, numbers: Any) -> None:
        client: Client | None = None
        for number in numbers:
            client = client or await Client.connect(self.gateway.port)
            (kind,) = self._chance.choices(list(STATUSES), WEIGHTS)
            asked = self._request(kind, number)
            client.writer.write(asked.head + asked.body)
            await asyncio.wait_for(client.answer(), 30)
            require(client.status == STATUSES[kind], f"{kind}: status {client.status}")
            self.done += 1
            self.kinds[kind] += 1
            if self._chance.random() < 0.05:
                client.leave()
                client = None
        if client is not None:
            client.leave()

    def _request(self, kind: str, number: int) -> Raw:
        token = self.gateway.token
        front = self._chance.choice(list(FRONTS))
        words = f"{number:x} " * self._chance.randrange(1, 60)
        if kind == "stranger":
            token = f"gw_{number:043d}"
        if kind == "lossy":
            more: dict[str, Any] = {"logit_bias": {"1": number % 100}, "seed": number}
            return _with(request("openai-chat", number, False, token, words), more)
        if kind == "unknown":
            more = {"model": f"nobody-{number}:no-model-{number}"}
            return _with(request("openai-chat", number, False, token, words), more)
        if kind == "odd":
            return _with(request("openai-chat", number, False, token), {"messages": number})
        return request(front, number, kind == "stream", token, words)


def _with(asked: Raw, more: dict[str, Any]) -> Raw:
    body = json.dumps({**json.loads(asked.body), **more}).encode()
    was = f"content-length: {len(asked.body)}\r\n".encode()
    now = f"content-length: {len(body)}\r\n".encode()
    return Raw(asked.head.replace(was, now), body)


async def run(home: Path, count: int, seed: int = 7, told: bool = False) -> Seen:
    """So many requests; `WrongError` where memory is too much, or grows."""
    async with Scripted(lambda number: SCRIPT) as upstream:
        with Serving(home, upstream.url) as gateway:
            load = Load(gateway, seed)
            await load.run(min(1000, count // 10))
            sizes = [gateway.rss()]
            began = time.monotonic()
            for part in range(SAMPLES):
                await load.run(count // SAMPLES)
                upstream.told.clear()  # which is ours, and grows
                sizes.append(gateway.rss())
                if part == SAMPLES // 2 - 1:
                    half = await asyncio.to_thread(gateway.watched)
                if told:
                    print(f"{(part + 1) * 100 // SAMPLES:4} %  {sizes[-1] / MEGABYTE:.1f} MB")
            seen = Seen(
                load.done, time.monotonic() - began, sizes, gateway.peak(), dict(load.kinds)
            )
            more = Counter((await asyncio.to_thread(gateway.watched))["kinds"])
            more.subtract(half["kinds"])
            if told:
                print(f"objects more than at half of it: {more.most_common(8)}")
            law = f"{seen.peak / MEGABYTE:.0f} MB of memory"
            require(seen.peak <= LIMIT, law)
            most = max(FLOOR, SHARE * sizes[len(sizes) // 2])
            law = f"it has grown by {seen.growth / MEGABYTE:.1f} MB: {more.most_common(12)}"
            require(seen.growth <= most, law)
            code = await asyncio.to_thread(gateway.stop)
            require(code == 0, f"it ended with {code}")
            events = len(gateway.books().told)
            whole = sum(n for kind, n in seen.kinds.items() if STATUSES[kind] == 200)
            require(events == whole, f"{events} events in the trace for {whole} requests")
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gateway.endurance.memory_run", description=__doc__
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        seen = uvloop.run(run(Path(folder), chosen.count, chosen.seed, told=True))
    print(
        f"{seen.requests} requests in {seen.seconds:.0f} s; {seen.sizes[0] / MEGABYTE:.1f} MB at"
        f" first, {seen.sizes[-1] / MEGABYTE:.1f} MB at the end ({seen.growth / MEGABYTE:+.1f} MB"
        f" in the second half), {seen.peak / MEGABYTE:.1f} MB at most"
    )
    for kind, count in sorted(seen.kinds.items()):
        print(f"  {kind:<10} {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
