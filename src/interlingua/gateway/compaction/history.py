"""The key that encrypts compactions, and the stored histories that they replaced."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from interlingua.gateway.compaction.forms import Seal, Sealed
from interlingua.gateway.shared.callers import JSON, ApiError
from interlingua.gateway.shared.state import Principal
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import ObjectList, ObjectRow

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

DAYS = 30
LONGEST = 32 * 1024 * 1024
"""Bytes of one history; a longer one is not stored."""
_KEY = "compaction"


class Compactions:
    """The compactions of one store."""

    def __init__(self, store: AsyncStore, days: float = DAYS) -> None:
        self._store = store
        self._seconds = days * 86400
        self._seal: Seal | None = None

    async def seal(self) -> Seal:
        if self._seal is None:
            self._seal = Seal(await self._store.store_secret(_KEY))
        return self._seal

    async def keep(self, sealed: Sealed, entries: Sequence[Any], principal: Principal) -> None:
        """Stores the history that a compaction replaced, if the key allows it."""
        if not principal.keep_content:
            return
        body = msgspec.json.encode(
            {
                "id": sealed.id,
                "object": "compaction",
                "front": sealed.front,
                "model": sealed.model,
                "summary": sealed.summary,
                "history": entries,
            }
        )
        if len(body) > LONGEST:
            logger.warning("compacted_history_too_long", extra={"size": len(body)})
            return
        try:
            row = ObjectRow(sealed.id, 0, body)
            await self._store.put_objects(_place(principal), [row], self._seconds)
        except StoreError as error:
            logger.error("compacted_history_not_stored", extra={"why": error.reason})

    async def find(self, id: str, principal: Principal) -> bytes | None:
        row = await self._store.object(_place(principal), id)
        return None if row is None else row.body


def _place(principal: Principal) -> ObjectList:
    return ObjectList(principal.tenant or "", "compaction")


async def show(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    """A compaction with the conversation that it replaced."""
    found = await service.compactions.find(request.path_params["id"], principal)
    if found is None:
        text = "no history is stored for this compaction"
        raise ApiError(404, "compaction_not_found", text)
    return HttpResponse(found, media_type=JSON, headers={"cache-control": "no-store"})
