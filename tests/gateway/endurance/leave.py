"""`python -m tests.gateway.endurance.leave --count 10000`: clients that go away at random moments.

Some leave before their request is whole, some before the first word, in the middle or after the
end, politely or with a reset. Whatever they do, upstream hears of it at once, and nothing of them
stays: no task, socket, reservation or memory, and in the trace and the ledger each is found once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import uvloop

from tests.gateway.asking import FRONTS, Client, all_of, request
from tests.gateway.endurance.outside import MEGABYTE, Books, Serving, require
from tests.gateway.scripted import INPUT, Script, Scripted

AT_ONCE = 0.5
"""Seconds in which upstream is let go when its client has left."""
AT_A_TIME = 24
BEHIND = 10**9
"""Added to the number of a request that was sent behind another, and never gets its turn."""
UNREAD, GONE = 'target="none"', 'status="499"'
"""Labels of requests whose client left before we knew what it asked."""
WARM = 300
"""Leavers before the count of what is open begins, so that what is opened once and kept is open."""
PATIENCE = 30.0
"""Seconds that a busy machine may take to close what was left."""
IDLE = 120.0
"""Seconds after which no connection upstream is open any more that nobody uses."""
GROWTH, OBJECTS = 15 * MEGABYTE, 5000
"""What a process may have more in the end. Each leaver that is not forgotten is many objects, and
kilobytes; the allocator and the caches of the store take some megabytes once."""
HEAD, BODY, SENT, ASKED, FIRST, MIDDLE, END = (
    "after-the-headers", "in-the-body", "when-sent", "before-the-first-word", "at-the-first-word",
    "in-the-middle", "after-the-end",
)  # fmt: skip
MOMENTS = (HEAD, BODY, SENT, ASKED, FIRST, MIDDLE, END)
SCRIPTS = {
    SENT: Script(wait=0.01, pieces=150, pause=0.02),
    ASKED: Script(wait=3.0),
    FIRST: Script(pieces=150, pause=0.02),
    MIDDLE: Script(wait=0.005, pieces=150, pause=0.02),
    END: Script(pieces=10),
}
"""All but the last take seconds: who is not let go by the gateway is seen to go on."""


class Left(NamedTuple):
    """One who has left: when, and the id that its request had, if it was told."""

    moment: str
    at: float
    id: str


class Seen(NamedTuple):
    """What was found; times in milliseconds."""

    left: int
    slowest_ms: float
    median_ms: float
    asked: int
    """Requests that had come upstream when their client left, or did later."""
    seconds: float
    growth: int
    objects: int
    """Bytes and objects that the process has more than after the warm-up."""
    moments: dict[str, int]


class Held:
    """When this process was kept from working by others on the machine: what it notes late in such
    a time is not the gateway's fault."""

    TICK = 0.01

    def __init__(self) -> None:
        self._gaps: list[tuple[float, float]] = []
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def __exit__(self, *odd: object) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _watch(self) -> None:
        now = asyncio.get_running_loop().time
        last = now()
        while True:
            await asyncio.sleep(self.TICK)
            last, before = now(), last
            if last - before > 5 * self.TICK:
                self._gaps.append((before, last))

    def between(self, start: float, end: float) -> float:
        """Seconds in that time in which nothing could be noted."""
        return sum([max(0.0, min(end, b) - max(start, a)) for a, b in self._gaps])


class Leavers:
    def __init__(self, gateway: Serving, upstream: Scripted, seed: int, at_once: float) -> None:
        self.at_once = at_once
        self.gateway = gateway
        self.upstream = upstream
        self.left: dict[int, Left] = {}
        self._chance = random.Random(seed)
        self._moments: dict[int, str] = {}
        self._held = Held()

    def plan(self, number: int) -> Script:
        return SCRIPTS[self._moments.get(number, ASKED)]

    async def run(self, count: int) -> None:
        """So many more of them, some at a time."""
        numbers = iter(range(len(self.left), len(self.left) + count))

        async def some() -> None:
            for number in numbers:
                await asyncio.wait_for(self._one(number), 30)

        with self._held:
            await all_of([some() for _ in range(AT_A_TIME)])
            await settled(self.upstream)

    async def _one(self, number: int) -> None:
        chance, gateway = self._chance, self.gateway
        moment = self._moments[number] = chance.choice(MOMENTS)
        stream = moment in (FIRST, MIDDLE) or chance.random() < 0.6
        asked = request(chance.choice(list(FRONTS)), number, stream, gateway.token)
        client = await Client.connect(gateway.port)
        client.writer.write(asked.head)
        if moment == BODY:
            client.writer.write(asked.body[: chance.randrange(1, len(asked.body))])
        elif moment != HEAD:
            client.writer.write(asked.body)
        if moment in (ASKED, FIRST, MIDDLE) and chance.random() < 0.1:
            behind = request("openai-chat", number + BEHIND, True, gateway.token)
            client.writer.write(behind.head + behind.body)
        await self._stay(client, moment, number)
        # A reset may overtake what was sent, so only those use it whose request has arrived.
        client.leave(rudely=moment not in (HEAD, BODY, SENT) and chance.random() < 0.5)
        self.left[number] = Left(moment, asyncio.get_running_loop().time(), client.id)

    async def _stay(self, client: Client, moment: str, number: int) -> None:
        chance = self._chance
        if moment in (HEAD, BODY, SENT):
            await asyncio.sleep(chance.choice((0.0, chance.random() * 0.02)))
        elif moment == ASKED:
            await self.upstream.asked(number)
            await asyncio.sleep(chance.random() * 0.02)
        elif moment in (FIRST, MIDDLE):
            await client.begin()
            require(client.status == 200, f"a stream was refused with {client.status}")
            await client.reader.readexactly(1)
            if moment == MIDDLE:
                await asyncio.sleep(chance.random() * 0.1)
        else:
            await client.answer()
            require(client.status == 200, f"a request was refused with {client.status}")

    # Laws

    def closed_at_once(self) -> list[float]:
        """Seconds from a client's leaving (or its request's arrival, if that was later) to the end
        upstream, of all that were under way."""
        times = []
        for number, reported in self.upstream.told.items():
            require(number < BEHIND, "the second request of one who had left was sent")
            left = self.left[number]
            late = reported.asked - left.at - self._held.between(left.at, reported.asked)
            require(
                late < self.at_once,
                f"{left.moment}: upstream was asked {late * 1000:.0f} ms after its client left",
            )
            require(reported.over is not None, f"{left.moment}: upstream is still at work")
            assert reported.over is not None
            since = max(left.at, reported.asked)
            late = reported.over - since - self._held.between(since, reported.over)
            if not reported.whole:
                times.append(late)
            require(
                late < self.at_once,
                f"{left.moment}: upstream went on for {late * 1000:.0f} ms after its client left",
            )
        return times

    def booked_once(self, books: Books, counted: dict[str, int]) -> None:
        """All are counted; one event and one entry for each request that was read, none for the
        others."""
        total = sum(counted.values())
        require(total == len(self.left), f"{total} counted of {len(self.left)}")
        unread = sum(n for name, n in counted.items() if UNREAD in name and GONE in name)
        cut = sum(each.moment in (HEAD, BODY) for each in self.left.values())
        sent = sum(each.moment == SENT for each in self.left.values())
        require(cut <= unread <= cut + sent, f"{unread} unread, {cut} were not whole")
        events = Counter(id for _, id in books.told)
        require(max(events.values()) == 1, "a request is in the trace twice")
        read = len(self.left) - unread
        require(len(events) == read, f"{len(events)} events in the trace for {read} requests")
        whole = [each for each in self.left.values() if each.moment not in (HEAD, BODY)]
        ids = {each.id for each in whole if each.id}
        require(ids <= set(events), "a request whose answer had begun is not in the trace")
        require(set(books.ledger) <= set(events), "the ledger has what the trace has not")
        asked = len(self.upstream.told)
        require(len(books.ledger) >= asked, f"{len(books.ledger)} entries, {asked} came upstream")
        require(books.reserved == 0, f"{books.reserved} are still set aside")
        states = Counter(entry.status for entry in books.ledger.values())
        require(set(states) == {"settled"}, f"reservations: {dict(states)}")
        paid = [books.ledger[id] for id in ids]
        require(
            all(entry.cost > 0 and entry.tokens > INPUT for entry in paid),
            "what a client had of its answer is not paid",
        )


async def leave(
    home: Path,
    count: int,
    seed: int = 7,
    warm: int = WARM,
    idle: float | None = None,
    at_once: float = AT_ONCE,
) -> Seen:
    """So many clients leave; `WrongError` for the first law that does not hold. `idle`: how long
    the gateway may keep connections upstream that nobody uses; None: that is not looked at."""
    async with Scripted(lambda number: leavers.plan(number)) as upstream:
        with Serving(home, upstream.url) as gateway:
            leavers = Leavers(gateway, upstream, seed, at_once)
            await leavers.run(warm)
            rss, files, threads = gateway.rss(), _files(gateway, upstream), gateway.threads()
            before = await asyncio.to_thread(gateway.watched)
            began = time.monotonic()
            await leavers.run(count)
            seconds = time.monotonic() - began
            times = sorted(leavers.closed_at_once())
            require(not upstream.twice, "a request was sent twice")
            now = await asyncio.to_thread(gateway.watched)
            require(now["tasks"] <= before["tasks"], f"tasks: {before['names']}, {now['names']}")
            objects = now["objects"] - before["objects"]
            kinds = Counter(now["kinds"]) - Counter(before["kinds"])
            require(objects < OBJECTS, f"{objects} objects more: {kinds.most_common(20)}")
            end = time.monotonic() + PATIENCE
            while _files(gateway, upstream) > files and time.monotonic() < end:
                await asyncio.sleep(0.1)
            require(
                _files(gateway, upstream) <= files,
                f"{files} files before, now {_files(gateway, upstream)}",
            )
            require(gateway.threads() <= threads + 1, f"{threads} threads before")
            growth = gateway.rss() - rss
            require(growth < GROWTH, f"it has grown by {growth // 1024} kB")
            counted = await asyncio.to_thread(gateway.counted)
            if idle is not None:
                await _closed(upstream, idle)
            code = await asyncio.to_thread(gateway.stop)
            require(code == 0, f"it ended with {code}")
            leavers.booked_once(gateway.books(), counted)
            require(not upstream.open, "a connection upstream is open after its end")
    moments = Counter(each.moment for each in leavers.left.values())
    slowest, median = times[-1] * 1000, times[len(times) // 2] * 1000
    return Seen(count, slowest, median, len(upstream.told), seconds, growth, objects, dict(moments))


async def settled(upstream: Scripted, seconds: float = 2.0) -> None:
    """Until upstream has nothing to do, and the gateway has had a moment for its notes."""
    until = time.monotonic() + seconds
    while upstream.busy and time.monotonic() < until:
        await asyncio.sleep(0.02)
    require(not upstream.busy, f"{upstream.busy} requests are still under way upstream")
    await asyncio.sleep(1.2)


async def _closed(upstream: Scripted, seconds: float) -> None:
    until = time.monotonic() + seconds
    while upstream.open and time.monotonic() < until:
        await asyncio.sleep(0.2)
    require(not upstream.open, f"{len(upstream.open)} connections upstream stay open")


def _files(gateway: Serving, upstream: Scripted) -> int:
    """Open files but for connections upstream that wait for the next request."""
    return gateway.files() - len(upstream.open)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.gateway.endurance.leave", description=__doc__
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        seen = uvloop.run(leave(Path(folder), chosen.count, chosen.seed, idle=IDLE))
    print(
        f"{seen.left} clients left in {seen.seconds:.0f} s; upstream let go after"
        f" {seen.median_ms:.1f} ms, {seen.slowest_ms:.0f} ms at most ({seen.asked} requests);"
        f" memory {seen.growth / MEGABYTE:+.1f} MB,"
        f" {seen.objects:+} objects"
    )
    for moment, count in sorted(seen.moments.items()):
        print(f"  {moment:<24} {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
