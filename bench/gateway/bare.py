"""The floor: bytes through, and nothing else. For uvicorn: `bench.gateway.bare:app`."""

from __future__ import annotations

import os
from typing import Any

import aiohttp

_HEADERS = {"content-type": "application/json", "x-api-key": "x"}
_sessions: list[aiohttp.ClientSession] = []


def _session() -> aiohttp.ClientSession:
    if not _sessions:
        _sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
    return _sessions[0]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    url = os.environ["UPSTREAM"] + "/v1/messages"
    async with _session().post(url, data=body, headers=_HEADERS) as reply:
        kind = (b"content-type", reply.headers["content-type"].encode())
        if b'"stream":true' not in body:
            out = await reply.read()
            length = (b"content-length", b"%d" % len(out))
            await send({"type": "http.response.start", "status": 200, "headers": [kind, length]})
            await send({"type": "http.response.body", "body": out})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [kind]})
        async for chunk in reply.content.iter_any():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
