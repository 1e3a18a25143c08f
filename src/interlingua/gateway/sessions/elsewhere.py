"""Turns of sessions in other workers and on other machines: all share one store, and so one can
see in the trace that another has a turn under way, and ask it through the store to stop.

Who has a turn says so every few seconds by touching the session, also while its model thinks and
nothing arrives; who has been silent for longer is taken for dead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from interlingua.model.message import Role
from interlingua.sessions.aio import AsyncSession
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.remembered import Place, RememberedRow
from interlingua.store.rows import EventRow, SessionRow

logger = logging.getLogger(__name__)

SILENCE = 20.0
"""Seconds after which a turn that nobody has touched is no longer waited for."""
TOUCH = 5.0
"""Seconds between two signs of life of a turn."""
LOOK = 0.25
"""Seconds between two looks whether somebody wants a turn to stop."""
JUST_NOW = 2.0
"""Seconds in which a question without an answer is somebody's turn that begins."""
PATIENCE = 10.0
"""Seconds that a turn elsewhere gets to stop."""
ENDS = ("turn.completed", "turn.cancelled")
PAGE = 1000
_WANTED = Place("gateway", "turns", "stop")
_KEPT = 60.0
_ROOM = 1024 * 1024 * 1024


class Elsewhere:
    """What one worker sees of the turns of all, and tells of its own."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._touched = time.monotonic()

    async def begun(self, row: SessionRow) -> EventRow | None:
        """The beginning of a turn that is under way in any worker; None if there is none."""
        if _age(row.updated_at) >= SILENCE:
            return None
        after, last = 0, None
        while page := await self._store.events(row.id, after, PAGE, ("turn.started", *ENDS)):
            last, after = page[-1], page[-1].seq
            if len(page) < PAGE:
                break
        return last if last is not None and last.type == "turn.started" else None

    async def is_busy(self, session: AsyncSession) -> bool:
        """Whether another worker has a turn of this session under way.

        The history is read first: who appends to it later is stopped by the store, and who did just
        now may not have told its trace yet."""
        history = await session.messages()
        newest = history[-1] if history else None
        at = None if newest is None or newest.role is not Role.USER else newest.created_at
        if at is not None and _age(at) < JUST_NOW:
            return True
        return await self.begun(session.row) is not None

    async def stop(self, session_id: str) -> bool:
        """Ask whoever has the turn to stop it, and wait until it has. False if there is none, or
        if it came to its end by itself."""
        try:
            row = await self._store.session(session_id)
        except NotFoundError:
            return False
        begun = await self.begun(row)
        if begun is None or begun.turn_id is None:
            return False
        note = RememberedRow(begun.turn_id, session_id, b"{}")
        await self._store.remember(_WANTED, [note], _KEPT)
        ended = await self._ended(begun)
        await self._store.forget_remembered([], 0, _ROOM)
        return ended is not None and ended.type == "turn.cancelled"

    async def _ended(self, begun: EventRow) -> EventRow | None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = await self._store.events(begun.session_id, begun.seq, 1, ENDS)
            if found:
                return found[0]
            await asyncio.sleep(LOOK / 2)
        return None

    async def tend(self, turns: Mapping[str, str]) -> list[str]:
        """One look, with the ids of the sessions and turns that are under way here. Gives the
        sessions whose turn somebody wants to stop."""
        if not turns:
            return []
        try:
            if time.monotonic() - self._touched >= TOUCH:
                self._touched = time.monotonic()
                for id in turns:
                    await self._touch(id)
            rows = await self._store.remembered(_WANTED, sorted(turns.values()), [])
        except StoreError as odd:
            logger.warning("turns_not_tended", extra={"why": odd.reason})
            return []
        wanted = {row.call_key for row in rows}
        return [id for id, turn in turns.items() if turn in wanted]

    async def _touch(self, id: str) -> None:
        try:
            await self._store.update_session(id)
        except NotFoundError:
            return  # it was deleted; its turn will find out


def _age(at: datetime) -> float:
    return (datetime.now(UTC) - at).total_seconds()
