"""`interlingua convert` of many: JSON Lines, files of rows, and sessions of other agents."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import chain, islice
from mmap import ACCESS_READ, mmap
from multiprocessing import get_start_method
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from interlingua.adapt.batches import NAMES as BATCHES
from interlingua.adapt.batches import row_of
from interlingua.adapt.formats import is_bare
from interlingua.bulk import tally
from interlingua.bulk.convert import Converted, Job, Row, converted, few_collections
from interlingua.bulk.tally import Tally, add
from interlingua.cli import formats
from interlingua.cli.convert import Convert, ConvertOptions
from interlingua.cli.files import BOM, STDOUT, Input, Put
from interlingua.cli.main import INTERRUPTED, for_commands
from interlingua.cli.main import put as to_stdout
from interlingua.cli.terminal import complain, plural, progress
from interlingua.dialects.kernel.wire import parse
from interlingua.errors import DetectError, InterlinguaError, ReadError
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.reasons import because
from interlingua.providers.profiles import profile_here

if TYPE_CHECKING:
    from interlingua.adapt.target import Instructions
    from interlingua.bulk.run import Summary
    from interlingua.dialects.record import Written
    from interlingua.profiles.profile import Profile
    from interlingua.transcripts import Transcript


BATCH = 1024 * 1024
"""The minimum size of a batch for a worker; a longer line is a batch of its own."""
AHEAD = 2
"""Batches per worker that are under way, and in memory, at a time."""

_encode = msgspec.json.Encoder().encode


class LinesJob(NamedTuple):
    """How to convert each line, and the files to write beside it."""

    conversion: Job
    envelope: bool = False
    report: bool = False
    """Whether the losses of each line are wanted, and not only their number."""


class Batch(NamedTuple):
    """Whole lines: the bytes themselves, or where a worker finds them."""

    size: int
    data: bytes | None
    path: str | None = None
    offset: int = 0

    def lines(self) -> Iterator[bytes]:
        if self.data is not None:
            return BytesIO(self.data)
        with Path(self.path or "").open("rb") as file:
            file.seek(self.offset)
            return BytesIO(file.read(self.size))


class BatchResult(NamedTuple):
    """A converted batch. Its lines are numbered from 0 in a worker, and from 1 in the whole file
    once it is back."""

    output: bytes | memoryview
    """Valid until the next batch is requested."""
    lines: int
    size: int
    failed: list[tuple[int, str]]
    losses: int
    ends: int
    """The number of line ends in it, blank lines included."""
    tally: Tally
    lost: list[tuple[int, bytes]]
    """The losses of each line that has any, as JSON."""


def converted_batches(
    file: IO[bytes], job: LinesJob, jobs: int | None = None, path: str | None = None
) -> Iterator[BatchResult]:
    """The converted batches in the order of the lines. With a `path` the workers read the file
    themselves."""
    workers = jobs or os.cpu_count() or 1
    first = 1
    with few_collections():
        todo = stretches(file, path) if path else batches(file)
        first_two = list(islice(todo, 2))
        alone = workers == 1 or len(first_two) < 2
        todo = chain(first_two, todo)
        one_by_one = (convert_batch(batch, job) for batch in todo)
        for done in one_by_one if alone else _in_many(todo, job, workers):
            yield done._replace(
                failed=[(first + line, problem) for line, problem in done.failed],
                lost=[(first + line, losses) for line, losses in done.lost],
            )
            first += done.ends


def _in_many(todo: Iterator[Batch], job: LinesJob, workers: int) -> Iterator[BatchResult]:
    """Workers put their output where this process can see it, since a pipe is slow."""
    under_way: deque[tuple[Future[BatchResult], int | None]] = deque()
    desks = [_desk() for _ in range(workers * AHEAD)]
    _prepare(job)
    with ProcessPoolExecutor(workers, initializer=_leave_ctrl_c) as pool:
        try:
            for batch, desk in zip(islice(todo, len(desks)), desks, strict=False):
                under_way.append((pool.submit(convert_batch, batch, job, desk), desk))
            while under_way:
                future, desk = under_way.popleft()
                yield _fetched(future.result(), desk)
                for batch in islice(todo, 1):
                    under_way.append((pool.submit(convert_batch, batch, job, desk), desk))
        finally:
            for future, _ in under_way:
                future.cancel()
            for desk in desks:
                if desk is not None:
                    os.close(desk)


def _leave_ctrl_c() -> None:
    """Ctrl-C reaches every process of a terminal: only the parent acts on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _prepare(job: LinesJob) -> None:
    """Loads what workers need before they are forked."""
    import interlingua.adapt.convert  # noqa: F401  # what workers call
    from interlingua.adapt.formats import load

    how = job.conversion
    for name in {how.source, how.target} - {"auto"}:
        load(name, how.kind or "request")


def _desk() -> int | None:
    """A file in memory that workers inherit; None where there is no such thing."""
    if sys.platform != "linux" or get_start_method() != "fork":
        return None
    return os.memfd_create("lines")


def _fetched(done: BatchResult, desk: int | None) -> BatchResult:
    """The result on the desk, viewed in place: no copy is made."""
    if desk is None or not os.fstat(desk).st_size:
        return done
    return done._replace(output=memoryview(mmap(desk, 0, access=ACCESS_READ)))


def batches(file: IO[bytes]) -> Iterator[Batch]:
    """Groups lines into batches."""
    while data := file.read(BATCH):
        if not data.endswith(b"\n"):
            data += file.readline()
        yield Batch(len(data), data)


def stretches(file: IO[bytes], path: str) -> Iterator[Batch]:
    """The same of a file that others can open: only the ends are looked for."""
    start, size = 0, os.fstat(file.fileno()).st_size
    while start < size:
        file.seek(start + BATCH - 1)
        file.readline()
        end = min(file.tell(), size)
        yield Batch(end - start, None, path, start)
        start = end


def convert_batch(batch: Batch, job: LinesJob, desk: int | None = None) -> BatchResult:
    """Converts all lines of a batch; blank lines are skipped. The output is written to the shared
    memory, if any."""
    failed: list[tuple[int, str]] = []
    lost: list[tuple[int, bytes]] = []
    tally: Tally = {}
    losses = count = ends = 0
    with BytesIO() if desk is None else open(desk, "r+b", closefd=False) as out:
        out.seek(0)
        for line in batch.lines():
            if not line.isspace():
                count += 1
                try:
                    done = converted(Row(wire=line), job.conversion)
                except InterlinguaError as error:
                    problem = _problem(line, error)
                    failed.append((ends, problem))
                    if job.envelope:
                        out.write(_failed(problem))
                else:
                    if done.losses:
                        losses += len(done.losses)
                        if job.report:
                            lost.append((ends, _encode(done.losses)))
                    add(tally, done.to_show())
                    wire = done.wire or b""
                    out.writelines(_enveloped(wire, done) if job.envelope else (wire, b"\n"))
            ends += 1
        out.truncate()  # the desk was used before
        output = out.getvalue() if isinstance(out, BytesIO) else b""
    return BatchResult(output, count, batch.size, failed, losses, ends, tally, lost)


def _problem(line: bytes, error: InterlinguaError) -> str:
    if isinstance(error, DetectError):
        return formats.with_option(str(error))
    flaw = formats.flaw_in(line) if isinstance(error, ReadError) else None
    if flaw is None:
        return for_commands(str(error))
    return f"column {flaw.column}: {flaw.problem}"


def _failed(problem: str) -> bytes:
    envelope: dict[str, Any] = {"ok": False, "wire": None, "losses": [], "notes": []}
    envelope["error"] = problem
    return _encode(envelope) + b"\n"


def _enveloped(wire: bytes, done: Converted) -> tuple[bytes, ...]:
    losses = b',"losses":' + _encode(done.losses) + b',"notes":' + _encode(done.notes)
    return (b'{"ok":true,"wire":', wire, losses, b',"error":null}\n')


UNSUPPORTED = ("id", "title", "folder", "created_at")
"""Facts of a session that no request has a place for."""


# Lines, each of which is a conversation


def convert_lines(input: Input, put: Put, options: ConvertOptions) -> int:
    if options.source == formats.AUTO and (way := _another_way(input)) is not None:
        return way(input, put, options)
    options.require_place()
    kind = options.kind
    if kind is None and options.source != formats.AUTO:
        kind = formats.kind_of(input.first_line(), options.source)
    has_report = options.report_file is not None
    target = options.host or options.target
    conversion = Job(target, options.source, kind, options.model, has_report)
    job = LinesJob(conversion, options.envelope, has_report)
    if input.shape() == "json":  # over several lines
        return _run(input, put, options, job, BytesIO(_on_one_line(input)))
    return _run(input, put, options, job, input.file(), input.path)


def _another_way(input: Input) -> Convert | None:
    """The way for lines that are the session of some agent, and not each a conversation."""
    if input.shape() != "lines" or is_one(input.first_line()):
        return None
    return session_way(input)


def are_conversations(input: Input) -> bool:
    """Whether one JSON value is a list of conversations, or a row of a batch."""
    parsed = parse(input.read(), "JSON")
    if isinstance(parsed, list):
        return bool(parsed) and is_one(msgspec.json.encode(parsed[0]))
    return row_of(parsed) is not None


def is_one(data: bytes) -> bool:
    """Whether this is a conversation, or the row of a batch that holds one."""
    try:
        return row_of(data) is not None or bool(formats.guessed(data, None))
    except InterlinguaError:
        return False


def _on_one_line(input: Input) -> bytes:
    """A value over several lines; of a list of conversations, each on a line."""
    data = input.read()
    if (error := formats.malformed(input.name, data)) is not None:
        raise error
    parsed = parse(data, "JSON")
    if isinstance(parsed, list) and not is_bare(parsed):
        return b"".join(msgspec.json.encode(each) + b"\n" for each in parsed)
    return msgspec.json.format(data.removeprefix(BOM), indent=-1)


def _run(
    input: Input,
    put: Put,
    options: ConvertOptions,
    job: LinesJob,
    file: IO[bytes],
    path: Path | None = None,
) -> int:
    total = path.stat().st_size if path is not None else None
    name = None if path is None else str(path)
    failed = losses = count = 0
    kinds: tally.Tally = {}
    quiet = sys.stdout.isatty() and put is to_stdout
    with (
        _reported(options.report_file) as report,
        progress("converting", total or 0, quiet, "lines") as bar,
    ):
        for done in converted_batches(file, job, options.jobs, name):
            put(done.output)
            report(done)
            for number, problem in done.failed:
                complain(f"{input.name}, line {number}: {problem}")
            for each, times in done.tally.items():
                tally.count(kinds, each, times)
            failed, losses = failed + len(done.failed), losses + done.losses
            count += done.lines
            bar(done.size, done.lines)
    _sum_up(plural(count, "line"), failed, losses, kinds)
    return 1 if failed else 3 if options.strict and losses else 0


@contextmanager
def _reported(file: str | None) -> Iterator[Callable[[BatchResult], None]]:
    """Takes results; writes a line for each line with losses or an error."""
    if file is None:
        yield lambda done: None
        return
    with Path(file).open("wb") as out:

        def report(done: BatchResult) -> None:
            entries = [
                (line, {"line": line, "losses": msgspec.Raw(lost)}) for line, lost in done.lost
            ]
            entries += [(line, {"line": line, "error": problem}) for line, problem in done.failed]
            for _, each in sorted(entries, key=lambda pair: pair[0]):
                out.write(msgspec.json.encode(each) + b"\n")

        yield report


# Whole files, folders and tables


def convert_rows(
    files: tuple[str, ...],
    output: str | None,
    options: ConvertOptions,
    kind_of_parts: str | None,
    bad: str | None,
    restart: bool,
) -> int:
    from interlingua.bulk import run
    from interlingua.bulk.files import found

    if options.kind == "stream":
        raise click.UsageError("streams are converted one at a time")
    if options.envelope:
        raise click.UsageError("--envelope works for one file of lines, not for several files")
    target = None if output in (None, STDOUT) else Path(output or "")
    inputs = found(files, target)
    kind = options.kind or _kind(inputs, options.source)
    job = Job(options.host or options.target, options.source, kind, options.model)
    if target is None:
        return _rows_to_stdout(inputs, job, options)
    suffix = None if kind_of_parts is None else f".{kind_of_parts}"
    _require_new(inputs, target, suffix)
    total = sum(path.stat().st_size for path in inputs)
    with progress("converting", total, unit="rows") as bar, _continuable():
        summary = run.convert_files(
            files,
            target,
            job,
            jobs=options.jobs,
            suffix=suffix,
            bad=bad,
            restart=restart,
            progress=bar,
        )
    _tell(summary, options.report_file)
    return 1 if summary.bad else 3 if options.strict and summary.losses else 0


@contextmanager
def _continuable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        complain("interrupted; run the same command again to continue (--restart: start over)")
        sys.exit(INTERRUPTED)


def _rows_to_stdout(inputs: list[Path], job: Job, options: ConvertOptions) -> int:
    """All rows of several files as JSON Lines, in order."""
    from interlingua.bulk.convert import converted_lines
    from interlingua.bulk.files import parts_of
    from interlingua.bulk.run import in_order

    bad, rows, losses, kinds = 0, 0, 0, Counter[str]()
    todo = chain.from_iterable(map(parts_of, inputs))
    workers = 1 if _are_small(inputs) else options.jobs or os.cpu_count() or 1
    total = sum(path.stat().st_size for path in inputs)
    before: Counter[Path] = Counter()
    with progress("converting", total, sys.stdout.isatty(), "rows") as bar:
        for part, (data, done) in in_order(todo, partial(converted_lines, job=job), workers):
            to_stdout(data)
            for flaw in done.bad:
                place = _place(part.path, before[part.path] + flaw.line)
                complain(for_commands(f"{place}: {flaw.reason}"))
            before[part.path] += done.lines
            bad, rows = bad + len(done.bad), rows + done.rows
            losses += sum(done.losses.values())
            kinds.update(done.tally)
            bar(part.size, done.rows)
    _sum_up(plural(rows, "row"), bad, losses, kinds)
    return 1 if bad else 3 if options.strict and losses else 0


def _are_small(inputs: list[Path]) -> bool:
    """Whether starting other processes would take longer than the work."""
    return sum(path.stat().st_size for path in inputs) < BATCH


def _place(path: Path, line: int) -> str:
    """A row by its file and line; a JSON file is one row."""
    from interlingua.bulk.files import JSON, suffix_of

    return str(path) if suffix_of(path) == JSON else f"{path}, line {line}"


def _require_new(inputs: list[Path], target: Path, suffix: str | None) -> None:
    """Refuse one JSON file as the output of several conversations."""
    from interlingua.bulk.files import JSON, suffix_of

    if suffix is None and suffix_of(target) == JSON and not target.is_dir() and len(inputs) > 1:
        problem = f"{len(inputs)} files do not fit into one .json file"
        raise click.UsageError(f"{problem}: name a folder ({target.stem}/) or {target.stem}.jsonl")


def _kind(inputs: list[Path], source: str) -> str | None:
    """The kind of the rows, by the first one, if their format is named."""
    from interlingua.bulk.files import PARQUET, first_line, suffix_of

    lines = next((path for path in inputs if suffix_of(path) != PARQUET), None)
    if source == formats.AUTO or lines is None:
        return None
    return formats.kind_of(first_line(lines), source)


def _tell(summary: Summary, report_file: str | None) -> None:
    if report_file:
        Path(report_file).write_bytes(msgspec.json.encode(summary) + b"\n")
    losses = sum(summary.losses.values())
    rows = plural(summary.rows, "row")
    click.echo(f"{rows}, {summary.bad:,} unreadable, {plural(losses, 'loss')}", err=True)
    if summary.bad_file is not None:
        _tell_bad(Path(summary.bad_file))
    for kind, times in summary.losses.items():
        click.echo(f"{kind}: {times:,}", err=True)
    for line in tally.lines(summary.tally):
        complain(for_commands(line))


def _sum_up(rows: str, bad: int, losses: int, kinds: Tally) -> None:
    click.echo(f"{rows}, {bad:,} unreadable, {plural(losses, 'loss')}", err=True)
    for line in tally.lines(kinds):
        complain(for_commands(line))


def _tell_bad(file: Path) -> None:
    """The first unreadable rows, and the file that has all of them."""
    with file.open("rb") as lines:
        for line in islice(lines, FEW):
            flaw = msgspec.json.decode(line)
            place = _place(Path(flaw["file"]), flaw["line"])
            complain(for_commands(f"  {place}: {flaw['reason']}"))
    complain(f"unreadable rows: {file}")


FEW = 5
"""Unreadable rows that are shown."""


# Sessions of other agents, exports and interchange files: each as the request that continues it


def session_way(input: Input) -> Convert | None:
    """The conversion for the sessions in a file; None if it has no sessions or the format is
    ambiguous."""
    name = format_in(input)
    return None if name is None else partial(convert_sessions, name)


def format_in(input: Input) -> str | None:
    """The format of the sessions in a file; None if it has no sessions or the format is
    ambiguous."""
    from interlingua import transcripts
    from interlingua.transcripts.format import Sample

    sample = Sample(input.place or Path("session.jsonl"), input.head())
    found = [each.format for each in transcripts.recognized(sample) if each.format not in BATCHES]
    return found[0] if len(found) == 1 else None


def convert_sessions(format: str, input: Input, put: Put, options: ConvertOptions) -> int:
    from interlingua import transcripts

    click.echo(f"read as {format} transcript", err=True)
    profile = profile_here(options.model, options.target)
    losses = Report(options.target)
    with _on_disk(input) as path:
        every = transcripts.read_all(path, format)
        first = list(islice(every, 2))
        pretty = options.is_pretty() and len(first) == 1
        for transcript in chain(first, every):
            written = request_of(
                transcript, options.target, options.model, profile, options.instructions
            )
            put(formats.to_bytes(written.wire, pretty) + b"\n")
            losses.extend(written.report)
    return options.exit_code(losses)


def request_of(
    transcript: Transcript,
    target: str,
    model: str | None,
    profile: Profile | None = None,
    instructions: Instructions = "place",
) -> Written:
    """The request that continues a session; the report lists what it leaves out."""
    from interlingua.transcripts.files import LineSource

    last = transcript.models[-1] if transcript.models else None
    name = None if last is None else last.partition(":")[2] or last
    request = Request(transcript.live, name, transcript.tools)
    profile = profile or profile_here(model, target)
    written = formats.write(request, target, None, model, profile, instructions)
    written.report.source = LineSource(transcript, transcript.live)
    return msgspec.structs.replace(written, report=_losses(transcript, written.report))


def _losses(transcript: Transcript, written: Report) -> Report:
    report = Report(written.target, [*transcript.report.entries])
    transcript.report_left_out(report)
    before = len(transcript.messages) - len(transcript.live)
    if before:
        reason = because("summarized")
        report.add("dropped", "$.messages", reason)
    for fact in UNSUPPORTED:
        if getattr(transcript, fact) is not None:
            report.add("dropped", f"$.{fact}", because("request_only"))
    report.extend(written)
    return report


@contextmanager
def _on_disk(input: Input) -> Iterator[Path]:
    """The file on disk, with those of its helpers; for standard input, a copy."""
    if input.place is not None:
        yield input.place
        return
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.writelines(input.chunks())
        file.flush()
        yield Path(file.name)
