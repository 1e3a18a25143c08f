"""Forks of one conversation: going back without deleting anything, and the tree they make."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec.structs import replace

from interlingua.model.ids import Ulids
from interlingua.model.message import Message, Role
from interlingua.sessions.effects import SessionError
from interlingua.sessions.session import AsyncSession
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError
from interlingua.store.rows import SessionRow

PAGE = 500
MOST_LOOKED_AT = 20_000
"""Sessions among which a family is looked for, the last changed first."""
_IDS = Ulids()


class Member(NamedTuple):
    """A session of a family, and how deep it stands in the tree."""

    row: SessionRow
    depth: int


async def fork_before_last_turn(session: AsyncSession) -> tuple[str, Message]:
    """The id of a new session that ends where the last turn of this one began, and that turn's user
    text. This session does not change."""
    messages = await session.messages()
    at = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role is Role.USER), None)
    if at is None:
        raise SessionError(f"session {session.id} has no turn to take back")
    parent = await session.store.session(session.id)
    if at == 0:
        row = await _empty_fork(session.store, parent)
    else:
        row = await session.store.fork(parent.id, messages[at - 1].id, name=parent.name)
    return row.id, messages[at]


async def _empty_fork(store: AsyncStore, parent: SessionRow) -> SessionRow:
    now = datetime.now(UTC)
    row = replace(
        parent,
        id=_IDS.new(),
        created_at=now,
        updated_at=now,
        parent_id=parent.id,
        parent_message_id=None,
    )
    return await store.add_session(row)


async def family(store: AsyncStore, id: str) -> list[Member]:
    """The whole family of a session, parents before their forks, older ones first."""
    root = await _root(store, await store.session(id))
    children: dict[str, list[SessionRow]] = {}
    looked_at, before = 0, None
    while looked_at < MOST_LOOKED_AT and (page := await store.sessions(PAGE, before)):
        looked_at, before = looked_at + len(page), page[-1]
        for row in page:
            if row.parent_id is not None:
                children.setdefault(row.parent_id, []).append(row)
    return list(_walked(root, children))


async def _root(store: AsyncStore, row: SessionRow) -> SessionRow:
    """The first of the line that is still there."""
    seen = {row.id}
    while row.parent_id is not None and row.parent_id not in seen:
        seen.add(row.parent_id)
        try:
            row = await store.session(row.parent_id)
        except NotFoundError:
            break
    return row


def _walked(root: SessionRow, children: dict[str, list[SessionRow]]) -> Iterator[Member]:
    waiting = [Member(root, 0)]
    while waiting:
        member = waiting.pop()
        yield member
        own = sorted(children.pop(member.row.id, ()), key=lambda row: row.created_at)
        waiting += [Member(row, member.depth + 1) for row in reversed(own)]
