"""`interlingua users`: the people whose keys are known. Their addresses are in the store's table of
users and nowhere else; everything that is traced has their ids."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import click
import msgspec

from interlingua.cli.owners import AMOUNT, amount, find_owner, pages, spent_by
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import Column, cell, put_json, say, show_table

ID = "An id, the beginning of one, a name or an address."


@click.group("users", help="Add, list, change, disable and enable the users of keys.")
def command() -> None:
    pass


_daily = click.option(
    "--daily", type=AMOUNT, help="Cap in dollars per day for all keys together (UTC)."
)
_monthly = click.option(
    "--monthly", type=AMOUNT, help="Cap in dollars per month for all keys together (UTC)."
)


@command.command("add", help="Add a user; prints its id.")
@click.argument("name")
@click.option("--email", help="The e-mail address.")
@_daily
@_monthly
@json_option
@store_option
def add(
    name: str,
    email: str | None,
    daily: Any,
    monthly: Any,
    as_json: bool,
    address: str | None,
) -> None:
    from interlingua.gateway.keys import key_admin

    daily, monthly = (None if each == "none" else each for each in (daily, monthly))
    with opened(address, make=True) as store:
        user = key_admin.add_user(store, email, name, daily, monthly)
    if as_json:
        put_json(user)
    else:
        say(user.id)


@command.command("list", help="List all users and their spending.")
@json_option
@store_option
def list_(as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows = list(pages(store.users))
        spent = spent_by(store, [row.id for row in rows])
    show_owners(rows, spent, as_json)


def show_owners(rows: list[Any], spent: dict[str, tuple[Decimal, Decimal]], as_json: bool) -> None:
    if as_json:
        none = (Decimal(0), Decimal(0))
        put_json(
            [
                {
                    **msgspec.to_builtins(row),
                    "status": row.status,
                    "day_usd": spent.get(row.id, none)[0],
                    "month_usd": spent.get(row.id, none)[1],
                }
                for row in rows
            ]
        )
        return
    if not rows:
        click.echo("There are none yet.", err=True)
        return
    columns = [
        Column("id", "cyan"),
        Column("name", shrink=True),
        Column("status", "green"),
        Column("today", right=True),
        Column("this month", right=True),
    ]
    show_table(columns, [_row(row, spent) for row in rows])


def _row(row: Any, spent: dict[str, tuple[Decimal, Decimal]]) -> list[str]:
    day, month = spent.get(row.id, (Decimal(0), Decimal(0)))
    caps = amount(day, row.daily_cap_usd), amount(month, row.monthly_cap_usd)
    return [row.id, row.name or "", row.status, *caps]


@command.command("change", help=f"Change caps, name or e-mail address. {ID}")
@click.argument("id")
@click.option("--name", help="The new name.")
@click.option("--email", help="The new e-mail address.")
@_daily
@_monthly
@store_option
def change(
    id: str, name: str | None, email: str | None, daily: Any, monthly: Any, address: str | None
) -> None:
    save(address, "user", id, name=name, email=email, daily=daily, monthly=monthly)


@command.command("disable", help=f"Disable all keys of this user until it is enabled again. {ID}")
@click.argument("id")
@store_option
def disable(id: str, address: str | None) -> None:
    save(address, "user", id, status="disabled")


@command.command("enable", help=f"Enable the keys of this user again. {ID}")
@click.argument("id")
@store_option
def enable(id: str, address: str | None) -> None:
    save(address, "user", id, status="active")


def save(address: str | None, what: str, id: str, **given: Any) -> None:
    """Change what is given of a user or a team."""
    from interlingua.gateway.keys import key_admin

    names = {"daily": "daily_cap_usd", "monthly": "monthly_cap_usd"}
    changes = {
        names.get(name, name): None if value == "none" else value
        for name, value in given.items()
        if value is not None
    }
    with opened(address) as store:
        row = key_admin.changed_owner(find_owner(store, what, id), **changes)
        if what == "user":
            store.save_user(row)
        else:
            store.save_team(row)
    click.echo(f"changed {row.id} ({cell(row.name or '')})", err=True)
