"""`interlingua requests`: the stored log of the gateway's requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua.cli.options import Moment, json_option, limit_option, store_option, until_option
from interlingua.cli.stores import LAST, only, opened
from interlingua.cli.terminal import (
    GAP,
    Column,
    cell,
    console,
    dollars,
    on_terminal,
    plural,
    put_json,
    say,
    show_table,
    spent,
)
from interlingua.costs.cost import cost_notes
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.requests import (
    RequestFilter,
    RequestRow,
    StatusError,
    request_details,
    request_dict,
    with_status,
)

if TYPE_CHECKING:
    from interlingua.store.base import Store

PREFIX = "req_"
PAGE = 200
SECONDS = 0.5
"""Seconds between two looks for new requests."""
HELP = "The gateway's requests, newest first; with an ID, one request, its losses and attempts."
Names = dict[str | None, str]


@click.command("requests", help=HELP)
@click.argument("id", required=False)
@click.option("-f", "--follow", is_flag=True, help="Follow new requests as they finish.")
@limit_option(20, least=0)
@click.option("--model", help="Requests for this name, or answered by this model.")
@click.option("--status", help="ok, failed, a status like 429, or 4xx.")
@click.option("--key", "key", help="Requests of this key: an id, the start of one, or a name.")
@click.option("--since", type=Moment(), help="From this day or time on; 12h is twelve hours ago.")
@until_option
@click.option(
    "--content",
    is_flag=True,
    help="With an ID: the content of the request and its answer, if logged.",
)
@json_option
@store_option
def command(
    id: str | None,
    follow: bool,
    content: bool,
    limit: int,
    key: str | None,
    as_json: bool,
    address: str | None,
    **chosen: Any,
) -> None:
    if id is not None and follow:
        raise click.UsageError("--follow shows new requests and takes no ID")
    if content and id is None:
        raise click.UsageError("--content needs the ID of a request")
    with opened(address) as store:
        if id is not None and content:
            _show_content(store, find_request(store, id))
            return
        if id is not None:
            _show(store, find_request(store, id), as_json)
            return
        filter = _request_filter(store, key, **chosen)
        names = _names(store)
        if follow:
            _follow(store, filter, limit, names, as_json)
        else:
            _list(store.requests(filter, limit + 1), limit, names, as_json)


def _request_filter(
    store: Store,
    key: str | None,
    model: str | None,
    status: str | None,
    since: datetime | None,
    until: datetime | None,
) -> RequestFilter:
    from interlingua.cli.keys import find_key

    key_id = None if key is None else find_key(store, key).id
    filter = RequestFilter(key_id=key_id, model=model, since=since, until=until)
    try:
        return filter if status is None else with_status(filter, status)
    except StatusError as error:
        raise click.UsageError(str(error)) from None


def find_request(store: Store, text: str) -> RequestRow:
    """The request with this id, or the only one whose id begins so; `last` is the newest."""
    if text == LAST:
        rows = store.requests(limit=1)
        if not rows:
            raise StoreError(store.where, "there are no requests yet", "not_found")
        return store.request(rows[0].id)
    start = PREFIX + text.removeprefix(PREFIX).upper()
    try:
        return store.request(start)
    except NotFoundError:
        fitting = iter(store.requests_named(start) if len(start) > len(PREFIX) else [])
        found = only(store, "request", text, fitting, lambda row: row.id)
    return store.request(found.id)


# Lists


def _names(store: Store) -> Names:
    from interlingua.cli.keys import owner_names

    return owner_names(store, "key")


COLUMNS = (
    Column("id", "cyan"),
    Column("when (UTC)", "dim", wide=100),
    Column("key", shrink=True, wide=140),
    Column("requested", shrink=True, wide=130),
    Column("model", "green", shrink=True),
    Column("status", right=True),
    Column("attempts", right=True, wide=110),
    Column("in", "dim", right=True, wide=120),
    Column("out", "dim", right=True, wide=120),
    Column("cost", right=True, wide=90),
    Column("losses", right=True, wide=80),
    Column("ms", "dim", right=True, wide=130),
)


def _list(rows: list[RequestRow], limit: int, names: Names, as_json: bool) -> None:
    more, rows = len(rows) > limit, rows[:limit]
    if as_json:
        put_json([request_dict(row) for row in rows])
    elif not rows:
        click.echo("No requests match.", err=True)
    else:
        show_table(COLUMNS, [_cells(row, names) for row in rows])
        if more:
            click.echo("There are more; show them with --limit.", err=True)


def _cells(row: RequestRow, names: Names) -> list[str]:
    usage = row.usage
    known = usage is not None and usage.total_tokens is not None
    return [
        row.id,
        row.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"),
        names.get(row.key_id) or row.key_id or "",
        _other_name(row),
        row.model or row.asked or "",
        _status(row),
        str(row.attempts) if row.attempts > 1 else "",
        f"{usage.prompt_tokens or 0:,}" if usage is not None and known else "",
        f"{usage.output_tokens or 0:,}" if usage is not None and known else "",
        "" if usage is None else spent(usage.cost_usd, usage.unpriced),
        str(row.losses or ""),
        f"{row.duration_ms:,}",
    ]


def _other_name(row: RequestRow) -> str:
    """The requested name, if it is not that of the model that answered."""
    if row.model is None or row.asked in (None, row.model, row.model.partition(":")[2]):
        return ""
    return str(row.asked)


def _status(row: RequestRow) -> str:
    """The status; for a request that failed after a good start, its error."""
    return f"{row.status} {row.error}" if row.error and row.status < 400 else str(row.status)


# Live


def _follow(store: Store, filter: RequestFilter, limit: int, names: Names, as_json: bool) -> None:
    after = store.last_request()
    for row in reversed(store.requests(filter, limit)):
        _tell(row, names, as_json)
    try:
        for row in followed(store, filter, after):
            if row.key_id is not None and row.key_id not in names:
                names = _names(store)
            _tell(row, names, as_json)
    except KeyboardInterrupt:
        return


def followed(
    store: Store, filter: RequestFilter, after: int, wait: Callable[[float], None] = time.sleep
) -> Iterator[RequestRow]:
    """The requests written after a number, for ever: each once, in order."""
    while True:
        last = store.last_request()
        while after < last:
            rows = store.requests_after(after, last, filter, PAGE)
            yield from rows
            after = rows[-1].seq if len(rows) == PAGE else last
        wait(SECONDS)


WIDTHS = (30, 19, 12, 12, 32, 6, 3, 9, 9, 12, 3, 8)


def _tell(row: RequestRow, names: Names, as_json: bool) -> None:
    if as_json:
        put_json(request_dict(row))
        return
    room = console().width if on_terminal() else max(column.wide for column in COLUMNS)
    texts = [
        cell(text).rjust(width) if column.right else cell(text).ljust(width)
        for text, width, column in zip(_cells(row, names), WIDTHS, COLUMNS, strict=True)
        if column.wide <= room
    ]
    say(GAP.join(texts).rstrip(), "red" if row.error else "")


# One


def _show(store: Store, row: RequestRow, as_json: bool) -> None:
    from interlingua.events.event import NO_SESSION

    whole = request_details(row, store.request_trace(row.id, NO_SESSION))
    if as_json:
        put_json(whole)
        return
    names = _names(store)
    say(row.id, "bold")
    for title, text in _facts(row, names):
        if text:
            say(cell(f"    {title:<10} {text}"))
    _show_tries(whole["tries"])
    _show_report(whole["report"], row.losses)
    for event in whole["trace"]:
        say("")
        say(cell(f"{event['type']} · {event['timestamp']:%Y-%m-%d %H:%M:%S} UTC"), "bold")
        for name, value in event["payload"].items():
            say(cell(f"    {name}: {value}"))


def _show_content(store: Store, row: RequestRow) -> None:
    from interlingua.gateway.memory.content import place_of

    found = store.object(place_of(row.tenant), row.id)
    if found is None:
        problem = f"{row.id} has no content: its key does not log content, or it has expired"
        raise StoreError(store.where, problem, "not_found")
    put_json(msgspec.json.decode(found.body))


def _facts(row: RequestRow, names: Names) -> Iterator[tuple[str, str]]:
    key = names.get(row.key_id)
    yield "when", f"{row.at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    yield "key", f"{key} ({row.key_id})" if key else row.key_id or ""
    yield "user", row.user_id or ""
    yield "team", row.team_id or ""
    yield "session", row.session_id or ""
    yield "requested", " · ".join(filter(None, [row.asked, row.front, _kind(row)]))
    yield "answered", " · ".join(filter(None, [row.model, row.dialect]))
    yield "status", " · ".join(filter(None, [str(row.status), row.error, row.code]))
    yield "ended", row.stop_reason or ""
    yield "took", _took(row)
    yield "tokens", _tokens(row)
    cost = None if row.usage is None else row.usage.cost_usd
    yield "cache", _cache(row)
    yield "cost", "" if row.usage is None else _cost(cost, row.usage.pricing_version)
    for note in () if row.usage is None else cost_notes(row.usage, row.model or row.asked):
        yield "", note


def _cache(row: RequestRow) -> str:
    import msgspec

    from interlingua.model.metadata import CacheDiagnosis

    return "" if row.cache is None else str(msgspec.convert(row.cache, CacheDiagnosis))


def _kind(row: RequestRow) -> str:
    if row.action != "generate":
        return row.action
    return "stream" if row.stream else ""


def _took(row: RequestRow) -> str:
    first = "" if row.first_byte_ms is None else f", first byte after {row.first_byte_ms:,} ms"
    return f"{row.duration_ms:,} ms{first}"


def _tokens(row: RequestRow) -> str:
    usage = row.usage
    if usage is None:
        return ""
    counts = {
        "fresh": usage.input_tokens,
        "from cache": usage.cached_input_tokens,
        "to cache": usage.cache_creation_input_tokens,
        "out": usage.output_tokens,
        "of it thinking": usage.reasoning_tokens,
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count is not None)


def _cost(cost: Decimal | None, version: str | None) -> str:
    return dollars(cost) if version is None else f"{dollars(cost)} (prices of {version})"


def _show_tries(tries: list[dict[str, Any]]) -> None:
    if not tries:
        return
    say("")
    say(plural(len(tries), "attempt"), "bold")
    for each in tries:
        waited = f"after {each['waited']:.1f} s" if each.get("waited") else ""
        words = [each["model"], str(each.get("status") or ""), each.get("kind") or "ok"]
        words += [waited, each.get("request_id") or ""]
        say(cell("    " + " · ".join(filter(None, words))))


def _show_report(report: dict[str, Any] | None, losses: int) -> None:
    say("")
    if not losses:
        say("Nothing was lost.", "green")
        return
    words = f"{losses:,} {'loss' if losses == 1 else 'losses'}"
    say(words if report is None else cell(f"{words} in {report['target']}"), "bold")
    for loss in [] if report is None else report["losses"]:
        where = ", ".join(loss.get("at", ())) or loss["path"]
        say(cell(f"    {loss.get('severity', 'warning')}: {where}"))
        say(cell(f"        {loss['reason']}"), "dim")
