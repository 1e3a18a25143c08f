"""Requests with an `Idempotency-Key`: repeated, they get the stored answer.

The same key of the same tenant with the same request is one request, however often it comes, at the
same time or later, here or at another process: the first one runs, the others wait and get the same
answer. Only a digest of the request is stored; the answer is stored if the key's owner lets content
be stored, and otherwise stays in the memory of the process. A request that failed, or whose client
left, may run again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Coroutine, MutableMapping
from typing import Any, NamedTuple

from interlingua.gateway.idempotency.replies import (
    Recording,
    Reply,
    ReplyCache,
    is_whole_stream,
    pack,
    unpack,
)
from interlingua.gateway.shared.fronts import Send, front_of, kind_of
from interlingua.gateway.shared.refusals import CodedRefusal
from interlingua.gateway.shared.state import Arrival, Exchange
from interlingua.model.ids import Ulids
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import Claim, RepeatRow

logger = logging.getLogger(__name__)

HOURS = 24.0
WAIT = 60.0
"""Seconds that one waits for the answer to another."""
LEASE = 60.0
"""Seconds after which the requests of a silent process may run elsewhere."""
LONGEST = 4 * 1024 * 1024
"""Bytes of an answer; a longer one is not stored."""
MOST = 50_000
"""Requests of one tenant in the store."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of answers of one tenant in the store."""
TIDY_EVERY = 256
POLL = 0.25


Landed = asyncio.Future[Reply | None]
"""The outcome of a request: its answer, or None if the waiting repeats have to try themselves."""


class Flight(NamedTuple):
    """A request that is being answered here."""

    claim: Claim
    landed: Landed
    is_over: bool = False
    """Whether it has ended, and it is not yet written down how."""


class IdempotencyKeys:
    """The requests with an idempotency key in this process. Without a store, other processes do not
    see them."""

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
        """The claims that the store assigns to this process."""
        self._tending: asyncio.Task[None] | None = None
        self._tidying: asyncio.Task[None] | None = None
        self._loose: set[asyncio.Task[None]] = set()
        self._done = 0
        self._tenants: set[str] = set()

    async def take(self, arrival: Arrival, claim: Claim) -> Reply | None:
        """The earlier answer; None if this request has to make it."""
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
                    "idempotency_unreadable", extra={"request": arrival.id, "why": error.reason}
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
        """A write cannot be interrupted: a request that leaves meanwhile is released later."""
        assert self.store is not None
        writing = asyncio.ensure_future(self.store.claim_repeat(claim, self.lease))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            self.work(self._give_back(writing, claim))
            raise

    def work(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs work that continues after its request; `close` waits for it."""
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
        """Records the answer, for all waiting and later repeats."""
        self.replies.put(claim.tenant, claim.id, reply)
        self._land(claim, reply)
        if self._held.pop(claim.id, None) is None or self.store is None:
            return
        storable = arrival.principal.keep_content and reply.body is not None
        try:
            await self.store.finish_repeat(claim, pack(reply) if storable else None, self.seconds)
        except StoreError as error:
            logger.error(
                "idempotency_not_stored", extra={"request": arrival.id, "why": error.reason}
            )
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
            logger.error("idempotency_not_released", extra={"why": error.reason})

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
        """Renews the claims of this process from time to time."""
        assert self.store is not None
        while True:
            await asyncio.sleep(self.lease / 4)
            if not self._held:
                return
            try:
                await self.store.renew_repeats(list(self._held.values()), self.lease)
            except StoreError as error:
                logger.error("idempotency_renewal_failed", extra={"why": error.reason})

    async def tidy(self) -> None:
        """Delete expired entries, and the oldest if there are too many."""
        if self.store is None:
            return
        tenants, self._tenants, self._done = self._tenants, set(), 0
        try:
            await self.store.tidy_repeats(sorted(tenants), self._most, self._most_bytes)
        except StoreError as error:
            self._tenants |= tenants
            logger.error("idempotency_sweep_failed", extra={"why": error.reason})

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
    kind = kind_of(status)
    return CodedRefusal(arrival.front, status, kind, text, code, headers=headers)


KEY = b"idempotency-key"
LONGEST_KEY = 255
RECORDING = 64 * 1024 * 1024
"""Bytes of answers that are under way, all together."""
LONGEST_ENDING = 2.0
"""Seconds that the end of an answer waits until it is stored."""
PIECE = 64 * 1024
_LARGE = 256 * 1024
"""Bytes that are worked on in another thread."""
_IDS = Ulids()


class IdempotentRequest:
    """One request with a key: `begin`, then `send` in place of the client's own, then `end`."""

    def __init__(
        self,
        keys: IdempotencyKeys,
        exchange: Exchange,
        path: str,
        key: bytes,
        body: bytes,
        send: Send,
    ) -> None:
        self.answered = False
        """Whether the client has its answer: nothing else is to be done."""
        self._keys = keys
        self._exchange = exchange
        self._request = (path, key, body)
        self._send = send
        self._claim: Claim | None = None
        self._recording = Recording(keys.longest)

    async def begin(self) -> None:
        """Replays the earlier answer, if there is one, and waits for one that is under way.
        `Refusal` if the key was used for another request, or the answer is not available."""
        exchange, (path, key, body) = self._exchange, self._request
        if not 0 < len(key) <= LONGEST_KEY or not all(32 < byte < 127 for byte in key):
            text = f"an idempotency key is 1 to {LONGEST_KEY} visible ASCII characters"
            raise refusal(exchange.arrival, 400, text, "idempotency_key_invalid")
        self._request = ("", b"", b"")
        if len(body) > _LARGE:
            claim = await asyncio.to_thread(_claim, exchange.arrival, path, key, body)
        else:
            claim = _claim(exchange.arrival, path, key, body)
        reply = await self._keys.take(exchange.arrival, claim)
        if reply is None:
            self._claim = claim
            return
        if reply.body is None:
            raise not_stored(exchange.arrival)
        self.answered = True
        await self._replay(reply, reply.body)

    async def _replay(self, reply: Reply, body: bytes) -> None:
        arrival, outcome = self._exchange.arrival, self._exchange.outcome
        send = self._send
        outcome.status, outcome.replayed = reply.status, True
        own = [(b"x-request-id", arrival.id.encode())]
        name = front_of(arrival.front).request_id
        if name is not None:
            own.append((name, arrival.id.encode()))
        headers = reply.headers_again(own)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        for at in range(0, len(body), PIECE):
            piece = body[at : at + PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Sends to the client and records. The end is sent once the answer is stored: a client that
        has seen it gets the same answer again even if this process dies."""
        keys, recording = self._keys, self._recording
        keys.recording += recording.take(message)
        if keys.recording > RECORDING:
            keys.recording += recording.drop()
        if message["type"] != "http.response.start" and (
            recording.is_whole or self._exchange.outcome.is_last
        ):
            ending = self.end()
            if ending is not None:
                await asyncio.wait({ending}, timeout=LONGEST_ENDING)
        await self._send(message)

    def end(self) -> asyncio.Task[None] | None:
        """Ends the claim with any outcome; returns the task that is left to do, if any."""
        claim, self._claim = self._claim, None
        if claim is None:
            return None
        return self._keys.work(self._end(claim, self._keys.over(claim)))

    async def _end(self, claim: Claim, waiting: Landed) -> None:
        """Stores a complete, successful answer. Any other goes to the waiting repeats, unless it is
        a refusal of our own."""
        arrival, outcome = self._exchange.arrival, self._exchange.outcome
        recording = self._recording
        reply: Reply | None = None
        good = False
        try:
            if (recording.is_whole or outcome.is_last) and outcome.status != 499:
                reply = Reply(
                    claim.print,
                    arrival.id,
                    recording.status,
                    recording.headers,
                    recording.body(),
                    arrival.stream and recording.status == 200,
                )
                good = recording.status == 200 and outcome.error is None
                good = good and await _is_whole(arrival.front, reply)
        finally:
            self._keys.recording += recording.drop()
            waiting.set_result(reply if good or outcome.attempts else None)
            if good and reply is not None:
                await self._keys.keep(arrival, claim, reply)
            else:
                await self._keys.give_up(claim)


async def _is_whole(dialect: str, reply: Reply) -> bool:
    if not reply.is_stream or reply.body is None:
        return True
    if len(reply.body) < _LARGE:
        return is_whole_stream(dialect, reply.body)
    return await asyncio.to_thread(is_whole_stream, dialect, reply.body)


def _claim(arrival: Arrival, path: str, key: bytes, body: bytes) -> Claim:
    """A tenant's keys never lead to another's row, nor those of a client with a provider key of its
    own; without the key the request cannot be guessed from the row."""
    tenant = arrival.principal.tenant or ""
    whose = [tenant.encode("utf-8", "surrogatepass"), key]
    if arrival.own_key is not None:
        whose.append(arrival.own_key.secret.reveal().encode())
    id, request_digest = _digest(*whose), _digest(*whose, path.encode(), body)
    return Claim(id, tenant, request_digest, _IDS.new())


def _digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d:" % len(part))
        whole.update(part)
    return whole.hexdigest()
