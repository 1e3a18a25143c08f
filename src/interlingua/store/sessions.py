"""Sessions: made, found, changed, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from interlingua.model.codec import dumps
from interlingua.model.message import from_micros, micros
from interlingua.store.effects import Op, Step, Work, now
from interlingua.store.errors import NotFoundError
from interlingua.store.rows import JsonObject, SessionFilter, SessionRow, TurnRow

FORGET_WORDS = "INSERT INTO message_search (message_search, rank) VALUES ('merge', -2000)"
"""SQLite's index keeps words of removed messages where they filled pages, until pages are merged:
here up to 8 MB of them, as much as one waits for."""


class Sessions(Work):
    def new_session(
        self,
        workspace_path: str,
        id: str | None,
        name: str | None,
        active_model: str | None,
        routing_policy: JsonObject | None,
    ) -> SessionRow:
        begun = from_micros(now())
        id = id or self.ulids.new()
        return SessionRow(id, workspace_path, begun, begun, active_model, routing_policy, name)

    def create_session(self, row: SessionRow) -> Op[SessionRow]:
        yield Step(
            self.sql.add_session,
            (
                row.id,
                row.workspace_path,
                row.active_model,
                None if row.routing_policy is None else dumps(row.routing_policy),
                row.schema_version,
                micros(row.created_at),
                micros(row.updated_at),
                row.name,
                row.parent_id,
                row.parent_message_id,
            ),
        )
        return row

    def session(self, id: str) -> Op[SessionRow]:
        return (yield from self._session(self.sql.session, id))

    def _session(self, sql: str, id: str) -> Op[SessionRow]:
        rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "session", id)
        return _session_row(rows[0])

    def sessions(self, limit: int, before: SessionRow | None) -> Op[list[SessionRow]]:
        if before is None:
            rows = yield Step(self.sql.sessions, (limit,))
        else:
            values = (micros(before.updated_at), before.id, limit)
            rows = yield Step(self.sql.sessions_before, values)
        return [_session_row(row) for row in rows]

    def sessions_of(
        self, owner: str | None, limit: int, before: SessionRow | None, wanted: SessionFilter
    ) -> Op[list[SessionRow]]:
        values: tuple[Any, ...] = (owner or "", *_asked(wanted))
        statement = self.sql.sessions_of
        if before is not None:
            statement = self.sql.sessions_of_before
            values += (micros(before.updated_at), before.id)
        rows = yield Step(statement, (*values, limit))
        return [_session_row(row) for row in rows]

    def forks_of(self, id: str, limit: int) -> Op[list[SessionRow]]:
        rows = yield Step(self.sql.forks, (id, limit))
        return [_session_row(row) for row in rows]

    def update_session(
        self,
        id: str,
        name: str | UnsetType | None,
        active_model: str | UnsetType | None,
        routing_policy: JsonObject | UnsetType | None,
        workspace_path: str | UnsetType,
    ) -> Op[SessionRow]:
        row = yield from self._session(self.sql.lock_session, id)
        given = {
            "name": name,
            "active_model": active_model,
            "routing_policy": routing_policy,
            "workspace_path": workspace_path,
        }
        changes = {key: value for key, value in given.items() if value is not UNSET}
        at = max(now(), micros(row.updated_at))
        row = msgspec.structs.replace(row, **changes, updated_at=from_micros(at))
        policy = None if row.routing_policy is None else dumps(row.routing_policy)
        values = (row.name, row.active_model, policy, row.workspace_path, at, id)
        yield Step(self.sql.change_session, values)
        return row

    def delete_session(self, id: str) -> Op[None]:
        rows: list[Any] = []
        for sql in self.sql.delete:
            rows = yield Step(sql, (id,))
        if not rows:
            raise NotFoundError(self.where, "session", id)
        if self.sql.is_sqlite:
            yield Step(FORGET_WORDS)


def _asked(wanted: SessionFilter) -> tuple[Any, ...]:
    """A filter as the values of the statement: each once to see whether it is given."""
    words, model = _somewhere(wanted.words), _somewhere(wanted.model)
    folder = None if wanted.folder is None else wanted.folder.rstrip("/\\") or wanted.folder
    below = None if folder is None else f"{_literal(folder)}/%"
    since, until = (None if at is None else micros(at) for at in (wanted.since, wanted.until))
    return (
        *(words, words, wanted.origin, wanted.origin, model, model),
        *(folder, folder, below, since, since, until, until),
    )


def _somewhere(text: str | None) -> str | None:
    return f"%{_literal(text.lower())}%" if text else None


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _session_row(row: Sequence[Any]) -> SessionRow:
    id, path, model, policy, version, created, updated, name, parent, message, count = row[:11]
    turn_id, holder, seen_at = row[11:]
    return SessionRow(
        id,
        path,
        from_micros(created),
        from_micros(updated),
        model,
        None if policy is None else msgspec.json.decode(policy),
        name,
        parent,
        message,
        count,
        version,
        None if turn_id is None else TurnRow(turn_id, holder, from_micros(seen_at)),
    )
