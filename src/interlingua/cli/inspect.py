"""`interlingua inspect`: a conversation in any format, for people to read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from interlingua.adapt.presets import PRESETS
from interlingua.cli import formats
from interlingua.cli.documents import Body, bodies, known, named, shape_of
from interlingua.cli.files import Input, all_files, bytes_of, opened
from interlingua.cli.main import INTERRUPTED, put, shown
from interlingua.cli.options import input_options
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError, InterlinguaError
from interlingua.model import codec
from interlingua.model.base import difference
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.human import plural
from interlingua.model.message import Message
from interlingua.model.rules import validate

if TYPE_CHECKING:
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame


WIDTH = 100


@click.command(
    "inspect", help="Show conversations in any format: of files, folders or standard input."
)
@input_options
@click.option("--full", is_flag=True, help="Show full texts instead of their beginnings.")
@click.option("--json", "as_json", is_flag=True, help="Print the canonical form as JSON.")
def command(
    files: tuple[str, ...],
    source: str,
    kind: str | None,
    lines: bool,
    full: bool,
    as_json: bool,
) -> None:
    from interlingua.cli.terminal import complain, progress

    formats.required(source, "--from")
    if source not in (formats.AUTO, *formats.names(), *PRESETS):
        hint = f"{source} has sessions of an agent: interlingua transcripts show FILE"
        raise click.BadParameter(hint, param_hint="--from")
    names = all_files(files)
    found = [_each(name, source, kind, lines, len(names) > 1) for name in names]
    failed = count = 0
    is_seen = sys.stdout.isatty()
    with progress("reading", bytes_of(names), is_seen, "conversations") as done:
        try:
            for count, one in enumerate(chain.from_iterable(found)):
                if isinstance(one, InterlinguaError):
                    failed += 1
                    complain(f"interlingua: {one}")
                elif as_json:
                    written = formats.write(one.value, formats.CANONICAL, one.source)
                    is_pretty = is_seen and not one.line and len(names) == 1
                    put(formats.to_bytes(written.wire, is_pretty) + b"\n")
                else:
                    click.echo("\n" if count else "", nl=False)
                    _tell(one, full)
                done(0 if isinstance(one, InterlinguaError) else one.size)
        except KeyboardInterrupt:
            _interrupted("read", count, names, "the next one")
    sys.exit(1 if failed else 0)


def _each(
    name: str, source: str, kind: str | None, lines: bool, among_others: bool
) -> Iterator[InspectedConversation | InterlinguaError]:
    """Inspect the contents of a file; with its name if it is one of several."""
    try:
        with opened(name) as input:
            for found in _all(input, source, kind, lines):
                if among_others and isinstance(found, InspectedConversation):
                    found = found._replace(file=name)
                yield found
    except InterlinguaError as error:
        if not among_others:
            raise
        yield error if str(error).startswith(name) else DetectError(f"{name}: {error}")


class InspectedConversation(NamedTuple):
    """A conversation, with its format and source."""

    source: str
    what: str
    value: Request | Response
    line: int | None = None
    file: str | None = None
    odd: tuple[str, ...] = ()
    """The broken rules, as text."""
    size: int = 0
    """Bytes of its file."""


def _all(
    input: Input, source: str, kind: str | None, lines: bool
) -> Iterator[InspectedConversation | InterlinguaError]:
    """The contents of a file; an unreadable line among many is an error in its place."""
    shape = "stream" if kind == "stream" else shape_of(input, lines)
    if shape == "stream":
        yield _folded(input, source)
        return
    for body in bodies(input, shape == "lines"):
        try:
            with named(input, body):
                name, which = known(input, body, source, kind)
                value = formats.read(body.data, name, which)
                odd = tuple(_odd(value, input.name, body, name, which))
                yield InspectedConversation(
                    name, which, value, body.line, odd=odd, size=len(body.data)
                )
        except InterlinguaError as error:
            if body.line is None:
                raise
            yield error


def _folded(input: Input, source: str) -> InspectedConversation:
    from interlingua.cli.documents import events_of, frames_of, recording
    from interlingua.streams.fold import fold

    recorded = recording(input, source)
    value = fold(events_of(recorded.source, frames_of(recorded)))
    odd = tuple(map(str, validate(value)))
    return InspectedConversation(recorded.source, "stream", value, odd=odd)


def _odd(value: Request | Response, file: str, body: Body, source: str, kind: str) -> list[str]:
    """The rules that a conversation breaks, with their places in the file."""
    found = validate(value)
    if not found:
        return []
    from interlingua.adapt.places import Source
    from interlingua.cli.documents import odd_lines

    return odd_lines(found, file, body, Source(body.data, source, formats.read, (source, kind)))


def _tell(found: InspectedConversation, full: bool) -> None:
    value = found.value
    parts = [shown(found.file) if found.file else "", f"line {found.line}" if found.line else ""]
    place = ", ".join(part for part in parts if part)
    click.echo(f"{place}{': ' if place else ''}{found.source} {found.what}{_head(value)}")
    messages = value.messages if isinstance(value, Request) else (value.message,)
    for number, message in enumerate(messages):
        _show(message, number, full)
    if isinstance(value, Response) and value.error is not None:
        click.echo(f"error: {shown(value.error.message)}")
    for problem in found.odd:
        click.echo(shown(problem))


def _head(value: Request | Response) -> str:
    if isinstance(value, Request):
        messages, tools = len(value.messages), len(value.tools)
        parts = [value.model or "", plural(messages, "message"), plural(tools, "tool")]
    else:
        metadata = value.message.metadata
        usage = metadata.usage
        tokens = f"{usage.prompt_tokens} in, {usage.output_tokens} out" if usage else ""
        parts = [metadata.response_model or "", str(metadata.stop_reason or ""), tokens]
    return shown(": " + ", ".join(part for part in parts if part))


def _show(message: Message, number: int, full: bool) -> None:
    click.echo(
        f"\n[{number}] {message.role.value}{' ' + shown(message.name) if message.name else ''}"
    )
    for block in message.content:
        text = shown(_text(block))
        if not full and len(text) > WIDTH:
            text = f"{text[:WIDTH]}… ({len(text)} characters)"
        click.echo(f"    {block.type}: {text}")


def _text(block: Block) -> str:
    match block:
        case ToolUseBlock():
            return f"{block.name}({block.input}) as {block.id}"
        case ToolResultBlock():
            inner = " ".join(_text(part) for part in block.content)
            return f"{'failed ' if block.is_error else ''}of {block.tool_use_id}: {inner}"
        case UnknownBlock():
            return str(block.raw)
        case _:
            text = getattr(block, "text", None)
            if text is None and hasattr(block, "source"):
                source = block.source
                text = source.data if source.kind in ("url", "file_id", "text") else source.kind
            signed = " (signed)" if getattr(block, "signature", None) else ""
            return f"{text or getattr(block, 'media_type', None) or ''}{signed}".replace("\n", " ")


@click.command(
    "check", help="Check that files survive a round trip: reading and writing them again."
)
@input_options
def check_command(files: tuple[str, ...], source: str, kind: str | None, lines: bool) -> None:
    from interlingua.cli.terminal import progress

    if source != formats.AUTO and source not in dialects():
        raise click.UsageError(NO_LAWS)
    names = all_files(files)
    count = failed = 0
    alone = len(names) == 1
    with progress("checking", bytes_of(names), unit="conversations") as done:
        try:
            for name in names:
                for size, problems in _checked_file(name, source, kind, lines, not alone):
                    count += 1
                    failed += bool(problems)
                    for problem in problems:
                        click.echo(shown(problem))
                    done(size)
        except KeyboardInterrupt:
            _interrupted("checked", count, names, name)
    click.echo(f"{count - failed:,} of {count:,} unchanged after a round trip", err=True)
    sys.exit(1 if failed else 0)


def _interrupted(what: str, count: int, names: list[str], name: str) -> None:
    """Says how far it got, and how to continue."""
    from interlingua.cli.terminal import complain

    some = f"interrupted: {what} {plural(count, 'conversation')}"
    if len(names) > 1:
        complain(f"{some}; stopped in {name}; pass the files from there on to continue")
    else:
        complain(f"{some}; run the same command again")
    sys.exit(INTERRUPTED)


NO_LAWS = f"check works for these formats only: {', '.join(dialects())}"


def _checked_file(
    name: str, source: str, kind: str | None, lines: bool, among_others: bool
) -> Iterator[tuple[int, list[str]]]:
    """The size of each conversation of a file, and its problems; if it is one of several files,
    with its name."""
    try:
        with opened(name) as input:
            for line, size, problems in _checked(input, source, kind, lines):
                parts = [name if among_others else "", f"line {line}" if line else ""]
                place = ", ".join(part for part in parts if part)
                # Some begin with their place already.
                start = "" if not place else f"{place}: "
                own = (f"{input.name}:", f"{input.name} ")
                yield (
                    size,
                    [each if each.startswith(own) else f"{start}{each}" for each in problems],
                )
    except (InterlinguaError, click.UsageError) as error:
        if not among_others:
            raise
        yield 0, [str(error) if str(error).startswith(name) else f"{name}: {error}"]


def _checked(
    input: Input, source: str, kind: str | None, lines: bool
) -> Iterator[tuple[int | None, int, list[str]]]:
    """The line of each conversation of a file, its size, and its problems."""
    shape = "stream" if kind == "stream" else shape_of(input, lines)
    if shape == "stream":
        from interlingua.cli.documents import recording

        yield None, 0, check_stream(*recording(input, source))
        return
    for body in bodies(input, shape == "lines"):
        try:
            with named(input, body):
                problems = check(input.name, body, *known(input, body, source, kind))
        except InterlinguaError as error:
            if body.line is None:
                raise
            problems = [str(error)]
        yield body.line, len(body.data), problems


def check(name: str, body: Body, source: str, kind: str) -> list[str]:
    """The problems of a body: the first difference after a round trip, as a JSON pointer, and
    others."""
    if source not in dialects():
        raise click.UsageError(f"it is {source}, and {NO_LAWS}")
    from interlingua.cli.documents import changed_line

    data = body.data
    problems = []
    if (twice := codec.duplicate_key(data)) is not None:
        problems.append(f"duplicate key: {twice}")
    value = formats.read(data, source, kind)
    wire = codec.parse(data, source)
    if is_alone := isinstance(wire, list) and kind == "request":
        wire = {traits_of(source).messages: wire}
    written = _write(value, source)
    if found := difference(wire, written.wire):
        problems.append(changed_line("changed", found, name, body, is_alone))
    problems += [f"loss without conversion: {loss}" for loss in written.report.entries]
    stored = codec.loads(codec.dumps(value), type(value), strict=True)
    if found := difference(wire, _write(stored, source).wire):
        problems.append(changed_line("changed by storing", found, name, body, is_alone))
    return problems + _odd(value, name, body, source, kind)


def check_stream(source: str, chunks: Iterator[bytes]) -> list[str]:
    """The same of a stream: its frames come back, it may be cut into any pieces, and it ends."""
    from interlingua.cli.documents import Recording, events_of, frames_of
    from interlingua.streams.fold import fold

    data = b"".join(chunks)
    frames = list(frames_of(Recording(source, iter((data,)))))
    pieces = (data[at : at + 1] for at in range(len(data)))
    problems = []
    if list(frames_of(Recording(source, pieces))) != frames:
        problems.append("read byte by byte, it has different frames")
    events = list(events_of(source, iter(frames)))
    problems += _frames_home(source, frames, events)
    response = fold(events)
    if response.error is not None:
        problems.append(f"incomplete: {response.error.message}")
    return problems + list(map(str, validate(response)))


def _frames_home(source: str, frames: list[Frame], events: list[Event]) -> list[str]:
    writer = dialect(source).stream_writer()
    back = [frame for event in events for frame in writer.feed(event)] + writer.close()
    for number, (one, other) in enumerate(zip(frames, back, strict=False), 1):
        if found := difference(_parsed(one), _parsed(other)):
            return [f"changed in frame {number}: {found}"]
    if len(frames) != len(back):
        return [f"changed: {len(frames)} frames come back as {len(back)}"]
    return []


def _parsed(frame: Frame) -> Any:
    """A frame as JSON; marks such as `[DONE]` as text."""
    try:
        return codec.parse(frame.data, "frame")
    except InterlinguaError:
        return frame.data


def _write(value: Request | Response, source: str) -> Any:
    writer = dialect(source)
    if isinstance(value, Request):
        return writer.write_request(value)
    return writer.write_response(value)
