"""`interlingua demo`: the request that is shipped, in the form of every provider."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import click
import msgspec

from interlingua.adapt.formats import CANONICAL, write
from interlingua.cli.main import shown
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect, dialects
from interlingua.model import codec
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.interop import json_schema
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
"""The model for the demonstration of each dialect; dialects without one get no model."""


def example() -> list[Message]:
    data = files("interlingua.cli").joinpath("examples/conversation.json").read_bytes()
    return codec.loads(data, list[Message], strict=True)


def example_request() -> Request:
    """The example up to the last question that is open, with the tool that was called."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    tool = ToolDefinition("search_handbook", "Search the gardener's handbook.", schema)
    options = Options(max_output_tokens=400, seed=7)
    return Request(tuple(example()[:-1]), None, (tool,), options)


def in_each_dialect(request: Request) -> dict[str, Written]:
    return {name: write(request, name, CANONICAL, ASKED.get(name)) for name in dialects()}


SHOWN = ("openai-chat", "anthropic", "gemini")
"""The formats in which one message is shown whole."""


@click.command("demo", help="Show a conversion of the bundled example.")
@click.option("--all", "every", is_flag=True, help="Show every format, a line of each.")
@click.option("--json", "as_json", is_flag=True, help="Print the results and their losses as JSON.")
def command(every: bool, as_json: bool) -> None:
    request = example_request()
    written_by_dialect = in_each_dialect(request)
    if as_json:
        sys.stdout.buffer.write(_as_json(request, written_by_dialect) + b"\n")
        return
    if every:
        _show_every(request, written_by_dialect)
    else:
        click.echo("One message of a conversation, in three formats, with the losses in each:")
        for name in SHOWN:
            _show_message(name, written_by_dialect[name])
        click.echo("\nAll formats: interlingua demo --all")
    click.echo("The same with a file of yours: interlingua convert FILE --to FORMAT")


def _show_message(name: str, written: Written) -> None:
    click.echo(f"\n{dialect(name).title} ({name}), {written.model}")
    messages = written.wire[dialect(name).traits.messages]
    message = next(m for m in messages if "search_handbook" in _smallest([m])[-1])
    text = msgspec.json.format(_shortened(message), indent=2).decode()
    click.echo("\n".join(f"  {_line(line)}" for line in text.splitlines()))
    losses = written.report.losses
    click.echo(f"  lost: {len(losses) or 'nothing'}")
    for loss in losses:
        click.echo(click.wrap_text(shown(str(loss)), min(_columns(), WIDTH), "    ", "        "))


def _shortened(message: Any) -> bytes:
    """JSON of a message whose long texts are cut, to be looked at."""
    if isinstance(message, str):
        message = message if len(message) <= 60 else f"{message[:59]}…"
    elif isinstance(message, list):
        message = [msgspec.Raw(_shortened(each)) for each in message]
    elif isinstance(message, dict):
        message = {key: msgspec.Raw(_shortened(each)) for key, each in message.items()}
    return msgspec.json.encode(message)


def _show_every(request: Request, written_by_dialect: dict[str, Written]) -> None:
    click.echo(f"One request: {len(request.messages)} messages, a tool, a seed.")
    for message in request.messages:
        click.echo(f"  {message.role:<10} {_line(_described(message))}")
    click.echo("\nFor each provider, with its losses:")
    for name, written in written_by_dialect.items():
        _show(name, written)
    click.echo()


def _as_json(request: Request, written_by_dialect: dict[str, Written]) -> bytes:
    bodies = {
        name: {
            "wire": written.wire,
            "model": written.model,
            "losses": written.report.losses,
            "notes": written.report.notes,
        }
        for name, written in written_by_dialect.items()
    }
    return msgspec.json.encode({"request": msgspec.Raw(codec.dumps(request)), "dialects": bodies})


def _show(name: str, written: Written) -> None:
    losses = written.report.losses
    counts = Counter(loss.kind for loss in losses)
    lost = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    model = f" for {written.model}" if written.model else ""
    click.echo(f"\n{name}: {dialect(name).title}, {len(written.json()):,} bytes{model}")
    click.echo(f"  {_line(_call(written.wire, dialect(name).traits.messages))}")
    click.echo(f"  lost: {lost or 'nothing'}")
    for loss in losses:
        click.echo(click.wrap_text(shown(str(loss)), min(_columns(), WIDTH), "    ", "        "))


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
    words = [block.type for block in message.content]
    return f"{' + '.join(words)}: {message.text}" if message.text else " + ".join(words)


def _line(text: str) -> str:
    """One line of a terminal."""
    text = shown(text.replace("\n", " "))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


TYPES: dict[str, Any] = {
    "Message": Message,
    "Request": Request,
    "Response": Response,
    "ToolDefinition": ToolDefinition,
    "Event": Event,
}


@click.command("schema", help="Print the JSON Schema of the canonical types.")
@click.argument("type", type=click.Choice(list(TYPES), case_sensitive=False), default="Message")
def schema_command(type: str) -> None:
    data = msgspec.json.encode(json_schema(TYPES[type]))
    sys.stdout.buffer.write(msgspec.json.format(data, indent=2) + b"\n")


def tell_formats() -> None:
    """Prints every format that `convert` accepts, and whether it can be read and written."""
    from interlingua.adapt.formats import CANONICAL, names
    from interlingua.adapt.presets import PRESETS

    for name in names():
        if name in dialects():
            says = f"{dialect(name).title}: requests, responses, streams"
        elif name == CANONICAL:
            says = "the canonical form, which preserves everything: requests, responses"
        else:
            says = "messages of other libraries"
        click.echo(f"{name:<{NAMES}} {says}")
    for name, says in PRESETS.items():
        click.echo(f"{name:<{NAMES}} {says}: one conversation a row, or a file of them")


@click.command("dialects", help="List the formats and what each supports.")
@click.argument("name", required=False)
@click.option("--matrix", is_flag=True, help="Show how much survives between each pair of formats.")
@click.option("--from", "source", help="Show what survives from this format, and what does not.")
@click.option("--to", "target", help="With --from: only to this format.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def dialects_command(
    name: str | None, matrix: bool, source: str | None, target: str | None, as_json: bool
) -> None:
    from interlingua.adapt.formats import dialect_named
    from interlingua.dialects import probes

    if source or target:
        if source is None:
            raise click.UsageError("--to needs --from: the format to convert from")
        targets = dialects() if target is None else [dialect_named(target).name]
        _show_survivors(dialect_named(source).name, targets, as_json)
    elif name:
        _show_page(probes.page(dialect_named(name)))
    elif matrix:
        _show_matrix(as_json)
    else:
        rows = [{"name": each, "title": dialect(each).title} for each in dialects()]
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
            return
        for row in rows:
            click.echo(f"{row['name']:<{NAMES}} {row['title']}")


def _show_page(markdown: str) -> None:
    from interlingua.cli.terminal import on_terminal

    if not on_terminal():
        click.echo(markdown, nl=False)
        return
    from interlingua.cli.chat_markdown import show

    show(markdown, sys.stdout, min(_columns(), WIDTH))


NAMES = 20
"""Characters of the column with the names of formats."""
FATES = {"changed": "in another form", "lost": "lost"}


def _fates(source: str, target: str) -> dict[str, list[str]]:
    """The features of one format that survive in another, that change, and that are lost."""
    from interlingua.dialects.probes import survivors

    found: dict[str, list[str]] = {"kept": [], "changed": [], "lost": []}
    for name, fate in survivors(source, target).items():
        without = f" (without {', '.join(fate.without)})" if fate.without else ""
        found[fate.word].append(f"{name}{without}")
    return found


def _show_survivors(source: str, targets: Sequence[str], as_json: bool) -> None:
    from interlingua.cli.terminal import put_json

    found = {target: _fates(source, target) for target in targets if target != source}
    if as_json:
        put_json([{"from": source, "to": target, **fates} for target, fates in found.items()])
        return
    for target, fates in found.items():
        total = sum(map(len, fates.values()))
        click.echo(f"{source} to {target}: {len(fates['kept'])} of {total} features unchanged")
        for word, title in FATES.items():
            if fates[word]:
                text = f"{title}: {', '.join(fates[word])}"
                click.echo(click.wrap_text(text, _columns(), "  ", "    "))


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _show_matrix(as_json: bool) -> None:
    """Show how many features survive unchanged, from the format of a row to that of a column."""
    from interlingua.cli.terminal import Column, put_json, show_table, tell

    names = dialects()
    found = {(one, other): _fates(one, other) for one in names for other in names if one != other}
    if as_json:
        put_json([{"from": one, "to": other, **each} for (one, other), each in found.items()])
        return
    numbers = [str(number) for number, _ in enumerate(names, 1)]
    columns = [Column("from", "cyan"), *(Column(number, right=True) for number in numbers)]
    rows = [
        [f"{number} {one}", *(_share(found.get((one, other))) for other in names)]
        for number, one in zip(numbers, names, strict=True)
    ]
    show_table(columns, rows)
    tell("\nPercent of the features that arrive unchanged in the format of that number.")
    tell("`interlingua dialects --from X --to Y` lists what changes and what gets lost.")


def _share(fates: dict[str, list[str]] | None) -> str:
    if fates is None:
        return ""
    return f"{round(100 * len(fates['kept']) / sum(map(len, fates.values())))}"
