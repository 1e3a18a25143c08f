"""Replies that are there already: a request of ours takes its usual way, and at the end of it gets
what a provider has answered before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar


class FinishedReply:
    """A reply of success that was received."""

    status = 200

    def __init__(self, body: bytes) -> None:
        self.headers: Mapping[str, str] = {"content-type": "application/json"}
        self._body = body

    async def chunk(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def body(self, limit: int) -> bytes:
        return self._body

    def close(self) -> None:
        """There is nothing to end."""


FINISHED: ContextVar[FinishedReply | None] = ContextVar("finished", default=None)
"""The reply to the requests that are made in this context, which a batch of a provider gave."""


@contextmanager
def answered_by(reply: FinishedReply | None) -> Iterator[None]:
    """Requests to providers are answered by this inside."""
    token = FINISHED.set(reply)
    try:
        yield
    finally:
        FINISHED.reset(token)
