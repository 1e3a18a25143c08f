"""`interlingua budgets`: caps on models, tags and end users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua.cli.keys import (
    AMOUNT,
    ID,
    NONE,
    SPENDING,
    find_owner,
    owner_names,
    pages,
    spent_by,
)
from interlingua.cli.options import Group, json_option, store_option
from interlingua.cli.stores import opened
from interlingua.cli.terminal import Column, put_json, say, show_table
from interlingua.store.errors import NotFoundError

if TYPE_CHECKING:
    from interlingua.store.base import Store
    from interlingua.store.reference import BudgetRow

OWNERS = ("key", "user", "team")
KINDS = ("model", "tag", "end_user")
EACH = "* at the end: a separate budget for each match."


@click.group("budgets", cls=Group, help="Cap the spending on models, tags and end users.")
def command() -> None:
    pass


@command.command("add", help="Add a budget; prints its id. It holds for requests with a key.")
@click.option("--model", help=f"A model; {EACH}")
@click.option("--tag", help=f"An entry of `metadata`, as name=value; {EACH}")
@click.option("--end-user", help=f"The `user` of a request; {EACH}")
@click.option("--daily", type=AMOUNT, help="Cap in dollars per day (UTC).")
@click.option("--weekly", type=AMOUNT, help="Cap in dollars per week, from Monday (UTC).")
@click.option("--monthly", type=AMOUNT, help="Cap in dollars per month (UTC).")
@click.option("--key", help=f"Count the requests of this key only. {ID}")
@click.option("--user", help=f"Count the requests of this user's keys only. {ID}")
@click.option("--team", help=f"Count the requests of this team's keys only. {ID}")
@json_option
@store_option
def add(as_json: bool, address: str | None, **options: Any) -> None:
    from interlingua.gateway.keys import key_admin

    named = [kind for kind in KINDS if options[kind] is not None]
    owners = [what for what in OWNERS if options[what] is not None]
    if len(named) != 1:
        raise click.UsageError("name what the budget is for: --model, --tag or --end-user")
    if len(owners) > 1:
        raise click.UsageError("--key, --user and --team cannot be used together")
    caps = [None if (cap := options[w]) == NONE else cap for w in ("daily", "monthly", "weekly")]
    with opened(address, make=True) as store:
        owner = None
        if owners:
            row = find_owner(store, owners[0], options[owners[0]])
            owner = getattr(row, "account_id", None) or row.id
        kind: Any = named[0]
        budget = key_admin.add_budget(store, kind, options[kind], owner, *caps)
    if as_json:
        put_json(budget)
    else:
        say(budget.id)


@command.command("list", help="List all budgets and their spending.")
@json_option
@store_option
def list_(as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows: list[BudgetRow] = list(pages(store.budgets))
        spent = spent_by(store, rows)
        names = {k: v for what in OWNERS for k, v in owner_names(store, what).items()}
    if as_json:
        put_json([{**msgspec.to_builtins(row), **spent[row.id].json} for row in rows])
        return
    if not rows:
        click.echo("There are no budgets yet.", err=True)
        return
    columns = [
        Column("id", "cyan", narrow_last=True),
        Column("for", shrink=True),
        Column("of", "dim"),
        *SPENDING,
    ]
    names[None] = "all keys"
    cells = [
        [
            row.id,
            _title(row, spent[row.id].json),
            names.get(row.owner_id, ""),
            *spent[row.id].cells(),
        ]
        for row in rows
    ]
    show_table(columns, cells)


def _title(row: BudgetRow, spending: Mapping[str, Any] = {}) -> str:
    """What it is for, and how many values it has had in this month."""
    each = "each " if row.value.endswith("*") else ""
    values = f" ({count})" if (count := spending.get("month_values")) else ""
    return f"{each}{row.kind.replace('_', ' ')} {row.value}{values}"


@command.command("remove", help="Remove budgets. Takes ids, or the starts of them.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@store_option
def remove(ids: tuple[str, ...], address: str | None) -> None:
    from interlingua.gateway.keys import key_admin

    with opened(address) as store:
        for budget in [_find(store, id) for id in ids]:
            key_admin.removing_budget(budget.id).run(store, key_admin.operator())
            click.echo(f"removed {budget.id} ({_title(budget)})", err=True)


def _find(store: Store, text: str) -> BudgetRow:
    found = [row for row in pages(store.budgets) if row.id.lower().startswith(text.lower())]
    if len(found) != 1:
        raise NotFoundError(store.where, "budget", text)
    row: BudgetRow = found[0]
    return row
