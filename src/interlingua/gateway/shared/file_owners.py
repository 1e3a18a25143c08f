"""The owners of files that were passed on to a provider, in the one account that all keys share."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import msgspec

from interlingua.gateway.shared.bodies import ESCAPED, contains
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.state import Refusal
from interlingua.model.exchange import ErrorKind
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import ObjectList, ObjectRow

SECONDS = 10 * 365 * 86400.0
"""How long the owner of a file is stored; providers delete files sooner."""
MOST = 1000
"""Files of one tenant that are listed, and that one request may name."""
LARGE = 1024 * 1024
"""Bytes of a body that is not looked through on the event loop."""
_OWNERS = ObjectList("", "file-owner", "")
_LATEST = 2**62
_ANTHROPIC = "anthropic"
_encode = msgspec.json.Encoder().encode


class PassedFile(msgspec.Struct):
    """A file at a provider, whose it is, and how the provider described it."""

    id: str
    provider: str
    tenant: str
    wire: dict[str, Any] = {}


class ProviderFiles:
    """The owners of files at providers."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def add(self, file: PassedFile) -> None:
        """Notes whose it is. An id that another tenant has is not taken from it."""
        known = await self._store.object(_OWNERS, file.id)
        if known is not None and _decoded(known).tenant != file.tenant:
            raise ApiError(
                502, "upstream_failed", "the provider returned the id of an existing file"
            )
        at = time.time_ns() // 1_000_000
        owner = PassedFile(file.id, file.provider, file.tenant)
        await self._store.put_objects(_OWNERS, [ObjectRow(file.id, at, _encode(owner))], SECONDS)
        row = ObjectRow(file.id, at, _encode(file))
        await self._store.put_objects(_place(file.tenant), [row], SECONDS)

    async def find(self, id: str, tenant: str) -> PassedFile | None:
        row = await self._store.object(_OWNERS, id)
        found = None if row is None else _decoded(row)
        return found if found is not None and found.tenant == tenant else None

    async def listed(self, tenant: str, anthropic: bool) -> list[dict[str, Any]]:
        """The newest of a tenant, as their provider described them."""
        rows = await self._store.objects(_place(tenant), _LATEST, MOST, newest_first=True)
        found = [_decoded(row) for row in rows]
        return [each.wire for each in found if (each.provider == _ANTHROPIC) == anthropic]

    async def remove(self, file: PassedFile) -> None:
        """It stays known whose it was: the provider may not have forgotten it yet."""
        await self._store.remove_object(_place(file.tenant), file.id)

    async def require_own(self, body: bytes, tenant: str) -> None:
        """`Refusal` where a request names a file of another tenant."""
        if not contains(body, b"file_id") and ESCAPED.search(body) is None:
            return
        large = len(body) > LARGE
        ids = await asyncio.to_thread(file_ids, body) if large else file_ids(body)
        for id in ids:
            try:
                row = await self._store.object(_OWNERS, id)
            except StoreError:
                text = "the owners of the files of this request cannot be checked now; try again"
                raise Refusal(503, ErrorKind.SERVER_ERROR, text, "store_failed") from None
            if row is not None and _decoded(row).tenant != tenant:
                text = f"No such File object: {id[:100]}"
                raise Refusal(404, ErrorKind.INVALID_REQUEST, text, "file_not_found")


def file_ids(body: bytes) -> list[str]:
    """The ids of files in a body, however its keys are spelled and as often as they are there."""
    found: dict[str, None] = {}

    def collect(pairs: list[tuple[str, Any]]) -> None:
        for name, value in pairs:
            if name in ("file_id", "file_ids"):
                values = value if isinstance(value, list) else [value]
                found.update(dict.fromkeys([each for each in values if isinstance(each, str)]))

    try:
        json.loads(body, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        text = "the body cannot be searched for files"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None
    if len(found) > MOST:
        text = f"the request names more than {MOST} files"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text)
    return list(found)


def _decoded(row: ObjectRow) -> PassedFile:
    return msgspec.json.decode(row.body, type=PassedFile)


def _place(tenant: str) -> ObjectList:
    return ObjectList(tenant, "provider-file", "")
