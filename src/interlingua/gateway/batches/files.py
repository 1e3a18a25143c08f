"""Files of OpenAI's API that are stored here: the requests of batches, and their results.

A file is a row that describes it, and its bytes in pieces; a file of results has no pieces of its
own, since it is made of the results of its batch."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.gateway.responses.conversations import NOT_STORED, may_store
from interlingua.gateway.shared.bodies import number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.state import Principal
from interlingua.gateway.shared.uploads import Upload
from interlingua.model.ids import Ulids
from interlingua.store.base import AsyncStore
from interlingua.store.objects import ObjectList, ObjectRow

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

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
        return {**shown, **purpose, "expires_at": self.created_at + int(SECONDS)}


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

    async def save(self, upload: Upload, tenant: str | None) -> StoredFile:
        """An upload as a file. Nothing is left of one that breaks off."""
        known = await self.listed(tenant)
        used = sum(file.bytes for file in known if file.batch is None)
        if len(known) >= MOST_FILES or used > MOST_BYTES:
            text = f"you have {len(known)} files of {used} bytes here; delete some first"
            raise ApiError(400, "storage_full", text)
        id, size, seq, held = f"file-{self._ids.new()}", 0, 0, bytearray()
        try:
            async for piece in upload.pieces():
                held += piece
                size += len(piece)
                while len(held) >= PIECE:
                    await self._put_piece(id, tenant, seq, bytes(held[:PIECE]))
                    seq, held = seq + 1, held[PIECE:]
            if held:
                await self._put_piece(id, tenant, seq, bytes(held))
            if upload.fields.get("purpose") != BATCH:
                text = "purpose: files for batches are stored here; set it to batch"
                raise ApiError(400, "invalid_request", text)
        except BaseException:
            await self.store.remove_objects(place(tenant, "file-piece", id))
            raise
        file = StoredFile(id, size, int(time.time()), upload.filename or "upload", BATCH)
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


# The paths


def _require_openai(request: Request) -> None:
    """Anthropic's API has files under the same path, which are not served."""
    if "anthropic-version" in request.headers:
        text = "this gateway does not serve Anthropic's files; send the content in the request"
        raise ApiError(501, "not_implemented", text, headers={"x-should-retry": "false"})


async def upload(service: Service, request: Request, principal: Principal) -> Response:
    _require_openai(request)
    if not may_store(principal):
        raise ApiError(400, "content_not_stored", NOT_STORED)
    made = Upload(request, service.limits)
    return answer((await service.batches.files.save(made, principal.tenant)).wire())


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    _require_openai(request)
    query = request.query_params
    size = number(query, "limit", 100, 1, 10_000)
    files = await service.batches.files.listed(principal.tenant)
    if query.get("purpose"):
        files = [file for file in files if file.purpose == query["purpose"]]
    if query.get("order") == "asc":
        files.reverse()
    return answer(page_of([file.wire() for file in files], query.get("after"), size))


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


async def _found(service: Service, request: Request, principal: Principal) -> StoredFile:
    _require_openai(request)
    id = request.path_params["id"]
    file = await service.batches.files.find(id, principal.tenant)
    if file is None:
        raise ApiError(404, "not_found", f"No such File object: {id[:100]}")
    return file


async def show(service: Service, request: Request, principal: Principal) -> Response:
    return answer((await _found(service, request, principal)).wire())


async def content(service: Service, request: Request, principal: Principal) -> Response:
    file = await _found(service, request, principal)
    if file.batch is None:
        pieces: AsyncIterator[bytes] = service.batches.files.pieces(file.id, principal.tenant)
    else:
        pieces = service.batches.result_lines(file.batch, principal.tenant, file.part or "")
    headers = {"cache-control": "no-store"}
    kind = "application/octet-stream"
    return PatientResponse(pieces, service.limits.stalled, media_type=kind, headers=headers)


async def remove(service: Service, request: Request, principal: Principal) -> Response:
    file = await _found(service, request, principal)
    await service.batches.files.remove(file.id, principal.tenant)
    return answer({"id": file.id, "object": "file", "deleted": True})
