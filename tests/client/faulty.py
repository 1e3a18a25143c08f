"""Servers that fail, for tests."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any

import pytest

from interlingua.client import (
    AuthError,
    CallError,
    ContextOverflowError,
    InvalidRequestError,
    RateLimitError,
    ServerError,
)
from tests.client import served
from tests.client.served import MODELS
from tests.replay.exchanges import Exchange

SONNET = MODELS["anthropic"]

CHAT = MODELS["openai-chat"]


async def ask(client: Any, model: str, stream: bool, **how: Any) -> str:
    if not stream:
        return str((await client.generate(model, "Hello", **how)).text)
    async with client.stream(model, "Hello", **how) as reply:
        async for _ in reply:
            pass
        return str(reply.message().text)


async def failing(work: Awaitable[Any]) -> tuple[CallError, float]:
    """The error, and how long it took."""
    begun = time.monotonic()
    with pytest.raises(CallError) as caught:
        await work
    return caught.value, time.monotonic() - begun


def both(dialect: str) -> tuple[Exchange, Exchange]:
    return served.whole(dialect), served.streamed(dialect)


def exchange_id(dialect: str, stream: bool) -> str:
    return f"{'stream' if stream else 'whole'}-{dialect}"


STATUSES: dict[int, type[CallError]] = {
    400: InvalidRequestError,
    401: AuthError,
    403: AuthError,
    404: InvalidRequestError,
    413: ContextOverflowError,
    422: InvalidRequestError,
    429: RateLimitError,
    500: ServerError,
    502: ServerError,
    503: ServerError,
    504: ServerError,
}
