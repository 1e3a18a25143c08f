"""A whole run: files in, converted in parts on all cores, in constant memory; files out."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.bulk import tally
from interlingua.bulk.convert import Job, PartResult, convert_part
from interlingua.bulk.files import (
    PARQUET,
    PART,
    BulkError,
    Part,
    found_names,
    part_name,
    parts_of,
    split_name,
    suffix_of,
)
from interlingua.bulk.tally import Tally
from interlingua.config import try_lock
from interlingua.streams import packed

FOLDER = ".interlingua"
"""Inside the folder of the parts; readers of that folder as a table skip such names."""
_VERSION = 2


class InputFile(msgspec.Struct, frozen=True):
    path: str
    size: int
    changed: int
    """In nanoseconds."""
    name: str = ""
    """In the output folder."""


class Plan(msgspec.Struct, frozen=True):
    """Everything that determines the parts of a run: another plan is another run."""

    job: Job
    inputs: list[InputFile]
    part: int
    suffix: str | None
    """The suffix of every output file; None: that of its input."""
    version: int = _VERSION

    def outputs(self, folder: Path) -> Iterator[Path]:
        """The files in a folder that this run wrote, or would replace."""
        for each in self.inputs:
            stem, suffix = split_name(each.name, self.suffix)
            path = folder / f"{stem}{suffix}"
            yield from path.parent.glob(
                f"{escape(path.name.removesuffix(suffix))}{_NUMBER}{suffix}"
            )
            if path.exists():
                yield path


_NUMBER = "-" + "[0-9]" * 5


def plan_of(job: Job, inputs: Mapping[Path, str], part: int, suffix: str | None) -> Plan:
    return Plan(job, [_input(*each) for each in inputs.items()], part, suffix)


def _input(path: Path, name: str) -> InputFile:
    stat = path.stat()
    return InputFile(os.fspath(path.resolve()), stat.st_size, stat.st_mtime_ns, name)


class Ledger:
    """The finished parts of one run, in files beside them.

    A part counts when its result is there, and its result is written when its file is complete.
    So only the parts that a run was killed in the middle of are done again."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self._own = folder / FOLDER
        self._plan = plan

    @contextmanager
    def open(self) -> Iterator[None]:
        """Continues with the parts that are there if they are of the same run; locked against
        others."""
        self._own.mkdir(parents=True, exist_ok=True)
        with _alone(self._own / "lock"):
            self._begin()
            yield

    def _begin(self) -> None:
        path, encoded = self._own / "plan.json", msgspec.json.encode(self._plan)
        if path.exists() and path.read_bytes() != encoded:
            self._end_earlier()
        if not path.exists():
            _place(path, encoded)

    def _end_earlier(self) -> None:
        """Forget an earlier run that is complete, if this one replaces none of its files."""
        if self.finished() is None:
            raise BulkError(
                f"{self.folder} has parts of another run (different files, formats or options); "
                "--restart starts over"
            )
        if (there := next(self._plan.outputs(self.folder), None)) is not None:
            raise BulkError(f"{there} exists, from another run; --restart replaces it")
        for name in ("summary.json", "plan.json"):
            (self._own / name).unlink()

    @classmethod
    def clear(cls, folder: Path) -> None:
        """Deletes the files of an earlier run, and no others."""
        plan = folder / FOLDER / "plan.json"
        if plan.exists():
            with suppress(msgspec.DecodeError):
                for path in msgspec.json.decode(plan.read_bytes(), type=Plan).outputs(folder):
                    path.unlink(missing_ok=True)
            shutil.rmtree(folder / FOLDER)

    def has(self, name: str) -> bool:
        return (self._own / f"{name}.json").exists()

    def done(self, name: str) -> PartResult:
        return msgspec.json.decode((self._own / f"{name}.json").read_bytes(), type=PartResult)

    def keep(self, name: str, done: PartResult) -> None:
        _place(self._own / f"{name}.json", msgspec.json.encode(done))

    def finished(self) -> bytes | None:
        """The summary of a finished run."""
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
    """No other run works here at the same time."""
    with path.open("w") as file:
        if not try_lock(file.fileno()):
            raise BulkError(f"another run is in progress in {path.parent.parent}")
        yield


AHEAD = 2
"""Parts for each core that are under way at a time."""
SMALLEST = 512 * 1024
MANY = 200
"""The size of small parts, and how many there are of a large input before they get larger."""
Progress = Callable[[int, int], object]
"""Called after each part with its bytes and its rows."""
T = TypeVar("T")
R = TypeVar("R")


class Summary(msgspec.Struct, frozen=True):
    """The outcome of all rows."""

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
    """The output of a run: parts go into a folder, which is the output itself or beside it."""

    output: Path
    parts: Path
    suffix: str | None
    """The suffix of every file; None: that of its input."""
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
    part: int | None = None,
    progress: Progress = lambda size, rows: None,
) -> Summary:
    """Convert all rows of files, folders and patterns. `output` is one file (`.parquet`, `.jsonl`,
    `.jsonl.gz`, `.jsonl.zst`), which takes the place of one that is there when all is done, or a
    folder, in which each file keeps its name; `suffix` sets another ending. A large file of rows
    becomes several numbered ones.

    A run that was killed goes on when it is started again in the same way. Rows that cannot be read
    are in the file `bad`, with their line and the reason."""
    files = found_names(inputs, Path(output))
    target = _target(Path(output), suffix, bad, restart)
    for name in (target.suffix or "", *map(str, files)):
        packed.require(name)
    part = part or _part_size(files, target)
    ledger = Ledger(target.parts, plan_of(job, files, part, target.suffix))
    with ledger.open():
        encoded = ledger.finished()
        if encoded is None:
            _load(job)
            todo = _named(files, part, target)
            parts = _work(todo, ledger, job, target, jobs or _cores(), progress)
            encoded = msgspec.json.encode(_gather(parts, ledger, target, job))
            ledger.finish(encoded)
    summary = msgspec.json.decode(encoded, type=Summary)
    if target.joined:
        shutil.rmtree(target.parts)
    return summary


def _part_size(files: Iterable[Path], target: _Target) -> int:
    """Small parts where they are joined: a run shows its progress and stops sooner."""
    if not target.joined or target.suffix == PARQUET:
        return PART
    return min(PART, max(SMALLEST, sum(path.stat().st_size for path in files) // MANY))


def _target(
    output: Path, suffix: str | None, bad: str | os.PathLike[str] | None, restart: bool
) -> _Target:
    ending = suffix_of(output)
    if ending is None or output.is_dir():
        if restart:
            Ledger.clear(output)
        return _Target(output, output, suffix, False, Path(bad or output / "_bad.jsonl"))
    parts = output.with_name(f"{output.name}.parts")
    if restart and parts.exists():
        shutil.rmtree(parts)
    beside = output.with_name(f"{output.name}.bad.jsonl")
    return _Target(output, parts, ending, True, Path(bad or beside))


def _cores() -> int:
    return os.cpu_count() or 1


def _load(job: Job) -> None:
    """Loads what workers need before they are forked. Nothing of Arrow, whose threads do not
    survive a fork."""
    import interlingua.adapt.convert  # noqa: F401  # what workers call
    from interlingua.adapt.formats import load

    for name in {job.source, job.target} - {"auto"}:
        load(name, job.kind or "request")


# Work


class _Named(NamedTuple):
    name: str
    """The name of the part in the ledger."""
    part: Part
    path: Path
    """The path of its output."""


def _named(files: Mapping[Path, str], size: int, target: _Target) -> Iterator[_Named]:
    for number, (path, inner_name) in enumerate(files.items()):
        for part in parts_of(path, size):
            name = f"{number:05}-{part.number:05}"
            own = (
                f"{name}{target.suffix}"
                if target.joined
                else part_name(inner_name, part, target.suffix)
            )
            yield _Named(name, part, target.parts / own)


def _work(
    todo: Iterator[_Named],
    ledger: Ledger,
    job: Job,
    target: _Target,
    workers: int,
    progress: Progress,
) -> list[_Named]:
    """Do all parts that are not done yet; gives all of them, in order, without their bytes."""
    finished: list[_Named] = []
    for named, rows in in_order(todo, partial(_do, job=job, ledger=ledger), workers):
        progress(named.part.size, rows)
        finished.append(named._replace(part=named.part._replace(data=None)))
    return finished


def _do(named: _Named, job: Job, ledger: Ledger) -> int:
    """Convert a part unless that is done; returns the number of its rows."""
    if ledger.has(named.name):
        return ledger.done(named.name).rows
    named.path.parent.mkdir(parents=True, exist_ok=True)
    done = convert_part(named.part, job, named.path)
    ledger.keep(named.name, done)
    return done.rows


def in_order(todo: Iterator[T], work: Callable[[T], R], workers: int) -> Iterator[tuple[T, R]]:
    """Each item with the result of its work, on so many cores; few are under way at a time."""
    under_way: deque[tuple[T, Future[R]]] = deque()
    with _pool(workers) as submit:
        for each in islice(todo, workers * AHEAD):
            under_way.append((each, submit(work, each)))
        while under_way:
            item, future = under_way.popleft()
            yield item, future.result()
            for each in islice(todo, 1):
                under_way.append((each, submit(work, each)))


Submit = Callable[..., "Future[Any]"]


@contextmanager
def _pool(workers: int) -> Iterator[Submit]:
    """A function that runs jobs: in another process, or here and at once."""
    if workers == 1:
        yield _at_once
        return
    with ProcessPoolExecutor(workers, initializer=_end_with_parent) as pool:
        try:
            yield pool.submit
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _at_once(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(function(*arguments))
    return future


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever. Ctrl-C reaches every process
    of a terminal: only the parent acts on it."""
    import signal
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
        _join([each.path for each in parts], target, job)
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
    """Joins the parts in one file, which is there complete or not at all."""
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
