"""What a run has done so far, in files beside its parts: a run that was killed goes on from there.

A part counts when its result is there, and its result is written when its file is there whole. So
whatever a run was killed in the middle of is done again, and nothing else is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from interlingua.bulk.convert import Job, PartResult
from interlingua.bulk.errors import BulkError

FOLDER = "_interlingua"
"""Inside the folder of the parts; readers of that folder as a table skip such names."""
_VERSION = 1


class InputFile(msgspec.Struct, frozen=True):
    path: str
    size: int
    changed: int
    """In nanoseconds."""


class Plan(msgspec.Struct, frozen=True):
    """All that decides what a run's parts hold: another plan is another run."""

    job: Job
    inputs: list[InputFile]
    part: int
    suffix: str
    version: int = _VERSION


def plan_of(job: Job, inputs: Sequence[Path], part: int, suffix: str) -> Plan:
    return Plan(job, [_input(path) for path in inputs], part, suffix)


def _input(path: Path) -> InputFile:
    stat = path.stat()
    return InputFile(os.fspath(path.resolve()), stat.st_size, stat.st_mtime_ns)


class Ledger:
    """The parts of one run that are done."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self._own = folder / FOLDER
        self._plan = plan

    @contextmanager
    def open(self) -> Iterator[None]:
        """Go on with what is there if it is of the same run, alone."""
        self._own.mkdir(parents=True, exist_ok=True)
        with _alone(self._own / "lock"):
            self._begin()
            yield

    def _begin(self) -> None:
        path, encoded = self._own / "plan.json", msgspec.json.encode(self._plan)
        if not path.exists():
            _place(path, encoded)
        elif path.read_bytes() != encoded:
            raise BulkError(
                f"{self.folder} has parts of another run (different files, formats or options); "
                "--restart starts over"
            )

    def has(self, name: str) -> bool:
        return (self._own / f"{name}.json").exists()

    def done(self, name: str) -> PartResult:
        return msgspec.json.decode((self._own / f"{name}.json").read_bytes(), type=PartResult)

    def keep(self, name: str, done: PartResult) -> None:
        _place(self._own / f"{name}.json", msgspec.json.encode(done))

    def finished(self) -> bytes | None:
        """The summary of a run that came to its end."""
        path = self._own / "summary.json"
        return path.read_bytes() if path.exists() else None

    def finish(self, summary: bytes) -> None:
        """Ends the run: deletes its working files; the summary stays."""
        _place(self._own / "summary.json", summary)
        for path in self._own.iterdir():
            if path.name not in ("summary.json", "plan.json", "lock"):
                path.unlink()


def _place(path: Path, data: bytes) -> None:
    made = path.with_name(f".{path.name}.making")
    made.write_bytes(data)
    made.replace(path)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other run works here at the same time; where the system has no such locks, that is the
    user's to see to."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BulkError(f"another run is in progress in {path.parent.parent}") from None
        yield
