"""Callers of the gateway's own paths, and the errors that they get."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from interlingua.gateway.shared.fronts import token_of
from interlingua.gateway.shared.state import Keys, Principal, Refusal

__all__ = ["ApiError", "answer", "error_answer", "principal_of", "while_valid"]

_encode = msgspec.json.Encoder().encode
JSON = "application/json"


class ApiError(Exception):
    """An answer in place of what was asked for: `{"error": {"code", "message", "details"?}}`."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Any = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers


async def principal_of(keys: Keys, request: Request) -> Principal:
    """Who asks; decided by the key alone, before anything else of the request is looked at."""
    token = token_of(dict(request.scope["headers"]), request.scope["query_string"])
    try:
        return await keys.find(token)
    except Refusal as refused:
        code = refused.error.code or ("unauthorized" if refused.status == 401 else "refused")
        headers = dict(refused.headers)
        if refused.status == 401:
            headers.setdefault("www-authenticate", "Bearer")
        raise ApiError(
            refused.status, code, refused.error.message, headers=headers or None
        ) from None


async def while_valid(
    keys: Keys, principal: Principal, pieces: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """The pieces of a stream for as long as the caller's key is valid and has the same rights.

    Streams send something at least every 15 seconds, so an idle one ends within that time."""
    code = "key_changed"
    async with aclosing(pieces):
        async for piece in pieces:
            try:
                if await keys.current(principal) != principal:
                    break
            except Refusal as refused:
                code = refused.error.code or code
                break
            yield piece
        else:
            return
    yield b'event: error\ndata: {"code":"%b"}\n\n' % code.encode()


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer that no proxy may cache."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(_encode(value), status, all_headers, media_type=JSON)


def error_answer(error: ApiError) -> Response:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    return answer({"error": body}, error.status, error.headers)


logger = logging.getLogger(__name__)


class PatientResponse(StreamingResponse):
    """Ends when the client has taken nothing for `stalled` seconds; the connection is closed."""

    def __init__(self, content: AsyncIterator[bytes], stalled: float, **more: Any) -> None:
        super().__init__(content, **more)
        self._stalled = stalled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stuck = False

        async def timed(message: Message) -> None:
            nonlocal stuck
            try:
                async with asyncio.timeout(self._stalled):
                    await send(message)
            except TimeoutError:
                stuck = True
                raise

        try:
            await super().__call__(scope, receive, timed)
        except BaseException:
            if not stuck:
                raise
            logger.info("client_stalled", extra={"path": scope["path"]})
