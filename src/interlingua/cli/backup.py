"""`interlingua backup` and `interlingua restore`: a whole store in one file, and back."""

from __future__ import annotations

import os
from pathlib import Path

import click

from interlingua.cli.main import shown
from interlingua.cli.options import json_option, store_option
from interlingua.cli.stores import opened
from interlingua.cli.terminal import plural, put_json
from interlingua.store.errors import StoreError

HELP = """Copy the whole store into a new SQLite file: sessions, keys, users, teams, budgets,
spending, tasks and the request log. The gateway can keep running."""
RESTORE_HELP = """Copy a backup, or any SQLite store, into an empty store: a new file or a
PostgreSQL database. Keys stay valid: the new store has their hashes."""


@click.command("backup", help=HELP)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@store_option
def command(file: Path, as_json: bool, address: str | None) -> None:
    from interlingua.store.backup import copy
    from interlingua.store.open import open_store

    if file.exists():
        raise StoreError(str(file), "the file already exists; name a new one", "conflict")
    part = file.with_name(f"{file.name}.part")
    try:
        with opened(address) as store, open_store(str(part)) as target:
            counts = copy(store, target)
            target.vacuum()
        os.replace(part, file)
    finally:
        for each in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            each.unlink(missing_ok=True)
    _show(counts, as_json, f"to {shown(str(file))}")


@click.command("restore", help=RESTORE_HELP)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--into", help="The empty store: a file, or postgresql://…; default: the usual one.")
@json_option
@store_option
def restore_command(file: Path, into: str | None, as_json: bool, address: str | None) -> None:
    from interlingua.store.backup import copy

    with opened(str(file)) as source, opened(into or address, make=True) as target:
        counts = copy(source, target)
        where = target.where
    _show(counts, as_json, f"into {shown(where)}")


def _show(counts: dict[str, int], as_json: bool, where: str) -> None:
    if as_json:
        put_json(counts)
        return
    parts = (
        plural(counts["sessions"], "session"),
        plural(counts["messages"], "message"),
        plural(counts["keys"], "key"),
        plural(counts["requests"], "request"),
    )
    click.echo(f"copied {', '.join(parts)} {where}", err=True)
