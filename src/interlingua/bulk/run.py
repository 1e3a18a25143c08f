"""A whole run: files in, converted in parts on all cores, in constant memory; files out."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from interlingua.bulk import tally
from interlingua.bulk.convert import Job, PartResult, convert_part
from interlingua.bulk.files import (
    PARQUET,
    PART,
    BulkError,
    Part,
    found,
    parts_of,
    stem_of,
    suffix_of,
)
from interlingua.bulk.tally import Tally
from interlingua.streams import packed

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
    """The parts of one run that are done, in files beside them.

    A part counts when its result is there, and its result is written when its file is there whole.
    So whatever a run was killed in the middle of is done again, and nothing else is."""

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


AHEAD = 2
"""Parts for each core that are under way at a time."""


class Summary(msgspec.Struct, frozen=True):
    """What became of all rows."""

    files: int
    rows: int
    converted: int
    bad: int
    losses: dict[str, int] = {}
    """By kind."""
    tally: Tally = {}
    """Each loss and how often it occurred, the most frequent first."""
    bad_file: str | None = None


class _Target(NamedTuple):
    """Where a run puts things: parts into a folder, which is the output itself or beside it."""

    output: Path
    parts: Path
    suffix: str
    joined: bool
    bad: Path


def convert_files(
    inputs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    job: Job,
    *,
    jobs: int | None = None,
    suffix: str | None = None,
    bad: str | os.PathLike[str] | None = None,
    restart: bool = False,
    part: int = PART,
    progress: Callable[[int], None] = lambda size: None,
) -> Summary:
    """Convert all rows of files, folders and patterns. `output` is one file (`.parquet`, `.jsonl`,
    `.jsonl.gz`, `.jsonl.zst`), which takes the place of one that is there when all is done, or a
    folder of parts with names that end in `suffix`.

    A run that was killed goes on when it is started again in the same way. Rows that cannot be read
    are in the file `bad`, with their line and the reason."""
    files = found(inputs, Path(output))
    target = _target(Path(output), suffix or _common(files), bad, restart)
    for name in (target.suffix, *map(str, files)):
        packed.require(name)
    ledger = Ledger(target.parts, plan_of(job, files, part, target.suffix))
    with ledger.open():
        encoded = ledger.finished()
        if encoded is None:
            _load(job)
            todo = _named(files, part)
            parts = _work(todo, ledger, job, target, jobs or _cores(), progress)
            encoded = msgspec.json.encode(_gather(parts, ledger, target, job))
            ledger.finish(encoded)
    summary = msgspec.json.decode(encoded, type=Summary)
    if target.joined:
        shutil.rmtree(target.parts)
    return summary


def _target(
    output: Path, common: str, bad: str | os.PathLike[str] | None, restart: bool
) -> _Target:
    ending = suffix_of(output)
    if ending is None or output.is_dir():
        if restart:
            _clear(output)
        return _Target(output, output, common, False, Path(bad or output / "_bad.jsonl"))
    parts = output.with_name(f"{output.name}.parts")
    if restart and parts.exists():
        shutil.rmtree(parts)
    beside = output.with_name(f"{output.name}.bad.jsonl")
    return _Target(output, parts, ending, True, Path(bad or beside))


def _clear(folder: Path) -> None:
    """Take away what an earlier run left here, and nothing else."""
    if (folder / FOLDER).exists():
        shutil.rmtree(folder / FOLDER)
    for path in folder.glob(_PART_NAMES) if folder.is_dir() else ():
        if suffix_of(path) is not None:
            path.unlink()


_PART_NAMES = f"{'[0-9]' * 4}-*-{'[0-9]' * 5}.*"


def _common(files: Sequence[Path]) -> str:
    """The default suffix of parts: that of the first file."""
    return suffix_of(files[0]) or ".jsonl"


def _cores() -> int:
    return os.cpu_count() or 1


def _load(job: Job) -> None:
    """Load what workers need before they are made, so that they inherit it. Nothing of Arrow: it
    has threads, which no fork takes along."""
    import interlingua.adapt.convert  # noqa: F401  # what workers call
    from interlingua.adapt.formats import load

    for name in {job.source, job.target} - {"auto"}:
        load(name, job.kind or "request")


# Work


class _Named(NamedTuple):
    name: str
    """Of the part's file, but for its end; in the order of the parts."""
    part: Part


def _named(files: Sequence[Path], size: int) -> Iterator[_Named]:
    for number, path in enumerate(files):
        for part in parts_of(path, size):
            yield _Named(f"{number:04}-{stem_of(path)}-{part.number:05}", part)


def _work(
    todo: Iterator[_Named],
    ledger: Ledger,
    job: Job,
    target: _Target,
    workers: int,
    progress: Callable[[int], None],
) -> list[_Named]:
    """Do all parts that are not done yet; gives all of them, in order, without their bytes."""
    finished: list[_Named] = []
    under_way: deque[tuple[_Named, Future[None] | None]] = deque()

    def begin(count: int, submit: Submit) -> None:
        for each in islice(todo, count):
            path = target.parts / f"{each.name}{target.suffix}"
            is_done = ledger.has(each.name)
            under_way.append((each, None if is_done else submit(_do, each, job, path, ledger)))

    with _pool(workers) as submit:
        begin(workers * AHEAD, submit)
        while under_way:
            named, future = under_way.popleft()
            if future is not None:
                future.result()
            progress(named.part.size)
            finished.append(named._replace(part=named.part._replace(data=None)))
            begin(1, submit)
    return finished


def _do(named: _Named, job: Job, path: Path, ledger: Ledger) -> None:
    ledger.keep(named.name, convert_part(named.part, job, path))


Submit = Callable[..., "Future[None] | None"]


@contextmanager
def _pool(workers: int) -> Iterator[Submit]:
    """How to have something done: by another process, or here and at once."""
    if workers == 1:
        yield lambda function, *arguments: function(*arguments)
        return
    with ProcessPoolExecutor(workers, initializer=_end_with_parent) as pool:
        try:
            yield pool.submit
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    from multiprocessing import parent_process

    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# The end


def _gather(parts: Sequence[_Named], ledger: Ledger, target: _Target, job: Job) -> Summary:
    """Count everything, put bad rows into their file, and parts into one where that is wanted."""
    losses: Counter[str] = Counter()
    tallied: Tally = {}
    rows = 0
    with _BadRowsFile(target.bad) as aside:
        for named, done in ((each, ledger.done(each.name)) for each in parts):
            rows += done.rows
            aside.take(named.part.path, done)
            losses.update(done.losses)
            for loss, times in done.tally.items():
                tally.count(tallied, loss, times)
    if target.joined:
        files = [target.parts / f"{each.name}{target.suffix}" for each in parts]
        _join(files, target, job)
    return Summary(
        files=len({each.part.path for each in parts}),
        rows=rows,
        converted=rows - aside.count,
        bad=aside.count,
        losses=dict(losses.most_common()),
        tally=dict(Counter(tallied).most_common()),
        bad_file=str(target.bad) if aside.count else None,
    )


class _BadRowsFile:
    """The file of bad rows; made only if there is one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made = path.with_name(f".{path.name}.making")
        self._in: Path | None = None
        self._before = 0
        self.count = 0

    def __enter__(self) -> _BadRowsFile:
        self._made.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._made.open("wb")
        return self

    def take(self, path: Path, done: PartResult) -> None:
        """The lines of a part are numbered from the beginning of its file."""
        if path != self._in:
            self._in, self._before = path, 0
        for bad in done.bad:
            record = {"file": str(path), "line": self._before + bad.line, "reason": bad.reason}
            self._file.write(msgspec.json.encode({**record, "row": bad.row}) + b"\n")
        self._before += done.lines
        self.count += len(done.bad)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self.count:
            self._made.replace(self._path)
        else:
            self._made.unlink()


def _join(files: Iterable[Path], target: _Target, job: Job) -> None:
    """The parts one behind the other, in a file that is there whole or not at all."""
    made = target.output.with_name(f".{target.output.name}.making")
    if target.suffix == PARQUET:
        from interlingua.bulk import tables

        tables.join(files, made, tables.schema_of(job.target))
    else:
        with made.open("wb") as whole:
            for each in files:
                with each.open("rb") as part:
                    shutil.copyfileobj(part, whole, 1 << 20)
    made.replace(target.output)
