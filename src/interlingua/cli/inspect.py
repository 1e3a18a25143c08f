"""`interlingua inspect`: a conversation for people to read, whatever format it is in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import click

from interlingua.cli import formats
from interlingua.cli.documents import bodies, known, named, shape_of
from interlingua.cli.inputs import Input, opened
from interlingua.cli.main import put, shown
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import TYPE_OF, Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from interlingua.model.rules import validate

WIDTH = 100


@click.command("inspect", help="Show a conversation in any format.")
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
@click.option("--full", is_flag=True, help="Show full texts instead of their beginnings.")
@click.option("--json", "as_json", is_flag=True, help="Print the canonical form as JSON.")
def command(
    file: str, source: str, kind: str | None, lines: bool, full: bool, as_json: bool
) -> None:
    formats.required(source, "--from")
    failed = 0
    with opened(file) as given:
        for shown_before, found in enumerate(_all(given, source, kind, lines)):
            if isinstance(found, InterlinguaError):
                failed += 1
                click.echo(f"interlingua: {shown(str(found))}", err=True)
            elif as_json:
                written = formats.write(found.value, formats.CANONICAL, found.source)
                put(formats.to_bytes(written.wire, sys.stdout.isatty() and not found.line) + b"\n")
            else:
                click.echo("\n" if shown_before else "", nl=False)
                _tell(found, full)
    sys.exit(1 if failed else 0)


class InspectedConversation(NamedTuple):
    """A conversation, and what it was read from."""

    source: str
    what: str
    value: Request | Response
    line: int | None = None


def _all(
    given: Input, source: str, kind: str | None, lines: bool
) -> Iterator[InspectedConversation | InterlinguaError]:
    """What is in a file; what cannot be read of one among many lines is an error in its place."""
    shape = "stream" if kind == "stream" else shape_of(given, lines)
    if shape == "stream":
        yield _folded(given, source)
        return
    for body in bodies(given, shape == "lines"):
        try:
            with named(given, body):
                name, which = known(given, body, source, kind)
                yield InspectedConversation(
                    name, which, formats.read(body.data, name, which), body.line
                )
        except InterlinguaError as error:
            if body.line is None:
                raise
            yield error


def _folded(given: Input, source: str) -> InspectedConversation:
    from interlingua.cli.recordings import events_of, frames_of, recording
    from interlingua.streams.fold import fold

    recorded = recording(given, source)
    return InspectedConversation(
        recorded.source, "stream", fold(events_of(recorded.source, frames_of(recorded)))
    )


def _tell(found: InspectedConversation, full: bool) -> None:
    value = found.value
    place = "" if found.line is None else f"line {found.line}: "
    click.echo(f"{place}{found.source} {found.what}{_head(value)}")
    messages = value.messages if isinstance(value, Request) else (value.message,)
    for number, message in enumerate(messages):
        _show(message, number, full)
    if isinstance(value, Response) and value.error is not None:
        click.echo(f"error: {shown(value.error.message)}")
    for violation in validate(value):
        click.echo(f"odd: {shown(str(violation))}")


def _head(value: Request | Response) -> str:
    if isinstance(value, Request):
        parts = [value.model or "", f"{len(value.messages)} messages", f"{len(value.tools)} tools"]
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
        text = shown(_said(block))
        if not full and len(text) > WIDTH:
            text = f"{text[:WIDTH]}… ({len(text)} characters)"
        click.echo(f"    {TYPE_OF[type(block)]}: {text}")


def _said(block: Block) -> str:
    match block:
        case ToolUseBlock():
            return f"{block.name}({block.input}) as {block.id}"
        case ToolResultBlock():
            inner = " ".join(_said(part) for part in block.content)
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
