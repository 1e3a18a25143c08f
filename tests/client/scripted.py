"""A server on loopback whose answers a test writes down, one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

import interlingua as il


class Scripted:
    """Gives each answer once, the last one again and again; keeps what it was asked."""

    def __init__(self, dialect: str, answers: list[Any]) -> None:
        self.dialect = dialect
        self.asked: list[Any] = []
        self.paths: list[str] = []
        self.url = ""
        self._answers = answers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        wire = msgspec.json.decode(await request.read())
        self.asked.append(wire)
        self.paths.append(request.path)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if callable(answer):
            answer = answer(wire)
        if isinstance(answer, il.Response):
            answer = il.dialect(self.dialect).write_response(answer).wire
        return web.json_response(answer)


@asynccontextmanager
async def scripted(
    dialect: str, *answers: il.Response | Callable[..., Any] | dict[str, Any]
) -> AsyncIterator[Scripted]:
    server = Scripted(dialect, list(answers))
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
