"""Turns of sessions in other workers and on other machines: all share one store, and so one can
see there that another has a turn in progress, and ask it through the store to stop.

Who has a turn says so every few seconds, also while its model thinks and nothing arrives; when one
is no longer waited for, `sessions/holding.py` says.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from interlingua.sessions.holding import holder, is_under_way
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.remembered import Place, RememberedRow
from interlingua.store.rows import EventRow, Hold, SessionRow

logger = logging.getLogger(__name__)

TOUCH = 5.0
"""Seconds between two signs of life of a turn."""
LOOK = 0.25
"""Seconds between two looks whether somebody wants a turn to stop."""
PATIENCE = 10.0
"""Seconds that a turn in another worker gets to stop."""
ENDS = ("turn.completed", "turn.cancelled")
PAGE = 1000
_WANTED = Place("gateway", "turns", "stop")
_KEPT = 60.0
_ROOM = 1024 * 1024 * 1024


def turn_of(row: SessionRow) -> str | None:
    """The turn that is under way in any worker; None if there is none."""
    return row.turn.id if row.turn is not None and is_under_way(row.turn) else None


class OtherWorkers:
    """What one worker sees of the turns of all, and tells of its own."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._touched = time.monotonic()

    async def stop(self, session_id: str) -> bool:
        """Ask whoever has the turn to stop it, and wait until it has. False if there is none, or
        if it came to its end by itself."""
        try:
            turn = turn_of(await self._store.session(session_id))
        except NotFoundError:
            return False
        if turn is None:
            return False
        await self._store.remember(_WANTED, [RememberedRow(turn, session_id, b"{}")], _KEPT)
        ended = await self._ended(session_id, turn)
        await self._store.forget_remembered([], 0, _ROOM)
        return ended is not None and ended.type == "turn.cancelled"

    async def _ended(self, session_id: str, turn: str) -> EventRow | None:
        end, after = time.monotonic() + PATIENCE, 0
        while time.monotonic() < end:
            page = await self._store.events(session_id, after, PAGE, ENDS)
            for event in page:
                if event.turn_id == turn:
                    return event
                after = event.seq
            if len(page) < PAGE:
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
                for id, turn in turns.items():
                    await self._touch(id, turn)
            rows = await self._store.remembered(_WANTED, sorted(turns.values()), [])
        except StoreError as error:
            logger.warning("turns_not_tended", extra={"why": error.reason})
            return []
        wanted = {row.call_key for row in rows}
        return [id for id, turn in turns.items() if turn in wanted]

    async def _touch(self, id: str, turn: str) -> None:
        try:
            await self._store.hold_turn(id, Hold(turn, holder(), turn, firm=False))
        except NotFoundError:
            return  # it was deleted; its turn will find out
