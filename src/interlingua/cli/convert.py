"""`interlingua convert`: a conversation of one format, written in another."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from interlingua.adapt.places import Source
from interlingua.adapt.target import Instructions, split_model
from interlingua.cli import formats
from interlingua.cli.documents import Body, known, named, shape_of
from interlingua.cli.files import Input, Put, Shape, opened, written
from interlingua.cli.main import INTERRUPTED, for_commands, shown
from interlingua.cli.options import kind_option, source_option, strict_option
from interlingua.dialects.kernel.wire import parse_spelled
from interlingua.dialects.registry import dialects
from interlingua.errors import DetectError, ReadError
from interlingua.providers.profiles import profile_here

if TYPE_CHECKING:
    from interlingua.dialects.record import Written
    from interlingua.model.events import Event
    from interlingua.model.losses import Report


class ConvertOptions(NamedTuple):
    """The options of the command."""

    source: str
    target: str
    kind: str | None
    model: str | None
    report_file: str | None
    strict: bool
    lines: bool
    envelope: bool
    jobs: int | None
    pretty: bool | None
    instructions: Instructions = "place"
    host: str | None = None
    """The provider that was named as the target, whose own rules are followed."""

    def require_place(self) -> None:
        """Refuse to move instructions where rows are converted in parts."""
        if self.instructions != "place":
            raise click.UsageError("--instructions hoist takes one conversation, not lines or rows")

    def is_pretty(self) -> bool:
        return sys.stdout.isatty() if self.pretty is None else self.pretty

    def exit_code(self, report: Report, name: str = "", body: Body | None = None) -> int:
        """Writes the report, with the lines of a body that has a name; returns the exit code."""
        if self.report_file:
            Path(self.report_file).write_bytes(report.to_json() + b"\n")
        if report or any(note.severity != "info" for note in report.notes):
            from interlingua.cli.terminal import complain

            if body is not None:
                from interlingua.cli.documents import report_with_lines

                report = report_with_lines(report, name, body)
            complain(for_commands(str(report)))
        return 3 if self.strict and report else 0


Convert = Callable[[Input, Put, ConvertOptions], int]


def _list_formats(context: click.Context, option: click.Parameter, is_requested: bool) -> None:
    if is_requested:
        from interlingua.cli.demo import tell_formats

        tell_formats()
        context.exit()


@click.command(
    "convert",
    help="Convert a conversation from one format to another.",
    epilog="Takes a request, a response, a recorded stream, JSON Lines, a list of messages or a"
    " batch, also gzipped. Several files, folders, patterns and .parquet are converted row by row;"
    " an interrupted run continues when started again. Losses are reported on standard error."
    " Exit codes: 0 done; 1 unreadable input, or a stream that was cut off; 2 wrong usage; 3 losses"
    " with --strict.",
)
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]...")
@source_option
@click.option("-t", "--to", "target", required=True, help="The target format.")
@click.option(
    "-o", "--output", type=click.Path(), help="The output file, or the folder for several."
)
@kind_option
@click.option(
    "-m",
    "--model",
    help="The target's model, by name, alias or <provider>:<name>; the request is adapted to it.",
)
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False),
    help="Write the losses to a file, as JSON.",
)
@strict_option
@click.option("--lines", is_flag=True, help="Convert each line on its own, on all cores.")
@click.option(
    "--envelope",
    is_flag=True,
    help='Write {"ok", "wire", "losses", "error"} for each line, also for failed ones.',
)
@click.option("--jobs", type=click.IntRange(1), help="Number of cores for lines and rows.")
@click.option(
    "--as",
    "parts",
    type=click.Choice(["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]),
    help="Type of the files in the output folder; default: that of the inputs.",
)
@click.option("--bad", type=click.Path(dir_okay=False), help="A file for unreadable rows.")
@click.option(
    "--restart", is_flag=True, help="Start over instead of continuing an interrupted run."
)
@click.option(
    "--pretty/--compact", default=None, help="Indent the output; default: only on a terminal."
)
@click.option(
    "--instructions",
    type=click.Choice(["place", "hoist"]),
    default="place",
    show_default=True,
    help="Leave instructions in mid-conversation in place, or move them to the front.",
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
    conversion = _resolved(ConvertOptions(**options))
    files = files or ("-",)
    if _are_rows(files, output, conversion):
        conversion.require_place()
        from interlingua.cli.convert_many import convert_rows

        sys.exit(convert_rows(files, output, conversion, parts, bad, restart))
    ONE.convert(files[0], None, click.get_current_context())
    try:
        with opened(files[0]) as input, written(output) as put:
            code = convert(input, put, conversion)
    except KeyboardInterrupt:
        left = f"; {output} is unchanged" if output else ""
        click.echo(f"interrupted{left}; run the same command again", err=True)
        code = INTERRUPTED
    sys.exit(code)


def _resolved(options: ConvertOptions) -> ConvertOptions:
    """The options with formats by their own names in place of aliases and providers."""
    from interlingua.adapt.formats import format_named

    source, (target, host) = format_named(options.source).name, format_named(options.target)
    formats.required(source, "--from")
    formats.required(target, "--to")
    return options._replace(source=source, target=target, host=host)


ONE = click.Path(exists=True, dir_okay=False, allow_dash=True)


def _are_rows(files: tuple[str, ...], output: str | None, options: ConvertOptions) -> bool:
    """Whether these are files of rows; all else is one conversation, lines of them, or a stream."""
    if options.kind == "stream" and len(files) == 1:
        return False
    names = [*files, output or ""]
    if len(files) > 1 or any(name.endswith(".parquet") or _is_many(name) for name in names):
        return True
    needs_lines = options.envelope or options.report_file is not None or files[0] == output
    return (
        not needs_lines
        and all(name.endswith(ROWS) for name in names)
        and _has_rows(files[0], options)
    )


def _has_rows(file: str, options: ConvertOptions) -> bool:
    """Whether each line is a conversation, and the file no stream and no session of an agent."""
    from interlingua.cli.convert_many import is_one

    with opened(file) as input:
        if input.shape() != "lines" or options.source not in (formats.AUTO, *formats.names()):
            return False
        return options.source != formats.AUTO or is_one(input.first_line())


ROWS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")


def _is_many(name: str) -> bool:
    """A folder, there or not yet, or a pattern."""
    if os.path.exists(name):
        return os.path.isdir(name)
    return name.endswith(os.sep) or any(mark in name for mark in "*?[")


def convert(input: Input, put: Put, options: ConvertOptions) -> int:
    if options.kind == "stream":
        return _stream(input, put, options)
    if options.source not in (formats.AUTO, *formats.names()):
        return _transcripts(input, put, options)
    return WAYS[shape_of(input, options.lines or options.envelope)](input, put, options)


def _one(input: Input, put: Put, options: ConvertOptions) -> int:
    body = Body(input.read())
    with named(input, body):
        try:
            source, kind = known(input, body, options.source, options.kind)
        except DetectError:
            if (way := _another_way(input)) is None:
                raise
            return way(input, put, options)
        if options.source == formats.AUTO:
            click.echo(f"read as {source} {kind}", err=True)
        value = formats.read(parse_spelled(body.data) or body.data, source, kind, options.model)
        profile = profile_here(options.model, options.target)
        how = (options.model, profile, options.instructions, options.host)
        done = formats.write(value, options.target, source, *how)
        how_read = (source, kind, options.model)
        done.report.source = Source(body.data, source, formats.read, how_read)
    put(formats.to_bytes(done.wire, options.is_pretty()) + b"\n")
    code = options.exit_code(done.report, input.name, body)
    _tell_url(done)
    return code


def _tell_url(done: Written) -> None:
    """Prints the model, if it is not part of the body."""
    wire = done.wire
    if done.model and isinstance(wire, dict) and ("contents" in wire or "inferenceConfig" in wire):
        click.echo(shown(f"the model goes into the URL, not the body: {done.model}"), err=True)


def _another_way(input: Input) -> Convert | None:
    """For JSON that is neither a request nor a response: whether it is a list of them, a row of
    a batch, or the session of some agent."""
    from interlingua.cli.convert_many import are_conversations, session_way

    return _lines if are_conversations(input) else session_way(input)


def _transcripts(input: Input, put: Put, options: ConvertOptions) -> int:
    from interlingua.adapt.batches import NAMES
    from interlingua.cli.convert_many import convert_sessions

    shape_of(input)
    if options.source in NAMES:  # each row names its format
        return _lines(input, put, options._replace(source=formats.AUTO))
    return convert_sessions(options.source, input, put, options)


def _lines(input: Input, put: Put, options: ConvertOptions) -> int:
    from interlingua.cli.convert_many import convert_lines

    return convert_lines(input, put, options)


def _stream(input: Input, put: Put, options: ConvertOptions) -> int:
    """Converts a recorded stream piece by piece as it arrives."""
    from interlingua.adapt.stream_convert import StreamConverter
    from interlingua.adapt.stream_places import StreamSource
    from interlingua.cli.documents import recording

    if options.kind not in (None, "stream"):
        raise click.UsageError(f"{input.name} is a stream, not a {options.kind}: use --kind stream")
    if options.lines or options.envelope:
        raise click.UsageError("--lines and --envelope are not for streams")
    if options.target not in dialects():
        raise click.BadParameter(f"{options.target} has no streams", param_hint="--to")
    source, chunks = recording(input, options.source)
    if options.source == formats.AUTO:
        click.echo(f"read as {source} stream", err=True)
    end = _End(options.model)
    converter = StreamConverter(source, options.target, options.model, end.watch)
    frames = StreamSource(source)
    try:
        for chunk in chunks:
            frames.add(chunk)
            put(converter.feed(chunk))
        end.is_near = True
        put(converter.close())
    except ReadError as error:
        put(converter.fail(error))
        raise
    converter.report.source = frames
    code = options.exit_code(converter.report)
    if end.cut is not None:
        click.echo(shown(f"interlingua: {input.name} ended early: {end.cut}"), err=True)
        return 1
    return code


class _End:
    """Watches a stream: replaces the model's name, and notes whether it was cut. An error that the
    provider itself sent is an end like any other."""

    def __init__(self, model: str | None) -> None:
        self.is_near = False
        self.cut: str | None = None
        self._model = None if model is None else split_model(model)[1]

    def watch(self, event: Event) -> Event:
        from interlingua.adapt.convert import with_model
        from interlingua.model.events import MessageComplete, MessageStart, StreamError

        if isinstance(event, StreamError) and self.is_near:
            self.cut = event.error.message
        if self._model is not None and isinstance(event, MessageStart):
            return event.replace(model=self._model)
        if self._model is not None and isinstance(event, MessageComplete):
            return event.replace(response=with_model(event.response, self._model))
        return event


WAYS: dict[Shape, Convert] = {"json": _one, "lines": _lines, "stream": _stream}
"""The conversion for each shape of input."""
