"""Files of OpenAI's API that are stored here: the requests of batches, and their results.

A file is a row that describes it, and its bytes in pieces; a file of results has no pieces of its
own, since it is made of the results of its batch."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.uploads import FileForm
from interlingua.model.ids import Ulids
from interlingua.store.base import AsyncStore
from interlingua.store.idempotency import ObjectList, ObjectRow

SECONDS = 30 * 86400.0
"""How long files and batches are stored."""
PIECE = 512 * 1024
"""Bytes of a row."""
MOST_FILES = 1000
"""Of one tenant."""
MOST_BYTES = 1024**3
"""Of all files of one tenant."""
BATCH = "batch"
_LATEST = 2**62
Wire = dict[str, Any]
_encode = msgspec.json.Encoder().encode


class StoredFile(msgspec.Struct):
    """A file as it is stored; `batch` and `part` name the results that it shows."""

    id: str
    bytes: int
    created_at: int
    filename: str
    purpose: str
    batch: str | None = None
    part: str | None = None

    def wire(self) -> Wire:
        shown = {name: getattr(self, name) for name in ("id", "bytes", "created_at", "filename")}
        purpose = {"purpose": self.purpose, "object": "file", "status": "processed"}
        sample = {"output": "batch_result", "errors": "batch_error"}.get(self.part or "")
        of_mistral = {"sample_type": sample or "batch_request", "source": "upload"}
        expires = {"expires_at": self.created_at + int(SECONDS)}
        return {**shown, **purpose, **expires, **of_mistral}


def place(tenant: str | None, kind: str = "file", parent: str = "") -> ObjectList:
    return ObjectList(tenant or "", kind, parent)


class Files:
    """The files of all tenants."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store
        self._ids = Ulids()

    async def find(self, id: str, tenant: str | None) -> StoredFile | None:
        row = await self.store.object(place(tenant), id)
        return None if row is None else msgspec.json.decode(row.body, type=StoredFile)

    async def put(self, file: StoredFile, tenant: str | None) -> None:
        row = ObjectRow(file.id, int(file.created_at * 1000), _encode(file))
        await self.store.put_objects(place(tenant), [row], SECONDS)

    async def listed(self, tenant: str | None) -> list[StoredFile]:
        """All of a tenant, the newest first."""
        rows = await self.store.objects(place(tenant), _LATEST, MOST_FILES, newest_first=True)
        return [msgspec.json.decode(row.body, type=StoredFile) for row in rows]

    async def save(self, form: FileForm, tenant: str | None) -> StoredFile:
        """An upload as a file. Nothing is left of one that breaks off."""
        known = await self.listed(tenant)
        used = sum(file.bytes for file in known if file.batch is None)
        if len(known) >= MOST_FILES or used > MOST_BYTES:
            text = f"you have {len(known)} files of {used} bytes here; delete some first"
            raise ApiError(400, "storage_full", text)
        id, size = f"file-{self._ids.new()}", form.file_size
        try:
            for seq, piece in enumerate(form.file_pieces(PIECE)):
                await self._put_piece(id, tenant, seq, piece)
        except BaseException:
            await self.store.remove_objects(place(tenant, "file-piece", id))
            raise
        file = StoredFile(id, size, int(time.time()), form.filename or "upload", BATCH)
        await self.put(file, tenant)
        return file

    async def _put_piece(self, id: str, tenant: str | None, seq: int, piece: bytes) -> None:
        row = ObjectRow(str(seq), seq, _encode(b64encode(piece).decode()))
        await self.store.put_objects(place(tenant, "file-piece", id), [row], SECONDS)

    async def pieces(self, id: str, tenant: str | None) -> AsyncGenerator[bytes, None]:
        """The bytes of an upload."""
        after = -1
        while True:
            rows = await self.store.objects(place(tenant, "file-piece", id), after, limit=4)
            for row in rows:
                after = row.seq
                yield b64decode(msgspec.json.decode(row.body))
            if not rows:
                return

    async def lines(self, id: str, tenant: str | None, longest: int) -> AsyncIterator[bytes]:
        """Its lines that have something in them; one that is longer than `longest` bytes is cut
        there."""
        held = b""
        async for piece in self.pieces(id, tenant):
            *whole, held = (held + piece).split(b"\n")
            held = held[: longest + 1]
            for line in whole:
                if line.strip():
                    yield line
        if held.strip():
            yield held

    async def remove(self, id: str, tenant: str | None) -> bool:
        await self.store.remove_objects(place(tenant, "file-piece", id))
        return await self.store.remove_object(place(tenant), id)


def page_of(found: list[Wire], after: str | None, size: int) -> Wire:
    """A page of a list, as OpenAI has them."""
    ids = [each["id"] for each in found]
    start = ids.index(after) + 1 if after in ids else 0
    part = found[start : start + size]
    return {
        "object": "list",
        "data": part,
        "has_more": start + size < len(found),
        "first_id": part[0]["id"] if part else None,
        "last_id": part[-1]["id"] if part else None,
    }
