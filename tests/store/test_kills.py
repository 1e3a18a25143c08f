"""A writing process is killed at random moments: nothing acknowledged is lost."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from interlingua.store.sqlite import SqliteStore
from tests.store import kills
from tests.store.kills import WrongError, batch, check

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills are of POSIX")


def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    random.seed(20)
    tally = kills.run(20, tmp_path)
    assert tally.under_way == 20
    assert tally.acknowledged > 20


def test_the_harness_notices_what_is_lost_and_what_is_halved(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        session = store.create_session("/w").id
        store.append(session, batch("1", 10))
        store.append(session, batch("2", 10))
    assert check(path, session, 0, {"1", "2", "3"}, {"1"}) == (6, 1)
    with pytest.raises(WrongError, match="lost"):
        check(path, session, 0, {"1", "2", "3"}, {"3"})
    with pytest.raises(WrongError, match="never begun"):
        check(path, session, 0, {"1"}, {"1"})
    with SqliteStore(path) as store:
        store.append(session, batch("3", 10)[2:])
    with pytest.raises(WrongError, match="half"):
        check(path, session, 0, {"1", "2", "3"}, {"1"})
