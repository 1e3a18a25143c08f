"""The content log: the texts of a request and its answer, for keys that enable it. Secrets and
personal data are removed before anything is stored, and each entry expires after the key's own
age."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.gateway.shared.state import Exchange
from interlingua.model.events import MessageComplete
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import ObjectList, ObjectRow
from interlingua.transcripts.redaction.redactor import redact

logger = logging.getLogger(__name__)

KIND = "content"
LONGEST = 1024 * 1024
"""The most bytes of a request or an answer; of longer ones, the entry has only a note."""
WAITING = 32 * 1024 * 1024
"""Bytes that wait to be written; more are not logged."""
A_DAY = 86_400.0

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Entry(NamedTuple):
    exchange: Exchange
    request: bytes
    answer: bytes | None

    @property
    def size(self) -> int:
        return len(self.request) + len(self.answer or b"")


def place_of(tenant: str | None) -> ObjectList:
    """The list of a tenant's logged contents, by request id."""
    return ObjectList(tenant or "", KIND)


class Recorder:
    """Sends an answer on and remembers it, up to `LONGEST` bytes."""

    def __init__(self, log: ContentLog, exchange: Exchange, request: bytes, send: Send) -> None:
        self._log, self._exchange, self._request, self._send = log, exchange, request, send
        self._pieces: list[bytes] = []
        self._size = 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        piece = message.get("body", b"")
        self._size += len(piece)
        if self._size <= LONGEST:
            self._pieces.append(piece)
        await self._send(message)

    def end(self) -> None:
        """The answer is over."""
        answer = b"".join(self._pieces) if self._size <= LONGEST else None
        self._log.add(_Entry(self._exchange, self._request, answer))


class ContentLog:
    """Entries wait in memory until they are written; no request waits for that."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._waiting: deque[_Entry] = deque()
        self._size = 0
        self._task: asyncio.Task[None] | None = None

    def add(self, entry: _Entry) -> None:
        if self._size + entry.size > WAITING:
            logger.warning("content_not_logged", extra={"request": entry.exchange.arrival.id})
            return
        self._waiting.append(entry)
        self._size += entry.size
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        while self._waiting:
            entry = self._waiting.popleft()
            self._size -= entry.size
            arrival = entry.exchange.arrival
            days = arrival.principal.log_content_days or 0
            try:
                body = await asyncio.to_thread(content_of, entry)
                row = ObjectRow(arrival.id, 0, body)
                place = place_of(arrival.principal.tenant)
                await self._store.put_objects(place, [row], days * A_DAY)
            except (StoreError, ValueError, RecursionError) as error:
                extra = {"request": arrival.id, "why": type(error).__name__}
                logger.warning("content_not_logged", extra=extra)

    async def close(self, patience: float = 5.0) -> None:
        """Writes everything that waits."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=patience)
            self._task.cancel()


def content_of(entry: _Entry) -> bytes:
    """The stored entry, without secrets and personal data."""
    arrival = entry.exchange.arrival
    request = _json(entry.request) if len(entry.request) <= LONGEST else None
    answer = None if entry.answer is None else _json(entry.answer)
    if answer is None and entry.answer is not None and arrival.stream:
        answer = _folded(entry.answer, arrival.front)
    value = {"request": request, "answer": answer}
    return msgspec.json.encode(redact(value).value)


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _folded(body: bytes, dialect: str) -> Any:
    """A stream as one answer, so that a secret split over several frames is found. None if it
    cannot be read."""
    codec, frames = dialect_of(dialect), decoder(dialect)
    reader = codec.stream_reader()
    try:
        events = [e for frame in (*frames.feed(body), *frames.close()) for e in reader.feed(frame)]
        whole = [each for each in (*events, *reader.close()) if isinstance(each, MessageComplete)]
        return codec.write_response(whole[-1].response).wire if whole else None
    except InterlinguaError:
        return None
