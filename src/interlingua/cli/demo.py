"""`interlingua demo`: the request that is shipped, in the form of every provider."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect, dialects
from interlingua.formats import CANONICAL, write
from interlingua.model import codec
from interlingua.model.blocks import TYPE_OF
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

WIDTH = 94
ASKED: dict[str, str] = {
    "openai-chat": "openai:gpt-5",
    "openai-responses": "openai:gpt-5",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "gemini": "gemini:gemini-2.5-pro",
    "ollama": "ollama:llama3.2",
    "bedrock": "bedrock:amazon.nova-pro-v1:0",
    "openrouter": "openrouter:openai/gpt-5",
}
"""Which model each dialect is shown with; of one that is not here, none is named."""


def example() -> list[Message]:
    data = files("interlingua").joinpath("examples/conversation.json").read_bytes()
    return codec.loads(data, list[Message], strict=True)


def example_request() -> Request:
    """The example up to the last question that is open, with the tool that was called."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    tool = ToolDefinition("search_handbook", "Search the gardener's handbook.", schema)
    options = Options(max_output_tokens=400, seed=7)
    return Request(tuple(example()[:-1]), None, (tool,), options)


def in_each_dialect(request: Request) -> dict[str, Written]:
    return {name: write(request, name, CANONICAL, ASKED.get(name)) for name in dialects()}


@click.command("demo", help="Show a conversion of the bundled example.")
@click.option("--json", "as_json", is_flag=True, help="Print the results and their losses as JSON.")
def command(as_json: bool) -> None:
    request = example_request()
    forms = in_each_dialect(request)
    if as_json:
        sys.stdout.buffer.write(_as_json(request, forms) + b"\n")
        return
    click.echo(f"One request: {len(request.messages)} messages, a tool, a seed.")
    for message in request.messages:
        click.echo(f"  {message.role:<10} {_line(_described(message))}")
    click.echo("\nIn the form of each provider, with what it cannot say:")
    for name, form in forms.items():
        _show(name, form)
    click.echo("\nThe same with a file of yours: interlingua convert FILE --to FORMAT")


def _as_json(request: Request, forms: dict[str, Written]) -> bytes:
    told = {
        name: {"wire": form.wire, "model": form.model, "losses": form.report.losses}
        for name, form in forms.items()
    }
    return msgspec.json.encode({"request": msgspec.Raw(codec.dumps(request)), "dialects": told})


def _show(name: str, form: Written) -> None:
    losses = form.report.losses
    counts = Counter(loss.kind for loss in losses)
    lost = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    click.echo(f"\n{name}: {dialect(name).title}, {len(form.json()):,} bytes for {form.model}")
    click.echo(f"  {_line(_call(form.wire, dialect(name).traits.messages))}")
    click.echo(f"  lost: {lost or 'nothing'}")
    for loss in losses:
        if loss.severity != "info":
            click.echo(f"    {_line(str(loss))}")


def _call(wire: Any, messages: str) -> str:
    """The part with the call, which looks different in each dialect."""
    return next((text for text in _smallest(wire[messages]) if "search_handbook" in text), "")


def _smallest(parts: Sequence[Any]) -> list[str]:
    """Parts of messages, then messages, as JSON."""
    inner = [
        part
        for each in parts
        for key in ("content", "parts", "tool_calls")
        if isinstance(each.get(key), list)
        for part in each[key]
    ]
    return [msgspec.json.encode(each).decode() for each in (*inner, *parts)]


def _described(message: Message) -> str:
    words = [TYPE_OF[type(block)] for block in message.content]
    return f"{' + '.join(words)}: {message.text}" if message.text else " + ".join(words)


def _line(text: str) -> str:
    """One line of a terminal."""
    text = shown(text.replace("\n", " "))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
