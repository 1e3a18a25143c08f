"""`python -m tests.gateway.idempotency.pairs --count 10000`: pairs of requests with the same key.

At the same time or one after the other, with the same body or another, whole or as a stream, at one
gateway or at two that share a store, with content kept or not, answered or failed at first. In each
pair the provider is asked once (twice where the first failed), and both get what they should.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

import interlingua as il
from interlingua.client.retry import RetryPolicy
from interlingua.dialects.framing import encoder
from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.store.open import open_store
from tests.gateway.serving import Served, served, settings_in

AT_A_TIME = 24
NUMBER = re.compile(r"#(\d+)#")
FRONTS = ("anthropic", "openai-chat", "ollama")


class Pair(NamedTuple):
    """What is tried."""

    when: str
    body: str
    form: str
    where: str
    content: str
    front: str

    @property
    def name(self) -> str:
        return " ".join((self.when, self.body, self.where, self.content))


PAIRS = [
    Pair(*each)
    for each in itertools.product(
        ("parallel", "later"),
        ("same", "different", "failing"),
        ("whole", "stream"),
        ("one", "two"),
        ("kept", "unkept"),
        FRONTS,
    )
    if not (each[0] == "parallel" and each[1] == "failing")
]


class Told(NamedTuple):
    status: int
    body: bytes
    headers: Any


class Upstream:
    """Says another thing each time, and counts how often it was asked for each pair."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.url = ""
        self._said = itertools.count()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        found = NUMBER.search(text)
        assert found is not None
        number = int(found.group(1))
        self.asked[number] += 1
        await asyncio.sleep(0.002)
        if "failing" in text and self.asked[number] == 1:
            wrong = {"type": "invalid_request_error", "message": "not today"}
            return web.json_response({"type": "error", "error": wrong}, status=400)
        metadata = il.MessageMetadata(
            response_id=f"msg_{next(self._said)}",
            stop_reason=il.StopReason.END_TURN,
            usage=il.Usage(5, 6),
        )
        content = il.Message.assistant(f"answer {next(self._said)} to #{number}#", metadata)
        codec = il.dialect("anthropic")
        if not json.loads(text).get("stream"):
            whole = codec.write_response(il.Response(content)).json()
            return web.Response(body=whole, content_type="application/json")
        writer, encode = codec.stream_writer(), encoder("anthropic")
        frames = [f for event in il.unfold(il.Response(content)) for f in writer.feed(event)]
        data = b"".join([encode(frame) for frame in (*frames, *writer.close())])
        return web.Response(body=data, content_type="text/event-stream")


@asynccontextmanager
async def upstream() -> AsyncIterator[Upstream]:
    here = Upstream()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", here.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    here.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield here
    finally:
        await runner.cleanup()


class Run:
    """All pairs, and what was wrong with them."""

    def __init__(self, gateways: list[Served], tokens: dict[str, str], behind: Upstream) -> None:
        self.gateways = gateways
        self.tokens = tokens
        self.behind = behind
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()
        self.replayed = 0
        self.codes: Counter[str] = Counter()

    async def one(self, number: int, pair: Pair) -> None:
        first, second = self.gateways if pair.where == "two" else self.gateways[:1] * 2
        other = "b" if pair.body == "different" else "a"
        if pair.when == "parallel":
            one, two = await asyncio.gather(
                self.ask(first, number, pair, "a"), self.ask(second, number, pair, other)
            )
        else:
            one = await self.ask(first, number, pair, "a")
            await self.settled(first)
            two = await self.ask(second, number, pair, other)
        self.counts[pair.name] += 1
        for each in (one, two):
            self.replayed += "x-interlingua-replayed" in each.headers
            if each.status >= 400 and "x-interlingua-code" in each.headers:
                self.codes[f"{each.status} {each.headers['x-interlingua-code']}"] += 1
        odd = self.judge(number, pair, one, two)
        if odd:
            self.wrong.append(f"pair {number} ({pair}): {odd}")

    def judge(self, number: int, pair: Pair, one: Told, two: Told) -> str | None:
        """What is wrong, if anything is."""
        asked, statuses = self.behind.asked[number], sorted([one.status, two.status])
        if pair.body == "failing":
            expected, times = [200, 400], 2
        elif pair.body == "different":
            expected, times = [200, 422], 1
        elif pair.where == "two" and pair.content == "unkept":
            expected, times = [200, 409], 1
        else:
            expected, times = [200, 200], 1
        if statuses != expected:
            return f"statuses {statuses}, not {expected}"
        if asked != times:
            return f"the provider was asked {asked} times, not {times}"
        if pair.when == "later" and one.status != expected[0 if pair.body != "failing" else 1]:
            return f"the first got {one.status}"
        if statuses == [200, 200] and one.body != two.body:
            return "two answers"
        return None

    async def settled(self, gateway: Served) -> None:
        """Until it is written down how the first ended: a moment after its last byte."""
        keys = gateway.service.gateway.idempotency
        while keys._loose:
            await asyncio.wait(set(keys._loose), timeout=5)

    async def ask(self, gateway: Served, number: int, pair: Pair, variant: str) -> Told:
        path, body = _request(pair, f"{pair.body} {variant} #{number}#")
        headers = {
            "authorization": f"Bearer {self.tokens[pair.content]}",
            "idempotency-key": f"pair-{number}",
        }
        async with gateway.http.post(gateway.base + path, json=body, headers=headers) as reply:
            return Told(reply.status, await reply.read(), reply.headers)


def _request(pair: Pair, words: str) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "model": "anthropic:claude-sonnet-4-6",
        "messages": [{"role": "user", "content": words}],
        "stream": pair.form == "stream",
    }
    if pair.front == "anthropic":
        return "/v1/messages", {**body, "max_tokens": 50}
    return ("/v1/chat/completions" if pair.front == "openai-chat" else "/api/chat"), body


async def main(count: int, store: str | None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        place = store or str(home / "gateway.db")
        with open_store(place) as opened:
            tokens = {
                name: issue(opened, name, ".", Terms(keep_content=name == "kept")).token
                for name in ("kept", "unkept")
            }
        async with AsyncExitStack() as stack:
            behind = await stack.enter_async_context(upstream())
            entry = f'[providers.anthropic]\nbase_url = "{behind.url}"\nkey = "k-0123456789"\n'
            (home / "providers.toml").write_text(entry)
            settings = settings_in(home, store=place, retry=RetryPolicy(0))
            gateways = [await stack.enter_async_context(served(home, settings)) for _ in range(2)]
            run = Run(gateways, tokens, behind)
            began = time.perf_counter()
            numbers = iter(range(count))

            async def work() -> None:
                for number in numbers:
                    await run.one(number, PAIRS[number % len(PAIRS)])

            await asyncio.gather(*[work() for _ in range(AT_A_TIME)])
            seconds = time.perf_counter() - began
            return _tell(run, count, seconds)


def _tell(run: Run, count: int, seconds: float) -> int:
    print(f"{count} pairs in {seconds:.1f} s, {sum(run.behind.asked.values())} calls upstream")
    for name, number in sorted(run.counts.items()):
        print(f"  {number:6} {name}")
    print(f"replayed {run.replayed}; refused {dict(sorted(run.codes.items()))}")
    for number, gateway in enumerate(run.gateways, 1):
        replies = gateway.service.gateway.idempotency.replies
        print(f"gateway {number} holds {len(replies)} answers, {replies.size} bytes")
    print(f"{len(run.wrong)} wrong")
    for line in run.wrong[:20]:
        print(f"  {line}")
    return 1 if run.wrong or sum(run.counts.values()) != count else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--store", help="where the gateways keep their things; else a new file")
    chosen = parser.parse_args()
    sys.exit(asyncio.run(main(chosen.count, chosen.store)))
