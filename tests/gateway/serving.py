"""A whole gateway on loopback, with a scripted provider behind it, for tests of what it serves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn

import interlingua as il
from interlingua.client.retry import RetryPolicy
from interlingua.gateway.keys.key_admin import NewKey, Terms, issue
from interlingua.gateway.server.drain import Server
from interlingua.gateway.server.serve import bound, place_of, protocol, websocket_options
from interlingua.gateway.service import Service
from interlingua.gateway.settings import Listen, Settings
from interlingua.streams.fold import fold
from tests.agents.chat.provider import ANTHROPIC, DIALECTS, OPENAI, Provider
from tests.loopback import reply

__all__ = ["ANTHROPIC", "OPENAI", "Served", "Upstream", "asked", "key", "served", "settings_in"]


class Upstream(Provider):
    """The scripted provider, which can answer in one piece and count as well."""

    count = 0
    """Tokens of every prompt."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if handler.path.endswith("/count_tokens"):
            self.requests.append(wire)
            reply(handler, json.dumps({"input_tokens": self.count}).encode())
            return
        if wire.get("stream"):
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        request = il.dialect(dialect).read_request(wire)
        words = _words(request)
        if words.startswith("fail"):
            self._fail(handler, dialect)
            return
        response = fold(list(self._events(words, request)))
        reply(handler, il.dialect(dialect).write_response(response).json())


def _words(request: il.Request) -> str:
    users = [m.text for m in request.messages if m.role is il.Role.USER]
    return users[-1].strip() if users else ""


DIALECTS.setdefault("/v1/responses", "openai-responses")
DIALECTS.setdefault("/v1/messages/count_tokens", "anthropic")


class Served:
    """The gateway, and a way to ask it."""

    def __init__(self, service: Service, server: Server, base: str) -> None:
        self.service = service
        self.server = server
        self.base = base
        self.http = aiohttp.ClientSession()

    async def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, **more: Any
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, JSON (or text) and headers."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers.update(more.pop("headers", {}))
        async with self.http.request(
            method, f"{self.base}{path}", json=body, headers=headers, **more
        ) as reply:
            data = await reply.read()
            collected = {name.lower(): value for name, value in reply.headers.items()}
            try:
                return reply.status, json.loads(data), collected
            except ValueError:
                return reply.status, data.decode(), collected

    async def stored(self) -> None:
        """Returns when every request has ended and is in the trace: its client may have the answer
        before that."""
        async with asyncio.timeout(60):
            while self.server.under_way:
                await asyncio.sleep(0.005)
        await self.service.tracer.flush()


def settings_in(home: Path, **changes: Any) -> Settings:
    listen = Listen(port=0, notice_seconds=0.0, drain_seconds=1.0)
    usual = Settings(
        default_model=ANTHROPIC,
        store=str(home / "gateway.db"),
        providers_file=home / "providers.toml",
        listen=listen,
        retry=RetryPolicy(first=0.01, longest=0.02),
    )
    return replace(usual, **changes)


@asynccontextmanager
async def served(home: Path, settings: Settings | None = None) -> AsyncIterator[Served]:
    settings = settings or settings_in(home)
    service = await Service.open(settings)
    listening = bound("127.0.0.1", 0)
    config = uvicorn.Config(
        service.app,
        http=protocol(settings.limits),
        **websocket_options(settings.limits),
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        h11_max_incomplete_event_size=settings.limits.headers,
    )
    base = place_of(listening)
    server = Server(config, settings.listen, service.going, behind=lambda: service.behind)
    service.in_flight = lambda: server.under_way
    task = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    here = Served(service, server, base)
    try:
        yield here
    finally:
        await here.http.close()
        server.handle_exit(15, None)
        await task
        await service.close()


def key(home: Path, name: str = "test", **terms: Any) -> NewKey:
    """A new key of the gateway's store."""
    path = terms.pop("workspace_path", ".")
    user_id = terms.pop("user_id", None)
    with il.open_store(str(home / "gateway.db")) as store:
        return issue(store, name, path, Terms(**terms), user_id=user_id)


def asked(words: str, model: str = ANTHROPIC, **more: Any) -> dict[str, Any]:
    """A request in OpenAI's chat format."""
    return {"model": model, "messages": [{"role": "user", "content": words}], **more}
