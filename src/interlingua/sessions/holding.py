"""Ownership of turns: a session runs one at a time, in all programs that have it open.

The owner of a turn marks it in the store with every write. A killed program cannot remove its mark.
So a mark is ignored if its process is known to be gone, if the turn was dropped in this very
process, or after a minute of silence.
"""

from __future__ import annotations

import os
import platform
import secrets
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from interlingua.costs.table import PriceTable, is_bundled, with_own_version
from interlingua.sessions.effects import Effects
from interlingua.store.errors import ConflictError, NotFoundError
from interlingua.store.rows import SessionRow, TurnRow

SILENCE = timedelta(seconds=60)
"""Seconds of silence after which a turn is no longer waited for."""
HERE: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""The turns under way in this process, by id."""
_RUN = secrets.token_hex(8)


def holder() -> str:
    """This process: its machine, its number there, and a mark that no other run has."""
    return f"{_machine()}:{os.getpid()}:{_RUN}"


@cache
def _machine() -> str:
    """The scope of process ids: a boot of a kernel, and in it a container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return platform.node()


def is_gone(who: str) -> bool:
    """Whether the process that called itself so is known to have ended."""
    machine, pid, run = who.rsplit(":", 2)
    if machine != _machine() or os.name != "posix":
        return False
    if int(pid) == os.getpid():
        return run != _RUN
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _is_zombie(pid)


def _is_zombie(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return False


def is_under_way(turn: TurnRow, resuming: bool = False) -> bool:
    """Whether a program still works on this turn. A caller that resumes may take it from a part
    of this process that holds it and waits for no answer."""
    if abs(datetime.now(UTC) - turn.seen_at) >= SILENCE or is_gone(turn.holder):
        return False
    if turn.holder != holder():
        return True
    here = HERE.get(turn.id)
    if here is None or here.ended:
        return False
    return here.calling or not resuming


def free_turn(session_id: str, resuming: bool) -> Effects[str | None]:
    """Make sure that no turn of the session is under way; returns the abandoned one, if any."""
    row: SessionRow = yield lambda store: store.session(session_id)
    if row.turn is None:
        return None
    if is_under_way(row.turn, resuming):
        raise ConflictError(f"of session {session_id}", "another program has a turn in progress")
    return row.turn.id


def stored_prices(table: PriceTable | None) -> Effects[PriceTable | None]:
    """The table under the version that costs will name. A table that is not the package's is stored
    under its version, or under a new one where that names other prices already."""
    if table is None or is_bundled(table):
        return table
    for each in (table, with_own_version(table)):
        if (yield from _is_there(each)):
            return each
    return with_own_version(table)


def _is_there(table: PriceTable) -> Effects[bool]:
    """Whether the store has these prices under their version; saves them if the version is new."""
    document = table.to_dict()
    try:
        there: object = yield lambda store: store.prices(table.version)
    except NotFoundError:
        yield lambda store: store.save_prices(table.version, document)
        return True
    return bool(there == document)
