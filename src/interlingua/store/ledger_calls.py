"""The calls of a store that concern no single conversation: costs over all sessions, and keys,
users, teams and prices. `base.py` has the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from interlingua.model.codec import dumps
from interlingua.model.metadata import MessageMetadata
from interlingua.store.operations import Op, Operations
from interlingua.store.reference import KeyRow, TeamRow, UserRow
from interlingua.store.rows import JsonObject, UsageRow
from interlingua.store.usages import Place, walk

T = TypeVar("T")


class LedgerCalls(ABC):
    """Costs and reference tables, for threads."""

    where: str
    """The file or the host, without secrets."""
    _do: Operations

    @abstractmethod
    def _read(self, make: Callable[[], Op[T]]) -> T:
        """Run an operation that changes nothing."""

    @abstractmethod
    def _write(self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True) -> T:
        """Run an operation in a transaction, and come back when it is durable. Without `durable`
        a power cut may undo it, though no crash of a program can."""

    def usages(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        session_id: str | None = None,
    ) -> Iterator[UsageRow]:
        """Every message that has a usage, by session and time, read page by page. `since` is the
        first moment that counts, `until` the first that does not."""
        asked = walk(since, until, session_id)
        place: Place | None = asked.start
        while place is not None:
            rows, place = self._read(partial(self._do.usage_page, asked, place))
            yield from rows

    def save_metadata(self, changes: Sequence[tuple[UsageRow, MessageMetadata]]) -> list[UsageRow]:
        """Give messages new metadata, in one transaction. One whose metadata is no longer what the
        row says is left as it is; those that were written come back."""
        return self._write(lambda: self._do.save_metadata(changes))

    def save_keys(self, keys: Sequence[KeyRow]) -> None:
        """Write keys, new ones and changed ones, all or none: a new key and the end of the one it
        replaces go together."""
        self._write(lambda: self._do.save_keys(keys))

    def key(self, id: str) -> KeyRow:
        """One key; NotFoundError if there is none."""
        return self._read(lambda: self._do.key(id))

    def key_by_hash(self, secret_hash: str) -> KeyRow | None:
        """The key whose secret has this hash, also a revoked one; None if there is none."""
        return self._read(lambda: self._do.key_by_hash(secret_hash))

    def keys(self, after: str = "", limit: int = 1000) -> list[KeyRow]:
        """Keys by id; `after` is the last id of the page before."""
        return self._read(lambda: self._do.keys(after, limit))

    def save_user(self, user: UserRow) -> None:
        """Write a user, a new one or a changed one."""
        self._write(lambda: self._do.save_user(user))

    def user(self, id: str) -> UserRow:
        """One user; NotFoundError if there is none."""
        return self._read(lambda: self._do.user(id))

    def users(self, after: str = "", limit: int = 1000) -> list[UserRow]:
        """Users by id; `after` is the last id of the page before."""
        return self._read(lambda: self._do.users(after, limit))

    def save_team(self, team: TeamRow) -> None:
        """Write a team, a new one or a changed one."""
        self._write(lambda: self._do.save_team(team))

    def team(self, id: str) -> TeamRow:
        """One team; NotFoundError if there is none."""
        return self._read(lambda: self._do.team(id))

    def teams(self, after: str = "", limit: int = 1000) -> list[TeamRow]:
        """Teams by id; `after` is the last id of the page before."""
        return self._read(lambda: self._do.teams(after, limit))

    def save_prices(self, version: str, document: JsonObject) -> None:
        """Keep a price table. Costs name the version they were made with, so a version never
        changes: other prices under the same name are a ConflictError."""
        data = dumps(document)
        self._write(lambda: self._do.save_prices(version, data))

    def prices(self, version: str) -> JsonObject:
        """The price table of a version; NotFoundError if there is none."""
        return self._read(lambda: self._do.prices(version))

    def price_versions(self) -> list[str]:
        """The versions that are kept, the first saved first."""
        return self._read(self._do.price_versions)


class AsyncLedgerCalls(ABC):
    """The same for an event loop."""

    where: str
    _do: Operations

    @abstractmethod
    async def _read(self, make: Callable[[], Op[T]]) -> T: ...

    @abstractmethod
    async def _write(
        self, make: Callable[[], Op[T]], large: bool = False, durable: bool = True
    ) -> T: ...

    async def usages(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        session_id: str | None = None,
    ) -> AsyncIterator[UsageRow]:
        """See `Store.usages`."""
        asked = walk(since, until, session_id)
        place: Place | None = asked.start
        while place is not None:
            rows, place = await self._read(partial(self._do.usage_page, asked, place))
            for row in rows:
                yield row

    async def save_metadata(
        self, changes: Sequence[tuple[UsageRow, MessageMetadata]]
    ) -> list[UsageRow]:
        """See `Store.save_metadata`."""
        return await self._write(lambda: self._do.save_metadata(changes))

    async def save_keys(self, keys: Sequence[KeyRow]) -> None:
        """See `Store.save_keys`."""
        await self._write(lambda: self._do.save_keys(keys))

    async def key(self, id: str) -> KeyRow:
        """See `Store.key`."""
        return await self._read(lambda: self._do.key(id))

    async def key_by_hash(self, secret_hash: str) -> KeyRow | None:
        """See `Store.key_by_hash`."""
        return await self._read(lambda: self._do.key_by_hash(secret_hash))

    async def keys(self, after: str = "", limit: int = 1000) -> list[KeyRow]:
        """See `Store.keys`."""
        return await self._read(lambda: self._do.keys(after, limit))

    async def save_user(self, user: UserRow) -> None:
        """See `Store.save_user`."""
        await self._write(lambda: self._do.save_user(user))

    async def user(self, id: str) -> UserRow:
        """See `Store.user`."""
        return await self._read(lambda: self._do.user(id))

    async def users(self, after: str = "", limit: int = 1000) -> list[UserRow]:
        """See `Store.users`."""
        return await self._read(lambda: self._do.users(after, limit))

    async def save_team(self, team: TeamRow) -> None:
        """See `Store.save_team`."""
        await self._write(lambda: self._do.save_team(team))

    async def team(self, id: str) -> TeamRow:
        """See `Store.team`."""
        return await self._read(lambda: self._do.team(id))

    async def teams(self, after: str = "", limit: int = 1000) -> list[TeamRow]:
        """See `Store.teams`."""
        return await self._read(lambda: self._do.teams(after, limit))

    async def save_prices(self, version: str, document: JsonObject) -> None:
        """See `Store.save_prices`."""
        data = dumps(document)
        await self._write(lambda: self._do.save_prices(version, data))

    async def prices(self, version: str) -> JsonObject:
        """See `Store.prices`."""
        return await self._read(lambda: self._do.prices(version))

    async def price_versions(self) -> list[str]:
        """See `Store.price_versions`."""
        return await self._read(self._do.price_versions)
