"""`interlingua keys`: keys of the gateway, their permissions and spending caps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from interlingua.adapt.caching import CACHINGS
from interlingua.cli.main import shown
from interlingua.cli.options import (
    Group,
    bare_store_option,
    config_option,
    json_option,
    store_option,
)
from interlingua.cli.stores import NAMED, opened
from interlingua.cli.terminal import (
    Column,
    cell,
    dollars,
    minute,
    put_json,
    say,
    show_table,
    spent,
)
from interlingua.gateway.settings import REDACTIONS
from interlingua.store.errors import NotFoundError, StoreError

if TYPE_CHECKING:
    from interlingua.gateway.keys.key_admin import NewKey, Terms
    from interlingua.store.base import Store
    from interlingua.store.reference import KeyRow


if TYPE_CHECKING:
    from interlingua.events.payloads import Payload
    from interlingua.store.base import Store

    _Type = click.ParamType[Any]
else:  # generic for type checkers only in the oldest versions that we take
    _Type = click.ParamType

F = TypeVar("F", bound=Callable[..., object])
NONE = "none"
ID = "Takes an id, the start of one, or a name."
_SPAN = re.compile(r"(\d{1,5})([mhdw])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


class _Amount(_Type):
    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, Decimal):
            return value
        try:
            return Decimal(str(value).removeprefix("$"))
        except InvalidOperation:
            self.fail(f"expected an amount like 12.50, or `none`, found {value!r}", param, context)


class _Count(_Type):
    name = "number"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, int):
            return value
        if not str(value).isdecimal() or not 0 < int(value) < 2**53:
            text = f"expected a number of at least 1, or `none`, found {value!r}"
            self.fail(text, param, context)
        return int(value)


class _Span(_Type):
    name = "span"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if value == NONE or isinstance(value, timedelta):
            return value
        found = _SPAN.fullmatch(str(value))
        if found is None:
            self.fail(f"expected 30m, 12h, 90d, 4w, or `none`, found {value!r}", param, context)
        return int(found[1]) * _UNITS[found[2]]


AMOUNT, COUNT, SPAN = _Amount(), _Count(), _Span()


_CAPS = {"day": "daily_cap_usd", "week": "weekly_cap_usd", "month": "monthly_cap_usd"}


class Spending:
    """The dollars that an owner has spent or reserved in each window, as JSON: null where nothing
    is counted, or no part of it is known."""

    def __init__(self, row: Any, found: dict[str, Any]) -> None:
        self._caps = {span: getattr(row, name) for span, name in _CAPS.items()}
        nothing = None if set(self._caps.values()) == {None} else "0"
        usual = {f"{span}_usd": nothing for span in _CAPS}
        self.json: dict[str, Any] = usual | {f"{span}_unpriced": 0 for span in _CAPS} | found

    def cells(self) -> list[str]:
        """Each window with its cap, as a list shows it. Of a budget for each value: the highest."""
        return [self._cell(span, cap) for span, cap in self._caps.items()]

    def _cell(self, span: str, cap: Decimal | None) -> str:
        known, lacks = self.json[f"{span}_usd"], self.json[f"{span}_unpriced"]
        if cap is None and not lacks and not Decimal(known or 0):
            return ""
        highest = self.json.get(f"{span}_highest_usd")
        known = highest or known
        text = spent(None if known is None else Decimal(known), lacks)
        return f"{'up to ' if highest else ''}{text}{f' of {dollars(cap)}' if cap else ''}"


Spent = dict[str, Spending]
SPENDING = (
    Column("today", right=True),
    Column("this week", right=True, wide=90),
    Column("this month", right=True),
)


def pages(read: Callable[[str], list[Any]]) -> Iterator[Any]:
    """All rows that a store lists by id."""
    after = ""
    while page := read(after):
        yield from page
        after = page[-1].id


def _lists(store: Store) -> dict[str, Callable[[str], list[Any]]]:
    return {"key": store.keys, "user": store.users, "team": store.teams}


def find_owner(store: Store, what: str, text: str) -> Any:
    """A key, a user or a team by its id, the beginning of it, its name or its e-mail address."""
    fitting = []
    for row in pages(_lists(store)[what]):
        if row.id == text:
            return row
        names: tuple[str | None, ...] = (row.name, getattr(row, "email", None))
        if row.status == "revoked":
            names = ()  # another one has the name by now
        if text in names or (text and row.id.lower().startswith(text.lower())):
            fitting.append(row)
    if not fitting:
        raise NotFoundError(store.where, what, text)
    if len(fitting) > 1:
        ids = ", ".join(row.id for row in fitting[:NAMED])
        problem = f"{text[:80]!r} may be several {what}s: {ids}"
        raise StoreError(store.where, problem, "conflict")
    return fitting[0]


def spent_by(store: Store, rows: Sequence[Any]) -> Spent:
    """The spending of keys, users, teams or budgets, by id."""
    from interlingua.gateway.shared.principal import spending

    owners = {row.id: getattr(row, "account_id", None) or row.id for row in rows}
    found: dict[str, dict[str, Any]] = {owner: {} for owner in owners.values()}
    for each in store.spent([*found], datetime.now(UTC).date().isoformat()):
        found[each.owner_id] |= spending(each)
    return {row.id: Spending(row, found[owners[row.id]]) for row in rows}


def noted(store: Store, name: str, payload: Payload) -> None:
    """Writes an event to the trace."""
    from interlingua.events.bus import Bus

    with Bus(store) as bus:
        bus.emit(name, payload)


# Users and teams


def _owners(what: str, change: str, ids: str, email: bool) -> click.Group:
    """The commands for one kind of owner; `email`: each has an e-mail address."""
    who = "the users of keys" if what == "user" else f"{what}s"
    group = click.Group(f"{what}s", help=f"Add, list, change, disable and enable {who}.")
    _additions(group, what, email)
    _changes(group, what, change, ids, email)
    return group


def _additions(group: click.Group, what: str, email: bool) -> None:
    @group.command("add", help=f"Add a {what}; prints its id.")
    @click.argument("name")
    @_with_email("The e-mail address.", email)
    @_caps
    @json_option
    @store_option
    def add(
        name: str,
        daily: Any,
        weekly: Any,
        monthly: Any,
        as_json: bool,
        address: str | None,
        **more: Any,
    ) -> None:
        from interlingua.gateway.keys import key_admin

        caps = [None if cap == NONE else cap for cap in (daily, monthly, weekly)]
        with opened(address, make=True) as store:
            if email:
                row: Any = key_admin.add_user(store, more["email"], name, *caps)
            else:
                row = key_admin.add_team(store, name, *caps)
        if as_json:
            put_json(row)
        else:
            say(row.id)

    @group.command("list", help=f"List all {what}s and their spending.")
    @json_option
    @store_option
    def list_(as_json: bool, address: str | None) -> None:
        with opened(address) as store:
            rows = list(pages(store.users if email else store.teams))
            spent = spent_by(store, rows)
        _show(f"{what}s", rows, spent, as_json)


def _changes(group: click.Group, what: str, change: str, ids: str, email: bool) -> None:
    @group.command("change", help=f"{change} {ids}")
    @click.argument("id")
    @click.option("--name", help="The new name.")
    @_with_email("The new e-mail address.", email)
    @_caps
    @store_option
    def change_(id: str, address: str | None, **fields: Any) -> None:
        _save(address, what, id, **fields)

    for verb, status, then in (
        ("disable", "disabled", f"Disable all keys of this {what} until it is enabled again."),
        ("enable", "active", f"Enable the keys of this {what} again."),
    ):

        @group.command(verb, help=f"{then} {ids}")
        @click.argument("id")
        @store_option
        def switch(id: str, address: str | None, status: str = status) -> None:
            _save(address, what, id, status=status)


def _with_email(help: str, email: bool) -> Callable[[F], F]:
    return click.option("--email", help=help) if email else lambda function: function


def _caps(function: F) -> F:
    for span, period in (("--monthly", "month"), ("--weekly", "week"), ("--daily", "day")):
        text = f"Cap in dollars per {period} for all keys together (UTC)."
        function = click.option(span, type=AMOUNT, help=text)(function)
    return function


def _show(what: str, rows: list[Any], spent: Spent, as_json: bool) -> None:
    if as_json:
        plain = [{**msgspec.to_builtins(row), "status": row.status} for row in rows]
        put_json([{**each, **spent[row.id].json} for each, row in zip(plain, rows, strict=True)])
        return
    if not rows:
        click.echo(f"There are no {what} yet.", err=True)
        return
    columns = [
        Column("id", "cyan", narrow_last=True),
        Column("name", shrink=True),
        Column("status", "green"),
        *SPENDING,
    ]
    cells = [[row.id, row.name or "", row.status, *spent[row.id].cells()] for row in rows]
    show_table(columns, cells)


def _save(address: str | None, what: str, id: str, **fields: Any) -> None:
    """Changes the fields of a user or a team that are not None."""
    from interlingua.gateway.keys import key_admin

    changes = {
        _FIELDS.get(name, name): None if value == NONE else value
        for name, value in fields.items()
        if value is not None
    }
    with opened(address) as store:
        kind: Any = what
        owner = find_owner(store, what, id)
        row = key_admin.changing_owner(kind, owner.id, **changes).run(store, key_admin.operator())
    click.echo(f"changed {row.id} ({cell(row.name or '')})", err=True)


users_command = _owners(
    "user",
    "Change caps, name or e-mail address.",
    "An id, the beginning of one, a name or an address.",
    email=True,
)
teams_command = _owners("team", "Change caps or name.", ID, email=False)


@click.group("keys", cls=Group, help="Issue, list, change, rotate and revoke keys of the gateway.")
def command() -> None:
    pass


_TERMS = (
    click.option("--model", "models", multiple=True, help="Allow this model or route; repeatable."),
    click.option(
        "--tool",
        "tools",
        multiple=True,
        help="Allow this tool of an MCP server at /mcp (`*` for any); repeatable.",
    ),
    config_option("The gateway's settings, with its routes and store; default: gateway.toml."),
    click.option("--daily", type=AMOUNT, help="Cap in dollars per day (UTC); `none` for no cap."),
    click.option("--weekly", type=AMOUNT, help="Cap in dollars per week, from Monday (UTC)."),
    click.option("--monthly", type=AMOUNT, help="Cap in dollars per month (UTC)."),
    click.option(
        "--default-max-tokens", type=COUNT, help="Output tokens of a request without a limit."
    ),
    click.option(
        "--max-max-tokens", type=COUNT, help="Maximum output tokens; higher limits are lowered."
    ),
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
        "--log-content",
        "log_content_days",
        type=COUNT,
        metavar="DAYS",
        help="Log requests and answers, redacted, for so many days; `none` for no log.",
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
    click.option(
        "--caching",
        type=click.Choice([*CACHINGS, "none"]),
        help="Mode of prompt caching for this key; `none` for that of the gateway.",
    ),
    click.option(
        "--redaction",
        type=click.Choice([*REDACTIONS, "none"]),
        help="Replace secrets on the way to providers, or also restore them in answers; `none` for"
        " the setting of the gateway.",
    ),
    click.option("--expires", type=SPAN, help="Expires in 90d, 12h, 4w; `none` for never."),
)
"""Options that `issue` and `change` share."""


def _terms(function: F) -> F:
    for option in reversed(_TERMS):
        function = option(function)
    return function


_FIELDS = {
    "daily": "daily_cap_usd",
    "weekly": "weekly_cap_usd",
    "monthly": "monthly_cap_usd",
    "expires": "expires_at",
}


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options about a key's terms, by their field names; `none` becomes None."""
    out: dict[str, Any] = {}
    models, file = options.pop("models", ()), options.pop("config", None)
    if tools := options.pop("tools", ()):
        out["allowed_tools"] = None if tools == ("none",) else tools
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
@click.option("--admin", is_flag=True, help="Allow it to administer the gateway, at /admin.")
@_terms
@json_option
@bare_store_option
def issue(
    name: str,
    workspace: str | None,
    user: str | None,
    team: str | None,
    admin: bool,
    as_json: bool,
    address: str | None,
    **options: Any,
) -> None:
    from interlingua.events.payloads import KeyIssued
    from interlingua.gateway.keys import key_admin

    terms: Terms = key_admin.Terms(**_given(options), admin=admin)
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
        click.echo(
            "Choose another folder with --workspace, or none with `--workspace .`.", err=True
        )


def _show_token(issued: NewKey, as_json: bool) -> None:
    if as_json:
        put_json({"token": issued.token, "key": _public(issued.key)})
        return
    say(issued.token)
    click.echo(
        f"This is the token of {issued.key.id}. It cannot be shown again: store it now.", err=True
    )


def _public(key: KeyRow) -> dict[str, Any]:
    """A key as JSON: all fields, but only the beginning of the hash."""
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
        keys: list[KeyRow] = list(pages(store.keys))
        spent = spent_by(store, keys)
        owners = {**owner_names(store, "user"), **owner_names(store, "team")}
    if as_json:
        put_json(
            [
                {
                    **_public(key),
                    "user_name": owners.get(key.user_id),
                    "team_name": owners.get(key.team_id),
                    **spent[key.id].json,
                }
                for key in keys
            ]
        )
        return
    if not keys:
        click.echo("There are no keys: on loopback, anyone can use the gateway.", err=True)
        return
    columns = [
        Column("id", "cyan", narrow_last=True),
        Column("name", shrink=True),
        Column("status", "green"),
        *SPENDING,
        Column("owner", "dim", shrink=True, wide=110),
        Column("made (UTC)", "dim", wide=100),
    ]
    show_table(columns, [_row(key, spent, owners) for key in keys])


def owner_names(store: Store, what: str) -> dict[str | None, str]:
    """The names of the gateway's keys, users or teams, by id."""
    rows = pages(_lists(store)[what])
    return {row.id: row.name or getattr(row, "email", None) or row.id for row in rows}


def _row(key: KeyRow, spent: Spent, owners: dict[str | None, str]) -> list[str]:
    return [
        key.id,
        key.name,
        state_of(key),
        *spent[key.id].cells(),
        ", ".join([owners.get(id, id) for id in (key.user_id, key.team_id) if id is not None]),
        minute(key.created_at),
    ]


def state_of(key: KeyRow) -> str:
    """One or two words: whether it is valid, and for how long."""
    from interlingua.gateway.keys.key_admin import state_of as state

    found, until = state(key), key.grace_period_until
    return f"until {minute(until)}" if found == "ending" and until is not None else found


@command.command("change", help=f"Change the options of a key; its token stays the same. {ID}")
@click.argument("id")
@_terms
@json_option
@bare_store_option
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
    from interlingua.events.payloads import KeyRotated
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
    from interlingua.events.payloads import KeyRevoked
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


def find_key(store: Store, text: str) -> KeyRow:
    """A key by its id, the beginning of it, or its name."""
    key: KeyRow = find_owner(store, "key", text)
    return key


@command.command("audit", help="List changes of keys, users, teams and budgets, newest first.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_option
@store_option
def audit(limit: int, as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows = store.audit(limit=limit)
    if as_json:
        put_json(rows)
        return
    columns = [
        Column("at (UTC)", "dim"),
        Column("by", "cyan", shrink=True),
        Column("action"),
        Column("of", shrink=True),
        Column("changed", "dim", shrink=True, wide=100),
    ]
    show_table(
        columns,
        [[minute(r.at), r.actor, r.action, r.target_id, ", ".join(r.changes)] for r in rows],
    )
