"""`interlingua teams`: keys that are counted together."""

from __future__ import annotations

from typing import Any

import click

from interlingua.cli.owners import AMOUNT, pages, spent_by
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import put_json, say
from interlingua.cli.users import save, show_owners

ID = "Takes an id, the start of one, or a name."


@click.group("teams", help="Add, list, change, disable and enable teams.")
def command() -> None:
    pass


_daily = click.option(
    "--daily", type=AMOUNT, help="Cap in dollars per day for all keys together (UTC)."
)
_monthly = click.option(
    "--monthly", type=AMOUNT, help="Cap in dollars per month for all keys together (UTC)."
)


@command.command("add", help="Add a team; prints its id.")
@click.argument("name")
@_daily
@_monthly
@json_option
@store_option
def add(name: str, daily: Any, monthly: Any, as_json: bool, address: str | None) -> None:
    from interlingua.gateway.keys import key_admin

    daily, monthly = (None if each == "none" else each for each in (daily, monthly))
    with opened(address, make=True) as store:
        team = key_admin.add_team(store, name, daily, monthly)
    if as_json:
        put_json(team)
    else:
        say(team.id)


@command.command("list", help="List all teams and their spending.")
@json_option
@store_option
def list_(as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows = list(pages(store.teams))
        spent = spent_by(store, [row.id for row in rows])
    show_owners(rows, spent, as_json)


@command.command("change", help=f"Change caps or name. {ID}")
@click.argument("id")
@click.option("--name", help="The new name.")
@_daily
@_monthly
@store_option
def change(id: str, name: str | None, daily: Any, monthly: Any, address: str | None) -> None:
    save(address, "team", id, name=name, daily=daily, monthly=monthly)


@command.command("disable", help=f"Disable all keys of this team until it is enabled again. {ID}")
@click.argument("id")
@store_option
def disable(id: str, address: str | None) -> None:
    save(address, "team", id, status="disabled")


@command.command("enable", help=f"Enable the keys of this team again. {ID}")
@click.argument("id")
@store_option
def enable(id: str, address: str | None) -> None:
    save(address, "team", id, status="active")
