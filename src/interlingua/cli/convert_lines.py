"""`interlingua convert` of many: JSON Lines, each of which is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

import click
import msgspec

from interlingua.batches import row_of
from interlingua.bulk import tally
from interlingua.cli import formats
from interlingua.cli.conversion import ConvertOptions
from interlingua.cli.inputs import BOM, Input
from interlingua.cli.line_batches import BatchResult, Job, convert_lines
from interlingua.cli.main import shown
from interlingua.cli.outputs import Put
from interlingua.dialects.kernel.wire import parse
from interlingua.errors import InterlinguaError
from interlingua.formats import is_bare


def convert(given: Input, put: Put, wish: ConvertOptions) -> int:
    if wish.source == formats.AUTO and (way := _another_way(given)) is not None:
        return way(given, put, wish)
    kind = wish.kind
    if kind is None and wish.source != formats.AUTO:
        kind = formats.kind_of(given.first_line(), wish.source)
    job = Job(
        wish.source,
        wish.target,
        kind,
        wish.model,
        wish.envelope,
        wish.report_file is not None,
    )
    if given.shape() == "json":  # over several lines
        return _run(given, put, wish, job, BytesIO(_on_one_line(given)))
    return _run(given, put, wish, job, given.file(), given.path)


def _another_way(given: Input) -> Callable[[Input, Put, ConvertOptions], int] | None:
    """The way for lines that are the session of some agent, and not each a conversation."""
    if given.shape() != "lines" or is_one(given.first_line()):
        return None
    from interlingua.cli.convert_transcripts import format_in, sessions

    name = format_in(given)
    return None if name is None else sessions(name)


def are_conversations(given: Input) -> bool:
    """Whether one JSON value is a list of conversations, or a row of a batch."""
    parsed = parse(given.read(), "JSON")
    if isinstance(parsed, list):
        return bool(parsed) and is_one(msgspec.json.encode(parsed[0]))
    return row_of(parsed) is not None


def is_one(data: bytes) -> bool:
    """Whether this is a conversation, or the row of a batch that holds one."""
    try:
        return row_of(data) is not None or bool(formats.guessed(data, None))
    except InterlinguaError:
        return False


def _on_one_line(given: Input) -> bytes:
    """A value over several lines; of a list of conversations, each on a line."""
    data = given.read()
    if (error := formats.malformed(given.name, data)) is not None:
        raise error
    parsed = parse(data, "JSON")
    if isinstance(parsed, list) and not is_bare(parsed):
        return b"".join(msgspec.json.encode(each) + b"\n" for each in parsed)
    return msgspec.json.format(data.removeprefix(BOM), indent=-1)


def _run(
    given: Input,
    put: Put,
    wish: ConvertOptions,
    job: Job,
    file: IO[bytes],
    path: Path | None = None,
) -> int:
    total = path.stat().st_size if path is not None else None
    failed = losses = count = 0
    kinds: tally.Tally = {}
    with _reported(wish.report_file) as report, progress(total) as bar:
        for done in convert_lines(file, job, wish.jobs, None if path is None else str(path)):
            put(done.output)
            report(done)
            for number, problem in done.failed:
                click.echo(f"{given.name}, line {number}: {shown(problem)}", err=True)
            for each, times in done.tally.items():
                tally.count(kinds, each, times)
            failed, losses = failed + len(done.failed), losses + done.losses
            count += done.lines
            bar(done.size)
    click.echo(f"{count} lines, {failed} unreadable, {losses} losses", err=True)
    for line in tally.lines(kinds):
        click.echo(shown(line), err=True)
    return 1 if failed else 3 if wish.strict and losses else 0


@contextmanager
def _reported(file: str | None) -> Iterator[Callable[[BatchResult], None]]:
    """Takes what was done; writes a line for each line that lost something or cannot be read."""
    if file is None:
        yield lambda done: None
        return
    with Path(file).open("wb") as out:

        def report(done: BatchResult) -> None:
            told = [(line, {"line": line, "losses": msgspec.Raw(lost)}) for line, lost in done.lost]
            told += [(line, {"line": line, "error": problem}) for line, problem in done.failed]
            for _, each in sorted(told, key=lambda pair: pair[0]):
                out.write(msgspec.json.encode(each) + b"\n")

        yield report


@contextmanager
def progress(total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal that shows nothing else, silence elsewhere."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        yield lambda size: None
        return
    with click.progressbar(length=total or 0, label="converting", file=sys.stderr) as bar:
        yield bar.update
