"""A batch as it is stored, and as the APIs of OpenAI and Anthropic show it; and files of OpenAI's
API that are stored here: the requests of batches, and their results.

A file is a row that describes it, and its bytes in pieces; a file of results has no pieces of its
own, since it is made of the results of its batch.
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from typing import Any, Literal

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
"""The most files of one tenant."""
MOST_BYTES = 1024**3
"""The most bytes of all files of one tenant."""
BATCH = "batch"
_LATEST = 2**62
Wire = dict[str, Any]
_encode = msgspec.json.Encoder().encode


class StoredFile(msgspec.Struct):
    """A stored file; `batch` and `part` name the results in it."""

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
            text = (
                f"the limit is reached with {len(known)} files of {used} bytes; delete some first"
            )
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


Status = Literal[
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
]
OPEN = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions")
"""Paths of OpenAI's API that the requests of a batch may use."""
MESSAGES = "/v1/messages"
DAY = 86400


class Counts(msgspec.Struct):
    """Requests of a batch, by outcome."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    expired: int = 0

    @property
    def left(self) -> int:
        return self.total - self.succeeded - self.failed - self.cancelled - self.expired

    def add(self, kind: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)


class Handed(msgspec.Struct):
    """A batch that was handed over to the provider of its model, and its id there."""

    model: str
    form: str
    at: float
    id: str | None = None


class Batch(msgspec.Struct):
    """One batch; its requests and results are rows of their own."""

    id: str
    tenant: str
    key_id: str | None
    endpoint: str
    created_at: float
    expires_at: float
    status: Status = "validating"
    input_file_id: str | None = None
    window: str = "24h"
    metadata: dict[str, str] | None = None
    counts: Counts = msgspec.field(default_factory=Counts)
    times: dict[str, float] = {}
    """The time of each change of the status."""
    errors: list[Wire] = []
    """Why its file cannot be run."""
    output_file_id: str | None = None
    error_file_id: str | None = None
    usage: dict[str, int] = {}
    handed: Handed | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_anthropic(self) -> bool:
        return self.endpoint == MESSAGES

    def become(self, status: Status, at: float) -> None:
        self.status = status
        self.times.setdefault(status, at)

    def openai(self) -> Wire:
        """The batch in the form of `/v1/batches`."""
        counts, times = self.counts, self.times
        stamps = {
            f"{status}_at": int(times[status]) if status in times else None
            for status in (
                *("in_progress", "finalizing", "completed", "failed"),
                *("expired", "cancelling", "cancelled"),
            )
        }
        errors = {"object": "list", "data": self.errors} if self.errors else None
        done = counts.failed + counts.expired
        shown = {"total": counts.total, "completed": counts.succeeded, "failed": done}
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "errors": errors,
            "input_file_id": self.input_file_id,
            "completion_window": self.window,
            "status": self.status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": int(self.created_at),
            "expires_at": int(self.expires_at),
            **stamps,
            "request_counts": shown,
            "usage": self._usage(),
            "metadata": self.metadata,
        }

    def _usage(self) -> Wire:
        read, made = self.usage.get("input", 0), self.usage.get("output", 0)
        return {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": self.usage.get("cached", 0)},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": self.usage.get("reasoning", 0)},
            "total_tokens": read + made,
        }

    def anthropic(self, base: str) -> Wire:
        """The batch in the form of `/v1/messages/batches`; `base` is the base URL of this
        gateway."""
        counts, times = self.counts, self.times
        ended = None if self.is_open else max(times.values(), default=self.created_at)
        status = "in_progress" if self.is_open else "ended"
        cancelled = times.get("cancelling")
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "canceling" if self.status == "cancelling" else status,
            "request_counts": {
                "processing": counts.left,
                "succeeded": counts.succeeded,
                "errored": counts.failed,
                "canceled": counts.cancelled,
                "expired": counts.expired,
            },
            "created_at": _time(self.created_at),
            "expires_at": _time(self.expires_at),
            "ended_at": _time(ended),
            "cancel_initiated_at": _time(cancelled),
            "archived_at": None,
            "results_url": None if self.is_open else f"{base}{MESSAGES}/batches/{self.id}/results",
        }


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


class Item(msgspec.Struct):
    """One request of a batch."""

    custom_id: str
    body: msgspec.Raw


class Result(msgspec.Struct):
    """The outcome of a request: an answer with its status, or that it was cancelled or has
    expired."""

    custom_id: str
    kind: Literal["succeeded", "failed", "cancelled", "expired"]
    status: int = 0
    request_id: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")

    def openai(self, batch: str, number: int) -> Wire:
        """A line of a file of results."""
        response: Any = None
        error: Any = None
        if self.status:
            response = {
                "status_code": self.status,
                "request_id": self.request_id,
                "body": self.body,
            }
        if self.kind in ("cancelled", "expired"):
            code = f"batch_{self.kind}"
            error = {"code": code, "message": f"This request was not run: the batch {_ENDED[code]}"}
        id = f"batch_req_{batch.removeprefix('batch_')}_{number}"
        return {"id": id, "custom_id": self.custom_id, "response": response, "error": error}

    def anthropic(self) -> Wire:
        """A line of the results of a batch of messages."""
        match self.kind:
            case "succeeded":
                result: Wire = {"type": "succeeded", "message": self.body}
            case "failed":
                result = {"type": "errored", "error": self.body}
            case "cancelled":
                result = {"type": "canceled"}
            case _:
                result = {"type": "expired"}
        return {"custom_id": self.custom_id, "result": result}

    @property
    def part(self) -> str:
        """The result file of OpenAI's API that contains it."""
        return "output" if self.kind == "succeeded" else "errors"


_ENDED = {"batch_cancelled": "was cancelled.", "batch_expired": "has expired."}
LIFETIME = SECONDS
