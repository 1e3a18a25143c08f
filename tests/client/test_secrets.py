"""Hundreds of secrets through every error path: none may be seen in a log, an error or a repr.

The server is as careless as can be: it says everything it was told in every way it can."""

from __future__ import annotations

import asyncio
import logging
import random
import string
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

import interlingua as il
from interlingua.client import AsyncClient, RetryPolicy
from tests.client.test_timeouts import impatient
from tests.effort import examples

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]
MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai": "openai:gpt-4.1",
    "gemini": "gemini:gemini-2.5-flash",
    "ollama": "ollama:llama3.2",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-6",
}
COUNT = examples(1000)
"""Each path, provider and way at least twice."""


def said_back(status: int) -> Handler:
    async def handle(request: web.Request, secret: str) -> web.StreamResponse:
        error = {"type": f"odd {secret}", "message": f"bad key {secret}", "code": secret}
        wire = {"error": error, "message": f"bad key {secret}", secret: secret}
        return web.json_response(wire, status=status, headers={"x-request-id": secret})

    return handle


async def page(request: web.Request, secret: str) -> web.StreamResponse:
    text = f"<html>{secret}</html>"
    return web.Response(text=text, status=502, content_type=f"text/{secret[:20]}")


async def not_json(request: web.Request, secret: str) -> web.StreamResponse:
    return web.Response(text=secret, content_type="application/json")


async def odd_json(request: web.Request, secret: str) -> web.StreamResponse:
    return web.json_response({"content": secret, "choices": secret, secret: [secret]})


async def redirect(request: web.Request, secret: str) -> web.StreamResponse:
    return web.Response(status=307, headers={"location": f"http://127.0.0.1:1/?key={secret}"})


async def stream_error(request: web.Request, secret: str) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": secret})
    await reply.prepare(request)
    error = f'{{"type":"error","error":{{"type":"{secret}","message":"key {secret}"}}}}'
    await reply.write(f"event: error\ndata: {error}\n\ndata: {secret}\n\n".encode())
    return reply


async def broken_off(request: web.Request, secret: str) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await reply.prepare(request)
    start = '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant"'
    start += f',"model":"{secret}","content":[],"usage":{{"input_tokens":1}}}}}}'
    await reply.write(f"event: message_start\ndata: {start}\n\n".encode())
    assert request.transport is not None
    request.transport.abort()
    return reply


async def reset(request: web.Request, secret: str) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def silent(request: web.Request, secret: str) -> web.StreamResponse:
    await asyncio.sleep(0.3)
    return web.Response()


async def bad_encoding(request: web.Request, secret: str) -> web.StreamResponse:
    return web.Response(body=secret.encode(), headers={"content-encoding": f"x{secret}"[:30]})


PATHS: dict[str, Handler] = {
    "400": said_back(400),
    "401": said_back(401),
    "404": said_back(404),
    "429": said_back(429),
    "500": said_back(500),
    "200": said_back(200),
    "page": page,
    "not_json": not_json,
    "odd_json": odd_json,
    "redirect": redirect,
    "stream_error": stream_error,
    "broken_off": broken_off,
    "reset": reset,
    "silent": silent,
    "bad_encoding": bad_encoding,
}


@asynccontextmanager
async def careless() -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        path, _, rest = request.path.removeprefix("/").partition("/")
        return await PATHS[path](request, rest.partition("/")[0])

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def canaries(count: int) -> list[str]:
    rng = random.Random(20261116)
    alphabet = string.ascii_letters + string.digits + "_-"
    return ["".join(rng.choices(alphabet, k=rng.randint(20, 48))) for _ in range(count)]


class Ear(logging.Handler):
    """Hears everything that is logged, by whomever."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        known = {key: value for key, value in vars(record).items() if key != "exc_info"}
        self.heard.append(f"{record.getMessage()} {known!r}")
        if record.exc_info:
            self.heard.append("".join(traceback.format_exception(*record.exc_info)))


def shown(error: BaseException) -> str:
    """All that can be seen of an error without looking for it."""
    texts = [str(error), repr(error), "".join(traceback.format_exception(error))]
    texts += [repr(value) for key, value in vars(error).items() if key != "partial"]
    for inner in (error.__cause__, error.__context__):
        if inner is not None:
            texts.append(shown(inner))
    return "\n".join(texts)


async def ask(url: str, path: str, provider: str, key: str, prompt: str, stream: bool) -> str:
    """One call that fails, and everything that can be seen of it."""
    keys = {name: key for name in MODELS if name != "bedrock"}
    environ = {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": key,
        "AWS_SESSION_TOKEN": key,
    }
    base = dict.fromkeys(MODELS, f"{url}/{path}/{key}")
    limits = impatient(**({"first_byte": 0.1, "total": 0.1} if path == "silent" else {}))
    seen: list[str] = []
    async with AsyncClient(
        limits, base_urls=base, keys=keys, environ=environ, retry=RetryPolicy(1, 0.001)
    ) as client:
        seen.append(repr(client))
        result = client.stream(MODELS[provider], prompt)
        try:
            if stream:
                async with result:
                    async for event in result:
                        seen.append(type(event).__name__)
            else:
                await client.generate(MODELS[provider], prompt)
        except il.InterlinguaError as error:
            seen.append(shown(error))
        seen.append(repr(result))
    assert len(seen) > 2 or path in ("not_json", "odd_json", "stream_error"), (path, provider)
    return "\n".join(seen)


def test_no_secret_is_seen_whatever_goes_wrong(caplog: pytest.LogCaptureFixture) -> None:
    ear = Ear()
    root = logging.getLogger()
    level = root.level
    secrets = canaries(COUNT)
    seen: list[str] = []

    async def main() -> None:
        jobs = []
        room = asyncio.Semaphore(20)
        async with careless() as url:

            async def one(number: int, key: str) -> None:
                path = list(PATHS)[number % len(PATHS)]
                provider = list(MODELS)[number // len(PATHS) % len(MODELS)]
                stream = number // (len(PATHS) * len(MODELS)) % 2 == 1
                async with room:
                    seen.append(await ask(url, path, provider, key, f"prompt {key}", stream))

            jobs = [asyncio.create_task(one(*each)) for each in enumerate(secrets)]
            await asyncio.gather(*jobs)

    root.addHandler(ear)
    root.setLevel(logging.DEBUG)
    try:
        asyncio.run(main())
    finally:
        root.removeHandler(ear)
        root.setLevel(level)
    assert len(seen) == COUNT
    assert any("call_failed" in line for line in ear.heard)
    everything = "\n".join([*seen, *ear.heard, caplog.text])
    leaked = [secret for secret in secrets if secret in everything]
    assert not leaked, f"{len(leaked)} secrets"


def test_a_request_does_not_show_its_headers() -> None:
    from interlingua.client.transport import HttpRequest

    request = HttpRequest("https://example.com/?key=hidden-in-url", {"x-api-key": "hidden"}, b"xx")
    assert repr(request) == "<HttpRequest example.com, 2 bytes>"
