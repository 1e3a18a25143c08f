"""Batches: requests that are run behind each other within the limits of their key, by the way of
any other request, so that models, caps, the log and losses are the same.

The requests, the results and the state are in the store. Whoever runs a batch holds a claim on it;
a claim that is not renewed expires, and the next process that looks goes on with what has no result
yet. A result is stored under the number of its request, so that there is never more than one."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence

import msgspec

from interlingua.gateway.batches.run import BatchRun
from interlingua.gateway.batches.state import (
    DAY,
    LIFETIME,
    MESSAGES,
    Batch,
    Files,
    Item,
    Result,
    StoredFile,
    place,
)
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.responses.conversations import NOT_STORED, may_store
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.fronts import Asgi
from interlingua.gateway.shared.leases import Leases
from interlingua.gateway.shared.state import Principal
from interlingua.store.base import AsyncStore
from interlingua.store.idempotency import ObjectRow

MOST_OPEN = 100
"""The most open batches of one tenant."""
PAGE = 100
"""Rows that are read at a time."""
_LATEST = 2**62
_encode = msgspec.json.Encoder().encode


class Batches(Leases[BatchRun]):
    """The batches of all tenants."""

    kind, most, lifetime = "batch", 64, LIFETIME

    def __init__(self, gateway: Gateway, store: AsyncStore) -> None:
        super().__init__(store)
        self.gateway = gateway
        self.files = Files(store)
        self.app: Asgi | None = None
        """The application that answers the requests."""

    # The store

    async def find(self, id: str, tenant: str | None, anthropic: bool) -> Batch | None:
        """A batch of this tenant and of this API."""
        row = await self.store.object(place(tenant, "batch"), id)
        found = None if row is None else msgspec.json.decode(row.body, type=Batch)
        return found if found is not None and found.is_anthropic == anthropic else None

    async def listed(self, tenant: str | None, anthropic: bool) -> list[Batch]:
        """All of a tenant, the newest first."""
        rows = await self.store.objects(place(tenant, "batch"), _LATEST, 1000, newest_first=True)
        found = [msgspec.json.decode(row.body, type=Batch) for row in rows]
        return [batch for batch in found if batch.is_anthropic == anthropic]

    async def save(self, batch: Batch) -> None:
        row = ObjectRow(batch.id, int(batch.created_at * 1000), _encode(batch))
        await self.store.put_objects(place(batch.tenant, "batch"), [row], LIFETIME)

    async def add_items(self, batch: Batch, first: int, items: Sequence[Item]) -> None:
        rows = [ObjectRow(str(n), n, _encode(item)) for n, item in enumerate(items, first)]
        await self.store.put_objects(place(batch.tenant, "batch-item", batch.id), rows, LIFETIME)

    async def items(self, batch: Batch, after: int) -> list[tuple[int, Item]]:
        where = place(batch.tenant, "batch-item", batch.id)
        rows = await self.store.objects(where, after, PAGE)
        return [(row.seq, msgspec.json.decode(row.body, type=Item)) for row in rows]

    async def put_results(self, batch: Batch, results: Sequence[tuple[int, Result]]) -> None:
        rows = [ObjectRow(str(number), number, _encode(result)) for number, result in results]
        await self.store.put_objects(place(batch.tenant, "batch-result", batch.id), rows, LIFETIME)

    async def results(self, id: str, tenant: str | None, after: int) -> list[tuple[int, Result]]:
        where = place(tenant, "batch-result", id)
        rows = await self.store.objects(where, after, PAGE)
        return [(row.seq, msgspec.json.decode(row.body, type=Result)) for row in rows]

    async def all_results(
        self, id: str, tenant: str | None
    ) -> AsyncGenerator[tuple[int, Result], None]:
        after = -1
        while found := await self.results(id, tenant, after):
            for number, result in found:
                yield number, result
            after = found[-1][0]

    async def result_lines(
        self, id: str, tenant: str | None, part: str
    ) -> AsyncGenerator[bytes, None]:
        """A file of results: `output` or `errors` of OpenAI's, all of them where it is empty."""
        async for number, result in self.all_results(id, tenant):
            if not part:
                yield _encode(result.anthropic()) + b"\n"
            elif result.part == part:
                yield _encode(result.openai(id, number)) + b"\n"

    async def add_file(self, batch: Batch, part: str, size: int) -> str:
        """The file that shows a part of the results."""
        id = f"file-{batch.id.removeprefix('batch_')}-{part}"
        name = f"{batch.id}_{part}.jsonl"
        file = StoredFile(id, size, int(time.time()), name, "batch_output", batch.id, part)
        await self.files.put(file, batch.tenant)
        return id

    async def remove(self, batch: Batch) -> None:
        for kind in ("batch-item", "batch-result"):
            await self.store.remove_objects(place(batch.tenant, kind, batch.id))
        await self.store.remove_object(place(batch.tenant, "batch"), batch.id)

    # What clients ask for

    async def create(
        self,
        principal: Principal,
        endpoint: str,
        input_file_id: str | None = None,
        metadata: dict[str, str] | None = None,
        items: Sequence[Item] = (),
    ) -> Batch:
        """A new batch, which is run from now on."""
        if not may_store(principal):
            raise ApiError(400, "content_not_stored", NOT_STORED)
        tenant = principal.tenant or ""
        known = await self.listed(tenant, endpoint == MESSAGES)
        if sum(batch.is_open for batch in known) >= MOST_OPEN:
            text = f"{MOST_OPEN} batches are in progress; wait for one to end, or cancel one"
            raise ApiError(429, "too_many_batches", text)
        prefix = "msgbatch_" if endpoint == MESSAGES else "batch_"
        at = time.time()
        id = f"{prefix}{self.gateway.ids.new()}"
        batch = Batch(id, tenant, principal.key_id, endpoint, at, at + DAY)
        batch.input_file_id, batch.metadata = input_file_id, metadata
        for start in range(0, len(items), PAGE):
            await self.add_items(batch, start, items[start : start + PAGE])
        if items:
            batch.counts.total = len(items)
            batch.become("in_progress", at)
        await self._mark("open", batch.id, tenant)  # first: one that is shown is run
        await self.save(batch)
        if len(self._runs) < self.most:
            await self._take(tenant, batch.id)
        return batch

    async def cancel(self, batch: Batch) -> Batch:
        """Returns the batch after that; one that has ended is not changed."""
        if not batch.is_open:
            return batch
        await self._mark("cancel", batch.id, batch.tenant)
        run = self._runs.get(batch.id)
        if run is not None:
            await run.cancel()
            return run.batch
        batch.become("cancelling", time.time())
        return batch

    # Running

    async def finish(self, batch: Batch) -> None:
        """The last state: no process has to run it any more."""
        await self.save(batch)
        await self._finished(batch.id, batch.tenant)

    async def _take(self, tenant: str, id: str) -> None:
        row = await self.store.object(place(tenant, "batch"), id)
        if row is None:  # it is being made
            return
        batch = msgspec.json.decode(row.body, type=Batch)
        if not await self._claimed(id, tenant) or id in self._runs:
            return
        if not batch.is_open:
            await self.finish(batch)
            return
        self._run(id, BatchRun(self, batch))
