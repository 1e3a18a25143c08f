"""`interlingua check`: the laws on a file of the user's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from interlingua.cli import formats
from interlingua.cli.documents import bodies, known, named, shape_of
from interlingua.cli.inputs import Input, opened
from interlingua.cli.main import shown
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import InterlinguaError
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.rules import validate
from interlingua.pointer import difference

if TYPE_CHECKING:
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame


@click.command("check", help="Check that your own files survive reading and writing.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option(
    "-f", "--from", "source", default="auto", help="The source format; detected if not given."
)
@click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="What the data is; detected if not given.",
)
@click.option("--lines", is_flag=True, help="Treat each line as one conversation.")
def command(file: str, source: str, kind: str | None, lines: bool) -> None:
    if source != formats.AUTO and source not in dialects():
        raise click.UsageError(NO_LAWS)
    count = failed = 0
    with opened(file) as given:
        for place, problems in _checked(given, source, kind, lines):
            count += 1
            failed += bool(problems)
            for problem in problems:
                click.echo(f"{place}{shown(problem)}")
    click.echo(f"{count - failed} of {count} keep the laws", err=True)
    sys.exit(1 if failed else 0)


NO_LAWS = f"laws are kept by dialects: {', '.join(dialects())}"


def _checked(
    given: Input, source: str, kind: str | None, lines: bool
) -> Iterator[tuple[str, list[str]]]:
    """What is wrong with each conversation of a file, and where it is."""
    shape = "stream" if kind == "stream" else shape_of(given, lines)
    if shape == "stream":
        from interlingua.cli.recordings import recording

        yield "", check_stream(*recording(given, source))
        return
    for body in bodies(given, shape == "lines"):
        place = "" if body.line is None else f"line {body.line}: "
        try:
            with named(given, body):
                yield place, check(body.data, *known(given, body, source, kind))
        except InterlinguaError as error:
            if body.line is None:
                raise
            yield place, [str(error)]


def check(data: bytes, source: str, kind: str) -> list[str]:
    """What is wrong: the first difference on the way home, as a JSON pointer, and the like."""
    if source not in dialects():
        raise click.UsageError(f"it is {source}, and {NO_LAWS}")
    problems = []
    if (twice := codec.duplicate_key(data)) is not None:
        problems.append(f"a key twice: {twice}")
    value = formats.read(data, source, kind)
    if isinstance(wire := codec.parse(data, source), list) and kind == "request":
        wire = {traits_of(source).messages: wire}  # they came alone
    problems += _home(value, source, wire)
    stored = codec.loads(codec.dumps(value), type(value), strict=True)
    found = difference(wire, _write(stored, source).wire)
    problems += [f"home, through storage: {found}"] if found else []
    problems += [f"odd: {violation}" for violation in validate(value)]
    return problems


def check_stream(source: str, chunks: Iterator[bytes]) -> list[str]:
    """The same of a stream: its frames come home, it may be cut into any pieces, and it ends."""
    from interlingua.cli.recordings import Recording, events_of, frames_of
    from interlingua.streams.fold import fold

    data = b"".join(chunks)
    frames = list(frames_of(Recording(source, iter((data,)))))
    pieces = (data[at : at + 1] for at in range(len(data)))
    problems = []
    if list(frames_of(Recording(source, pieces))) != frames:
        problems.append("cut into single bytes, it has other frames")
    events = list(events_of(source, iter(frames)))
    problems += _frames_home(source, frames, events)
    response = fold(events)
    if response.error is not None:
        problems.append(f"its end: {response.error.message}")
    return problems + [f"odd: {violation}" for violation in validate(response)]


def _frames_home(source: str, frames: list[Frame], events: list[Event]) -> list[str]:
    writer = dialect(source).stream_writer()
    back = [frame for event in events for frame in writer.feed(event)] + writer.close()
    for number, (one, other) in enumerate(zip(frames, back, strict=False), 1):
        if found := difference(_said(one), _said(other)):
            return [f"home, frame {number}: {found}"]
    if len(frames) != len(back):
        return [f"home: {len(frames)} frames come back as {len(back)}"]
    return []


def _said(frame: Frame) -> Any:
    """A frame as JSON; marks such as `[DONE]` as text."""
    try:
        return codec.parse(frame.data, "frame")
    except InterlinguaError:
        return frame.data


def _home(value: Request | Response, source: str, wire: Any) -> list[str]:
    written = _write(value, source)
    found = difference(wire, written.wire)
    problems = [f"home: {found}"] if found else []
    return problems + [f"reported at home: {loss}" for loss in written.report]


def _write(value: Request | Response, source: str) -> Any:
    writer = dialect(source)
    if isinstance(value, Request):
        return writer.write_request(value)
    return writer.write_response(value)
