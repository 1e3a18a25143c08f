"""What a client's dialect could not carry, kept until its issuer wants it back.

Rows are found by a tool call or by the words of a turn, and only with the tenant, the issuer and
the model that they were kept for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.store.effects import Op, Step, now
from interlingua.store.quotas import Quotas


class Place(NamedTuple):
    """Whose it is, and who may have it back."""

    tenant: str
    issuer: str
    model: str


class RememberedRow(NamedTuple):
    """One turn: what to find it by, and what it lacks, as JSON."""

    call_key: str | None
    turn_key: str
    turn: bytes


class Remembered(Quotas):
    def remember(self, place: Place, rows: Sequence[RememberedRow], seconds: float) -> Op[None]:
        until = now() + int(seconds * 1_000_000)
        values = [
            (self.ulids.new(), *place, row.call_key, row.turn_key, row.turn, len(row.turn), until)
            for row in rows
        ]
        yield Step(self._gateway.remember, values, many=True)

    def remembered(
        self, place: Place, call_keys: Sequence[str], turn_keys: Sequence[str]
    ) -> Op[list[RememberedRow]]:
        """The newest last."""
        keys = self._list(call_keys), self._list(turn_keys)
        rows = yield Step(self._gateway.remembered, (*place, now(), *keys))
        return [RememberedRow(call, turn, bytes(data)) for call, turn, data in rows]

    def forget_remembered(self, tenants: Sequence[str], most: int, most_of_all: int) -> Op[None]:
        """Let go of what has expired, and of the oldest beyond these numbers of bytes: of each of
        the tenants, and of all."""
        sql = self._gateway
        yield Step(sql.forget_expired, (now(),))
        for tenant in sorted(tenants):
            yield Step(sql.forget_most, (tenant, most))
        yield Step(sql.forget_oldest, (most_of_all,))

    def forget_tenant(self, tenant: str) -> Op[None]:
        yield Step(self._gateway.forget_tenant, (tenant,))
