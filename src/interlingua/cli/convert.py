"""`interlingua convert`: a conversation of one format, said in another."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

import click

from interlingua.cli import formats
from interlingua.cli.main import put, shown
from interlingua.losses import Report
from interlingua.providers.profiles import taken_here


@click.command("convert", help="Say a conversation of one format in another.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option("--from", "source", default="auto", help="The format it is in; auto finds out.")
@click.option("--to", "target", required=True, help="The format to say it in.")
@click.option(
    "--kind", type=click.Choice(["request", "response", "stream"]), help="Which of them it is."
)
@click.option("--model", help="The model to say it to; fitted to it where it is <provider>:<name>.")
@click.option("--report", "report_file", type=click.Path(dir_okay=False), help="Losses as JSON.")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything is lost.")
@click.option("--lines", is_flag=True, help="Each line is one; on all cores.")
@click.option("--jobs", type=click.IntRange(1), help="Cores to use with --lines.")
@click.option("--pretty/--compact", default=None, help="Indented or not; indented on a terminal.")
def command(
    file: str,
    source: str,
    target: str,
    kind: str | None,
    model: str | None,
    report_file: str | None,
    strict: bool,
    lines: bool,
    jobs: int | None,
    pretty: bool | None,
) -> None:
    known = formats.names()
    for option, name in (("--from", source), ("--to", target)):
        if name not in known and (name, option) != ("auto", "--from"):
            raise click.BadParameter(
                f"no format is called {name!r}: {', '.join(known)}", param_hint=option
            )
    if kind == "stream":
        sys.exit(_stream(file, source, target, model, strict, lines, report_file))
    if lines:
        sys.exit(_lines(file, source, target, kind or "request", model, strict, jobs, report_file))
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    if source == "auto":
        source, kind = formats.guessed(data, kind)
        click.echo(f"read as {source} {kind}", err=True)
    value = formats.read(data, source, kind or "request", model)
    written = formats.write(value, target, source, model, taken_here(model, target))
    pretty = sys.stdout.isatty() if pretty is None else pretty
    put(formats.to_bytes(written.wire, pretty) + b"\n")
    _tell(written.report, report_file)
    if strict and written.report:
        sys.exit(3)


def _open(file: str) -> IO[bytes]:
    return sys.stdin.buffer if file == "-" else Path(file).open("rb")


def _tell(report: Report, report_file: str | None) -> None:
    if report_file:
        Path(report_file).write_bytes(report.to_json() + b"\n")
    if report:
        click.echo(shown(str(report)), err=True)


def _stream(
    file: str,
    source: str,
    target: str,
    model: str | None,
    strict: bool,
    lines: bool,
    report_file: str | None,
) -> int:
    """A recorded stream, said piece by piece as it arrives."""
    from interlingua.dialects.registry import dialects
    from interlingua.streams.convert import stream_convert

    for option, name in (("--from", source), ("--to", target)):
        if name not in dialects() and name != "auto":
            raise click.BadParameter(f"{name} has no streams", param_hint=option)
    if lines:
        raise click.UsageError("--lines and --kind stream do not go together")
    with _open(file) as data:
        chunks = iter(lambda: data.read1(_CHUNK), b"")  # type: ignore[attr-defined]  # buffered
        if source == "auto":
            source, chunks = _recognized(chunks)
            click.echo(f"read as {source} stream", err=True)
        converted = stream_convert(chunks, source, target, model)
        for piece in converted:
            put(piece)
    _tell(converted.report, report_file)
    return 3 if strict and converted.report else 0


_CHUNK = 64 * 1024


def _recognized(chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The dialect that the first frame tells, and all chunks again."""
    from interlingua.errors import DetectError
    from interlingua.streams.detect import detect_stream

    seen = b""
    for chunk in chunks:
        seen += chunk
        name = detect_stream(seen)
        if name is not None:
            return name, chain((seen,), chunks)
    raise DetectError("the stream ended before its dialect could be told")


def _lines(
    file: str,
    source: str,
    target: str,
    kind: str,
    model: str | None,
    strict: bool,
    jobs: int | None,
    report_file: str | None,
) -> int:
    from interlingua.cli.lines import Job, convert_lines

    job = Job(source, target, kind, model)
    total = Path(file).stat().st_size if file != "-" else None
    failed = losses = count = 0
    with _open(file) as lines, _progress(total) as bar:
        for done in convert_lines(lines, job, jobs, None if file == "-" else file):
            put(done.output)
            for number, problem in done.failed:
                click.echo(f"line {number}: {shown(problem)}", err=True)
            failed, losses, count = (
                failed + len(done.failed),
                losses + done.losses,
                count + done.lines,
            )
            bar(done.size)
    click.echo(f"{count} lines, {failed} not readable, {losses} losses", err=True)
    if report_file:
        import msgspec

        told = {"lines": count, "failed": failed, "losses": losses}
        Path(report_file).write_bytes(msgspec.json.encode(told) + b"\n")
    return 1 if failed else 3 if strict and losses else 0


class _progress:  # noqa: N801  # used like a function
    """A bar on a terminal, silence elsewhere."""

    def __init__(self, total: int | None) -> None:
        self._bar: Any = None
        if sys.stderr.isatty() and not sys.stdout.isatty():
            self._bar = click.progressbar(length=total or 0, label="converting", file=sys.stderr)

    def __enter__(self) -> Any:
        if self._bar is None:
            return lambda size: None
        return self._bar.__enter__().update

    def __exit__(self, *ending: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(*ending)
