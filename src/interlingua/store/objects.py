"""JSON objects that a gateway stores for its clients, in lists that belong to a tenant: the items
of a conversation, responses in the background, histories that were compacted. And secrets of the
store, each made once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from interlingua.store.quotas import Quotas
from interlingua.store.statements import Op, Step, now

MOST_OF_ALL = 4 * 1024**3
"""Bytes of all objects of a store; the oldest go first."""


class ObjectList(NamedTuple):
    """A list of objects: whose it is, what they are, and what they belong to."""

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
        """Stores objects for so long; one that is there already is replaced, in its place."""
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
        """Those behind a place in the list (before it, from the newest on)."""
        sql = self._gateway.objects_back if newest_first else self._gateway.objects
        rows = yield Step(sql, (*place, now(), after, limit))
        return [ObjectRow(id, seq, bytes(body)) for id, seq, body in rows]

    def objects_of_kind(self, kind: str, limit: int) -> Op[list[tuple[ObjectList, ObjectRow]]]:
        """Those of all tenants, the oldest first."""
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
        """A random secret of this store, made by whoever asks for it first."""
        yield Step(self._gateway.add_secret, (name, secrets.token_hex(32)))
        rows = yield Step(self._gateway.secret, (name,))
        return bytes.fromhex(rows[0][0])
