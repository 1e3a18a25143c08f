"""`interlingua dialects`: the formats, what each can say, and what survives between them."""

from __future__ import annotations

import sys

import click
import msgspec

from interlingua.dialects.registry import dialect, dialects


def tell_formats() -> None:
    """Every format that `convert` takes, with what can be read and written of it."""
    from interlingua.formats import CANONICAL, names
    from interlingua.presets import PRESETS

    for name in names():
        if name in dialects():
            says = f"{dialect(name).title}: requests, responses, streams"
        elif name == CANONICAL:
            says = "our own form, which keeps everything: requests, responses"
        else:
            says = "messages as other libraries keep them"
        click.echo(f"{name:<18} {says}")
    for name, says in PRESETS.items():
        click.echo(f"{name:<18} {says}: one conversation a row, or a file of them")


@click.command("dialects", help="List the formats and what each supports.")
@click.argument("name", required=False)
@click.option("--matrix", is_flag=True, help="Show what survives between each pair of formats.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(name: str | None, matrix: bool, as_json: bool) -> None:
    from interlingua.dialects import describe

    if name:
        click.echo(describe.page(dialect(name)), nl=False)
    elif matrix:
        click.echo(describe.matrix(), nl=False)
    else:
        rows = [{"name": each, "title": dialect(each).title} for each in dialects()]
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
            return
        for row in rows:
            click.echo(f"{row['name']:<18} {row['title']}")
