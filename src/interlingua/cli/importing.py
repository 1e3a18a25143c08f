"""`interlingua import`: sessions made of files.

An exported session comes back under its own ids and is not imported twice; anything else becomes a
new session. What cannot be read is told with its line, and the rest is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from interlingua.cli import formats, reading
from interlingua.cli.arrivals import Arrivals
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import complain, counted, progress, put_json


@click.command("import", help="Make sessions of requests, responses or exported files.")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--from", "source", default=reading.AUTO, help="The format; auto finds out.")
@click.option("--model", help="The model, for formats that say it in the URL.")
@click.option("--provider", help="Who served it; told by the format where it can be.")
@click.option("--new-ids", is_flag=True, help="Exported sessions as copies with new ids.")
@json_option
@store_option
def command(
    files: tuple[Path, ...],
    source: str,
    model: str | None,
    provider: str | None,
    new_ids: bool,
    as_json: bool,
    address: str | None,
) -> None:
    known = [reading.AUTO, *formats.names()]
    if source not in known:
        problem = f"no format is called {source!r}: {', '.join(known)}"
        raise click.BadParameter(problem, param_hint="--from")
    total = sum(path.stat().st_size for path in files if str(path) != reading.STDIN)
    failed = 0
    with opened(address, make=True) as store, progress("importing", total) as done:
        arrivals = Arrivals(store, new_ids, provider)
        for path in files:
            for item in reading.items(path, source, model):
                odd = item.error or arrivals.take(item.found)
                if odd is not None:
                    failed += 1
                    complain(f"{path}, line {item.line}: {odd}")
                done(item.size)
            if (odd := arrivals.finish()) is not None:
                failed += 1
                complain(f"{path}: {odd}")
    counts = arrivals.counts
    if as_json:
        put_json({**msgspec.to_builtins(counts), "failed": failed})
    else:
        text = f"{counted(counts.sessions, 'session')}, {counted(counts.messages, 'message')}"
        click.echo(f"{text} imported, {failed:,} not readable", err=True)
        for left in counts.left_out():
            click.echo(left, err=True)
    sys.exit(1 if failed else 0)
