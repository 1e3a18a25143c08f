"""Faults in place of the answer: errors, redirects, pages of proxies, noise."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Literal

import interlingua as il
from tests.replay import headers
from tests.replay.answers import SETTLE, Answer, Close, Piece, Send, Step
from tests.replay.exchanges import JSON_TYPE
from tests.replay.fault import Play, named


@named
def failing(
    status: int = 500,
    message: str = "staged by the replay server",
    retry_after: str | float | None = None,
    retry_after_ms: str | float | None = None,
) -> Play:
    """An error in the dialect's own shape, with the status that is wanted."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request")
    waits = {"retry-after": retry_after, "retry-after-ms": retry_after_ms}
    more = [(name, str(value)) for name, value in waits.items() if value is not None]

    def play(answer: Answer) -> list[Step]:
        error = il.ProviderError(il.ErrorKind(kind), message, status=status)
        metadata = il.MessageMetadata(status=il.MessageStatus.ERROR)
        response = il.Response(il.Message.assistant((), metadata), error=error)
        body = il.dialect(answer.dialect).write_response(response).json()
        named = headers.of(answer.dialect, "staged", status, body)
        return _whole(answer, status, body, JSON_TYPE, *named, *more)

    return play


_KINDS = {401: "auth", 403: "auth", 429: "rate_limit"}


@named
def rate_limited(
    retry_after: str | float | None = 1, retry_after_ms: str | float | None = None
) -> Play:
    """429. `retry_after` is seconds, a date, or whatever else a server may think of."""
    return failing(429, "slow down", retry_after, retry_after_ms).play


@named
def overloaded(status: int = 529) -> Play:
    return failing(status, "overloaded").play


@named
def html_error(status: int = 500) -> Play:
    """The page of some proxy on the way."""
    page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>"
    return lambda answer: _whole(answer, status, page.encode(), "text/html; charset=utf-8")


@named
def redirect(to: str, status: int = 307) -> Play:
    return lambda answer: _whole(answer, status, b"", "text/plain", ("location", to))


@named
def garbage(where: Literal["head", "body"] = "body", size: int = 512) -> Play:
    """Random bytes in place of the HTTP message, or of its body; the same ones every time."""
    noise = random.Random(size).randbytes(size)

    def play(answer: Answer) -> list[Step]:
        if where == "head":
            return [Send(noise), SETTLE, Close()]
        return replace(answer, pieces=(Piece(noise),)).steps()

    return play


def _whole(
    answer: Answer, status: int, body: bytes, kind: str, *more: tuple[str, str]
) -> list[Step]:
    collected = (("content-type", kind), *more)
    return Answer(answer.dialect, status, collected, (Piece(body),)).steps()
