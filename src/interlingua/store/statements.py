"""Every statement a store runs, once for both engines, and the few words in which they differ.

Values never become part of a statement: each `?` is filled in by the engine's own library.
"""

from __future__ import annotations

from typing import Any, NamedTuple

_SESSION = (
    "id, workspace_path, active_model, {policy}, schema_version, created_at, updated_at, name,"
    " parent_id, parent_message_id, message_count, turn_id, turn_holder, turn_seen_at"
)
_OWNED = (
    "coalesce(routing_policy_json ->> 'owner', '') = ? AND routing_policy_json ->> 'kind' IS NULL"
)
_ORIGIN = (
    "CASE WHEN routing_policy_json -> 'task' IS NOT NULL THEN 'task'"
    " WHEN routing_policy_json -> 'owner' IS NOT NULL THEN 'gateway' ELSE 'chat' END"
)
"""`SessionRow.origin`; an owner that is null is one, too."""
_WANTED = (
    " AND ({words} IS NULL OR lower(coalesce(name, '') || ' ' || workspace_path || ' '"
    " || coalesce(active_model, '')) LIKE ? ESCAPE '\\')"
    f" AND ({{words}} IS NULL OR {_ORIGIN} = ?)"
    " AND ({words} IS NULL OR lower(active_model) LIKE ? ESCAPE '\\')"
    " AND ({words} IS NULL OR workspace_path = ? OR workspace_path LIKE ? ESCAPE '\\')"
    " AND ({number} IS NULL OR updated_at >= ?) AND ({number} IS NULL OR updated_at < ?)"
)
_MESSAGE = "id, role, name, {content}, {metadata}, created_at, schema_version, seq"
_CALL = (
    "id, session_id, message_id, result_message_id, name, status, provider_id, provider,"
    " created_at, completed_at, executor"
)
_KEY_COLUMNS = (
    "id, secret_hash, name, workspace_path, allowed_models_json, daily_cap_usd, monthly_cap_usd,"
    " user_id, team_id, status, revoked_at, grace_period_until, created_at, account_id,"
    " expires_at, requests_per_minute, tokens_per_minute, concurrent, refuse_losses, keep_content,"
    " allow_unpriced, allow_unbounded, read_metrics, read_requests, fetch_media"
)
_KEY = (
    "SELECT k.id, k.secret_hash, k.name, k.workspace_path, {models}, k.daily_cap_usd,"
    " k.monthly_cap_usd, k.user_id, k.team_id, k.status, k.revoked_at, k.grace_period_until,"
    " k.created_at, k.account_id, k.expires_at, k.requests_per_minute, k.tokens_per_minute,"
    " k.concurrent, k.refuse_losses, k.keep_content, k.allow_unpriced, k.allow_unbounded,"
    " k.read_metrics, k.read_requests, k.fetch_media,"
    " coalesce(u.status, '') = 'disabled' OR coalesce(t.status, '') = 'disabled',"
    " u.daily_cap_usd, u.monthly_cap_usd, t.daily_cap_usd, t.monthly_cap_usd"
    " FROM keys k LEFT JOIN users u ON u.id = k.user_id LEFT JOIN teams t ON t.id = k.team_id"
)
_USER = "id, email, name, status, created_at, daily_cap_usd, monthly_cap_usd"
_TEAM = "id, name, status, created_at, daily_cap_usd, monthly_cap_usd"
_USAGE = "m.session_id, m.id, m.created_at, m.seq, m.schema_version, {m_metadata}"


def _upsert(table: str, columns: str, values: str) -> str:
    """Write a row, over the one with its id if there is one."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", ")[1:])
    return (
        f"INSERT INTO {table} ({columns}) VALUES ({values})"
        f" ON CONFLICT (id) DO UPDATE SET {changes}"
    )


_EVENT = (
    "id, session_id, seq, timestamp, turn_id, parent_event_id, type, actor, sensitivity, {payload}"
)

_SQLITE = {
    "json": "CAST(? AS TEXT)",
    "policy": "CAST(routing_policy_json AS BLOB)",
    "content": "CAST(content_json AS BLOB)",
    "metadata": "CAST(metadata_json AS BLOB)",
    "payload": "CAST(payload AS BLOB)",
    "m_metadata": "CAST(m.metadata_json AS BLOB)",
    "models": "CAST(k.allowed_models_json AS BLOB)",
    "document": "CAST(document_json AS BLOB)",
    "has_usage": """instr(m.metadata_json, '"usage"') > 0""",
    "greatest": "max",
    "lock": "",
    "limit": "?",
    "number": "?",
    "words": "?",
    "any_type": "type IN (SELECT value FROM json_each(?))",
    "lock_trace": "SELECT ?",
    "add_text": "INSERT INTO message_texts (session_id, message_id, text) VALUES (?, ?, ?)",
    "search": """SELECT m.session_id, m.id, m.seq, m.role, m.created_at, t.text
FROM message_search f
JOIN message_texts t ON t.number = f.rowid
JOIN messages m ON m.id = t.message_id
WHERE message_search MATCH ?
AND NOT EXISTS (SELECT 1 FROM json_each(?) AS run WHERE instr(t.text, run.value) = 0)
AND (? IS NULL OR t.session_id = ?)
ORDER BY m.created_at DESC, m.id DESC LIMIT ?""",
}
_POSTGRES = {
    "json": "?",
    "policy": "routing_policy_json",
    "content": "content_json",
    "metadata": "metadata_json",
    "payload": "payload",
    "m_metadata": "m.metadata_json",
    "models": "k.allowed_models_json",
    "document": "document_json",
    "has_usage": """strpos(m.metadata_json::text, '"usage"') > 0""",
    "greatest": "greatest",
    "lock": " FOR UPDATE",
    "limit": "?::bigint",
    "number": "?::bigint",
    "words": "?::text",
    "any_type": "type = ANY(?::text[])",
    "lock_trace": "SELECT pg_advisory_xact_lock(hashtextextended(?::text, 5))",
    "add_text": (
        "INSERT INTO message_texts (session_id, message_id, text, words)"
        " VALUES (?, ?, ?, to_tsvector('simple', ?) || array_to_tsvector(?::text[]))"
    ),
    "search": """SELECT m.session_id, m.id, m.seq, m.role, m.created_at, t.text
FROM message_texts t
JOIN messages m ON m.session_id = t.session_id AND m.id = t.message_id
WHERE t.words @@ (to_tsquery('simple', ?) && ?::tsquery)
AND NOT EXISTS (SELECT 1 FROM unnest(?::text[]) AS run WHERE strpos(t.text, run) = 0)
AND (?::text IS NULL OR t.session_id = ?)
ORDER BY m.created_at DESC, m.id DESC LIMIT ?::bigint""",
}


class Statements(NamedTuple):
    """The statements of one engine."""

    add_session: str = (
        "INSERT INTO sessions (id, workspace_path, active_model, routing_policy_json,"
        " schema_version, created_at, updated_at, name, parent_id, parent_message_id)"
        " VALUES (?, ?, ?, {json}, ?, ?, ?, ?, ?, ?)"
    )
    session: str = f"SELECT {_SESSION} FROM sessions WHERE id = ?"
    sessions: str = f"SELECT {_SESSION} FROM sessions ORDER BY updated_at DESC, id DESC LIMIT ?"
    sessions_before: str = (
        f"SELECT {_SESSION} FROM sessions WHERE (updated_at, id) < (?, ?)"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    sessions_of: str = (
        f"SELECT {_SESSION} FROM sessions WHERE {_OWNED}{_WANTED}"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    sessions_of_before: str = (
        f"SELECT {_SESSION} FROM sessions WHERE {_OWNED}{_WANTED} AND (updated_at, id) < (?, ?)"
        " ORDER BY updated_at DESC, id DESC LIMIT ?"
    )
    forks: str = (
        f"SELECT {_SESSION} FROM sessions WHERE parent_id = ? ORDER BY created_at, id LIMIT ?"
    )
    change_session: str = (
        "UPDATE sessions SET name = ?, active_model = ?, routing_policy_json = {json},"
        " workspace_path = ?, updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
    )
    lock_session: str = f"SELECT {_SESSION} FROM sessions WHERE id = ?{{lock}}"
    delete: tuple[str, ...] = (
        "DELETE FROM tasks WHERE id = ?",
        "DELETE FROM task_confirmations WHERE session_id = ?",
        "DELETE FROM task_events WHERE session_id = ?",
        "DELETE FROM task_messages WHERE session_id = ?",
        "DELETE FROM message_texts WHERE session_id = ?",
        "DELETE FROM tool_calls WHERE session_id = ?",
        "DELETE FROM messages WHERE session_id = ?",
        "DELETE FROM events WHERE session_id = ?",
        "DELETE FROM sessions WHERE id = ? RETURNING id",
    )

    take: str = (
        "UPDATE sessions SET message_count = message_count + {number},"
        " updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
        " RETURNING message_count, (SELECT m.id FROM messages m"
        " WHERE m.session_id = sessions.id AND m.seq = sessions.message_count - {number})"
    )
    """Room for some messages; also tells the last id, and in PostgreSQL holds the session until the
    transaction ends."""
    touch: str = (
        "UPDATE sessions SET updated_at = {greatest}(updated_at, {number}) WHERE id = ?"
        " RETURNING indexed_count"
    )
    hold: str = (
        "UPDATE sessions SET turn_id = ?, turn_holder = ?, turn_seen_at = {number}"
        " WHERE id = ? AND coalesce(turn_id, '') IN (?, ?) RETURNING id"
    )
    let_go: str = (
        "UPDATE sessions SET turn_id = NULL, turn_holder = NULL, turn_seen_at = NULL"
        " WHERE id = ? AND turn_id = ?"
    )
    add_message: str = (
        "INSERT INTO messages (id, session_id, role, content_json, metadata_json, created_at,"
        " schema_version, seq, name) VALUES (?, ?, ?, {json}, {json}, ?, ?, ?, ?)"
    )
    rewrite: str = (
        "UPDATE messages SET role = ?, content_json = {json}, metadata_json = {json},"
        " created_at = coalesce({number}, created_at), schema_version = ?, name = ?"
        " WHERE session_id = ? AND id = ? RETURNING seq, created_at"
    )
    message: str = f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND id = ?"
    message_now: str = f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND id = ?{{lock}}"
    seq: str = "SELECT seq FROM messages WHERE session_id = ? AND id = ?"
    id_at: str = "SELECT id FROM messages WHERE session_id = ? AND seq = ?"
    messages: str = (
        f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? AND seq > ?"
        " ORDER BY seq LIMIT {limit}"
    )
    tail: str = (
        f"SELECT {_MESSAGE} FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT {{limit}}"
    )

    add_call: str = f"INSERT INTO tool_calls ({_CALL}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    change_call: str = (
        "UPDATE tool_calls SET name = ?, executor = ?, provider = coalesce(?, provider),"
        " provider_id = coalesce(?, provider_id) WHERE session_id = ? AND id = ?"
    )
    answer: str = (
        "UPDATE tool_calls SET status = ?, result_message_id = ?, completed_at = ?"
        " WHERE session_id = ? AND id = ?"
        " AND (result_message_id IS NULL OR result_message_id = ?)"
    )
    reopen: str = (
        "UPDATE tool_calls SET status = 'pending', result_message_id = NULL, completed_at = NULL"
        " WHERE session_id = ? AND id = ?"
    )
    cancel: str = (
        "UPDATE tool_calls SET status = 'cancelled', completed_at = ?"
        " WHERE session_id = ? AND message_id = ? AND status = 'pending'"
    )
    revive: str = (
        "UPDATE tool_calls SET status = 'pending', completed_at = NULL WHERE session_id = ?"
        " AND message_id = ? AND status = 'cancelled' AND result_message_id IS NULL"
    )
    """Calls of an answer that was taken for broken off, and was not."""
    drop_call: str = "DELETE FROM tool_calls WHERE session_id = ? AND id = ?"
    call: str = "SELECT executor, result_message_id FROM tool_calls WHERE session_id = ? AND id = ?"
    calls_of: str = "SELECT id FROM tool_calls WHERE session_id = ? AND message_id = ?"
    answered_by: str = "SELECT id FROM tool_calls WHERE session_id = ? AND result_message_id = ?"
    calls: str = f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? ORDER BY created_at, id"
    unanswered: str = (
        f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? AND status = 'pending'"
        " AND executor = 'client' ORDER BY created_at, id"
    )
    failed: str = (
        f"SELECT {_CALL} FROM tool_calls WHERE session_id = ? AND status = 'failed'"
        " ORDER BY created_at, id"
    )

    lock_trace: str = "{lock_trace}"
    last_event: str = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
    events_there: str = "SELECT id, seq FROM events WHERE session_id = ? AND id >= ?"
    add_event: str = (
        "INSERT INTO events (id, session_id, seq, timestamp, turn_id, parent_event_id, type,"
        " actor, sensitivity, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {json})"
    )
    events: str = (
        f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT {{limit}}"
    )
    event: str = f"SELECT {_EVENT} FROM events WHERE session_id = ? AND id = ?"
    events_of: str = (
        f"SELECT {_EVENT} FROM events WHERE session_id = ? AND seq > ? AND {{any_type}}"
        " ORDER BY seq LIMIT {limit}"
    )

    usages_of: str = (
        f"SELECT {_USAGE} FROM messages m WHERE m.session_id = ?"
        " AND (m.created_at, m.seq) > ({number}, {number}) AND m.created_at < {number}"
        " AND {has_usage} ORDER BY m.created_at, m.seq LIMIT {limit}"
    )
    next_session: str = (
        "SELECT s.id FROM sessions s WHERE s.id > ? AND EXISTS (SELECT 1 FROM messages m"
        " WHERE m.session_id = s.id AND m.created_at >= {number} AND m.created_at < {number})"
        " ORDER BY s.id LIMIT 1"
    )
    usage_now: str = f"SELECT {_USAGE} FROM messages m WHERE m.session_id = ? AND m.id = ?{{lock}}"
    set_metadata: str = "UPDATE messages SET metadata_json = {json} WHERE session_id = ? AND id = ?"

    save_key: str = _upsert("keys", _KEY_COLUMNS, "?, ?, ?, ?, {json}" + ", ?" * 20)
    key: str = f"{_KEY} WHERE k.id = ?"
    key_by_hash: str = f"{_KEY} WHERE k.secret_hash = ?"
    keys: str = f"{_KEY} WHERE k.id > ? ORDER BY k.id LIMIT ?"
    save_user: str = _upsert("users", _USER, "?, ?, ?, ?, ?, ?, ?")
    user: str = f"SELECT {_USER} FROM users WHERE id = ?"
    users: str = f"SELECT {_USER} FROM users WHERE id > ? ORDER BY id LIMIT ?"
    save_team: str = _upsert("teams", _TEAM, "?, ?, ?, ?, ?, ?")
    team: str = f"SELECT {_TEAM} FROM teams WHERE id = ?"
    teams: str = f"SELECT {_TEAM} FROM teams WHERE id > ? ORDER BY id LIMIT ?"
    add_prices: str = (
        "INSERT INTO prices (version, document_json, created_at) VALUES (?, {json}, ?)"
        " ON CONFLICT (version) DO NOTHING RETURNING version"
    )
    prices: str = "SELECT {document} FROM prices WHERE version = ?"
    price_versions: str = "SELECT version FROM prices ORDER BY created_at, version"

    unindexed: str = "SELECT id FROM sessions WHERE indexed_count < message_count LIMIT 1"
    to_index: str = "SELECT id, indexed_count FROM sessions WHERE id = ?{lock}"
    indexed: str = "UPDATE sessions SET indexed_count = ? WHERE id = ?"
    add_text: str = "{add_text}"
    drop_text: str = "DELETE FROM message_texts WHERE session_id = ? AND message_id = ?"
    search: str = "{search}"
    set_version: str = "UPDATE store_info SET version = ?"

    is_sqlite: bool = True


def _filled(words: dict[str, str], mark: str, is_sqlite: bool) -> Statements:
    def fill(text: str) -> str:
        return text.format(**words).replace("?", mark)

    fields: dict[str, Any] = {
        name: tuple(map(fill, text)) if isinstance(text, tuple) else fill(text)
        for name, text in Statements._field_defaults.items()
        if not isinstance(text, bool)
    }
    return Statements(**fields, is_sqlite=is_sqlite)


SQLITE = _filled(_SQLITE, "?", is_sqlite=True)
POSTGRES = _filled(_POSTGRES, "%s", is_sqlite=False)
