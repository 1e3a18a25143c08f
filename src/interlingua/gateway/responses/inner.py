"""Requests of the gateway to itself: each is handled like an HTTP request to `/v1/responses`, so
keys, caps, limits, the log and losses are the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.framing import decoder
from interlingua.gateway.shared.fronts import RESPONSES, Asgi, Scope

PATH = "/v1/responses"
TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_HANDSHAKE = frozenset({b"connection", b"upgrade", b"content-length", b"idempotency-key"})


class ErrorAnswer(NamedTuple):
    """An answer that is no stream: its status and its error."""

    status: int
    error: dict[str, Any]
    headers: dict[str, str]


def error_of(status: int, body: bytes, headers: dict[str, str] | None = None) -> ErrorAnswer:
    """The error in the body of an answer."""
    try:
        error = msgspec.json.decode(body)["error"]
    except (msgspec.DecodeError, KeyError, TypeError):
        error = {"message": "the request failed", "code": None}
    usual = {"type": "server_error" if status >= 500 else "invalid_request_error", "param": None}
    return ErrorAnswer(status, {**usual, "code": None, **error}, headers or {})


def scope_of(outer: Scope | None, headers: list[tuple[bytes, bytes]]) -> Scope:
    """The scope of a request of ours; `outer` is the client's own, whose headers it repeats."""
    own = [] if outer is None else outer["headers"]
    passed = [pair for pair in own if pair[0] not in _HANDSHAKE and not pair[0].startswith(b"sec-")]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"" if outer is None else outer["query_string"],
        "headers": [*passed, *headers],
        "client": None if outer is None else outer.get("client"),
        "server": None if outer is None else outer.get("server"),
    }


class InnerRequest:
    """One request, whose answer is a stream. `event` is called with the name and the data of each
    event, in order; `gone` ends the request as if its client had left."""

    def __init__(self, event: Callable[[str, str], Awaitable[None]], gone: asyncio.Event) -> None:
        self._event = event
        self._gone = gone
        self._decoder = decoder(RESPONSES.dialect)
        self._status = 0
        self._headers: dict[str, str] = {}
        self._error = bytearray()
        self._body: bytes | None = None

    async def run(self, app: Asgi, scope: Scope, body: bytes) -> ErrorAnswer | None:
        """Returns when the answer is complete; returns the error if there was one instead of a
        stream."""
        self._body = body
        await app(scope, self._receive, self._send)
        if self._status == 200 or not self._status:
            return None
        return error_of(self._status, bytes(self._error), self._headers)

    async def _receive(self) -> MutableMapping[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode(): value.decode() for name, value in message["headers"]}
        elif self._status != 200:
            self._error += message.get("body", b"")
        else:
            frames = self._decoder.feed(message["body"]) if message.get("body") else []
            if not message.get("more_body"):
                frames += self._decoder.close()
            for frame in frames:
                await self._event(frame.event or "", frame.data)
