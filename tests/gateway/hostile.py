"""A provider that lies: absurd usage, refusals that ask for more, texts that carry secrets, broken
streams. `python -m tests.gateway.hostile --count 2000 --seed 1` asks the gateway through it as two
tenants, one of them with a cap.

Whatever the provider answers: nothing of one tenant reaches the other, no cap is passed, the
provider is never asked for more than the client asked, what protects is never left out, every
request is in the log, and the gateway stays ready.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from interlingua.gateway.keys.key_admin import NewKey
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, asked, key, served

SECRETS = {"a": "alice-7f3a91c2d4", "b": "bob-e81b05f6aa"}
CAP = Decimal("0.05")
MOST_SECONDS = 30.0
MOST_MEGABYTES = 300
LIMITS = ("max_tokens", "max_completion_tokens")
PROTECTING = {
    OPENAI: {"store": False, "stop": ["END"], "safety_identifier": "s1", "tool_choice": "none"},
    ANTHROPIC: {"stop": ["END"]},
}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
STATUSES = {200, *range(400, 600)}

ODD_NUMBERS: list[Any] = [0, -1, 2**31, 2**63, 10**30, 10**400, 1e308, 2.5, None, True, "7", [], {}]
ODD_TEXTS = [
    "",
    "\0",
    "\u202e",
    "x" * 70_000,
    "é" * 9,
    "\x1b[2J",
    "../../etc",
    "${jndi:x}",
    "[DONE]",
]
PARAMETERS = (*LIMITS, "n", "stop", "store", "safety_identifier", "tool_choice", "tools", "model")
REFUSALS = [
    "Unsupported parameter: '{p}' is not supported with this model.",
    "{p} must be at least {n}",
    "Invalid '{p}': expected one of 'priority', '{n}'. You sent {secret}",
    "'{p}' is too small: minimum is {n}",
    "Unrecognized request argument supplied: {p}",
    "The parameter {p} is only supported if {p} is greater than {n} ({secret})",
]


class Hostile(Upstream):
    """Answers each request in one of many wrong ways, chosen by a seeded generator."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.random = random.Random(seed)
        self.secret = ""
        """That of the tenant who asks. It is repeated to the same tenant, wherever it might be
        remembered and shown to the other."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        self.requests.append(wire)
        self.secret = next(s for s in SECRETS.values() if s in json.dumps(wire))
        ways: list[Callable[..., tuple[int, bytes]]] = [
            *(self._whole, self._whole, self._refusal, self._refusal, self._failure, self._garbage)
        ]
        status, body = self.random.choice(ways)(dialect, bool(wire.get("stream")))
        handler.send_response(status)
        streamed = status == 200 and wire.get("stream")
        handler.send_header("content-type", "text/event-stream" if streamed else "application/json")
        if self.random.random() < 0.2:
            handler.send_header("retry-after", self.random.choice(["-1", "99999999", "x", "0"]))
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _number(self) -> Any:
        return self.random.choice([*ODD_NUMBERS, self.random.randrange(1, 100_000)])

    def _text(self) -> str:
        return self.random.choice([*ODD_TEXTS, "fine", self.secret])

    def _usage(self, dialect: str) -> dict[str, Any]:
        names = {
            "anthropic": ("input_tokens", "output_tokens", "cache_read_input_tokens"),
            "openai-chat": ("prompt_tokens", "completion_tokens", "total_tokens"),
        }[dialect]
        return {name: self._number() for name in names if self.random.random() < 0.8}

    def _whole(self, dialect: str, stream: bool) -> tuple[int, bytes]:
        if stream:
            return 200, self._stream(dialect)
        if dialect == "anthropic":
            content: list[Any] = [{"type": "text", "text": self._text()}]
            if self.random.random() < 0.3:
                content.append(
                    {"type": "tool_use", "id": self._text(), "name": self._text(), "input": {}}
                )
            body: dict[str, Any] = {"type": "message", "role": "assistant", "content": content}
            body |= {"stop_reason": self._text(), "usage": self._usage(dialect)}
        else:
            message = {"role": "assistant", "content": self._text()}
            choice = {"index": self._number(), "message": message, "finish_reason": self._text()}
            body = {"object": "chat.completion", "choices": [choice], "created": self._number()}
            body |= {"usage": self._usage(dialect)}
        return 200, self._json({**body, "id": self._text(), "model": self._text()})

    def _stream(self, dialect: str) -> bytes:
        if dialect == "anthropic":
            start = {"type": "message", "role": "assistant", "content": [], "model": self._text()}
            frames: list[dict[str, Any]] = [
                {"type": "message_start", "message": {**start, "usage": self._usage(dialect)}},
                {"type": "content_block_start", "index": 0, "content_block": _EMPTY},
                {"type": "content_block_delta", "index": self._number(), "delta": self._delta()},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": _END, "usage": self._usage(dialect)},
                {"type": "message_stop"},
            ]
            lines = [f"event: {f['type']}\ndata: {self._json(f).decode()}\n\n" for f in frames]
        else:
            choice = {"index": 0, "delta": {"content": self._text()}, "finish_reason": "stop"}
            chunks = [{"choices": [choice]}, {"choices": [], "usage": self._usage(dialect)}]
            lines = [f"data: {self._json(chunk).decode()}\n\n" for chunk in chunks]
            lines.append("data: [DONE]\n\n")
        if self.random.random() < 0.4:  # frames lost, repeated, out of order, cut
            self.random.shuffle(lines)
            lines = lines[: self.random.randrange(len(lines) + 1)] + lines[:1]
        data = "".join(lines).encode()
        return data[: self.random.randrange(len(data))] if self.random.random() < 0.2 else data

    def _delta(self) -> dict[str, Any]:
        return {"type": "text_delta", "text": self._text()}

    def _refusal(self, dialect: str, stream: bool) -> tuple[int, bytes]:
        parameter = self.random.choice([*PARAMETERS, self._text(), f"x{len(self.requests)}"])
        text = self.random.choice(REFUSALS).format(
            p=parameter, n=self.random.choice([60_000, 100, "xhigh", 10**12]), secret=self.secret
        )
        error = {"message": text, "type": "invalid_request_error", "param": parameter, "code": None}
        return self.random.choice([400, 400, 422]), self._json({"type": "error", "error": error})

    def _failure(self, dialect: str, stream: bool) -> tuple[int, bytes]:
        error = {"message": f"{self._text()} {self.secret}", "type": self._text(), "code": "x"}
        status = self.random.choice([401, 403, 404, 413, 418, 429, 500, 503, 529])
        return status, self._json({"error": self.random.choice([error, self._text(), None, []])})

    def _garbage(self, dialect: str, stream: bool) -> tuple[int, bytes]:
        depth = self.random.choice([1, 10_000])
        body = [b"", b"null", b"[" * depth, b"\xff\xfe", b'{"a":', b"<html>", b"data: \n\n" * 50]
        return self.random.choice([200, 400, 500]), self.random.choice(body)

    def _json(self, value: Any) -> bytes:
        return json.dumps(value).encode()


_EMPTY = {"type": "text", "text": ""}
_END = {"stop_reason": "end_turn", "stop_sequence": None}


class Trial:
    """One run: what was asked as whom, and what is wrong with the answers."""

    def __init__(self, gateway: Served, provider: Hostile, keys: dict[str, NewKey]) -> None:
        self.gateway = gateway
        self.provider = provider
        self.keys = keys
        self.random = random.Random(provider.random.random())
        self.problems: list[str] = []
        self.ids: list[str] = []

    def check(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)

    async def one(self, number: int) -> None:
        """One request as one of the tenants, and everything that must hold after it."""
        who = self.random.choice("ab")
        model = self.random.choice([OPENAI, ANTHROPIC])
        limit, stream = self.random.choice([16, 50, 400]), self.random.random() < 0.4
        more: dict[str, Any] = {"max_tokens": limit, "stream": stream, "tools": [TOOL]}
        body = asked(f"{SECRETS[who]} {number}", model, **more, **PROTECTING[model])
        over = who == "a" and await self.spent() >= CAP
        first, started = len(self.provider.requests), time.monotonic()
        status, text, headers = await self.ask(who, body)
        took = time.monotonic() - started
        if (
            len(self.provider.requests) > first
        ):  # refusals of the gateway may be left out of the log
            self.ids.append(headers.get("x-request-id", ""))
        self.check(not over or first == len(self.provider.requests), f"{number}: over the cap")
        self.check(status in STATUSES, f"{number}: status {status}")
        self.check(took < MOST_SECONDS, f"{number}: took {took:.0f} s")
        self._none_of_the_other(number, who, text + json.dumps(headers))
        if status == 200 and not stream:
            self.check(text.startswith("{"), f"{number}: answered 200 with {text[:80]!r}")
        for sent in self.provider.requests[first:]:
            self._as_asked(number, model, limit, sent)
        id = headers.get("x-request-id")
        if id and self.random.random() < 0.2:
            _, losses, _ = await self.gateway.ask(
                "GET", f"/losses/{id}", token=self.keys[who].token
            )
            self._none_of_the_other(number, who, json.dumps(losses))

    async def spent(self) -> Decimal:
        """What is counted for the capped key today. A provider that reports more than was asked for
        is believed within bounds, so one answer may go beyond the cap; none may follow it."""
        key = self.keys["a"].key
        day = time.strftime("%Y-%m-%d", time.gmtime())
        rows = await self.gateway.service.store.spent([key.account_id or key.id], day)
        return Decimal(max([row.spent for row in rows], default=0)) / 10**12

    async def ask(self, who: str, body: dict[str, Any]) -> tuple[int, str, dict[str, str]]:
        headers = {"authorization": f"Bearer {self.keys[who].token}"}
        url = f"{self.gateway.base}/v1/chat/completions"
        async with self.gateway.http.post(url, json=body, headers=headers) as reply:
            text = (await reply.read()).decode(errors="replace")
            return reply.status, text, {k.lower(): v for k, v in reply.headers.items()}

    def _none_of_the_other(self, number: int, who: str, shown: str) -> None:
        other = SECRETS["b" if who == "a" else "a"]
        self.check(other not in shown, f"{number}: {who} was shown {other}")

    def _as_asked(self, number: int, model: str, limit: int, sent: dict[str, Any]) -> None:
        for name in LIMITS:
            found = sent.get(name, 0)
            self.check(found <= limit, f"{number}: {name} {found} sent for {limit}")
        self.check(sent.get("n", 1) == 1, f"{number}: n {sent.get('n')}")
        self.check("service_tier" not in sent, f"{number}: a tier was added")
        names = PROTECTING[model] if model == OPENAI else {"stop_sequences": ["END"]}
        for name, value in names.items():
            found = sent.get(name)
            self.check(found == value, f"{number}: {name} is {found!r}, not {value!r}")

    async def end(self) -> None:
        """What must hold after all requests."""
        await self.gateway.stored()
        store = self.gateway.service.store
        for id in self.ids:
            try:
                await store.request(id)
            except Exception as error:  # the kind of error is part of the finding
                self.problems.append(f"request {id!r} is not in the log: {type(error).__name__}")
        self.check(await self.spent() > 0, "the capped key has spent nothing")
        self.check((await self.gateway.ask("GET", "/health/ready"))[0] == 200, "not ready")
        self.check((await self.gateway.ask("GET", "/metrics"))[0] in (200, 401), "no metrics")


async def run(home: Path, count: int, seed: int) -> list[str]:
    """Ask so often; returns what is wrong."""
    with Hostile(seed) as provider:
        provider.configure(home)
        keys = {"a": key(home, "a", daily_cap_usd=CAP), "b": key(home, "b")}
        async with served(home) as gateway:
            trial = Trial(gateway, provider, keys)
            for number in range(count):
                await trial.one(number)
            await trial.end()
            return trial.problems


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        problems = asyncio.run(run(Path(place), options.count, options.seed))
    for problem in problems[:40]:
        print(problem)
    took = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{options.count} requests in {took:.0f} s, {len(problems)} wrong, peak {peak} MB")
    return 1 if problems or peak > MOST_MEGABYTES else 0


if __name__ == "__main__":
    raise SystemExit(main())
