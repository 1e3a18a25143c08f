"""Requests with an `Idempotency-Key`: sent again, they are answered again, not asked again.

The same key of the same tenant with the same request is one request, however often it comes, at the
same time or later, here or at another process: who comes first has it, the others wait and get the
same answer. What is stored of a request is a digest; an answer is stored only where the key's owner
lets content be kept, and otherwise stays in the memory of the process that gave it. A request that
failed, or whose client left, is nobody's again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, NamedTuple

from interlingua.gateway.idempotency.replies import Reply, ReplyCache, pack, unpack
from interlingua.gateway.shared.refusals import CodedRefusal
from interlingua.gateway.shared.state import Arrival
from interlingua.model.exchange import ErrorKind
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import Claim, RepeatRow

logger = logging.getLogger(__name__)

HOURS = 24.0
WAIT = 60.0
"""Seconds that one waits for the answer to another."""
LEASE = 60.0
"""Seconds after which a process that says nothing has given its requests up."""
LONGEST = 4 * 1024 * 1024
"""Bytes of an answer; a longer one is not stored."""
MOST = 50_000
"""Requests of one tenant in the store."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of answers of one tenant in the store."""
TIDY_EVERY = 256
POLL = 0.25


Landed = asyncio.Future[Reply | None]
"""The outcome of a request: its answer, or None if those that wait have to try themselves."""


class Flight(NamedTuple):
    """A request that is being answered here."""

    claim: Claim
    landed: Landed
    is_over: bool = False
    """Whether it has ended, and it is not yet written down how."""


class IdempotencyKeys:
    """The requests with an idempotency key in this process. Without a store, other processes do not
    know of them."""

    def __init__(
        self,
        store: AsyncStore | None = None,
        *,
        hours: float = HOURS,
        wait: float = WAIT,
        lease: float = LEASE,
        longest: int = LONGEST,
        most: int = MOST,
        most_bytes: int = MOST_BYTES,
        replies: ReplyCache | None = None,
    ) -> None:
        self.store = store
        self.seconds = hours * 3600
        self.wait = wait
        self.lease = lease
        self.longest = longest
        self.replies = replies or ReplyCache(self.seconds)
        self.recording = 0
        self._most = most
        self._most_bytes = most_bytes
        self._flights: dict[str, Flight] = {}
        self._held: dict[str, Claim] = {}
        """Those that the store says are ours."""
        self._tending: asyncio.Task[None] | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._loose: set[asyncio.Task[None]] = set()
        self._done = 0
        self._tenants: set[str] = set()

    async def take(self, arrival: Arrival, claim: Claim) -> Reply | None:
        """The answer that was given before; None where the request is this one's to answer."""
        until = time.monotonic() + self.wait
        while True:
            known = self._known(arrival, claim)
            if isinstance(known, Reply):
                return known
            if known is None:
                return await self._fly(arrival, claim, until)
            await asyncio.wait({known.landed}, timeout=max(until - time.monotonic(), 0.0))
            if not known.landed.done():
                raise under_way(arrival)
            reply = known.landed.result()
            if reply is not None:
                require_same(arrival, reply.print, claim)
                return reply

    def _known(self, arrival: Arrival, claim: Claim) -> Flight | Reply | None:
        flight = self._flights.get(claim.id)
        if flight is not None:
            if not flight.is_over:
                require_same(arrival, flight.claim.print, claim)
            return flight
        reply = self.replies.get(claim.tenant, claim.id)
        if reply is not None:
            require_same(arrival, reply.print, claim)
        return reply

    async def _fly(self, arrival: Arrival, claim: Claim, until: float) -> Reply | None:
        loop = asyncio.get_running_loop()
        flight = self._flights[claim.id] = Flight(claim, loop.create_future())
        try:
            reply = await self._claimed(arrival, claim, until)
        except BaseException:
            self._land(claim, None)
            raise
        if reply is not None:
            self.replies.put(claim.tenant, claim.id, reply)
            self._land(flight.claim, reply)
        return reply

    async def _claimed(self, arrival: Arrival, claim: Claim, until: float) -> Reply | None:
        """Ask the store, which all processes share, whose the request is."""
        if self.store is None:
            return None
        while True:
            try:
                row = await self._surely(claim)
            except StoreError as error:
                logger.error(
                    "repeat_unreadable", extra={"request": arrival.id, "why": error.reason}
                )
                text = "idempotency keys cannot be checked right now; try again"
                raise refusal(
                    arrival, 503, text, "store_unavailable", ("retry-after", "1")
                ) from None
            if row.holder == claim.holder:
                self._held[claim.id] = claim
                self._tend()
                return None
            require_same(arrival, row.print, claim)
            if row.status == "done":
                if row.answer is None:
                    raise not_stored(arrival)
                return unpack(row.answer)
            if not arrival.principal.keep_content or time.monotonic() >= until:
                raise under_way(arrival)
            await asyncio.sleep(POLL)

    async def _surely(self, claim: Claim) -> RepeatRow:
        """What is being written cannot be taken back: who leaves meanwhile gives it back later."""
        assert self.store is not None
        writing = asyncio.ensure_future(self.store.claim_repeat(claim, self.lease))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            self.work(self._give_back(writing, claim))
            raise

    def work(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something that goes on if its request does not; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._loose.add(task)
        task.add_done_callback(self._loose.discard)
        return task

    async def _give_back(self, writing: asyncio.Future[RepeatRow], claim: Claim) -> None:
        await asyncio.wait({writing})
        if not writing.cancelled() and writing.exception() is None:
            await self._release(claim)

    def over(self, claim: Claim) -> Landed:
        """Returns the future that earlier repeats wait for. A repeat that arrives from now on may
        have seen the end, and gets the answer only if it is stored."""
        landed = self._flights[claim.id].landed
        ending = asyncio.get_running_loop().create_future()
        self._flights[claim.id] = Flight(claim, ending, is_over=True)
        return landed

    async def keep(self, arrival: Arrival, claim: Claim, reply: Reply) -> None:
        """The request is answered; the answer goes to all that wait and all that come later."""
        self.replies.put(claim.tenant, claim.id, reply)
        self._land(claim, reply)
        if self._held.pop(claim.id, None) is None or self.store is None:
            return
        storable = arrival.principal.keep_content and reply.body is not None
        try:
            await self.store.finish_repeat(claim, pack(reply) if storable else None, self.seconds)
        except StoreError as error:
            logger.error("repeat_not_stored", extra={"request": arrival.id, "why": error.reason})
            return
        self._tenants.add(claim.tenant)
        self._done += 1
        if self._done >= TIDY_EVERY and (self._tidying is None or self._tidying.done()):
            self._tidying = asyncio.ensure_future(self.tidy())

    async def give_up(self, claim: Claim) -> None:
        """Releases the request, so that the next repeat tries it."""
        if self._held.pop(claim.id, None) is not None:
            await self._release(claim)  # first: the next one asks the store
        self._land(claim, None)

    async def _release(self, claim: Claim) -> None:
        assert self.store is not None
        try:
            await self.store.release_repeat(claim)
        except StoreError as error:  # it expires
            logger.error("repeat_not_released", extra={"why": error.reason})

    def _land(self, claim: Claim, reply: Reply | None) -> None:
        flight = self._flights.get(claim.id)
        if flight is not None and flight.claim is claim:
            del self._flights[claim.id]
            if not flight.landed.done():
                flight.landed.set_result(reply)

    def _tend(self) -> None:
        if self._tending is None or self._tending.done():
            self._tending = asyncio.ensure_future(self._tended())

    async def _tended(self) -> None:
        """Say now and then that this process is still at work."""
        assert self.store is not None
        while True:
            await asyncio.sleep(self.lease / 4)
            if not self._held:
                return
            try:
                await self.store.renew_repeats(list(self._held.values()), self.lease)
            except StoreError as error:
                logger.error("repeats_not_renewed", extra={"why": error.reason})

    async def tidy(self) -> None:
        """Let go of what has expired, and of the oldest where there is too much."""
        if self.store is None:
            return
        tenants, self._tenants, self._done = self._tenants, set(), 0
        try:
            await self.store.tidy_repeats(sorted(tenants), self._most, self._most_bytes)
        except StoreError as error:
            self._tenants |= tenants
            logger.error("repeats_not_tidied", extra={"why": error.reason})

    async def close(self) -> None:
        if self._tending is not None:
            self._tending.cancel()
        rest = {task for task in (self._tidying, *self._loose) if task is not None}
        if rest:
            await asyncio.wait(rest, timeout=5)


def require_same(arrival: Arrival, known: str, claim: Claim) -> None:
    if known != claim.print:
        text = "this idempotency key was already used for a different request"
        never = ("x-should-retry", "false")
        raise refusal(arrival, 422, text, "idempotency_key_reused", never)


def under_way(arrival: Arrival) -> CodedRefusal:
    text = "a request with this idempotency key is still in progress; retry later for its answer"
    return refusal(arrival, 409, text, "idempotency_in_progress", ("retry-after", "1"))


def not_stored(arrival: Arrival) -> CodedRefusal:
    text = (
        "a request with this idempotency key was answered, and its answer was not stored; use"
        " another key to ask again"
    )
    never = ("x-should-retry", "false")
    return refusal(arrival, 409, text, "idempotency_not_kept", never)


def refusal(
    arrival: Arrival, status: int, text: str, code: str, *headers: tuple[str, str]
) -> CodedRefusal:
    kind = ErrorKind.SERVER_ERROR if status >= 500 else ErrorKind.INVALID_REQUEST
    return CodedRefusal(arrival.front, status, kind, text, code, headers=headers)
