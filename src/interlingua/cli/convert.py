"""`interlingua convert`: a conversation of one format, said in another."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from interlingua.cli import formats
from interlingua.cli.conversion import ConvertOptions, tell
from interlingua.cli.documents import Body, known, named, shape_of
from interlingua.cli.inputs import Input, Shape, opened
from interlingua.cli.main import shown
from interlingua.cli.outputs import Put, written
from interlingua.errors import DetectError
from interlingua.providers.profiles import profile_here

if TYPE_CHECKING:
    from interlingua.dialects.record import Written


def _list_formats(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from interlingua.cli.dialects import tell_formats

        tell_formats()
        context.exit()


@click.command(
    "convert",
    help="Convert a conversation from one format to another.",
    epilog="A request, a response, a recorded stream, JSON Lines, messages alone, batches; gzip or"
    " not. Several files, folders, patterns, and .parquet are converted row by row; a run that was"
    " killed goes on when it is started again. What could not be said is told on standard error."
    " Exit 0; 1 for what cannot be read, and streams that were cut; 2 for wrong usage; 3 for losses"
    " with --strict.",
)
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]...")
@click.option(
    "-f", "--from", "source", default="auto", help="The source format; detected if not given."
)
@click.option("-t", "--to", "target", required=True, help="The target format.")
@click.option(
    "-o", "--output", type=click.Path(), help="The output file, or the folder for several."
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="What the data is; detected if not given.",
)
@click.option(
    "-m",
    "--model",
    help="Set the model; with <provider>:<name>, adapt the request to what it accepts.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False),
    help="Write the losses to a file, as JSON.",
)
@click.option("--strict", is_flag=True, help="Exit with code 3 if anything is lost.")
@click.option("--lines", is_flag=True, help="Convert each line on its own, on all cores.")
@click.option(
    "--envelope", is_flag=True, help='Lines of {"ok", "wire", "losses", "error"}, also for flaws.'
)
@click.option("--jobs", type=click.IntRange(1), help="Number of cores for lines and rows.")
@click.option(
    "--as",
    "parts",
    type=click.Choice(["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]),
    help="What the files of a folder are; default: detected from the first one.",
)
@click.option("--bad", type=click.Path(dir_okay=False), help="A file for unreadable rows.")
@click.option(
    "--restart", is_flag=True, help="Start over instead of continuing an interrupted run."
)
@click.option(
    "--pretty/--compact", default=None, help="Indent the output; default: only on a terminal."
)
@click.option(
    "--list-formats",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_formats,
    help="List all formats and exit.",
)
def command(
    files: tuple[str, ...],
    output: str | None,
    parts: str | None,
    bad: str | None,
    restart: bool,
    **options: Any,
) -> None:
    wish = ConvertOptions(**options)
    formats.required(wish.source, "--from")
    formats.required(wish.target, "--to")
    files = files or ("-",)
    if _are_rows(files, output, wish):
        from interlingua.cli import convert_files

        sys.exit(convert_files.convert(files, output, wish, parts, bad, restart))
    ONE.convert(files[0], None, click.get_current_context())
    with opened(files[0]) as given, written(output) as put:
        code = convert(given, put, wish)
    sys.exit(code)


ONE = click.Path(exists=True, dir_okay=False, allow_dash=True)


def _are_rows(files: tuple[str, ...], output: str | None, wish: ConvertOptions) -> bool:
    """Whether these are files of rows; all else is one conversation, lines of them, or a stream."""
    if wish.kind == "stream" and len(files) == 1:
        return False
    names = [*files, output or ""]
    if len(files) > 1 or any(name.endswith(".parquet") or _is_many(name) for name in names):
        return True
    told = wish.envelope or wish.report_file is not None or files[0] == output
    return not told and all(name.endswith(ROWS) for name in names) and _has_rows(files[0], wish)


def _has_rows(file: str, wish: ConvertOptions) -> bool:
    """Whether each line is a conversation, and the file no stream and no session of an agent."""
    from interlingua.cli.convert_lines import is_one

    with opened(file) as given:
        if given.shape() != "lines" or wish.source not in (formats.AUTO, *formats.names()):
            return False
        return wish.source != formats.AUTO or is_one(given.first_line())


ROWS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")


def _is_many(name: str) -> bool:
    """A folder, there or not yet, or a pattern."""
    if os.path.exists(name):
        return os.path.isdir(name)
    return name.endswith(os.sep) or any(mark in name for mark in "*?[")


def convert(given: Input, put: Put, wish: ConvertOptions) -> int:
    if wish.kind == "stream":
        return _stream(given, put, wish)
    if wish.source not in (formats.AUTO, *formats.names()):
        return _transcripts(given, put, wish)
    return WAYS[shape_of(given, wish.lines or wish.envelope)](given, put, wish)


def _one(given: Input, put: Put, wish: ConvertOptions) -> int:
    body = Body(given.read())
    with named(given, body):
        try:
            source, kind = known(given, body, wish.source, wish.kind)
        except DetectError:
            if (way := _another_way(given, wish)) is None:
                raise
            return way(given, put, wish)
        if wish.source == formats.AUTO:
            click.echo(f"read as {source} {kind}", err=True)
        value = formats.read(body.data, source, kind, wish.model)
        profile = profile_here(wish.model, wish.target)
        done = formats.write(value, wish.target, source, wish.model, profile)
    pretty = sys.stdout.isatty() if wish.pretty is None else wish.pretty
    put(formats.to_bytes(done.wire, pretty) + b"\n")
    tell(done.report, wish.report_file)
    _tell_url(done)
    return 3 if wish.strict and done.report else 0


def _tell_url(done: Written) -> None:
    """The model, where it is no part of the body."""
    wire = done.wire
    if done.model and isinstance(wire, dict) and ("contents" in wire or "inferenceConfig" in wire):
        click.echo(shown(f"the model is no part of the body: {done.model}"), err=True)


def _another_way(
    given: Input, wish: ConvertOptions
) -> Callable[[Input, Put, ConvertOptions], int] | None:
    """For JSON that is no request and no response: whether it is a list of them, a row of a batch,
    or the session of some agent."""
    from interlingua.cli.convert_lines import are_conversations
    from interlingua.cli.convert_transcripts import format_in, sessions

    if are_conversations(given):
        return _lines
    name = format_in(given)
    return None if name is None else sessions(name)


def _transcripts(given: Input, put: Put, wish: ConvertOptions) -> int:
    from interlingua.batches import NAMES
    from interlingua.cli.convert_transcripts import sessions

    shape_of(given)
    if wish.source in NAMES:  # of which each row says what it is
        return _lines(given, put, wish._replace(source=formats.AUTO))
    return sessions(wish.source)(given, put, wish)


def _stream(given: Input, put: Put, wish: ConvertOptions) -> int:
    from interlingua.cli.convert_stream import convert

    return convert(given, put, wish)


def _lines(given: Input, put: Put, wish: ConvertOptions) -> int:
    from interlingua.cli.convert_lines import convert

    return convert(given, put, wish)


WAYS: dict[Shape, Callable[[Input, Put, ConvertOptions], int]] = {
    "json": _one,
    "lines": _lines,
    "stream": _stream,
}
"""What is done with each shape of input."""
