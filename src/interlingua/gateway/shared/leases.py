"""Work that continues without its client, in one process at a time, which holds a claim on it. A
claim that is not renewed expires, and the next process that looks takes the work over."""

from __future__ import annotations

import asyncio
import logging
import secrets
from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Protocol, TypeVar

from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import Claim, ObjectList, ObjectRow

logger = logging.getLogger(__name__)

LEASE = 8.0
"""Seconds that a claim holds; after that, others may run the work."""
BEAT = 2.0


class LeasedWork(Protocol):
    """One piece of work under way in this process."""

    task: asyncio.Task[None] | None

    @property
    def tenant(self) -> str: ...

    @property
    def is_cancelled(self) -> bool: ...

    async def run(self) -> None: ...

    async def cancel(self) -> None: ...


R = TypeVar("R", bound=LeasedWork)


class Leases(ABC, Generic[R]):
    """The work of one kind, of all tenants. Open and cancelled work is marked in the store."""

    kind: ClassVar[str]
    most: ClassVar[int]
    """The most jobs that one process runs at a time."""
    lifetime: ClassVar[float]
    """Seconds for which marks are stored."""

    def __init__(self, store: AsyncStore) -> None:
        self.store = store
        self._runs: dict[str, R] = {}
        self._holder = secrets.token_hex(16)
        self._tending: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._runs)

    def begin(self) -> None:
        self._tending = asyncio.ensure_future(self._tend())

    async def close(self) -> None:
        """Stops; open work is taken over by the next process."""
        runs = dict(self._runs)
        tasks = [self._tending] if self._tending is not None else []
        tasks += [run.task for run in runs.values() if run.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        for id, run in runs.items():
            await self.store.release_repeat(self._claim(id, run.tenant))

    def _claim(self, id: str, tenant: str) -> Claim:
        return Claim(f"{self.kind}:{id}", tenant, "", self._holder)

    async def _claimed(self, id: str, tenant: str) -> bool:
        """Whether this process may run it."""
        claim = await self.store.claim_repeat(self._claim(id, tenant), LEASE)
        return claim.holder == self._holder

    async def _mark(self, what: str, id: str, tenant: str) -> None:
        marker = ObjectRow(id, 0, b"{}")
        place = ObjectList(tenant, f"{self.kind}-{what}")
        await self.store.put_objects(place, [marker], self.lifetime)

    async def is_cancelled(self, id: str, tenant: str) -> bool:
        place = ObjectList(tenant, f"{self.kind}-cancel")
        return await self.store.object(place, id) is not None

    async def _finished(self, id: str, tenant: str) -> None:
        """No process has to run it any more."""
        for what in ("open", "cancel"):
            await self.store.remove_object(ObjectList(tenant, f"{self.kind}-{what}"), id)
        await self.store.release_repeat(self._claim(id, tenant))
        self._runs.pop(id, None)

    def _run(self, id: str, run: R) -> None:
        self._runs[id] = run
        run.task = asyncio.ensure_future(run.run())
        run.task.add_done_callback(lambda _: self._runs.pop(id, None))

    async def _tend(self) -> None:
        """Renews claims, checks for cancellations, and takes over work of dead processes."""
        while True:
            try:
                await self._tend_once()
            except StoreError as error:
                extra = {"kind": self.kind, "why": error.reason}
                logger.error("leases_not_renewed", extra=extra)
            await asyncio.sleep(BEAT)

    async def _tend_once(self) -> None:
        runs = list(self._runs.items())
        if runs:
            claims = [self._claim(id, run.tenant) for id, run in runs]
            await self.store.renew_repeats(claims, LEASE)
        for id, run in runs:
            if not run.is_cancelled and await self.is_cancelled(id, run.tenant):
                await run.cancel()
        for place, row in await self.store.objects_of_kind(f"{self.kind}-open", self.most):
            if row.id not in self._runs and len(self._runs) < self.most:
                await self._take(place.tenant, row.id)

    @abstractmethod
    async def _take(self, tenant: str, id: str) -> None:
        """Runs open work, unless another process does."""
