"""`python -m tests.store.power --points 20000`: the power goes at any moment.

A story is told on a disk that writes down what is done to its files. For a moment in it, the files
are made as a disk may leave them: what was brought to the disk (synced) is there; of the writes
after that each is there, or not, or in part, or as rubbish, whatever its order. Then the store is
opened, and all that was acknowledged before that moment has to be there.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import NamedTuple

from interlingua.store import sqlite as sqlite_module
from tests.store.disk import FOLDER, Deed, watched
from tests.store.kills import WrongError
from tests.store.places import memory_folder
from tests.store.story import Story, check

SECTOR = 512


class Recording(NamedTuple):
    deeds: list[Deed]
    acknowledged: list[tuple[int, list[str]]]
    """How many deeds were done when these had been acknowledged."""
    begun: list[str]


class Tally(NamedTuple):
    points: int
    unsynced: int
    """Points at which something had been written and not yet been brought to the disk."""
    damaged: int
    """Writes that were dropped, cut or turned to rubbish."""


def record(folder: Path, rounds: int) -> Recording:
    """The story, with a log so short that it is moved into the database several times."""
    acknowledged: list[tuple[int, list[str]]] = []
    with watched() as disk:
        disk.watching = True
        story = Story(folder / "story.db")
        story.note = lambda: acknowledged.append((len(disk.deeds), list(story.acknowledged)))
        long = sqlite_module._SETTINGS
        sqlite_module._SETTINGS = (*long, "PRAGMA wal_autocheckpoint = 60")
        try:
            story.tell(rounds)
        finally:
            sqlite_module._SETTINGS = long
        if story.errors:
            raise WrongError(f"the story was disturbed: {story.errors}")
    return Recording(disk.deeds, acknowledged, story.begun)


class Platter:
    """What a disk holds for sure, and what is on its way."""

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.waiting: dict[str, list[Deed]] = {}
        self.damaged = 0

    def do(self, deed: Deed) -> None:
        place = FOLDER if deed.kind == "delete" else deed.name
        waiting = self.waiting.setdefault(place, [])
        if deed.kind != "sync":
            waiting.append(deed)
            return
        for each in waiting:
            _apply(self.files, each)
        waiting.clear()

    def after_power_loss(self, dice: random.Random) -> dict[str, bytearray]:
        """One of the many ways in which the disk may be found."""
        files = {name: bytearray(data) for name, data in self.files.items()}
        mood = dice.random()  # most things lost, most things there, or anything between
        for waiting in self.waiting.values():
            for deed in waiting:
                if dice.random() > mood:
                    _apply(files, deed)
                    continue
                self.damaged += 1
                if deed.kind == "write" and dice.random() < 0.5:
                    _apply(files, deed._replace(data=_torn(deed.data, dice)))
        return files


def _torn(data: bytes, dice: random.Random) -> bytes:
    """Only some sectors of it, or the rest of them as rubbish."""
    stored = dice.randrange(0, len(data) + 1, SECTOR) if len(data) > SECTOR else 0
    rubbish = dice.randbytes(len(data) - stored) if dice.random() < 0.5 else b""
    return data[:stored] + rubbish


def _apply(files: dict[str, bytearray], deed: Deed) -> None:
    if deed.kind == "delete":
        files.pop(deed.name, None)
        return
    data = files.setdefault(deed.name, bytearray())
    if deed.kind == "truncate":
        del data[deed.offset :]
        return
    if len(data) < deed.offset:
        data.extend(bytes(deed.offset - len(data)))
    data[deed.offset : deed.offset + len(deed.data)] = deed.data


def run(folder: Path, points: int, rounds: int = 12, seed: int | None = None) -> Tally:
    """`points` moments, evenly over the story; many of one moment are found differently."""
    dice = random.Random(seed)
    recording = record(folder, rounds)
    moments = sorted(dice.randrange(len(recording.deeds) + 1) for _ in range(points))
    platter = Platter()
    done = unsynced = 0
    for number, moment in enumerate(moments):
        for deed in recording.deeds[done:moment]:
            platter.do(deed)
        done = moment
        unsynced += any(platter.waiting.values())
        path = folder / f"{number}.db"
        for suffix, data in {"": bytearray(), **platter.after_power_loss(dice)}.items():
            path.with_name(path.name + suffix).write_bytes(data)
        collected = [names for place, names in recording.acknowledged if place <= moment]
        try:
            check(path, collected[-1] if collected else [], recording.begun)
        except Exception as error:
            error.add_note(
                f"moment {moment} of {len(recording.deeds)}, point {number}, seed {seed}"
            )
            raise
        for file in folder.glob(f"{number}.db*"):
            file.unlink()
    return Tally(points, unsynced, platter.damaged)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.power", description=__doc__)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    begun = time.monotonic()
    with memory_folder() as folder:
        tally = run(folder, chosen.points, seed=chosen.seed)
    print(
        f"the power went {tally.points} times, {tally.unsynced} of them with writes under way,"
        f" {tally.damaged} writes dropped or damaged; nothing acknowledged was lost;"
        f" {time.monotonic() - begun:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
