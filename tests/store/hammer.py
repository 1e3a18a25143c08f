"""`python -m tests.store.hammer --seconds 1800`: writers while others move the log, all at once.

This is the moment at which SQLite up to 3.51.2 could lose a commit: one connection starts the log
anew while another moves it into the database. Several processes append; several do nothing but move
the log, in every way there is. In the end all that was acknowledged has to be there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from interlingua.model.message import Message
from interlingua.store.errors import BusyError
from interlingua.store.library import library
from interlingua.store.sqlite import SqliteStore
from tests.store.kills import WrongError
from tests.store.places import ask, memory_folder

ROOT = Path(__file__).parents[2]
WAYS = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")


class Tally(NamedTuple):
    acknowledged: int
    moved: int


def writer(path: str, session: str, seconds: float) -> int:
    """Append until the time is over; gives how many were acknowledged."""
    end = time.monotonic() + seconds
    done = 0
    with SqliteStore(path) as store:
        while time.monotonic() < end:
            try:
                done = store.append(session, [Message.user(f"{done} " + "x" * (done % 3000))]).first
            except BusyError:
                continue
    return done


def mover(path: str, way: str, seconds: float) -> int:
    """Move the log until the time is over; gives how often."""
    end = time.monotonic() + seconds
    moved = 0
    db = library().connect(path, path, 0.05)
    while time.monotonic() < end:
        try:
            db.execute(f"PRAGMA wal_checkpoint({way})")
            moved += 1
        except BusyError:
            pass
        time.sleep(0.0005)
    db.close()
    return moved


def run(folder: Path, seconds: float, writers: int = 4, movers: int = 4) -> Tally:
    path = folder / "hammer.db"
    with SqliteStore(path) as store:
        sessions = [store.create_session("/w").id for _ in range(writers)]
    program = [sys.executable, "-m", "tests.store.hammer"]
    jobs = [["--write", str(path), session] for session in sessions]
    jobs += [["--move", str(path), WAYS[number % len(WAYS)]] for number in range(movers)]
    children = [
        subprocess.Popen(
            [*program, *job, "--seconds", str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for job in jobs
    ]
    numbers = [int(child.communicate(timeout=seconds + 60)[0]) for child in children]
    _check(path, dict(zip(sessions, numbers[:writers], strict=True)))
    return Tally(sum(numbers[:writers]), sum(numbers[writers:]))


def _check(path: Path, acknowledged: dict[str, int]) -> None:
    with SqliteStore(path) as store:
        for session, count in acknowledged.items():
            messages = store.messages(session)
            numbers = [int(message.text.split()[0]) for message in messages]
            if numbers != list(range(count)):
                raise WrongError(f"{count} were acknowledged, {len(numbers)} are there")
        if ask(store, "PRAGMA integrity_check") != [("ok",)]:
            raise WrongError("the file is damaged")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.hammer", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--move", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.write:
        print(writer(*chosen.write, chosen.seconds))
    elif chosen.move:
        print(mover(*chosen.move, chosen.seconds))
    else:
        with memory_folder() as folder:
            tally = run(folder, chosen.seconds)
        print(
            f"{tally.acknowledged} appends by 4 processes while 4 others moved the log"
            f" {tally.moved} times in {chosen.seconds:.0f} s: none lost"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
