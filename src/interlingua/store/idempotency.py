"""A gateway's stored data beside messages: requests that are answered once, and objects.

A request that may be sent again under a key of its client has one row. The first to come claims it
for a while and can renew the claim; others see the holder. Of the request only a digest is stored.
Times are those of the database, which several machines share.

JSON objects are in lists that belong to a tenant: the items of a conversation, responses in the
background, histories that were compacted. And secrets of the store, each made once.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from interlingua.store.quotas import Quotas
from interlingua.store.statements import Op, Step, now


class Claim(NamedTuple):
    """The claim of a caller on a request."""

    id: str
    tenant: str
    print: str
    """The digest of the request."""
    holder: str


class RepeatRow(NamedTuple):
    """The state of a request; `answer` is set if it was answered and the answer may be stored."""

    print: str
    holder: str
    status: str
    """`open` or `done`."""
    answer: bytes | None


class Idempotency(Quotas):
    def claim_repeat(self, claim: Claim, seconds: float) -> Op[RepeatRow]:
        """Claims a request for this holder and for so many seconds, unless it is claimed or
        answered already; returns its row. Does not wait for the disk: no holder survives a power
        cut anyway."""
        sql = self._gateway
        yield Step(sql.claim_repeat, (*claim, _micros(seconds)))
        rows = yield Step(sql.repeat, (claim.id,))
        fingerprint, holder, status, answer = rows[0]
        return RepeatRow(fingerprint, holder, status, None if answer is None else bytes(answer))

    def renew_repeats(self, claims: Sequence[Claim], seconds: float) -> Op[None]:
        """The holders of these claims are still at work."""
        ids = self._list(claim.id for claim in claims)
        holders = self._list(claim.holder for claim in claims)
        yield Step(self._gateway.renew_repeats, (_micros(seconds), ids, holders))

    def finish_repeat(self, claim: Claim, answer: bytes | None, seconds: float) -> Op[None]:
        """Marks a request as answered; its answer (JSON, if it may be stored) stays for so many
        seconds."""
        size = 0 if answer is None else len(answer)
        values = (answer, size, _micros(seconds), claim.id, claim.holder)
        yield Step(self._gateway.finish_repeat, values)

    def release_repeat(self, claim: Claim) -> Op[None]:
        """Releases a request that was not answered, so that a repeat of it can be sent."""
        yield Step(self._gateway.release_repeat, (claim.id, claim.holder))

    def tidy_repeats(self, tenants: Sequence[str], most: int, most_bytes: int) -> Op[None]:
        """Removes expired rows; for each of the tenants, also the oldest requests beyond this
        number, and answers beyond so many bytes."""
        sql = self._gateway
        yield Step(sql.expired_repeats)
        for tenant in sorted(tenants):
            yield Step(sql.oldest_repeats, (tenant, most))
            yield Step(sql.largest_repeats, (tenant, most_bytes))


def _micros(seconds: float) -> int:
    return int(seconds * 1_000_000)


class MemoryScope(NamedTuple):
    """The tenant that rows belong to, and the issuer and model that they may be sent back to."""

    tenant: str
    issuer: str
    model: str


class MemoryRow(NamedTuple):
    """One turn: the keys to find it by, and the parts that the client lacks, as JSON."""

    call_key: str | None
    turn_key: str
    turn: bytes


class Memory(Quotas):
    def remember(self, scope: MemoryScope, rows: Sequence[MemoryRow], seconds: float) -> Op[None]:
        """Keep turns for so long."""
        until = now() + int(seconds * 1_000_000)
        values = [
            (self.ulids.new(), *scope, row.call_key, row.turn_key, row.turn, len(row.turn), until)
            for row in rows
        ]
        yield Step(self._gateway.remember, values, many=True)

    def remembered(
        self, scope: MemoryScope, call_keys: Sequence[str], turn_keys: Sequence[str]
    ) -> Op[list[MemoryRow]]:
        """The rows under any of these keys, the newest last."""
        keys = self._list(call_keys), self._list(turn_keys)
        rows = yield Step(self._gateway.remembered, (*scope, now(), *keys))
        return [MemoryRow(call, turn, bytes(data)) for call, turn, data in rows]

    def forget_remembered(self, tenants: Sequence[str], most: int, most_of_all: int) -> Op[None]:
        """Deletes expired rows, and the oldest beyond these numbers of bytes: per tenant, and in
        all."""
        sql = self._gateway
        yield Step(sql.forget_expired, (now(),))
        for tenant in sorted(tenants):
            yield Step(sql.forget_most, (tenant, most))
        yield Step(sql.forget_oldest, (most_of_all,))

    def forget_tenant(self, tenant: str) -> Op[None]:
        """Deletes all rows of a tenant."""
        yield Step(self._gateway.forget_tenant, (tenant,))


MOST_OF_ALL = 4 * 1024**3
"""Bytes of all objects of a store; the oldest go first."""


class ObjectList(NamedTuple):
    """A list of objects: its owner, its kind, and the parent."""

    tenant: str
    kind: str
    parent: str = ""


class ObjectRow(NamedTuple):
    """One object; `seq` is its place in the list, `body` JSON."""

    id: str
    seq: int
    body: bytes


class Objects(Quotas):
    def put_objects(self, place: ObjectList, rows: Sequence[ObjectRow], seconds: float) -> Op[None]:
        """Stores objects for so long; existing ones are replaced and keep their position."""
        at = now()
        until = at + int(seconds * 1_000_000)
        values = [(*place, row.id, row.seq, row.body, len(row.body), at, until) for row in rows]
        yield Step(self._gateway.put_object, values, many=True)

    def object(self, place: ObjectList, id: str) -> Op[ObjectRow | None]:
        rows = yield Step(self._gateway.object, (*place, id, now()))
        return ObjectRow(rows[0][0], rows[0][1], bytes(rows[0][2])) if rows else None

    def objects(
        self, place: ObjectList, after: int = -1, limit: int = 1000, newest_first: bool = False
    ) -> Op[list[ObjectRow]]:
        """Objects after a position in the list, or before it, newest first."""
        sql = self._gateway.objects_back if newest_first else self._gateway.objects
        rows = yield Step(sql, (*place, now(), after, limit))
        return [ObjectRow(id, seq, bytes(body)) for id, seq, body in rows]

    def objects_of_kind(self, kind: str, limit: int) -> Op[list[tuple[ObjectList, ObjectRow]]]:
        """Objects of all tenants, the oldest first."""
        rows = yield Step(self._gateway.objects_of_kind, (kind, now(), limit))
        return [
            (ObjectList(tenant, kind, parent), ObjectRow(id, seq, bytes(body)))
            for tenant, parent, id, seq, body in rows
        ]

    def remove_object(self, place: ObjectList, id: str) -> Op[bool]:
        """Whether it was there."""
        return bool((yield Step(self._gateway.remove_object, (*place, id))))

    def remove_objects(self, place: ObjectList) -> Op[None]:
        """Removes a whole list."""
        yield Step(self._gateway.remove_objects, tuple(place))

    def forget_objects(self, most_of_all: int = MOST_OF_ALL) -> Op[None]:
        """Deletes expired objects, and the oldest beyond this number of bytes."""
        yield Step(self._gateway.forget_expired_objects, (now(),))
        yield Step(self._gateway.forget_oldest_objects, (most_of_all,))

    def store_secret(self, name: str) -> Op[bytes]:
        """A random secret of this store, made on first use."""
        yield Step(self._gateway.add_secret, (name, secrets.token_hex(32)))
        rows = yield Step(self._gateway.secret, (name,))
        return bytes.fromhex(rows[0][0])
