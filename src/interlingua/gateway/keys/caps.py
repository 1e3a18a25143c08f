"""Caps: no request is sent that could cost more than is left, across all processes.

Before a request goes out its worst case is set aside; when it is over, what it did cost takes that
place. Both are one transaction in the store, which all processes and machines share. Requests that
come at the same time go together, so that many share the price of one. For a busy key a process has
a block of money set aside, for many requests to come, and accounts for it ten times a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from interlingua.client.targets import Target
from interlingua.costs.cost import unpriced_parts
from interlingua.costs.table import PriceTable
from interlingua.events.payloads import QuotaAlert, QuotaExceeded
from interlingua.gateway.keys.keys import Emit
from interlingua.gateway.keys.tariffs import (
    BYTES_A_TOKEN,
    LOOPS,
    NO_COST,
    TOKENS_A_SECOND,
    UNBOUNDED_LOOPS,
    Tariffs,
    Worst,
    rate_headers,
)
from interlingua.gateway.shared.principal import KeyPrincipal, budget_limit, picodollars, usd
from interlingua.gateway.shared.refusals import CodedRefusal
from interlingua.gateway.shared.sizes import Most
from interlingua.gateway.shared.state import Arrival, Exchange, Labels, Principal
from interlingua.model.exchange import ErrorKind
from interlingua.model.ids import Ulids
from interlingua.model.message import micros
from interlingua.model.metadata import Usage
from interlingua.store.base import AsyncStore
from interlingua.store.cap_rules import (
    Alert,
    Counted,
    Granted,
    Limit,
    Over,
    Reserve,
    Settle,
    day_of,
)
from interlingua.store.errors import BusyError, StoreError

BATCH = 256
WAITING = 10_000
"""Settlements that may wait while the store is away."""
MANY, ENOUGH, GATHERING = 8, 40, 0.004
"""When `MANY` requests came together, the next ones wait for `GATHERING` seconds, or until they and
the settlements are `ENOUGH`: most of a transaction's cost is the same for one and for many."""
PAUSE = 0.5
"""Seconds before a store that failed is used again."""
LONGEST = 2.0
"""The longest time in seconds that the end of an answer waits for its cost to be written."""

TICK = 0.1
"""Seconds after which a block is settled, and returned if it is unused."""
BUSY = 8
"""Requests within a `TICK` from which on their limits get a block."""
BARRED = 1.0
"""Seconds for which there is no block after a request found too little left."""
_MOST_BUSY = 1000

Reply = Over | Counted | Granted | None
"""Why a request may not go out; else it is set aside."""
Answers = tuple[list[Reply | StoreError], list[list[Alert]]]

T = TypeVar("T")
Hears = Callable[[list[Alert]], None]


def _nobody(alerts: list[Alert]) -> None:
    pass


class ReservationBatch:
    """One process's writes to the store about its requests."""

    def __init__(self, store: AsyncStore, holder: str) -> None:
        self._store = store
        self._holder = holder
        self._reserves: deque[tuple[Reserve, asyncio.Future[Reply]]] = deque()
        self._settles: deque[tuple[Settle, Hears]] = deque()
        self._ends: deque[tuple[float, asyncio.Future[None]]] = deque()
        """Ends of answers that wait, and until when."""
        self._working: asyncio.Task[None] | None = None
        self._gathering: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def reserve(self, reserve: Reserve) -> Reply:
        """Reserves money, or returns the limit that forbids it. A caller that is cancelled while
        it waits has reserved nothing in the end."""
        if len(self._reserves) >= WAITING:
            raise BusyError(
                self._store.where, f"{WAITING} requests are already waiting for their caps"
            )
        if self._loop is None:  # once: it costs a system call
            self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._reserves.append((reserve, future))
        self._start()
        try:
            return await future
        except (asyncio.CancelledError, StoreError):
            # It may or may not have been reserved: settling an unknown reservation does nothing.
            self.put(Settle(reserve.id, 0, 0))
            raise

    async def settle(self, settle: Settle, hears: Hears = _nobody) -> None:
        """Returns once it is written. A store that is away, or takes long, is not waited for:
        the write is tried again later, and the reservation stays until then."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[None] = loop.create_future()

        def heard(alerts: list[Alert]) -> None:
            hears(alerts)
            if not written.done():
                written.set_result(None)

        self.wait_for(written, loop)
        self.put(settle, heard)
        await written

    def wait_for(self, written: asyncio.Future[None], loop: asyncio.AbstractEventLoop) -> None:
        """Lets the end of an answer go after `LONGEST`. One timer for all that wait; mostly none
        does when it fires."""
        if not self._ends:
            loop.call_later(LONGEST, self._let_go, loop)
        self._ends.append((loop.time() + LONGEST, written))

    def _let_go(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while self._ends and (self._ends[0][1].done() or self._ends[0][0] <= now):
            _, written = self._ends.popleft()
            if not written.done():
                written.set_result(None)
        if self._ends:
            loop.call_at(self._ends[0][0], self._let_go, loop)

    def put(self, settle: Settle, hears: Hears = _nobody) -> None:
        """The same without waiting: `hears` is called when it is written, before any later
        request."""
        if len(self._settles) >= WAITING:
            logger.error("settlement_dropped", extra={"request": settle.id})
            hears([])
            return
        self._settles.append((settle, hears))
        self._start()

    def _start(self) -> None:
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())
        elif self._gathering is not None and self._waiting >= ENOUGH:
            _wake(self._gathering)

    @property
    def _waiting(self) -> int:
        return len(self._reserves) + len(self._settles)

    async def _gather(self) -> None:
        """Wait for others, for a moment."""
        loop = asyncio.get_running_loop()
        self._gathering = loop.create_future()
        timer = loop.call_later(GATHERING, _wake, self._gathering)
        try:
            await self._gathering
        finally:
            timer.cancel()
            self._gathering = None

    async def _work(self) -> None:
        while self._reserves or self._settles:
            settles = [self._settles.popleft() for _ in range(min(BATCH, len(self._settles)))]
            reserves = [self._reserves.popleft() for _ in range(min(BATCH, len(self._reserves)))]
            reserves = [each for each in reserves if not each[1].done()]
            try:
                overs, alerts = await self._written(
                    [reserve for reserve, _ in reserves], [settle for settle, _ in settles]
                )
            except StoreError as error:
                for _, future in reserves:
                    if not future.done():
                        future.set_exception(error)
                for _, hears in settles:
                    hears([])
                self._settles.extendleft([(settle, _nobody) for settle, _ in reversed(settles)])
                logger.error("caps_not_written", extra={"why": error.reason})
                await asyncio.sleep(PAUSE)
                continue
            except BaseException:  # the loop ends, or this code failed: no request waits for ever
                for _, future in reserves:
                    future.cancel()
                for _, hears in settles:
                    hears([])
                raise
            for (_, future), over in zip(reserves, overs, strict=True):
                if future.done():
                    continue
                if isinstance(over, StoreError):
                    future.set_exception(over)
                else:
                    future.set_result(over)
            for (_, hears), crossed in zip(settles, alerts, strict=True):
                hears(crossed)
            if len(reserves) >= MANY and self._waiting < ENOUGH:
                await self._gather()

    async def _written(self, reserves: list[Reserve], settles: list[Settle]) -> Answers:
        """Writes all in one transaction. If one of them cannot be written, the others still are, so
        that none waits forever."""
        try:
            overs, alerts = await self._store.settle_and_reserve(self._holder, reserves, settles)
            return [*overs], alerts
        except StoreError as error:
            if error.is_away:
                raise
            if len(reserves) + len(settles) == 1:
                return self._unwritable(reserves, settles, error)
        overs_of_parts: list[Reply | StoreError] = []
        alerts_of_parts: list[list[Alert]] = []
        for some in _halves(settles):
            alerts_of_parts += (await self._written([], some))[1]
        for few in _halves(reserves):
            overs_of_parts += (await self._written(few, []))[0]
        return overs_of_parts, alerts_of_parts

    def _unwritable(
        self, reserves: list[Reserve], settles: list[Settle], error: StoreError
    ) -> Answers:
        """Reservations stay until this process ends."""
        for settle in settles:
            logger.error("settlement_dropped", extra={"request": settle.id, "why": error.problem})
        return [error for _ in reserves], [[] for _ in settles]

    async def close(self, patience: float = 5.0) -> None:
        """Writes everything that waits, as far as the store allows."""
        if self._working is not None and not self._working.done():
            await asyncio.wait({self._working}, timeout=patience)
            if not self._working.done():
                self._working.cancel()


class Block:
    """Money that is reserved for requests to come, of the same limits on the same day.

    Of the cost of its requests, at most `_advance` is not written yet, and the store counts that
    as spent already: a process that is killed has charged a little too much, and never too
    little."""

    def __init__(
        self, store: AsyncStore, holder: str, like: Reserve, patience: float, hears: Hears
    ) -> None:
        """`like` is one of the requests to be paid. The store takes back money that is not renewed
        for `patience` seconds."""
        self._store, self._holder, self._like, self._patience = store, holder, like, patience
        self._hears = hears
        self._loop = asyncio.get_running_loop()
        self._row = ""
        self._claim = self._advance = 0
        """The block's size, and the part of it that counts as spent."""
        self._held = self._unwritten = self._unpriced = 0
        """The worst cases of its running requests, the costs of the finished ones, and how many of
        these costs lack a part."""
        self._peak, self._missed = 0, 2 * BUSY * like.amount
        """The most that was held since the last settlement, and the shortfall."""
        self._used, self._until, self._barred = self._loop.time(), 0.0, 0.0
        self._ends: list[asyncio.Future[None]] = []
        self._woken: asyncio.Future[None] | None = None
        self._closing = False
        self._working = self._loop.create_task(self._work())

    @property
    def is_over(self) -> bool:
        """Whether it is empty and unused."""
        return self._working.done()

    def take(self, amount: int) -> bool:
        """Sets so much aside for a request; False if there is too little."""
        held, self._used = self._held + amount, self._loop.time()
        if held + self._unwritten > self._claim or self._used > self._until:
            self._missed += amount
            return False
        self._held = held
        if held > self._peak:
            self._peak = held
        return True

    def settle(self, amount: int, cost: int, unpriced: int = 0) -> asyncio.Future[None] | None:
        """A request is over. Its cost is charged, or is when the future is done."""
        self._held -= amount
        self._unwritten += cost
        self._unpriced += unpriced
        if self._unwritten * 4 > self._advance * 3:
            self._wake()
        return self._written() if cost and self._unwritten > self._advance else None

    def _written(self) -> asyncio.Future[None]:
        """Done when everything is written that is over by now."""
        self._ends.append(written := self._loop.create_future())
        self._wake()
        return written

    async def give_back(self) -> bool:
        """Gives back money that no request holds, for a request that found too little; False if
        there is none."""
        self._barred = self._loop.time() + BARRED
        if self._claim <= self._held + self._unwritten or self._working.done():
            return False
        await self._written()
        return True

    def _wake(self) -> None:
        if self._working.done():
            self._working = self._loop.create_task(self._work())
        elif self._woken is not None:
            _wake(self._woken)

    async def _work(self) -> None:
        """Settles now and then until the block is unused."""
        try:
            while True:
                is_last = self._closing
                await self._account()
                if is_last or not (self._row or self._ends or self._missed):
                    return
                self._woken = self._loop.create_future()
                pause = 0 if self._ends or self._closing else TICK
                timer = self._loop.call_later(pause, _wake, self._woken)
                await self._woken
                timer.cancel()
        finally:
            self._woken = None
            self._let_go(self._ends)

    async def _account(self) -> None:
        """Writes the spending and reserves for the next period, in one transaction."""
        began = self._loop.time()
        is_idle = self._closing or began < self._barred or began - self._used >= TICK
        spent, held, ends, self._ends = self._unwritten, self._held, self._ends, []
        # a process that was suspended was taken for dead: it has its charged advance and no more
        claim = self._claim if began <= self._until else self._advance
        free = max(claim - spent - held, 0)
        wish = 0 if is_idle else self._peak + 2 * spent + self._missed
        advance = 0 if is_idle else min(free, 2 * spent)
        if spent or wish or free or self._advance or (self._row and not held):
            spare = min(free - advance, free // 2, wish)
            # What both the store of before and that of afterwards have room for.
            self._claim = min(self._claim, spent + advance + held + spare)
            cost = spent + advance - self._advance
            self._row, granted = await self._moved(cost, held + spare, wish - spare, ends)
            self._unwritten -= spent
            self._advance, self._claim = advance, advance + granted
            self._until = began + self._patience / 2
        self._peak, self._missed = self._held, 0
        if self._unwritten <= self._advance:
            ends, self._ends = ends + self._ends, []
        self._let_go(ends)

    async def _moved(
        self, cost: int, amount: int, more: int, ends: list[asyncio.Future[None]]
    ) -> tuple[str, int]:
        """Ends the row in the ledger with a cost, and begins another one; returns its id and its
        money. If the store is unreachable, it is tried again: repeating the same changes
        nothing."""
        like, settles = self._like, []
        if self._row:
            settles = [Settle(self._row, cost, 0, like.limits, unpriced=self._unpriced)]
            self._unpriced = 0
        row = f"blk_{_IDS.new()}" if amount or more else ""
        new = replace(like, id=row, amount=amount, tokens=0, block=more)
        reserves = [new] if row else []
        while True:
            try:
                written = self._store.settle_and_reserve(self._holder, reserves, settles)
                replies, alerts = await written
                break
            except StoreError as error:
                logger.error("caps_not_written", extra={"why": error.reason})
                self._let_go(ends)
            await asyncio.sleep(PAUSE)
        for crossed in alerts:
            self._hears(crossed)
        return row, sum([reply.amount for reply in replies if isinstance(reply, Granted)])

    def _let_go(self, ends: list[asyncio.Future[None]]) -> None:
        for each in ends:
            _wake(each)
        ends.clear()

    async def close(self, patience: float = 5.0) -> None:
        """Writes the spending, and gives the rest back."""
        self._closing = True
        self._wake()
        await asyncio.wait({self._working}, timeout=patience)
        self._working.cancel()


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _halves(items: list[T]) -> list[list[T]]:
    half = (len(items) + 1) // 2
    return [part for part in (items[:half], items[half:]) if part]


logger = logging.getLogger(__name__)

PATIENCE = 90.0
"""Seconds of silence after which a process counts as dead, and its blocks are returned."""
_MAX_REPORTED = 1000
_NOW = partial(datetime.now, UTC)
LEAST_OUTPUT = 256
"""Output tokens below which an answer is not shortened to fit a cap, but refused."""
SETTLING = 2
"""Seconds after which a request should be repeated that lacks room only because of others under
way."""
_MOST_TRIES = 5
"""Attempts to find room, which other requests may take in the meantime."""
_ANY = 2**62
_IDS = Ulids()
_NO_MODELS: tuple[tuple[str, str], ...] = ()
_Limits = tuple[tuple[Limit, ...], str]
"""Limits on a day, for which there may be a block."""


class Reservation(msgspec.Struct, eq=False):
    """The reservation of a request."""

    reserved: Reserve
    worst: Worst
    targets: Sequence[Target]
    """The targets whose budget has room for it."""
    is_unbounded: bool = False
    """Whether it may cost more than that, which its owner allows."""
    rate_headers: tuple[tuple[str, str], ...] = ()
    """The rest of its key's minute, for its client."""
    shortened_to: int | None = None
    """The output tokens that the caps allow, if they are fewer than the request allows."""
    by_model: tuple[tuple[str, str], ...] = ()
    """Models with a budget, and its owner id."""
    block: Block | None = None
    """The block that it belongs to, if it has no entry of its own."""

    def amount_of(self, model: str) -> int:
        """The amount that was set aside for this model: nothing for one without a price."""
        return 0 if model in self.worst.unpriced else self.reserved.amount


class Caps:
    """The caps of all keys of a store. `emit` receives alerts and refusals."""

    def __init__(
        self,
        store: AsyncStore,
        *,
        table: PriceTable | None = None,
        emit: Emit | None = None,
        patience: float = PATIENCE,
        now: Callable[[], datetime] = _NOW,
    ) -> None:
        self.tariffs = Tariffs(table)
        self.holder = f"gw_{Ulids().new()}"
        self._store = store
        self._emit = emit
        self._patience = patience
        self._now = now
        self._batch = ReservationBatch(store, self.holder)
        self._tending: asyncio.Task[None] | None = None
        self._first: asyncio.Future[None] | None = None
        self._reported: set[tuple[str, str]] = set()
        self._today = (0, "")
        self._blocks: dict[_Limits, Block] = {}
        self._busy: dict[_Limits, tuple[float, int]] = {}
        """Limits without a block: since when their requests are counted, and their number."""

    async def reserve(
        self, arrival: Arrival, most: Most, targets: Sequence[Target], *, shortens: bool = False
    ) -> Reservation | None:
        """Reserves the most that the request may cost, without targets that its budgets or prices
        rule out; where `shortens`, of as short an answer as caps need. `Refusal`: 429 or 403."""
        who = arrival.principal
        if not isinstance(who, KeyPrincipal) or not who.capped:
            return None
        if most.is_nothing and not who.rated:
            return None
        now, shortened = self._now(), None
        for _ in range(_MOST_TRIES):
            tried = self._reservation(arrival, who, most, targets, now, shortened)
            if tried.block is not None and tried.block.take(tried.reserved.amount):
                return tried
            tried.block = None
            reply = await self._set_aside(arrival, tried.reserved)
            if not isinstance(reply, Over):
                tried.rate_headers = _rates(arrival, who, reply, now)
                return tried
            if await self._given_back(reply.owner_id):
                continue
            if others := _others(tried, reply):
                targets = others
                continue
            if who.in_batch and (wait := self._patience_for(reply, tried, most, now, shortens)):
                raise _refusal(arrival, who, reply, tried.worst, now, wait)
            output = self._room(reply, tried, most, now) if shortens else 0
            if output < LEAST_OUTPUT or output + most.thinking >= (most.output or _ANY):
                break
            shortened = output
            most = most._replace(output=output + most.thinking)
        assert isinstance(reply, Over)
        if not who.in_batch and self._is_reserved(reply, tried, most, now, shortens):
            raise _refusal(arrival, who, reply, tried.worst, now, SETTLING)
        self._tell_over(who, reply, tried.reserved.day)
        renewed = who.in_batch and self._fits(reply._replace(current=0), tried, most, now, shortens)
        wait = seconds_left(reply, now) if renewed else None
        raise _refusal(arrival, who, reply, tried.worst, now, wait)

    def _patience_for(
        self, over: Over, tried: Reservation, most: Most, now: datetime, shortens: bool
    ) -> int | None:
        """Seconds that a request of a batch waits, in place of being shortened or refused."""
        if self._is_reserved(over, tried, most, now, shortens):
            return 1
        if over.what != "usd" and self._fits(over._replace(current=0), tried, most, now, False):
            return seconds_left(over, now)
        return None

    def _is_reserved(
        self, over: Over, tried: Reservation, most: Most, now: datetime, shortens: bool
    ) -> bool:
        """Whether there would be room without the reservations of requests under way."""
        settled = over._replace(current=over.current - over.reserved)
        return over.reserved > 0 and self._fits(settled, tried, most, now, shortens)

    def _fits(
        self, over: Over, tried: Reservation, most: Most, now: datetime, shortens: bool
    ) -> bool:
        """Whether this limit has room for the request, or for a shorter answer."""
        needed = {"usd": tried.reserved.amount, "tokens": tried.reserved.tokens}.get(over.what, 1)
        if over.current + needed <= over.limit:
            return True
        return shortens and self._room(over, tried, most, now) >= LEAST_OUTPUT

    def _reservation(
        self,
        arrival: Arrival,
        who: KeyPrincipal,
        most: Most,
        targets: Sequence[Target],
        now: datetime,
        shortened: int | None,
    ) -> Reservation:
        """The reservation to make, and the block that may cover it already."""
        worst = NO_COST
        if not most.is_nothing:
            worst = self.tariffs.worst(targets, most.input, most.output, now, most.answers)
        limits, by_model = who.limits, _NO_MODELS
        if who.budgets:
            limits, by_model = _with_budgets(who, arrival, targets)
        counts = bool(limits) or who.tokens_per_minute is not None
        if most.unbounded and counts and not who.allow_unbounded:
            raise _unbounded(arrival, most.unbounded)
        if limits and worst.unpriced and not who.allow_unpriced:
            priced = [each for each in targets if each.model not in worst.unpriced]
            if not priced:
                raise _unpriced(arrival, worst.unpriced)
            return self._reservation(arrival, who, most, priced, now, shortened)
        reserve = Reserve(
            arrival.id,
            who.account_id,
            micros(now),
            self._day(now),
            limits,
            worst.cost,
            most.input + worst.output_tokens,
            who.requests_per_minute,
            who.tokens_per_minute,
            who.concurrent,
        )
        block = None if by_model or worst.unpriced else self._block(who, reserve)
        which = (reserve, worst, targets, bool(most.unbounded), (), shortened, by_model, block)
        return Reservation(*which)

    def _block(self, who: KeyPrincipal, reserve: Reserve) -> Block | None:
        """The block of these limits, if there is one. Limits that many requests have get one."""
        if reserve.has_rates or not reserve.limits:
            return None
        limits = (reserve.limits, reserve.day)
        block = self._blocks.get(limits)
        if block is not None:
            if not block.is_over:
                return block
            del self._blocks[limits]
        now = asyncio.get_running_loop().time()
        since, count = self._busy.get(limits, (now, 0))
        if len(self._busy) > _MOST_BUSY:
            self._busy.clear()
        if now - since > TICK:
            since, count = now, 0
        self._busy[limits] = (since, count + 1)
        if count + 1 >= BUSY and self._first is not None and self._first.done():
            del self._busy[limits]
            self._open(limits, who, reserve)
        return None

    def _open(self, limits: _Limits, who: KeyPrincipal, reserve: Reserve) -> None:
        for each in [each for each, block in self._blocks.items() if block.is_over]:
            del self._blocks[each]
        hears = partial(self._tell_alerts, who)
        self._blocks[limits] = Block(self._store, self.holder, reserve, self._patience, hears)

    async def _given_back(self, owner: str) -> bool:
        """Whether blocks gave something back that counts for this owner."""
        blocks = [
            block
            for (limits, _), block in self._blocks.items()
            if any(limit.owner_id == owner for limit in limits)
        ]
        return any([await block.give_back() for block in blocks])

    def _room(self, over: Over, tried: Reservation, most: Most, now: datetime) -> int:
        """The output tokens that this limit allows."""
        left = over.limit - over.current
        if over.what == "tokens":
            room = (left - most.input) // most.answers
        elif over.what == "usd":
            prompt = tried.worst.input_tokens
            room = self.tariffs.affordable(tried.targets, prompt, left, now, most.answers)
        else:
            return 0
        return room - most.thinking

    async def _set_aside(self, arrival: Arrival, reserve: Reserve) -> Reply:
        """Why the request is refused; else its cost is reserved."""
        try:
            first = self._first
            if first is None or not first.done():
                await self._tend()
            return await self._batch.reserve(reserve)
        except StoreError as error:
            logger.error("caps_unreadable", extra={"request": arrival.id, "why": error.reason})
            text = "spending caps cannot be checked right now; try again"
            raise CodedRefusal(
                arrival.front, 503, ErrorKind.SERVER_ERROR, text, "store_unavailable"
            ) from None

    async def take(
        self, id: str, owner: str, tokens: int, rpm: int | None, tpm: int | None
    ) -> bool:
        """Counts a request of a deployment; False if its limits of this minute do not allow it.
        The caller returns it with `give_back`."""
        now = self._now()
        reserve = Reserve(id, owner, micros(now), self._day(now), (), 0, tokens, rpm, tpm)
        await self._tend()
        return not isinstance(await self._batch.reserve(reserve), Over)

    def give_back(self, id: str, tokens: int) -> None:
        """The request is over, with so many tokens."""
        self._batch.put(Settle(id, 0, tokens))

    def _day(self, now: datetime) -> str:
        ordinal = now.toordinal()
        if ordinal != self._today[0]:
            self._today = (ordinal, day_of(now))
        return self._today[1]

    async def settle(self, exchange: Exchange) -> None:
        """Settles the real cost, once, with any outcome. It is written when this returns, unless
        the store takes long."""
        for earlier in exchange.outcome.replaced:
            await self.settle(earlier)
        settle = self._settlement(exchange)
        if isinstance(settle, Settle):
            await self._batch.settle(settle, partial(self._tell_alerts, exchange.arrival.principal))
        elif settle is not None:
            self._batch.wait_for(settle, settle.get_loop())
            await settle

    def settle_soon(self, exchange: Exchange) -> None:
        """Like `settle`, without waiting; it is written before any later reservation."""
        for earlier in exchange.outcome.replaced:
            self.settle_soon(earlier)
        settle = self._settlement(exchange)
        if isinstance(settle, Settle):
            self._batch.put(settle, partial(self._tell_alerts, exchange.arrival.principal))

    def _settlement(self, exchange: Exchange) -> Settle | asyncio.Future[None] | None:
        """The write that settles a request, or the one under way; None without a reservation."""
        reservation = exchange.outcome.reservation
        if not isinstance(reservation, Reservation):
            return None
        exchange.outcome.reservation = None
        cost, tokens, unpriced = self._spent(exchange, reservation)
        if reservation.block is not None:
            return reservation.block.settle(reservation.reserved.amount, cost, unpriced)
        not_for: tuple[str, ...] = ()
        if reservation.by_model and exchange.decision.target is not None:
            answered = exchange.decision.target.model
            not_for = tuple([id for model, id in reservation.by_model if model != answered])
        reserved = reservation.reserved
        return Settle(reserved.id, cost, tokens, reserved.limits, not_for, unpriced)

    def _spent(self, exchange: Exchange, reservation: Reservation) -> tuple[int, int, int]:
        """Picodollars, tokens, and 1 if the cost lacks a part without a price. A request that
        failed before any output costs nothing. If it broke off or reports no usage, the prompt is
        charged, and the part of the answer that arrived or can have been generated in that time.
        For an impossible count, the reservation is charged instead."""
        arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
        usage, model = outcome.usage, decision.target.model if decision.target else ""
        amount = reservation.amount_of(model)
        is_begun = outcome.status in (200, 499) or usage is not None
        unpriced = int(model in reservation.worst.unpriced)
        if outcome.error is not None and not is_begun:
            return 0, 0, 0
        if usage is None and outcome.error is None and reservation.is_unbounded:
            return amount, reservation.reserved.tokens, unpriced
        loops = UNBOUNDED_LOOPS if reservation.is_unbounded else LOOPS
        if usage is not None and not self.tariffs.credible(model, usage, reservation.worst, loops):
            logger.error("usage_implausible", extra={"request": arrival.id, "model": model})
            return amount, reservation.reserved.tokens, unpriced
        if usage is None or outcome.error is not None or usage.output_tokens is None:
            usage = self._guessed(usage, exchange, reservation.worst)
            cost = self.tariffs.cost(model, usage, arrival.at, outcome.answered_by)
        else:
            cost = outcome.cost
            if cost is None:
                cost = self.tariffs.cost(model, usage, arrival.at, outcome.answered_by)
                outcome.cost = cost
        tokens = (usage.prompt_tokens or 0) + (usage.output_tokens or 0)
        if cost is None:
            return amount, tokens, unpriced
        lacks = unpriced_parts(usage, model, self.tariffs.table)
        who = arrival.principal
        if lacks and not (isinstance(who, KeyPrincipal) and who.allow_unpriced):
            extra = {"request": arrival.id, "model": model, "unpriced": [*lacks]}
            logger.warning("cost_incomplete", extra=extra)
            return max(picodollars(cost), amount), tokens, 0
        return picodollars(cost), tokens, int(bool(lacks))

    def _guessed(self, usage: Usage | None, exchange: Exchange, worst: Worst) -> Usage:
        made = int(exchange.arrival.elapsed_ms() / 1000 * TOKENS_A_SECOND) + 1
        made = max(made, exchange.outcome.heard // BYTES_A_TOKEN + 1)
        output = min(made, worst.output_tokens)
        if usage is None or usage.input_tokens is None:
            return Usage(input_tokens=worst.input_tokens, output_tokens=output)
        return usage.replace(output_tokens=max(output, usage.output_tokens or 0))

    # Those who died

    async def _tend(self) -> None:
        """Be known as alive before anything is held, and from then on."""
        if self._first is None:
            loop = asyncio.get_running_loop()
            self._first = loop.create_future()
            self._tending = loop.create_task(self._keep_tending(self._first))
        first = self._first
        if first.done() and first.exception() is None:
            return
        try:
            await asyncio.shield(first)
        except StoreError:
            if self._first is first:
                self._first = None
            raise

    async def _keep_tending(self, first: asyncio.Future[None]) -> None:
        while True:
            try:
                returned = await self._store.renew_quotas(self.holder, self._patience)
                if returned:
                    logger.warning("reservations_returned", extra={"count": returned})
                if not first.done():
                    first.set_result(None)
            except StoreError as error:
                if not first.done():
                    first.set_exception(error)
                    return
                logger.error("caps_not_renewed", extra={"why": error.reason})
            await asyncio.sleep(self._patience / 5)

    async def close(self) -> None:
        """Settles everything that waits, and then stops."""
        await asyncio.gather(*[block.close() for block in self._blocks.values()])
        await self._batch.close()
        if self._tending is not None:
            self._tending.cancel()
            with suppress(asyncio.CancelledError):
                await self._tending
            self._tending = self._first = None

    # Notifications

    def _tell_over(self, principal: Principal, over: Over, day: str) -> None:
        """Once for each owner and window, however often it is exceeded."""
        if self._emit is None or over.window == "minute" or over.window == "now":
            return
        which = (over.owner_id, f"{over.window} {day}")
        if which in self._reported:
            return
        if len(self._reported) >= _MAX_REPORTED:
            self._reported.clear()
        self._reported.add(which)
        limit, current = usd(over.limit), usd(over.current)
        ids = (principal.key_id, principal.user_id, principal.team_id)
        payload = QuotaExceeded(over.scope, over.window, limit, current, *ids)
        self._emit("gateway.quota_exceeded", payload)

    def _tell_alerts(self, principal: Principal, alerts: list[Alert]) -> None:
        for alert in alerts:
            self._tell_alert(principal, alert)

    def _tell_alert(self, principal: Principal, alert: Alert) -> None:
        logger.warning("quota_alert", extra={"owner": alert.owner_id, "percent": alert.percent})
        if self._emit is None:
            return
        payload = QuotaAlert(
            alert.scope,
            alert.window,
            alert.percent,
            usd(alert.limit),
            usd(alert.current),
            principal.key_id,
            principal.user_id,
            principal.team_id,
        )
        self._emit("quota.alert", payload)


def _rates(
    arrival: Arrival, who: KeyPrincipal, reply: Reply, now: datetime
) -> tuple[tuple[str, str], ...]:
    """The rest of the key's minute, for its client."""
    if not isinstance(reply, Counted):
        return ()
    return tuple(rate_headers(arrival.front, who, reply, now))


def _others(tried: Reservation, over: Over) -> list[Target]:
    """The targets that remain where the budget of some is spent; none where it is no budget of a
    model."""
    spent = {model for model, owner in tried.by_model if owner == over.owner_id}
    return [target for target in tried.targets if target.model not in spent] if spent else []


def _with_budgets(
    who: KeyPrincipal, arrival: Arrival, targets: Sequence[Target]
) -> tuple[tuple[Limit, ...], tuple[tuple[str, str], ...]]:
    """The limits of a key with those of its budgets, and the models of each budget."""
    labels = arrival.labels or Labels()
    models = tuple(dict.fromkeys([target.model for target in targets]))
    values = {"model": models, "tag": labels.tags, "end_user": (labels.end_user,)}
    found = [
        (value, limit)
        for budget in who.budgets
        for value in values[budget.kind]
        if (limit := budget_limit(budget, value)) is not None
    ]
    by_model = tuple([(value, limit.owner_id) for value, limit in found if limit.scope == "model"])
    return (*who.limits, *[limit for _, limit in found]), by_model


def _unpriced(arrival: Arrival, models: Sequence[str]) -> CodedRefusal:
    text = (
        f"the price of {' and '.join(models)} is unknown, and this request counts against a"
        " spending cap; ask for the price to be added to prices.toml, or for a key that may use"
        " models without one (`--allow-unpriced`)"
    )
    return CodedRefusal(arrival.front, 403, ErrorKind.AUTH, text, "price_unknown")


def _unbounded(arrival: Arrival, what: Sequence[str]) -> CodedRefusal:
    text = (
        f"this key has a spending cap, and the cost of this request has no bound:"
        f" {', '.join(what)}; leave it out, or ask for a key that may (`--allow-unbounded`)"
    )
    return CodedRefusal(arrival.front, 403, ErrorKind.AUTH, text, "unbounded_request")


_WHAT = {
    "requests": "requests per minute",
    "tokens": "tokens per minute",
    "concurrent": "requests at a time",
}


def _refusal(
    arrival: Arrival,
    who: KeyPrincipal,
    over: Over,
    worst: Worst,
    now: datetime,
    wait: int | None = None,
) -> CodedRefusal:
    """The error. With `wait`, the same request may find room after so many seconds."""
    headers = [("retry-after", str(seconds_left(over, now) if wait is None else wait))]
    if wait is None and (over.what == "usd" or who.in_batch):
        headers.append(("x-should-retry", "false"))
    facts: dict[str, str] = {"scope": over.scope, "window": over.window}
    if over.what == "usd":
        limit, current = str(usd(over.limit)), str(usd(over.current))
        facts |= {"limit_usd": limit, "current_usd": current}
        scope = over.scope.replace("_", " ")
        text = (
            f"the {scope}'s spending cap for this {over.window} is ${limit}; ${current} is"
            f" spent or reserved, and this request may cost ${usd(worst.cost)} with"
            f" {worst.output_tokens} output tokens"
        )
        code = "quota_exceeded"
    else:
        facts |= {"limit": str(over.limit), "current": str(over.current)}
        text = f"rate limit exceeded: {over.limit} {_WHAT[over.what]}, {over.current} used"
        if over.what == "tokens":
            text += f", and this request may need {worst.output_tokens} output tokens"
        code = "rate_limit_exceeded"
        counted = Counted(over.current, over.current)
        rates = rate_headers(arrival.front, who, counted, now)
        headers += [(name, value) for name, value in rates if over.what in name]
    return CodedRefusal(arrival.front, 429, ErrorKind.RATE_LIMIT, text, code, facts, tuple(headers))


def seconds_left(over: Over, now: datetime) -> int:
    """Whole seconds until the window that is full is over."""
    if over.window == "now":
        return 1
    if over.window == "minute":
        return 60 - now.second
    end = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    if over.window == "week":
        end += timedelta(days=6 - now.weekday())
    elif over.window == "month":
        end = (end - timedelta(days=1)).replace(day=28) + timedelta(days=4)
        end = end.replace(day=1)
    return max(1, int((end - now).total_seconds()) + 1)
