"""`interlingua inspect`: a conversation for people to read, whatever format it is in."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from interlingua.cli import formats
from interlingua.cli.main import put, shown
from interlingua.model.blocks import TYPE_OF, Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from interlingua.model.rules import validate

WIDTH = 100


@click.command("inspect", help="Show a conversation, whatever format it is in.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option("--from", "source", default="auto", help="The format it is in; auto finds out.")
@click.option("--kind", type=click.Choice(["request", "response"]), help="Which of the two it is.")
@click.option("--full", is_flag=True, help="Whole texts, not only their beginnings.")
@click.option("--json", "as_json", is_flag=True, help="The canonical form as JSON.")
def command(file: str, source: str, kind: str | None, full: bool, as_json: bool) -> None:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    if source == "auto":
        source, kind = formats.guessed(data, kind)
    value = formats.read(data, source, kind or "request")
    if as_json:
        written = formats.write(value, formats.CANONICAL, source)
        put(formats.to_bytes(written.wire, sys.stdout.isatty()) + b"\n")
        return
    kind_word = "request" if isinstance(value, Request) else "response"
    click.echo(f"{source} {kind_word}{_head(value)}")
    messages = value.messages if isinstance(value, Request) else (value.message,)
    for number, message in enumerate(messages):
        _show(message, number, full)
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
