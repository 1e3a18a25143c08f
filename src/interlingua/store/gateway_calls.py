"""The calls of a store that a gateway makes: quotas, what is remembered for clients, and requests
that clients may repeat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from interlingua.store.cap_rules import Alert, Over, Reserve, Settle, Spent
from interlingua.store.operations import Op, Operations
from interlingua.store.remembered import Place, RememberedRow
from interlingua.store.repeats import Claim, RepeatRow

T = TypeVar("T")


class GatewayCalls(ABC):
    """For threads."""

    _do: Operations

    @abstractmethod
    def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    def _write(self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True) -> T: ...

    def work_quotas(
        self, holder: str, reserves: Sequence[Reserve] = (), settles: Sequence[Settle] = ()
    ) -> tuple[list[Over | None], list[list[Alert]]]:
        """Settle and reserve, in one transaction: what stands against each request (None: it may
        go out), and what each settling is to be told for. Doing the same again does nothing. It
        does not wait for the disk: after a power cut nobody is there who holds anything."""
        work = partial(self._do.work_quotas, holder, reserves, settles)
        return self._write(work, durable=False)

    def tend_quotas(self, holder: str, patience: float) -> int:
        """Say that this holder lives; give back what those hold that said nothing for `patience`
        seconds, and say how many requests that were."""
        return self._write(lambda: self._do.tend_quotas(holder, int(patience * 1_000_000)))

    def touch(self, holder: str) -> None:
        """Write a row that says no more than when: whether the store takes anything."""
        self._write(lambda: self._do.touch(holder), durable=False)

    def spent(self, owners: Sequence[str], day: str) -> list[Spent]:
        """What each owner has spent and set aside on this day (`2026-11-16`) and in its month."""
        return self._read(lambda: self._do.spent(owners, day))

    def remember(self, place: Place, rows: Sequence[RememberedRow], seconds: float) -> None:
        """Keep turns for so long."""
        self._write(lambda: self._do.remember(place, rows, seconds))

    def remembered(
        self, place: Place, call_keys: Sequence[str], turn_keys: Sequence[str]
    ) -> list[RememberedRow]:
        """What is kept under any of these keys, the newest last."""
        return self._read(lambda: self._do.remembered(place, call_keys, turn_keys))

    def forget_remembered(self, tenants: Sequence[str], most: int, most_of_all: int) -> None:
        """Let go of what has expired, and of the oldest beyond these numbers of bytes."""
        self._write(lambda: self._do.forget_remembered(tenants, most, most_of_all))

    def forget_tenant(self, tenant: str) -> None:
        """Let go of all that is kept for a tenant."""
        self._write(lambda: self._do.forget_tenant(tenant))

    def claim_repeat(self, claim: Claim, seconds: float) -> RepeatRow:
        """Say that this holder answers the request, for so long, unless somebody does or did so
        already; gives whose it is. It does not wait for the disk: after a power cut nobody is at
        work on it."""
        return self._write(lambda: self._do.claim_repeat(claim, seconds), durable=False)

    def renew_repeats(self, claims: Sequence[Claim], seconds: float) -> None:
        """The holders of these claims are still at work."""
        self._write(lambda: self._do.renew_repeats(claims, seconds), durable=False)

    def finish_repeat(self, claim: Claim, answer: bytes | None, seconds: float) -> None:
        """The request was answered; the answer (JSON) is kept for so long, if it may be."""
        self._write(lambda: self._do.finish_repeat(claim, answer, seconds))

    def release_repeat(self, claim: Claim) -> None:
        """The request was not answered: whoever repeats it may try."""
        self._write(lambda: self._do.release_repeat(claim), durable=False)

    def tidy_repeats(self, tenants: Sequence[str], most: int, most_bytes: int) -> None:
        """Let go of what has expired; of each of the tenants, of the oldest requests beyond this
        number, and of answers beyond so many bytes."""
        self._write(lambda: self._do.tidy_repeats(tenants, most, most_bytes))


class AsyncGatewayCalls(ABC):
    """The same for an event loop."""

    _do: Operations

    @abstractmethod
    async def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    async def _write(
        self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True
    ) -> T: ...

    async def work_quotas(
        self, holder: str, reserves: Sequence[Reserve] = (), settles: Sequence[Settle] = ()
    ) -> tuple[list[Over | None], list[list[Alert]]]:
        """See `GatewayCalls.work_quotas`."""
        work = partial(self._do.work_quotas, holder, reserves, settles)
        return await self._write(work, durable=False)

    async def tend_quotas(self, holder: str, patience: float) -> int:
        """See `GatewayCalls.tend_quotas`."""
        return await self._write(lambda: self._do.tend_quotas(holder, int(patience * 1_000_000)))

    async def touch(self, holder: str) -> None:
        """See `GatewayCalls.touch`."""
        await self._write(lambda: self._do.touch(holder), durable=False)

    async def spent(self, owners: Sequence[str], day: str) -> list[Spent]:
        """See `GatewayCalls.spent`."""
        return await self._read(lambda: self._do.spent(owners, day))

    async def remember(self, place: Place, rows: Sequence[RememberedRow], seconds: float) -> None:
        """See `GatewayCalls.remember`."""
        await self._write(lambda: self._do.remember(place, rows, seconds))

    async def remembered(
        self, place: Place, call_keys: Sequence[str], turn_keys: Sequence[str]
    ) -> list[RememberedRow]:
        """See `GatewayCalls.remembered`."""
        return await self._read(lambda: self._do.remembered(place, call_keys, turn_keys))

    async def forget_remembered(self, tenants: Sequence[str], most: int, most_of_all: int) -> None:
        """See `GatewayCalls.forget_remembered`."""
        await self._write(lambda: self._do.forget_remembered(tenants, most, most_of_all))

    async def forget_tenant(self, tenant: str) -> None:
        """See `GatewayCalls.forget_tenant`."""
        await self._write(lambda: self._do.forget_tenant(tenant))

    async def claim_repeat(self, claim: Claim, seconds: float) -> RepeatRow:
        """See `GatewayCalls.claim_repeat`."""
        return await self._write(lambda: self._do.claim_repeat(claim, seconds), durable=False)

    async def renew_repeats(self, claims: Sequence[Claim], seconds: float) -> None:
        """See `GatewayCalls.renew_repeats`."""
        await self._write(lambda: self._do.renew_repeats(claims, seconds), durable=False)

    async def finish_repeat(self, claim: Claim, answer: bytes | None, seconds: float) -> None:
        """See `GatewayCalls.finish_repeat`."""
        await self._write(lambda: self._do.finish_repeat(claim, answer, seconds))

    async def release_repeat(self, claim: Claim) -> None:
        """See `GatewayCalls.release_repeat`."""
        await self._write(lambda: self._do.release_repeat(claim), durable=False)

    async def tidy_repeats(self, tenants: Sequence[str], most: int, most_bytes: int) -> None:
        """See `GatewayCalls.tidy_repeats`."""
        await self._write(lambda: self._do.tidy_repeats(tenants, most, most_bytes))
