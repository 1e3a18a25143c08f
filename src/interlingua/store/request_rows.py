"""What a store knows of the requests that passed a gateway, and how some of them are chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.metadata import Usage
from interlingua.store.rows import EventRow, JsonObject, Part, Table

SESSIONS = "sessions"
"""The front of requests that turns of sessions and tasks made: what they cost is with the messages
of the session."""


class RequestRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finished request. `asked` is the model as the client named it, `model` the one that
    answered or was tried last; `tenant` is its owner. `tries` and `report` are read with a single
    request only; `tries` is empty if the first one succeeded, `report` is None if the event of the
    request has it. `seq` is assigned by the store: 1, 2, 3, …, in the order of writing."""

    id: str
    at: datetime
    front: str
    status: int
    duration_ms: int
    tenant: str | None = None
    key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    session_id: str | None = None
    action: str = "generate"
    asked: str | None = None
    model: str | None = None
    dialect: str | None = None
    stream: bool = False
    error: str | None = None
    code: str | None = None
    stop_reason: str | None = None
    attempts: int = 0
    first_byte_ms: int | None = None
    usage: Usage | None = None
    losses: int = 0
    tries: tuple[JsonObject, ...] = ()
    report: JsonObject | None = None
    seq: int = 0


def _usage_columns(usage: Usage | None) -> list[Any]:
    known = usage or Usage()
    values = [getattr(known, name) for name in _USAGE]
    values[_USAGE.index("cost_usd")] = amount(known.cost_usd)
    return values


def _usage(stored: Sequence[Any]) -> Usage | None:
    input, output, cached, written, reasoning, cost, version = stored
    paid = None if cost is None else Decimal(cost)
    known = Usage(input, output, cached, written, reasoning, paid)
    return known.replace(pricing_version=version) if known.is_known else None


def amount(cost: Decimal | None) -> str | None:
    """A cost as it is stored: never with an exponent."""
    return None if cost is None else f"{cost:f}"


_USAGE = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "cost_usd",
    "pricing_version",
)
_NAMES = {"session_id": "turn_session"}
_PARTS = {"usage": Part(_USAGE, _usage_columns, _usage)}
REQUESTS = Table("requests", RequestRow, names=_NAMES, parts=_PARTS)
LISTED = Table("requests", RequestRow, names=_NAMES, parts=_PARTS, without=("tries", "report"))
"""What is read of requests in a list."""


class RequestFilter(NamedTuple):
    """Which requests to read: those that match every field that is set.

    `model` is a model's full id, its name without the provider, or the name that the client used.
    `statuses` are the first and the last status of a range. `until` is exclusive."""

    tenant: str | None = None
    key_id: str | None = None
    model: str | None = None
    statuses: tuple[int, int] | None = None
    failed: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    besides: str | None = None
    """A front whose requests are left out."""


Wanted = RequestFilter
"""The former name of `RequestFilter`; it goes in the next release."""


class Clause(NamedTuple):
    """A condition of a statement, and what is filled into it."""

    sql: str
    values: tuple[Any, ...] = ()


def request_dict(row: RequestRow) -> JsonObject:
    """A request for machines: every member, whether it is known or not."""
    hidden = ("tenant", "tries", "report", "seq")
    members = [name for name in RequestRow.__struct_fields__ if name not in hidden]
    return {name: msgspec.to_builtins(getattr(row, name)) for name in members}


def request_details(row: RequestRow, events: Sequence[EventRow]) -> JsonObject:
    """A request with its tries, its report and its trace. The report is in the row, or in the event
    of the request."""
    found = [row.report, *[event.payload.get("losses") for event in events]]
    report = next((each for each in found if isinstance(each, dict)), None)
    if report is not None:
        report = {name: report.get(name) for name in ("target", "count", "losses")}
    tries = list(row.tries)
    if not tries and row.attempts == 1 and row.error is None:
        tries = [{"model": row.model}]
    trace = [_event_dict(event) for event in events]
    return {**request_dict(row), "tries": tries, "report": report, "trace": trace}


def _event_dict(event: EventRow) -> JsonObject:
    payload = {name: value for name, value in event.payload.items() if name != "losses"}
    return {"type": event.type, "timestamp": event.timestamp, "payload": payload}


class StatusError(InterlinguaError):
    """A status filter that cannot be understood."""


def with_status(filter: RequestFilter, status: str) -> RequestFilter:
    """Those that went well (`ok`), those that did not (`failed`), or those with a status: `429`, or
    `4xx` for all of its kind."""
    if status in ("ok", "failed"):
        return filter._replace(failed=status == "failed")
    if re.fullmatch("[1-5]xx", status):
        first = int(status[0]) * 100
        return filter._replace(statuses=(first, first + 99))
    if re.fullmatch("[1-5][0-9][0-9]", status):
        return filter._replace(statuses=(int(status), int(status)))
    raise StatusError(f"status: expected ok, failed, 4xx or 429, found {status[:80]!r}")
