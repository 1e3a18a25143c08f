"""Whose a response is that its provider keeps, an item of it, or a conversation. All keys of a
gateway share one account there, so the provider itself would let every one of them go on from every
other's conversation.

What is noted is a digest of the response's id and the tenant. An id that nobody has noted is none
of this gateway's, and is the provider's to judge.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence

from interlingua.gateway.shared.state import Principal
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import MemoryRow, MemoryScope

logger = logging.getLogger(__name__)

RECENT = 10_000
"""Responses that are known without asking the store."""
WAITING = 10_000
PAUSE = 0.05
_PLACE = MemoryScope("response-owners", "responses", "")


class Owners:
    """Notes are in memory at once, and in the store a moment later, many together."""

    def __init__(self, store: AsyncStore, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._known: OrderedDict[str, str] = OrderedDict()
        self._waiting: list[MemoryRow] = []
        self._writing: asyncio.Task[None] | None = None

    def note(self, response_id: str, principal: Principal) -> None:
        """This tenant has got this response."""
        tenant = principal.tenant
        if tenant is None:
            return  # a gateway without keys has one tenant
        key = _key(response_id)
        if key in self._known:
            return
        self._keep(key, tenant)
        if len(self._waiting) >= WAITING:
            logger.error("response_owner_dropped")
            return
        self._waiting.append(MemoryRow(key, tenant, b"{}"))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write(PAUSE))

    async def anothers(self, ids: Sequence[str], principal: Principal) -> str | None:
        """The first of these that another tenant has got; any where the store cannot be asked."""
        tenant, keys = principal.tenant, {_key(id): id for id in ids if id}
        unknown = [key for key in keys if key not in self._known]
        found: dict[str, str] = {}
        if unknown:
            try:
                rows = await self._store.remembered(_PLACE, unknown, [])
            except StoreError as error:
                logger.error("response_owner_unreadable", extra={"why": error.reason})
                return keys[unknown[0]]
            for row in rows:
                found.setdefault(row.call_key or "", row.turn_key)
            for key, owner in found.items():
                self._keep(key, owner)
        owners = {**{key: self._known[key] for key in keys if key in self._known}, **found}
        return next((keys[key] for key, owner in owners.items() if owner != tenant), None)

    def _keep(self, key: str, tenant: str) -> None:
        self._known.setdefault(key, tenant)
        while len(self._known) > RECENT:
            self._known.popitem(last=False)

    async def _write(self, pause: float) -> None:
        await asyncio.sleep(pause)
        while self._waiting:
            rows, self._waiting = self._waiting, []
            try:
                await self._store.remember(_PLACE, rows, self._seconds)
            except StoreError as error:
                logger.error("response_owners_not_stored", extra={"why": error.reason})

    async def close(self) -> None:
        """Write what waits."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=5)


def _key(response_id: str) -> str:
    return hashlib.sha256(response_id.encode("utf-8", "surrogatepass")).hexdigest()
