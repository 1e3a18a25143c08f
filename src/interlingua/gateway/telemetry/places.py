"""Background work after answers: places of losses in requests, and alerts by webhook.

Bodies stay in memory until the places of their losses are found; only paths are stored. Alerts are
about caps that are nearly or fully spent, providers that fail, a store that takes nothing. An alert
has names, ids and numbers, never content or keys. Alerts wait in a short queue and are sent behind
the requests, so that a webhook that does not answer slows nothing down.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from interlingua.adapt.places import Source
from interlingua.client.transport_errors import aiohttp
from interlingua.dialects.registry import dialect
from interlingua.events.payloads import Payload
from interlingua.gateway.settings import AlertSettings
from interlingua.gateway.shared.state import Exchange, ReportSource
from interlingua.model.losses import Loss

if TYPE_CHECKING:
    from aiohttp import ClientSession


logger = logging.getLogger(__name__)

MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of bodies that wait at a time; further ones get no places."""
SECONDS = 0.1
"""For one request."""
SHARE, SAVED = 0.1, 1.0
"""The part of the time that is spent on places, and how many seconds of it can be saved up: other
requests need the processor too."""


class Places:
    """The requests whose losses have no places yet, by their ids."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._waiting: dict[str, Exchange] = {}
        self._bytes = 0
        self._clock = clock
        self._credit, self._since = SAVED, clock()
        self._searching = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, exchange: Exchange) -> None:
        source = exchange.decision.source
        if source is None:
            return
        if self._bytes + len(source.body) > MOST_BYTES:
            exchange.decision = replace(exchange.decision, source=None)
        else:
            self._bytes += len(source.body)
            self._waiting[exchange.arrival.id] = exchange

    async def find(self, id: str) -> Exchange | None:
        """The exchange, if it has been waiting, with the places in its report."""
        if id not in self._waiting:
            return None
        async with self._searching:
            exchange = self._waiting.get(id)
            if exchange is not None:
                try:
                    await self._find(exchange)
                finally:
                    self._forget(exchange)
            return exchange

    async def _find(self, exchange: Exchange) -> None:
        report, source = exchange.decision.report, exchange.decision.source
        began = self._clock()
        self._credit = min(SAVED, self._credit + (began - self._since) * SHARE)
        self._since = began
        if report is not None and source is not None and self._credit > 0:
            entries = report.entries[: source.count]
            try:
                found = await asyncio.to_thread(_located, source, entries)
                report.entries[: source.count] = found
            except Exception as error:  # the trace goes on without places
                logger.error("places_failed", extra={"why": type(error).__name__})
            self._credit -= self._clock() - began

    def _forget(self, exchange: Exchange) -> None:
        source = exchange.decision.source
        self._bytes -= 0 if source is None else len(source.body)
        exchange.decision = replace(exchange.decision, source=None)
        del self._waiting[exchange.arrival.id]


def _located(source: ReportSource, entries: list[Loss]) -> list[Loss]:
    read, how = dialect(source.dialect).read_request, (source.model, source.stream)
    wanted = [
        entry
        for entry in entries
        if not entry.at and (source.has_messages or not entry.path.startswith("$.messages"))
    ]
    found = Source(source.body, source.dialect, read, how, SECONDS).places(wanted)
    places = {id(entry): at for entry, at in zip(wanted, found, strict=True)}
    return [entry.placed(at) if (at := places.get(id(entry))) else entry for entry in entries]


ALERTS = frozenset({"quota.alert", "gateway.quota_exceeded", "provider.degraded", "store.failing"})
"""Events that are sent."""
WAITING = 100
"""The most waiting alerts; the oldest are dropped."""
SILENCE = 300.0
"""Seconds before the same alert is sent again."""
REMEMBERED = 1000
TRIES = (0.0, 1.0, 5.0)
"""Seconds before each attempt."""
PATIENCE = 10.0
SIGNATURE = "x-interlingua-signature"


def signature(secret: str, at: int, body: bytes) -> str:
    """A receiver computes the same, to check an alert's origin and age."""
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
        """Sends waiting alerts, for a few seconds at most."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=2.0)
            self._task.cancel()
