"""Alerts by webhook: caps that are nearly or fully spent, providers that fail, a store that takes
nothing. An alert has names, ids and numbers, never content or keys. Alerts wait in a short queue
and are sent behind the requests, so that a webhook that does not answer slows nothing down."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.client.transport_errors import aiohttp
from interlingua.events.payloads import Payload
from interlingua.gateway.settings import AlertSettings

if TYPE_CHECKING:
    from aiohttp import ClientSession

logger = logging.getLogger(__name__)

ALERTS = frozenset({"quota.alert", "gateway.quota_exceeded", "provider.degraded", "store.failing"})
"""Events that are sent."""
WAITING = 100
"""Alerts that wait at most; the oldest make room."""
SILENCE = 300.0
"""Seconds before the same alert is sent again."""
REMEMBERED = 1000
TRIES = (0.0, 1.0, 5.0)
"""Seconds before each attempt."""
PATIENCE = 10.0
SIGNATURE = "x-interlingua-signature"


def signature(secret: str, at: int, body: bytes) -> str:
    """What a receiver computes itself, to know that an alert is ours and how old it is."""
    made = hmac.new(secret.encode(), b"%d." % at + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={made}"


class Alerts:
    """Sends alerts to one address, one after the other."""

    def __init__(self, settings: AlertSettings, pauses: tuple[float, ...] = TRIES) -> None:
        self._url = settings.url
        self._secret = os.environ.get(settings.secret.removeprefix("env:"), "")
        self._pauses = pauses
        self._queue: deque[bytes] = deque(maxlen=WAITING)
        self._sent: dict[bytes, float] = {}
        self._task: asyncio.Task[None] | None = None
        if self._url and not self._secret:
            logger.error("alerts_not_sent", extra={"why": "the variable of the secret is not set"})

    def add(self, type: str, payload: Payload | dict[str, Any]) -> None:
        """Sends an event if it is an alert, and was not sent lately."""
        if type not in ALERTS or not self._url or not self._secret:
            return
        facts = msgspec.to_builtins(payload)
        about = {name: facts.get(name) for name in ("scope", "window", "percent", "provider")}
        owners = [facts.get(name) for name in ("gateway_key_id", "user_id", "team_id")]
        mark, now = msgspec.json.encode([type, about, owners]), time.monotonic()
        if now - self._sent.get(mark, now - SILENCE) < SILENCE:
            return
        self._sent.pop(mark, None)
        self._sent[mark] = now
        while len(self._sent) > REMEMBERED:
            del self._sent[next(iter(self._sent))]
        at = datetime.now(UTC)
        self._queue.append(msgspec.json.encode({"type": type, "at": at, **facts}))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        timeout = aiohttp().ClientTimeout(total=PATIENCE)
        async with aiohttp().ClientSession(timeout=timeout) as http:
            while self._queue:
                await self._send(http, self._queue.popleft())

    async def _send(self, http: ClientSession, body: bytes) -> None:
        why = ""
        for pause in self._pauses:
            await asyncio.sleep(pause)
            at = int(time.time())
            headers = {
                "content-type": "application/json",
                SIGNATURE: signature(self._secret, at, body),
            }
            try:
                async with http.post(
                    self._url, data=body, headers=headers, allow_redirects=False
                ) as reply:
                    if reply.status < 300:
                        return
                    why = str(reply.status)
            except (aiohttp().ClientError, TimeoutError, OSError, ValueError) as error:
                why = type(error).__name__
        logger.error("alert_not_sent", extra={"why": why})

    async def close(self) -> None:
        """Sends what waits, for a few seconds at most."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=2.0)
            self._task.cancel()
