"""`interlingua demo`: the example conversation that is shipped, in each view and back."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.model import codec
from interlingua.model.blocks import TYPE_OF
from interlingua.model.message import Message
from interlingua.views import VIEWS, View, Written

WIDTH = 84


class Shown(NamedTuple):
    """One view of the example, and what came back from it."""

    view: View
    written: Written
    back: tuple[Message, ...]

    def kept(self, messages: Sequence[Message]) -> int:
        """How many messages came back with the content they had."""
        pairs = zip(messages, self.back, strict=False)
        return sum(one.content_digest() == other.content_digest() for one, other in pairs)


def example() -> list[Message]:
    data = files("interlingua").joinpath("examples/conversation.json").read_bytes()
    return codec.loads(data, list[Message], strict=True)


def in_each_view(messages: Sequence[Message]) -> list[Shown]:
    written = [(view, view.write(messages)) for view in VIEWS.values()]
    return [Shown(view, result, view.read(result.wire)) for view, result in written]


@click.command("demo", help="Show a conversion, with the example that is shipped.")
@click.option("--json", "as_json", is_flag=True, help="The views and their losses as JSON.")
def command(as_json: bool) -> None:
    messages = example()
    views = in_each_view(messages)
    if as_json:
        sys.stdout.buffer.write(_as_json(messages, views) + b"\n")
        return
    click.echo(f"The example has {len(messages)} messages:")
    for message in messages:
        click.echo(f"  {message.role:<10} {_line(_described(message))}")
    for each in views:
        _show(each, messages)


def _as_json(messages: Sequence[Message], views: list[Shown]) -> bytes:
    told = {
        each.view.name: {
            "wire": each.written.wire,
            "losses": each.written.report.losses,
            "kept": each.kept(messages),
        }
        for each in views
    }
    return msgspec.json.encode({"messages": len(messages), "views": told})


def _show(each: Shown, messages: Sequence[Message]) -> None:
    losses = each.written.report.losses
    counts = Counter(loss.severity for loss in losses)
    lost = ", ".join(
        f"{counts[word]} {word}" for word in ("error", "warning", "info") if counts[word]
    )
    click.echo(f"\n{each.view.name}: {len(each.written.json()):,} bytes of JSON")
    click.echo(f"  {_line(_asking(each.written.wire))}")
    click.echo(f"  back: {each.kept(messages)} of {len(messages)} messages with the same content")
    click.echo(f"  lost: {lost or 'nothing'}")
    for loss in losses:
        if loss.severity != "info":
            click.echo(f"    {_line(str(loss))}")


def _asking(wire: Any) -> str:
    """The message with the call, which looks different in each view."""
    listed = wire["messages"] if isinstance(wire, dict) else wire
    texts = [msgspec.json.encode(message).decode() for message in listed]
    return next((text for text in texts if "search_handbook" in text), "")


def _described(message: Message) -> str:
    words = [TYPE_OF[type(block)] for block in message.content]
    return f"{' + '.join(words)}: {message.text}" if message.text else " + ".join(words)


def _line(text: str) -> str:
    """One line of a terminal."""
    text = shown(text.replace("\n", " "))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
