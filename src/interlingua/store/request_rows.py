"""What a store knows of the requests that passed a gateway, and how some of them are chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.metadata import Usage
from interlingua.store.rows import EventRow, JsonObject

SESSIONS = "sessions"
"""The front of requests that turns of sessions and tasks made: what they cost is with the messages
of the session."""


class RequestRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request that is over. `asked` is the model as the client called it, `model` the one that
    answered or was asked last; `tenant` whose it is. `tries` and `report` are read with a single
    request only; `tries` is empty where the first one went well, `report` None where the event of
    the request has it. `seq` is given by the store: 1, 2, 3, …, in the order of writing."""

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


class Wanted(NamedTuple):
    """Which requests: all that fit everything that is said. `model` is a model's whole id, its name
    without the provider, or what the client called it; `statuses` the first and the last one that
    fit; `failed` says whether there was an error; `until` is the first moment that does not fit."""

    tenant: str | None = None
    key_id: str | None = None
    model: str | None = None
    statuses: tuple[int, int] | None = None
    failed: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    besides: str | None = None
    """A front whose requests are left out."""


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
    trace = [_told_event(event) for event in events]
    return {**request_dict(row), "tries": tries, "report": report, "trace": trace}


def _told_event(event: EventRow) -> JsonObject:
    payload = {name: value for name, value in event.payload.items() if name != "losses"}
    return {"type": event.type, "timestamp": event.timestamp, "payload": payload}


class StatusError(InterlinguaError):
    """What was said about statuses makes no sense."""


def with_status(wanted: Wanted, said: str) -> Wanted:
    """Those that went well (`ok`), those that did not (`failed`), or those with a status: `429`, or
    `4xx` for all of its kind."""
    if said in ("ok", "failed"):
        return wanted._replace(failed=said == "failed")
    if re.fullmatch("[1-5]xx", said):
        first = int(said[0]) * 100
        return wanted._replace(statuses=(first, first + 99))
    if re.fullmatch("[1-5][0-9][0-9]", said):
        return wanted._replace(statuses=(int(said), int(said)))
    raise StatusError(f"status: expected ok, failed, 4xx or 429, found {said[:80]!r}")
