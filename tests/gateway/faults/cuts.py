"""`python -m tests.gateway.faults.cuts --count 5000`: streams that end too early, at every byte of
them, through the gateway: in good order (`end`) or not (`break`), passed on and translated.

The law: a client hears that its answer is whole if and only if the provider said so, and, for
Gemini, whose answers may go on after that, the connection ended in good order. Where it did not,
the client gets an error in its own dialect, and the exchange is noted as failed."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import interlingua as il
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits, TransportError
from interlingua.dialects.framing import decoder, encoder
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.idempotency.replies import is_whole_stream
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.state import Exchange, NoTrace
from interlingua.model.events import MessageComplete, StreamError
from tests.gateway.loops import post

FRONTS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/back-gemini:streamGenerateContent",
    "ollama": "/api/chat",
}
BACKS = {
    "openai-chat": "openai:gpt-5-mini",
    "openai-responses": "openai:gpt-5-mini",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "gemini:gemini-3-pro-preview",
    "ollama": "ollama:qwen3-vl:8b",
}
WORDS = "Grüße, 世界 🙂 and so on"
SIGNS = {
    "openai-chat": (b'"finish_reason":"stop"', b"[DONE]"),
    "openai-responses": (b'"type":"response.completed"',),
    "anthropic": (b'"type":"message_stop"',),
    "gemini": (b'"finishReason":"STOP"',),
    "ollama": (b'"done":true',),
}
"""What the provider says in the frame that ends its answer."""


class Case(NamedTuple):
    front: str
    back: str
    at: int
    how: str


class Cut:
    """A provider whose stream ends where it is told."""

    status = 200

    def __init__(self, data: bytes, how: str) -> None:
        self.headers: dict[str, str] = {"content-type": "text/event-stream"}
        size = 64 if len(data) < 4096 else 1024
        self.left = [data[at : at + size] for at in range(0, len(data), size)]
        self.how = how

    async def chunk(self) -> bytes:
        if self.left:
            return self.left.pop(0)
        if self.how == "break":
            raise TransportError(
                "read", "connection closed before the response was complete", sent=True, begun=True
            )
        return b""

    def close(self) -> None:
        return None


class Provider:
    """Answers each request with the stream that comes next."""

    def __init__(self) -> None:
        self.next: Cut | None = None

    async def send(self, request: HttpRequest, limits: Limits) -> Any:
        assert self.next is not None
        return self.next


class Noted(NoTrace):
    """The last exchange."""

    last: Exchange | None = None

    def finished(self, exchange: Exchange) -> None:
        self.last = exchange


def stream_of(dialect: str) -> bytes:
    """A whole answer."""
    codec, encode = il.dialect(dialect), encoder(dialect)
    metadata = il.MessageMetadata(
        response_id="r1",
        response_model="m",
        usage=il.Usage(21, 13),
        stop_reason=il.StopReason.END_TURN,
    )
    response = il.Response(il.Message.assistant((il.TextBlock(WORDS),), metadata))
    writer = codec.stream_writer()
    frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
    return b"".join([encode(frame) for frame in (*frames, *writer.close())])


def body_of(front: str, back: str) -> dict[str, Any]:
    if front == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    fields: dict[str, Any] = {"model": f"back-{back}", "stream": True}
    if front == "openai-responses":
        return {**fields, "input": "hi"}
    messages = [{"role": "user", "content": "hi"}]
    limit = {"max_tokens": 100} if front == "anthropic" else {}
    return {**fields, "messages": messages, **limit}


def is_said(back: str, data: bytes) -> bool:
    """Whether the bytes have a whole line in them that ends the answer."""
    lines = [line.removeprefix(b"data:").strip() for line in data.split(b"\n")]
    whole = [line for line in lines if line == b"[DONE]" or is_json(line)]
    return any(sign in line.replace(b": ", b":") for line in whole for sign in SIGNS[back])


def is_vague(back: str, data: bytes) -> bool:
    """Whether the last frame lacks nothing but its end: then it may be taken or left."""
    ended = data.rpartition(b"\n" if back == "ollama" else b"\n\n")[0]
    return is_said(back, data) and not is_said(back, ended)


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


class Sweep:
    """One gateway, and its provider."""

    def __init__(self, key: str = "k") -> None:
        self.provider, self.noted = Provider(), Noted()
        keys = dict.fromkeys(("openai", "anthropic", "gemini", "ollama"), key)
        places = dict.fromkeys(keys, "http://127.0.0.1:9")
        routes = {
            f"back-{name}": RouteSettings(model, dialect=name) for name, model in BACKS.items()
        }
        self.app = App(
            Gateway(
                Settings(routes=routes, retry=RetryPolicy(0), raises=True),
                targets=Targets(keys=keys, base_urls=places, environ={}),
                transport=self.provider,
                trace=self.noted,
            )
        )
        self.streams = {name: stream_of(name) for name in BACKS}

    def cases(self) -> Iterator[Case]:
        for front in FRONTS:
            for back, data in self.streams.items():
                for at in range(len(data) + 1):
                    yield Case(front, back, at, "end")
                    yield Case(front, back, at, "break")

    async def wrong(self, case: Case) -> str | None:
        """What is wrong with how the gateway deals with a case."""
        data = self.streams[case.back][: case.at]
        self.provider.next = Cut(data, case.how)
        path = FRONTS[case.front].replace("back-gemini", f"back-{case.back}")
        status, reply = await post(self.app, path, body_of(case.front, case.back))
        exchange = self.noted.last
        assert exchange is not None
        whole = status == 200 and is_whole_stream(case.front, reply)
        content = is_said(case.back, data) and not (case.back == "gemini" and case.how == "break")
        if whole != content and not is_vague(case.back, data):
            return f"the provider ended it: {content}, the client thinks so: {whole}"
        if whole != (exchange.outcome.error is None):
            return f"whole: {whole}, noted: {exchange.outcome.error}"
        if status == 200 and not whole and not has_error(case.front, reply):
            return "the client is told of no error"
        return None


def has_error(front: str, told: bytes) -> bool:
    """Whether a stream has an error in it that its client's reader finds, and no end beside it."""
    frames, reader = decoder(front), il.dialect(front).stream_reader()
    events = [e for f in (*frames.feed(told), *frames.close()) for e in reader.feed(f)]
    kinds = [type(event) for event in (*events, *reader.close())]
    return StreamError in kinds and MessageComplete not in kinds


async def sweep(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many of the cases, chosen by chance; all of them where that is fewer."""
    here = Sweep()
    cases = list(here.cases())
    if count < len(cases):
        cases = random.Random(seed).sample(cases, count)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases:
        odd = await here.wrong(case)
        counts["passed on" if case.front == case.back else "translated"] += 1
        if odd is not None:
            wrong.append(f"{case}: {odd}")
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    counts, wrong = asyncio.run(sweep(arguments.count, arguments.seed))
    print(f"{sum(counts.values())} cut streams ({dict(counts)}), {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
