"""Authentication: a token is hashed at once, and only its hash is looked up, compared or stored.

Results are cached for a short time, in each process, so that a revoked key is void everywhere
within seconds. Unknown tokens cost the same work as others.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from interlingua.errors import InterlinguaError
from interlingua.events.payloads import AuthFailed, Payload
from interlingua.gateway.shared.principal import principal_of
from interlingua.gateway.shared.state import ANONYMOUS, Principal, Refusal
from interlingua.model.exchange import ErrorKind
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.reference import BudgetRow, KeyRow

logger = logging.getLogger(__name__)

LIFE = 2.0
"""Seconds for which a lookup is believed."""
MOST = 10_000
"""Lookups that are cached at a time."""
SHOWN = 8
"""Hex digits of a hash that a log may have."""
_NOTHING = "0" * 64

Emit = Callable[[str, Payload], object]
LookUp = Callable[[str], Coroutine[Any, Any, "Verdict"]]


class NoKeysError(InterlinguaError):
    """The gateway would be open to everyone."""

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"no keys are defined, so {host or 'every address'} would be open to anyone; make one"
            " with `interlingua keys issue`, or listen on 127.0.0.1"
        )


class Verdict(NamedTuple):
    """The result for a token, until `until` by the process's clock."""

    until: float
    principal: Principal | None = None
    code: str = "invalid_key"
    key_id: str | None = None


TEXTS = {
    "missing_key": "missing API key",
    "invalid_key": "invalid API key",
    "key_revoked": "this API key was revoked",
    "key_expired": "this API key has expired",
    "owner_disabled": "the user or the team of this API key is disabled",
}
"""Messages to the client, by code."""


def hash_of(token: str) -> str:
    """The cache key of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


_NO_TOKEN = hash_of("")


class Keys:
    """The keys of a store. Where none is defined and `open_allowed`, everybody is let in as the
    anonymous principal: for loopback alone. A key that was revoked is still one that is defined."""

    def __init__(
        self,
        store: AsyncStore,
        *,
        open_allowed: bool = True,
        life: float = LIFE,
        emit: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._open_allowed = open_allowed
        self._life = life
        self._emit = emit
        self._clock = clock
        self._now = now
        self._known: dict[str, Verdict] = {}
        self._asking: dict[str, asyncio.Future[Verdict]] = {}
        self._open: tuple[float, bool] = (0.0, False)
        self._budgets: tuple[float, list[BudgetRow]] = (0.0, [])
        self._administered: tuple[float, bool] = (0.0, False)
        self.on_void: Callable[[str], None] | None = None
        """Called with the id of a key that no longer opens anything."""

    async def find(self, token: str | None) -> Principal:
        """The principal of this token; `Refusal` with 401 if it is unknown."""
        hashed = _NO_TOKEN if token is None else hash_of(token)
        verdict = self._known.get(hashed)
        if verdict is None or verdict.until <= self._clock():
            verdict = await self._ask(hashed, self._look_up)
        if verdict.principal is None:
            raise _void(verdict.code if token else "missing_key")
        return verdict.principal

    async def current(self, principal: Principal, *, looked_up: bool = False) -> Principal:
        """The same principal with the rights its key has now; `Refusal` if the key is void.

        Work that outlives its request asks this before each step; where a step costs money or runs
        a tool, the store is `looked_up` every time."""
        if principal.key_id is None:
            return await self.find(None)
        id = principal.key_id  # `gk_…`: never the form of a hash
        verdict = None if looked_up else self._known.get(id)
        if verdict is None or verdict.until <= self._clock():
            verdict = await self._ask(id, self._look_up_id)
        if verdict.principal is None:
            raise _void(verdict.code)
        return verdict.principal

    async def open_to_all(self) -> bool:
        """Whether there are no keys, and everyone may enter."""
        if not self._open_allowed:
            return False
        until, is_open = self._open
        if until <= self._clock():
            is_open = not await self._store.keys(limit=1)
            self._open = (self._clock() + self._life, is_open)
        return is_open

    async def administered(self) -> bool:
        """Whether there is a valid key that administers."""
        until, is_so = self._administered
        if until <= self._clock():
            try:
                rows = await self._store.admin_keys()
            except StoreError as error:
                raise _unreadable(error) from None
            is_so = any(self._judged(row, ()).principal is not None for row in rows)
            self._administered = (self._clock() + self._life, is_so)
        return is_so

    def forget(self) -> None:
        """Forget all cached results."""
        self._administered = (0.0, False)
        self._known.clear()
        self._open = (0.0, False)
        self._budgets = (0.0, [])

    async def budgets(self) -> list[BudgetRow]:
        """Caps on models, tags and end users."""
        until, rows = self._budgets
        if until <= self._clock():
            rows = []
            while page := await self._store.budgets(rows[-1].id if rows else ""):
                rows += page
            self._budgets = (self._clock() + self._life, rows)
        return rows

    async def _ask(self, name: str, look_up: LookUp) -> Verdict:
        """Look a name up, once for all concurrent requests."""
        under_way = self._asking.get(name)
        if under_way is None:
            under_way = asyncio.ensure_future(look_up(name))
            self._asking[name] = under_way
            under_way.add_done_callback(lambda done: self._on_verdict(name, done))
        try:
            return await asyncio.shield(under_way)
        except StoreError as error:
            raise _unreadable(error) from None

    def _on_verdict(self, name: str, done: asyncio.Future[Verdict]) -> None:
        del self._asking[name]
        if done.cancelled() or done.exception() is not None:
            return
        self._known.pop(name, None)
        self._known[name] = done.result()
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    async def _look_up(self, hashed: str) -> Verdict:
        row = await self._store.key_by_hash(hashed)
        is_known = hmac.compare_digest(row.secret_hash if row is not None else _NOTHING, hashed)
        is_open, budgets = await self.open_to_all(), await self.budgets()
        if row is not None and is_known:
            verdict = self._judged(row, budgets)
        elif is_open:
            return Verdict(self._clock() + self._life, ANONYMOUS)
        else:
            verdict = Verdict(self._clock() + self._life)
        if verdict.principal is None:
            self._note(verdict, hashed)
        return verdict

    async def _look_up_id(self, id: str) -> Verdict:
        try:
            row = await self._store.key(id)
        except NotFoundError:
            return Verdict(self._clock() + self._life, key_id=id)
        verdict = self._judged(row, await self.budgets())
        if verdict.principal is None:
            self._note(verdict, row.secret_hash)
        return verdict

    def _judged(self, row: KeyRow, budgets: Sequence[BudgetRow]) -> Verdict:
        now, life = self._now(), timedelta(seconds=self._life)
        ends = [now + life]
        code = None
        if row.expires_at is not None:
            ends.append(row.expires_at)
            if row.expires_at <= now:
                code = "key_expired"
        if row.status == "revoked":
            if row.grace_period_until is None or row.grace_period_until <= now:
                code = "key_revoked"
            else:
                ends.append(row.grace_period_until)
        if row.owner_disabled and code is None:
            code = "owner_disabled"
        if code is not None:
            return Verdict(self._clock() + self._life, None, code, row.id)
        seconds = (min(ends) - now).total_seconds()
        return Verdict(self._clock() + seconds, principal_of(row, budgets), key_id=row.id)

    def _note(self, verdict: Verdict, hashed: str) -> None:
        """A log entry and an event, neither with more of the hash than may be seen."""
        if self.on_void is not None and verdict.key_id is not None:
            self.on_void(verdict.key_id)
        extra = {"code": verdict.code, "key": verdict.key_id, "hash": hashed[:SHOWN]}
        logger.warning("auth_failed", extra=extra)
        if self._emit is not None:
            payload = AuthFailed(verdict.code, None, verdict.key_id, hashed[:SHOWN])
            self._emit("gateway.auth_failed", payload)


def _unreadable(error: StoreError) -> Refusal:
    logger.error("keys_unreadable", extra={"why": error.reason})
    text = "API keys cannot be checked right now; try again"
    return Refusal(503, ErrorKind.SERVER_ERROR, text, "store_unavailable")


def _void(code: str) -> Refusal:
    return Refusal(401, ErrorKind.AUTH, TEXTS[code], code, (("www-authenticate", "Bearer"),))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. A name counts only if it is `localhost`;
    the empty one means every address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return False


async def require_keys(keys: Keys, host: str) -> None:
    """Raise `NoKeysError` if listening on `host` would let everyone in."""
    if not is_loopback(host) and await keys.open_to_all():
        raise NoKeysError(host)
