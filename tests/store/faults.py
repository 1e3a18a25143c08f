"""`python -m tests.store.faults`: every single access to the disk fails, each in its turn.

For each n the story is told anew, and the n-th write (sync, read, …) fails: once, or from then on
until the disk is well again. Errors have to be ours; nothing acknowledged may be lost; the store
has to go on when the disk is well.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import time
from pathlib import Path
from typing import NamedTuple

import apsw

from tests.store.disk import Disk, Kind, watched
from tests.store.kills import WrongError
from tests.store.places import memory_folder
from tests.store.story import Story, check

CODES: dict[Kind, int] = {
    "write": apsw.SQLITE_IOERR_WRITE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
    "read": apsw.SQLITE_IOERR_READ,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "open": apsw.SQLITE_CANTOPEN,
    "size": apsw.SQLITE_IOERR_FSTAT,
    "delete": apsw.SQLITE_IOERR_DELETE,
}
REASONS = {"full", "io", "read_only", "corrupt"}


class Fault(NamedTuple):
    """The n-th access of a kind fails; `for_good`, all later ones too."""

    kind: Kind
    number: int
    for_good: bool
    full: bool


class Tally(NamedTuple):
    faults: int
    errors: int
    """Calls that were refused."""
    reasons: dict[str, int]


def count(folder: Path, rounds: int) -> dict[str, int]:
    """How often the story touches the disk, by kind."""
    counts: collections.Counter[str] = collections.Counter()
    with watched() as disk:
        disk.fail = lambda kind, path: counts.update([kind])
        story = Story(folder / "count.db")
        story.tell(rounds)
        assert not story.errors
    return dict(counts)


def one(folder: Path, fault: Fault, rounds: int) -> Story:
    """Tell the story with a fault, then with a disk that is well again; look at what is there."""
    path = folder / f"{fault.kind}-{fault.number}-{fault.for_good}-{fault.full}.db"
    numbers = itertools.count(1)

    def fail(kind: Kind, _: str) -> None:
        if kind != fault.kind:
            return
        number = next(numbers)
        if number == fault.number or (fault.for_good and number > fault.number):
            raise apsw.exception_for(apsw.SQLITE_FULL if fault.full else CODES[kind])

    with watched() as disk:
        disk.fail = fail
        story = Story(path)
        story.tell(rounds)
        _goes_on(story, disk, path)
    check(path, story.acknowledged, story.begun)
    for file in folder.glob(f"{path.name}*"):
        file.unlink()
    if strange := {error.reason for error in story.errors} - REASONS:
        raise WrongError(f"reasons {strange}: {story.errors}")
    return story


def _goes_on(story: Story, disk: Disk, path: Path) -> None:
    """With the very store that met the fault, once the disk is well."""
    story.append("again", 10)
    disk.fail = None
    if not story.append("well", 10):
        raise WrongError(f"{path.name}: does not go on: {story.errors[-1]}")
    story.close()


def run(folder: Path, stride: int, rounds: int, show: bool = False) -> Tally:
    reasons: collections.Counter[str] = collections.Counter()
    faults = 0
    for kind, number in count(folder, rounds).items():
        for place in range(1, number + 1, stride):
            for for_good, full in ((False, False), (True, False), (True, True)):
                if full and kind != "write":
                    continue
                fault = Fault(kind, place, for_good, full)  # type: ignore[arg-type]  # a kind
                try:
                    story = one(folder, fault, rounds)
                except Exception as error:
                    error.add_note(str(fault))
                    raise
                reasons.update(each.reason for each in story.errors)
                faults += 1
        if show:
            print(f"{kind}: {number} places", flush=True)
    return Tally(faults, sum(reasons.values()), dict(reasons))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.faults", description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="every how many accesses")
    parser.add_argument("--rounds", type=int, default=12, help="how long the story is")
    chosen = parser.parse_args()
    begun = time.monotonic()
    with memory_folder() as folder:
        tally = run(folder, chosen.stride, chosen.rounds, show=True)
    print(
        f"{tally.faults} faults, {tally.errors} calls refused ({tally.reasons}), nothing lost,"
        f" every store went on; {time.monotonic() - begun:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
