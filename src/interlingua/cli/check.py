"""`interlingua check`: the laws on a file of the user's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from interlingua.cli import formats
from interlingua.cli.main import shown
from interlingua.dialects.registry import dialect, dialects
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.rules import validate
from interlingua.pointer import difference


@click.command("check", help="Run the laws on a file of your own.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option("--from", "source", default="auto", help="The format it is in; auto finds out.")
@click.option("--kind", type=click.Choice(["request", "response"]), help="Which of the two it is.")
@click.option("--lines", is_flag=True, help="Each line is one.")
def command(file: str, source: str, kind: str | None, lines: bool) -> None:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    bodies = [line for line in data.splitlines() if line.strip()] if lines else [data]
    failed = 0
    for number, body in enumerate(bodies, 1):
        head = f"line {number}: " if lines else ""
        problems = check(body, source, kind)
        failed += bool(problems)
        for problem in problems:
            click.echo(f"{head}{shown(problem)}")
    click.echo(f"{len(bodies) - failed} of {len(bodies)} keep the laws", err=True)
    sys.exit(1 if failed else 0)


def check(data: bytes, source: str, kind: str | None) -> list[str]:
    """What is wrong: the first difference on the way home, as a JSON pointer, and the like."""
    problems = []
    if (twice := codec.duplicate_key(data)) is not None:
        problems.append(f"a key twice: {twice}")
    if source == "auto":
        source, kind = formats.guessed(data, kind)
    if source not in dialects():
        raise click.UsageError(f"laws are kept by dialects: {', '.join(dialects())}")
    wire = codec.parse(data, source)
    value = formats.read(data, source, kind or "request")
    problems += _home(value, source, wire)
    stored = codec.loads(codec.dumps(value), type(value), strict=True)
    found = difference(wire, _write(stored, source).wire)
    problems += [f"home, through storage: {found}"] if found else []
    problems += [f"odd: {violation}" for violation in validate(value)]
    return problems


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
