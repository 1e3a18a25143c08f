"""`interlingua keys`: who may use the gateway, for what, and for how much."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.cli.owners import (
    AMOUNT,
    COUNT,
    SPAN,
    amount,
    find_owner,
    noted,
    pages,
    spent_by,
)
from interlingua.cli.stores import json_option, opened, store_option
from interlingua.cli.terminal import Column, cell, minute, put_json, say, show_table

if TYPE_CHECKING:
    from interlingua.gateway.keys.key_admin import NewKey, Terms
    from interlingua.store.base import Store
    from interlingua.store.reference import KeyRow

F = TypeVar("F", bound=Callable[..., object])
ID = "Takes an id, the start of one, or a name."


@click.group("keys", help="Issue, list, change, rotate and revoke keys of the gateway.")
def command() -> None:
    pass


_TERMS = (
    click.option("--model", "models", multiple=True, help="Allow this model or route; repeatable."),
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="The gateway's settings file, which has the routes; default: gateway.toml.",
    ),
    click.option("--daily", type=AMOUNT, help="Cap in dollars per day (UTC); `none` for no cap."),
    click.option("--monthly", type=AMOUNT, help="Cap in dollars per month (UTC)."),
    click.option(
        "--requests-per-minute",
        type=COUNT,
        help="Maximum requests per minute; `none` for no limit.",
    ),
    click.option(
        "--tokens-per-minute",
        type=COUNT,
        help="Maximum tokens per minute, prompts and answers together.",
    ),
    click.option("--concurrent", type=COUNT, help="Maximum requests at a time."),
    click.option(
        "--refuse-losses/--take-losses",
        default=None,
        help="Reject requests that cannot be translated without loss.",
    ),
    click.option(
        "--keep-content/--no-content", default=None, help="Allow message content to be stored."
    ),
    click.option(
        "--allow-unpriced/--only-priced",
        default=None,
        help="With a cap: allow models with unknown prices.",
    ),
    click.option(
        "--allow-unbounded/--only-bounded",
        default=None,
        help="With a cap: allow unbounded cost (hosted tools, documents by URL).",
    ),
    click.option(
        "--read-metrics/--no-metrics",
        default=None,
        help="Show the spending of all keys at /metrics.",
    ),
    click.option(
        "--read-requests/--own-requests", default=None, help="Show the requests of all keys."
    ),
    click.option(
        "--fetch-media/--no-fetch",
        default=None,
        help="Download media given by URL for this key, or never do.",
    ),
    click.option("--expires", type=SPAN, help="Expires in 90d, 12h, 4w; `none` for never."),
)
"""Options that `issue` and `change` share."""


def _terms(function: F) -> F:
    for option in reversed(_TERMS):
        function = option(function)
    return function


_FIELDS = {"daily": "daily_cap_usd", "monthly": "monthly_cap_usd", "expires": "expires_at"}


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """What was said about a key's terms, under the names of its fields; `none` is None."""
    out: dict[str, Any] = {}
    models, file = options.pop("models", ()), options.pop("config", None)
    if models:
        out["allowed_models"] = None if models == ("none",) else _models(models, file)
    for name, value in options.items():
        if value is not None:
            value = None if value == "none" else value
            if isinstance(value, timedelta):
                value = datetime.now(UTC) + value
            out[_FIELDS.get(name, name)] = value
    return out


def _models(names: tuple[str, ...], file: Path | None) -> tuple[str, ...]:
    """Models as they were named; a name that is a route of the gateway is that route."""
    from interlingua.gateway import config
    from interlingua.gateway.shared.state import ROUTE

    routes = config.load(file).routes
    return tuple(f"{ROUTE}{name}" if name in routes else name for name in names)


@command.command("issue", help="Issue a key. Its token is shown only once.")
@click.argument("name")
@click.option("--workspace", help="The folder of its sessions and tasks; default: the current one.")
@click.option("--user", help=f"The owner. {ID}")
@click.option("--team", help=f"The owner. {ID}")
@_terms
@json_option
@store_option
def issue(
    name: str,
    workspace: str | None,
    user: str | None,
    team: str | None,
    as_json: bool,
    address: str | None,
    **options: Any,
) -> None:
    from interlingua.bus.payloads.service import KeyIssued
    from interlingua.gateway.keys import key_admin

    terms: Terms = key_admin.Terms(**_given(options))
    with opened(address, make=True) as store:
        user_id = find_owner(store, "user", user).id if user else None
        team_id = find_owner(store, "team", team).id if team else None
        issued = key_admin.issue(
            store, name, workspace or os.getcwd(), terms, user_id=user_id, team_id=team_id
        )
        noted(store, "gateway.key_issued", KeyIssued(issued.key.id, user_id, team_id))
    _show_token(issued, as_json)
    if workspace is None and not as_json:
        click.echo(
            f"Its sessions and tasks belong in {shown(issued.key.workspace_path)}.", err=True
        )
        click.echo("--workspace names another folder; `--workspace .` is for none.", err=True)


def _show_token(issued: NewKey, as_json: bool) -> None:
    if as_json:
        put_json({"token": issued.token, "key": _public(issued.key)})
        return
    say(issued.token)
    click.echo(
        f"This is the token of {issued.key.id}. It is shown this once: keep it now.", err=True
    )


def _public(key: KeyRow) -> dict[str, Any]:
    """A key for machines: all of it but the hash, of which the beginning does."""
    fields: dict[str, Any] = msgspec.to_builtins(key)
    fields.pop("user_caps", None)
    fields.pop("team_caps", None)
    fields["secret_hash"] = key.secret_hash[:8]
    fields.setdefault("status", key.status)
    return fields


@command.command("list", help="List all keys with their owners, caps and spending.")
@json_option
@store_option
def list_(as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        keys = list(all_keys(store))
        spent = spent_by(store, [key.account_id or key.id for key in keys])
    if as_json:
        rows = []
        for key in keys:
            day, month = spent.get(key.account_id or key.id, (Decimal(0), Decimal(0)))
            rows.append({**_public(key), "day_usd": day, "month_usd": month})
        put_json(rows)
        return
    if not keys:
        click.echo("There are no keys: on loopback, everybody may come in.", err=True)
        return
    columns = [
        Column("id", "cyan"),
        Column("name", shrink=True),
        Column("status", "green"),
        Column("today", right=True),
        Column("this month", right=True),
        Column("owner", "dim", shrink=True, wide=110),
        Column("made (UTC)", "dim", wide=100),
    ]
    show_table(columns, [_row(key, spent) for key in keys])


def _row(key: KeyRow, spent: dict[str, tuple[Decimal, Decimal]]) -> list[str]:
    day, month = spent.get(key.account_id or key.id, (Decimal(0), Decimal(0)))
    return [
        key.id,
        key.name,
        state_of(key),
        amount(day, key.daily_cap_usd),
        amount(month, key.monthly_cap_usd),
        " ".join(filter(None, (key.user_id, key.team_id))),
        minute(key.created_at),
    ]


def state_of(key: KeyRow) -> str:
    """One or two words: whether it opens, and for how long."""
    from interlingua.gateway.requests.caps import state_of as state

    found, until = state(key), key.grace_period_until
    return f"until {minute(until)}" if found == "ending" and until is not None else found


@command.command("change", help=f"Change the options of a key; its token stays the same. {ID}")
@click.argument("id")
@_terms
@json_option
@store_option
def change(id: str, as_json: bool, address: str | None, **options: Any) -> None:
    from interlingua.gateway.keys import key_admin

    with opened(address) as store:
        key = key_admin.change(store, find_key(store, id).id, **_given(options))
    if as_json:
        put_json(_public(key))
    else:
        click.echo(f"changed {key.id} ({cell(key.name)})", err=True)


@command.command(
    "rotate", help=f"Replace a key with a new one; the old one stays valid for a while. {ID}"
)
@click.argument("id")
@click.option(
    "--grace", type=SPAN, default="24h", show_default=True, help="How long the old key stays valid."
)
@json_option
@store_option
def rotate(id: str, grace: timedelta | str, as_json: bool, address: str | None) -> None:
    from interlingua.bus.payloads.service import KeyRotated
    from interlingua.gateway.keys import key_admin

    span = timedelta() if isinstance(grace, str) else grace
    with opened(address) as store:
        old = find_key(store, id)
        issued = key_admin.rotate(store, old.id, span)
        noted(store, "gateway.key_rotated", KeyRotated(old.id, issued.key.id))
    _show_token(issued, as_json)


@command.command("revoke", help=f"Revoke keys permanently, within seconds. {ID}")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@json_option
@store_option
def revoke(ids: tuple[str, ...], as_json: bool, address: str | None) -> None:
    from interlingua.bus.payloads.service import KeyRevoked
    from interlingua.gateway.keys import key_admin

    with opened(address) as store:
        keys = [find_key(store, id) for id in ids]
        for key in keys:
            key_admin.revoke(store, key.id)
            noted(store, "gateway.key_revoked", KeyRevoked(key.id))
            if not as_json:
                click.echo(f"revoked {shown(key.id)} ({cell(key.name)})", err=True)
    if as_json:
        put_json({"revoked": [key.id for key in keys]})


def all_keys(store: Store) -> Iterator[KeyRow]:
    return pages(store.keys)


def find_key(store: Store, text: str) -> KeyRow:
    """A key by its id, the beginning of it, or its name."""
    key: KeyRow = find_owner(store, "key", text)
    return key
