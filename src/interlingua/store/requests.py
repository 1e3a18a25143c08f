"""The request log of a gateway: written when a request is over, found by owner, model and outcome.

Rows are numbered in the order in which they become visible, so that a reader that continues from a
number misses nothing: writers take turns (in PostgreSQL by a lock that they hold to the end).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.codec import dumps
from interlingua.model.message import micros
from interlingua.model.metadata import BREAKDOWNS, Usage
from interlingua.store.errors import NotFoundError
from interlingua.store.request_costs import RequestCosts
from interlingua.store.request_stats import RequestStats, added_up
from interlingua.store.rows import EVENTS, EventRow, JsonObject, Part, Table
from interlingua.store.statements import TOGETHER, Op, Step, Work


class RequestRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finished request. `asked` is the model name in the client's request, `model` the one that
    answered or was tried last; `tenant` is the owner. `tries` and `report` are read only with a
    single request; `tries` is empty if the first one succeeded, `report` is None if the request's
    event has it. `seq` is assigned by the store: 1, 2, 3, …, in the order of writing."""

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
    cache: JsonObject | None = None
    seq: int = 0


def _usage_columns(usage: Usage | None) -> list[Any]:
    known = usage or _NO_USAGE
    values = [*_usual(known), None]
    values[_COST] = amount(known.cost_usd)
    found = _more(known)
    if found.count(None) < len(found):
        more = {name: value for name, value in zip(_MORE, found, strict=True) if value is not None}
        values[-1] = msgspec.json.encode(more).decode()
    return values


def _usage(stored: Sequence[Any]) -> Usage | None:
    input, output, cached, written, reasoning, cost, version, more = stored
    paid = None if cost is None else Decimal(cost)
    known = Usage(input, output, cached, written, reasoning, paid)
    if more is not None:
        fields = msgspec.json.decode(more)
        if "unpriced" in fields:
            fields["unpriced"] = tuple(fields["unpriced"])
        known = known.replace(**{name: fields[name] for name in _MORE if name in fields})
    return known.replace(pricing_version=version) if known.is_known else None


def amount(cost: Decimal | None) -> str | None:
    """A cost in its stored form: never with an exponent."""
    if cost is None:
        return None
    text = str(cost)
    return f"{cost:f}" if "E" in text else text


_USAGE = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "cost_usd",
    "pricing_version",
    "usage_more",
)
_MORE = ("unpriced", "service_tier", *BREAKDOWNS, "raw")
"""Values that few requests have, in one column. It begins with the parts without a price
(`request_costs.py`)."""
_NO_USAGE = Usage()
_COST = _USAGE.index("cost_usd")
_usual, _more = attrgetter(*_USAGE[:-1]), attrgetter(*_MORE)
_NAMES = {"session_id": "turn_session"}
_PARTS = {"usage": Part(_USAGE, _usage_columns, _usage)}
REQUESTS = Table("requests", RequestRow, names=_NAMES, parts=_PARTS)
LISTED = Table("requests", RequestRow, names=_NAMES, parts=_PARTS, without=("tries", "report"))
"""The columns of requests in a list."""
_AT, _SEQ, _REST = map(REQUESTS.columns.index, ("at", "seq", "usage_more"))
_EVENT_SEQ = EVENTS.columns.index("seq")


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
"""The former name of `RequestFilter`; it will be removed in the next release."""


class Clause(NamedTuple):
    """A condition of a statement, and its parameters."""

    sql: str
    values: tuple[Any, ...] = ()


def request_dict(row: RequestRow) -> JsonObject:
    """A request for machines: every member, whether it is known or not."""
    omitted = ("tenant", "tries", "report", "seq")
    members = [name for name in RequestRow.__struct_fields__ if name not in omitted]
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
    """Successful (`ok`) or `failed` requests, or those with a status: `429`, or `4xx` for a
    class."""
    if status in ("ok", "failed"):
        return filter._replace(failed=status == "failed")
    if re.fullmatch("[1-5]xx", status):
        first = int(status[0]) * 100
        return filter._replace(statuses=(first, first + 99))
    if re.fullmatch("[1-5][0-9][0-9]", status):
        return filter._replace(statuses=(int(status), int(status)))
    raise StatusError(f"status: expected ok, failed, 4xx or 429, found {status[:80]!r}")


class Trace(Work):
    def append_events(
        self, events: Sequence[Any], ended_turn: tuple[str, str] | None = None
    ) -> Op[list[EventRow]]:
        """Appends events (of a bus, or rows) to the trace; returns the rows with their `seq`.
        Stored ones keep their place. `ended_turn` is the session and the turn that they end, as
        in `end_turn`."""
        events = [each if type(each) is EventRow else EventRow.of(each) for each in events]
        by_session: dict[str, list[EventRow]] = {}
        for event in events:
            by_session.setdefault(event.session_id, []).append(event)
        numbers: dict[str, dict[str, int]] = {}
        new: list[list[Any]] = []
        for session_id in sorted(by_session):  # always in one order, so that none waits in a circle
            if self.sql.lock_trace:
                yield Step(self.sql.lock_trace, (session_id,))
            some = by_session[session_id]
            first = min([event.id for event in some])
            there = numbers[session_id] = dict(
                (yield Step(self.sql.events_there, (session_id, first)))
            )
            last = (yield Step(self.sql.last_event, (session_id,)))[0][0]
            for event in some:
                if event.id not in there:
                    last += 1
                    there[event.id] = last
                    stored = EVENTS.values(event)
                    stored[_EVENT_SEQ] = last
                    new.append(stored)
        if len(new) < TOGETHER:  # most often, a few
            if new:
                yield Step(self.sql.add_event, new, many=True)
        else:
            yield from self._insert_rows(EVENTS, new)
        if ended_turn is not None:
            yield Step(self.sql.let_go, ended_turn)
        replace = msgspec.structs.replace
        return [replace(each, seq=numbers[each.session_id][each.id]) for each in events]

    def events(
        self, session_id: str, after: int = 0, limit: int = 1000, types: Sequence[str] = ()
    ) -> Op[list[EventRow]]:
        """The trace of a session from a cursor on; `types` chooses some kinds."""
        if types:
            names = dumps(list(types)).decode() if self.sql.is_sqlite else list(types)
            values = (session_id, after, names, max(limit, 0))
            rows = yield Step(self.sql.events_of, values)
        else:
            rows = yield Step(self.sql.events, (session_id, after, max(limit, 0)))
        return [EVENTS.read(row) for row in rows]


PREFIX = "req_"
"""The prefix of a request's id; the rest is the id of its event."""
LOCK = "requests"
"""The lock of writers of requests in PostgreSQL."""
_NEWEST_FIRST = "ORDER BY at DESC, id DESC LIMIT ?"
MOST_EVENTS = 100
ALL = RequestFilter()
REFUSED = 400
"""The least status of a request that was refused or failed."""


class Requests(Trace, RequestStats, RequestCosts):
    def append_requests(
        self, rows: Sequence[RequestRow], events: Sequence[EventRow] = ()
    ) -> Op[None]:
        """Stores finished requests and their events in the trace, all or none; requests that are
        stored already stay as they are."""
        if events:
            yield from self.append_events(events)
        if not rows:
            return
        if self.sql.lock_trace:
            yield Step(self.sql.lock_trace, (LOCK,))
        there = {id for (id,) in (yield from self._of_ids("id", [row.id for row in rows]))}
        new = [*{row.id: row for row in reversed(rows) if row.id not in there}.values()][::-1]
        if not new:
            return
        first = (yield from self.last_request()) + 1
        stored = [REQUESTS.values(row) for row in new]
        for seq, values in enumerate(stored, first):
            values[_SEQ] = seq
        more = [values[_REST] for values in stored]
        alike = added_up(new, [values[_AT] for values in stored], more)
        yield from self._count_requests(alike)
        yield from self._insert_rows(REQUESTS, stored, " ON CONFLICT (id) DO NOTHING")
        yield from self._add_costs(alike, more, first)

    def save_costs(self, costs: Sequence[tuple[str, Usage]]) -> Op[None]:
        """The costs of requests by another price table: their ids, and usages with that cost."""
        sql = "UPDATE requests SET cost_usd = ?, pricing_version = ?, usage_more = ? WHERE id = ?"
        # Always in one order, so that two programs never wait for each other.
        ordered = sorted(costs, key=lambda cost: cost[0])
        if self.sql.lock_trace:
            yield Step(self.sql.lock_trace, (LOCK,))
        yield from self._count_costs(ordered)
        values = [(*_usage_columns(usage)[_COST:], id) for id, usage in ordered]
        ids = [id for id, _ in ordered]
        yield from self._costs_of_ids("-", ids)
        yield Step(self._sql(sql), values, many=True)
        yield from self._costs_of_ids("+", ids)

    def last_request(self) -> Op[int]:
        """The number of the newest request; 0 if there is none."""
        last: int = (yield Step("SELECT coalesce(max(seq), 0) FROM requests"))[0][0]
        return last

    def request(self, id: str) -> Op[RequestRow]:
        """One request, with its tries and its report; NotFoundError if there is none."""
        sql = f"SELECT {REQUESTS.selected()} FROM requests WHERE id = ?"
        rows = yield Step(self._sql(sql), (id,))
        if not rows:
            raise NotFoundError(self.where, "request", id)
        return REQUESTS.read(rows[0])

    def requests(
        self, filter: RequestFilter = ALL, limit: int = 50, before: RequestRow | None = None
    ) -> Op[list[RequestRow]]:
        """Requests, the newest first; `before` is the last one of the page before."""
        clauses = list(self._clauses(filter))
        if before is not None:
            clauses.append(Clause("(at, id) < (?, ?)", (micros(before.at), before.id)))
        if filter.model is None or _is_refused(filter):
            clauses += self._any_name(filter)
            return (yield from self._listed(clauses, _NEWEST_FIRST, limit))
        found: dict[str, RequestRow] = {}
        for named in self._named(filter.model):  # an OR of them would use none of their indexes
            rows = yield from self._listed([named, *clauses], _NEWEST_FIRST, limit)
            found |= {row.id: row for row in rows}
        return sorted(found.values(), key=lambda row: (row.at, row.id), reverse=True)[
            : max(limit, 0)
        ]

    def requests_after(
        self, after: int, upto: int, filter: RequestFilter = ALL, limit: int = 100
    ) -> Op[list[RequestRow]]:
        """Requests with numbers after `after` and up to `upto`, in that order."""
        here = Clause("seq > ? AND seq <= ?", (after, upto))
        clauses = [here, *self._clauses(filter, in_order=True), *self._any_name(filter)]
        return (yield from self._listed(clauses, "ORDER BY seq LIMIT ?", limit))

    def requests_named(self, start: str, limit: int = 10) -> Op[list[RequestRow]]:
        """Requests whose id has this prefix, newest first."""
        within = Clause("id >= ? AND id < ?", (start, f"{start}\U0010ffff"))
        return (yield from self._listed([within], _NEWEST_FIRST, limit))

    def _listed(self, clauses: list[Clause], order: str, limit: int) -> Op[list[RequestRow]]:
        where = " AND ".join(["1 = 1", *[clause.sql for clause in clauses]])
        values = [value for clause in clauses for value in clause.values]
        sql = self._sql(f"SELECT {LISTED.selected()} FROM requests WHERE {where} {order}")
        return [LISTED.read(row) for row in (yield Step(sql, (*values, max(limit, 0))))]

    def _named(self, model: str) -> tuple[Clause, ...]:
        """The ways in which a model can be meant, each with an index of its own."""
        colon = "instr(model, ':')" if self.sql.is_sqlite else "strpos(model, ':')"
        name = f"substr(model, {colon} + 1) = ?"
        ways = [Clause(name, (model,)), Clause("asked = ?", (model,))]
        if ":" in model:
            ways.append(Clause(f"{name} AND model = ?", (model.partition(":")[2], model)))
        return tuple(ways)

    def _any_name(self, filter: RequestFilter) -> list[Clause]:
        """The same as one condition, where another one has the better index: neither engine uses
        the index of a name inside a CASE."""
        if filter.model is None:
            return []
        named = self._named(filter.model)
        values = tuple([value for clause in named for value in clause.values])
        cases = " ".join([f"WHEN {clause.sql} THEN 1" for clause in named])
        return [Clause(f"CASE {cases} ELSE 0 END = 1", values)]

    def _clauses(self, filter: RequestFilter, in_order: bool = False) -> Iterator[Clause]:
        """The conditions of a filter; `in_order` where the index of the order of writing is to be
        used, and not that of an owner."""
        for column in ("tenant", "key_id"):
            value = getattr(filter, column)
            if value is not None:
                yield Clause(
                    f"coalesce({column}, '') = ?" if in_order else f"{column} = ?", (value,)
                )
        if filter.statuses is not None:
            yield Clause("status BETWEEN ? AND ?", filter.statuses)
            if filter.statuses[0] >= REFUSED:
                yield Clause(f"status >= {REFUSED}")  # the condition of the index of refusals
        if filter.failed is not None:
            yield Clause(f"error IS {'NOT ' if filter.failed else ''}NULL")
        if filter.since is not None:
            yield Clause("at >= ?", (micros(filter.since),))
        if filter.until is not None:
            yield Clause("at < ?", (micros(filter.until),))
        if filter.besides is not None:
            yield Clause("front <> ?", (filter.besides,))

    def request_trace(self, id: str, shared: str) -> Op[list[EventRow]]:
        """The trace's events about a request; `shared` is the session of events without one."""
        own = yield from self.events(id, 0, MOST_EVENTS, ())
        rows = yield Step(self.sql.event, (shared, id.removeprefix(PREFIX)))
        return [*[EVENTS.read(row) for row in rows], *own]


def _is_refused(filter: RequestFilter) -> bool:
    """Whether only refused or failed requests fit, which have an index of their own."""
    return filter.failed is True or (filter.statuses is not None and filter.statuses[0] >= REFUSED)
