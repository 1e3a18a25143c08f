"""What passed a gateway: written when it is over, found again by whose it is and what became of it.

Rows are numbered in the order in which they become visible, so that who reads on from a number
misses nothing: writers take turns (in PostgreSQL by a lock that they hold to the end).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import from_micros, micros
from interlingua.model.metadata import Usage
from interlingua.store.effects import Op, Step
from interlingua.store.errors import NotFoundError
from interlingua.store.request_rows import Clause, RequestRow, Wanted
from interlingua.store.rows import EventRow
from interlingua.store.trace import Trace, event_row

PREFIX = "req_"
"""Of the id of a request; the rest is the id of its event."""
_LOCK = "requests"
_COUNTS = (
    "input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens,"
    " reasoning_tokens"
)
_LISTED = (
    "id, seq, at, tenant, key_id, user_id, team_id, turn_session, front, action, asked, model,"
    " dialect, stream, status, error, code, stop_reason, attempts, duration_ms, first_byte_ms,"
    f" {_COUNTS}, cost_usd, pricing_version, losses"
)
_COLUMNS = f"{_LISTED}, tries_json, report_json"
_NEWEST_FIRST = "ORDER BY at DESC, id DESC LIMIT ?"
MOST_EVENTS = 100


class Requests(Trace):
    def append_requests(self, rows: Sequence[RequestRow], events: Sequence[EventRow]) -> Op[None]:
        """What is there already stays as it is: who could not know whether it was stored may give
        it again."""
        if events:
            yield from self.append_events(events)
        if not rows:
            return
        yield Step(self.sql.lock_trace, (_LOCK,))
        last = (yield from self.last_request()) + 1
        values = [_values(row, seq) for seq, row in enumerate(rows, last)]
        yield Step(self._adding, values, many=True)

    @property
    def _adding(self) -> str:
        json = "CAST(? AS TEXT)" if self.sql.is_sqlite else "?"
        marks = ", ".join(["?"] * len(_LISTED.split(",")) + [json, json])
        insert = f"INSERT INTO requests ({_COLUMNS}) VALUES ({marks})"
        return self._sql(f"{insert} ON CONFLICT (id) DO NOTHING")

    def save_costs(self, costs: Sequence[tuple[str, Usage]]) -> Op[None]:
        sql = "UPDATE requests SET cost_usd = ?, pricing_version = ? WHERE id = ?"
        ordered = sorted(
            costs, key=lambda each: each[0]
        )  # always in one order, so that none waits in a circle
        values = [(_amount(usage.cost_usd), usage.pricing_version, id) for id, usage in ordered]
        yield Step(self._sql(sql), values, many=True)

    def last_request(self) -> Op[int]:
        """The number of the last request."""
        last: int = (yield Step("SELECT coalesce(max(seq), 0) FROM requests"))[0][0]
        return last

    def request(self, id: str) -> Op[RequestRow]:
        blobs = "tries_json, report_json"
        if self.sql.is_sqlite:
            blobs = "CAST(tries_json AS BLOB), CAST(report_json AS BLOB)"
        sql = f"SELECT {_LISTED}, {blobs} FROM requests WHERE id = ?"
        rows = yield Step(self._sql(sql), (id,))
        if not rows:
            raise NotFoundError(self.where, "request", id)
        return _row(rows[0])

    def requests(
        self, wanted: Wanted, limit: int, before: RequestRow | None
    ) -> Op[list[RequestRow]]:
        clauses = list(self._clauses(wanted))
        if before is not None:
            clauses.append(Clause("(at, id) < (?, ?)", (micros(before.at), before.id)))
        return (yield from self._listed(clauses, _NEWEST_FIRST, limit))

    def requests_after(
        self, wanted: Wanted, after: int, upto: int, limit: int
    ) -> Op[list[RequestRow]]:
        here = Clause("seq > ? AND seq <= ?", (after, upto))
        clauses = [here, *self._clauses(wanted)]
        return (yield from self._listed(clauses, "ORDER BY seq LIMIT ?", limit))

    def requests_named(self, start: str, limit: int) -> Op[list[RequestRow]]:
        """Those whose id begins so."""
        within = Clause("id >= ? AND id < ?", (start, f"{start}\U0010ffff"))
        return (yield from self._listed([within], _NEWEST_FIRST, limit))

    def _listed(self, clauses: list[Clause], order: str, limit: int) -> Op[list[RequestRow]]:
        where = " AND ".join(["1 = 1", *[clause.sql for clause in clauses]])
        values = [value for clause in clauses for value in clause.values]
        sql = self._sql(f"SELECT {_LISTED} FROM requests WHERE {where} {order}")
        return [_row(row) for row in (yield Step(sql, (*values, max(limit, 0))))]

    def _clauses(self, wanted: Wanted) -> Iterator[Clause]:
        for column in ("tenant", "key_id"):
            said = getattr(wanted, column)
            if said is not None:
                yield Clause(f"{column} = ?", (said,))
        if wanted.model is not None:
            colon = "instr(model, ':')" if self.sql.is_sqlite else "strpos(model, ':')"
            sql = f"(model = ? OR asked = ? OR substr(model, {colon} + 1) = ?)"
            yield Clause(sql, (wanted.model,) * 3)
        if wanted.statuses is not None:
            yield Clause("status BETWEEN ? AND ?", wanted.statuses)
        if wanted.failed is not None:
            yield Clause(f"error IS {'NOT ' if wanted.failed else ''}NULL")
        if wanted.since is not None:
            yield Clause("at >= ?", (micros(wanted.since),))
        if wanted.until is not None:
            yield Clause("at < ?", (micros(wanted.until),))
        if wanted.besides is not None:
            yield Clause("front <> ?", (wanted.besides,))

    def request_trace(self, id: str, shared: str) -> Op[list[EventRow]]:
        """Events are filed under the id of their request, or with those of others (`shared`)."""
        own = yield from self.events(id, 0, MOST_EVENTS, ())
        rows = yield Step(self.sql.event, (shared, id.removeprefix(PREFIX)))
        return [*[event_row(row) for row in rows], *own]

    def _sql(self, text: str) -> str:
        return text if self.sql.is_sqlite else text.replace("?", "%s")


def _values(row: RequestRow, seq: int) -> tuple[Any, ...]:
    usage = row.usage or Usage()
    return (
        *(row.id, seq, micros(row.at), row.tenant, row.key_id, row.user_id, row.team_id),
        *(row.session_id, row.front, row.action, row.asked, row.model, row.dialect),
        *(int(row.stream), row.status, row.error, row.code, row.stop_reason, row.attempts),
        *(row.duration_ms, row.first_byte_ms, usage.input_tokens, usage.output_tokens),
        *(usage.cached_input_tokens, usage.cache_creation_input_tokens, usage.reasoning_tokens),
        *(_amount(usage.cost_usd), usage.pricing_version, row.losses),
        dumps(list(row.tries)) if row.tries else None,
        None if row.report is None else dumps(row.report),
    )


def _amount(cost: Decimal | None) -> str | None:
    return None if cost is None else f"{cost:f}"


def _row(row: Sequence[Any]) -> RequestRow:
    id, seq, at, tenant, key_id, user_id, team_id, session_id = row[:8]
    front, action, asked, model, dialect, stream, status, error, code, stop = row[8:18]
    attempts, duration, first_byte, input, output, cached, written, reasoning = row[18:26]
    cost, version, losses = row[26:29]
    tries, report = row[29:] or (None, None)
    paid = None if cost is None else Decimal(cost)
    known = Usage(input, output, cached, written, reasoning, paid)
    return RequestRow(
        id,
        from_micros(at),
        front,
        status,
        duration,
        tenant=tenant,
        key_id=key_id,
        user_id=user_id,
        team_id=team_id,
        session_id=session_id,
        action=action,
        asked=asked,
        model=model,
        dialect=dialect,
        stream=bool(stream),
        error=error,
        code=code,
        stop_reason=stop,
        attempts=attempts,
        first_byte_ms=first_byte,
        usage=known.replace(pricing_version=version) if known.is_known else None,
        losses=losses,
        tries=() if tries is None else tuple(msgspec.json.decode(bytes(tries))),
        report=None if report is None else msgspec.json.decode(bytes(report)),
        seq=seq,
    )
