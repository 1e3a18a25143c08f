"""Requests that a client may send again under a key of its own, and that are answered once.

Each has one row. Whoever comes first has it, for a while that it can make longer; others see whose
it is. What is kept of a request is a digest. Times are those of the database, which several
machines share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.store.effects import Op, Step
from interlingua.store.quotas import Quotas


class Claim(NamedTuple):
    """Who wants to answer which request."""

    id: str
    tenant: str
    print: str
    """The digest of what is asked."""
    holder: str


class RepeatRow(NamedTuple):
    """Whose a request is. `answer` is there where it was answered and that may be kept."""

    print: str
    holder: str
    status: str
    """`open` or `done`."""
    answer: bytes | None


class Repeats(Quotas):
    def claim_repeat(self, claim: Claim, seconds: float) -> Op[RepeatRow]:
        """The row is looked at in the same transaction: nobody else can have it then."""
        sql = self._gateway
        yield Step(sql.claim_repeat, (*claim, _micros(seconds)))
        rows = yield Step(sql.repeat, (claim.id,))
        said, holder, status, answer = rows[0]
        return RepeatRow(said, holder, status, None if answer is None else bytes(answer))

    def renew_repeats(self, claims: Sequence[Claim], seconds: float) -> Op[None]:
        ids = self._list(claim.id for claim in claims)
        holders = self._list(claim.holder for claim in claims)
        yield Step(self._gateway.renew_repeats, (_micros(seconds), ids, holders))

    def finish_repeat(self, claim: Claim, answer: bytes | None, seconds: float) -> Op[None]:
        size = 0 if answer is None else len(answer)
        values = (answer, size, _micros(seconds), claim.id, claim.holder)
        yield Step(self._gateway.finish_repeat, values)

    def release_repeat(self, claim: Claim) -> Op[None]:
        yield Step(self._gateway.release_repeat, (claim.id, claim.holder))

    def tidy_repeats(self, tenants: Sequence[str], most: int, most_bytes: int) -> Op[None]:
        sql = self._gateway
        yield Step(sql.expired_repeats)
        for tenant in sorted(tenants):
            yield Step(sql.oldest_repeats, (tenant, most))
            yield Step(sql.largest_repeats, (tenant, most_bytes))


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)
