"""The tables of version 1, as data, for both engines; `migrations.py` has the later changes.

SQLite keys messages and calls by `id`. PostgreSQL keys everything that belongs to a session by
(`session_id`, `id`), and every foreign key between such tables carries `session_id`, so that a
distributed PostgreSQL can split them by it. Times are microseconds since 1970.
"""

from __future__ import annotations

APPLICATION_ID = 0x696C7374
"""The application id of our SQLite files ("ilst")."""

_SQLITE = {"json": "TEXT", "big": "INTEGER", "key": "PRIMARY KEY", "keys": ""}
_POSTGRES = {
    "json": "JSON",
    "big": "BIGINT",
    "key": "NOT NULL",
    "keys": ",\n    PRIMARY KEY (session_id, id)",
}
_SESSIONS = """CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    workspace_path TEXT NOT NULL,
    active_model TEXT,
    routing_policy_json {json},
    schema_version INTEGER NOT NULL,
    created_at {big} NOT NULL,
    updated_at {big} NOT NULL,
    name TEXT,
    parent_id TEXT,
    parent_message_id TEXT,
    message_count {big} NOT NULL DEFAULT 0,
    indexed_count {big} NOT NULL DEFAULT 0
)"""
_MESSAGES = """CREATE TABLE messages (
    id TEXT {key},
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    content_json {json} NOT NULL,
    metadata_json {json} NOT NULL,
    created_at {big} NOT NULL,
    schema_version INTEGER NOT NULL,
    seq {big} NOT NULL,
    name TEXT{keys}
)"""
_EVENTS = """CREATE TABLE events (
    id TEXT {key},
    session_id TEXT NOT NULL,
    seq {big} NOT NULL,
    timestamp {big} NOT NULL,
    turn_id TEXT,
    parent_event_id TEXT,
    type TEXT NOT NULL,
    actor TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    payload {json} NOT NULL{keys}
)"""
_UPDATED = "CREATE INDEX idx_sessions_updated ON sessions (updated_at, id)"
_UNINDEXED = (
    "CREATE INDEX idx_sessions_unindexed ON sessions (id) WHERE indexed_count < message_count"
)
_MESSAGE_INDEXES = (
    "CREATE INDEX idx_messages_session_created ON messages (session_id, created_at)",
    "CREATE UNIQUE INDEX idx_messages_session_seq ON messages (session_id, seq)",
)
_CALL_INDEX = "CREATE INDEX idx_tool_calls_session_status ON tool_calls (session_id, status)"
_STATUS = "CHECK (status IN ('pending', 'succeeded', 'failed', 'cancelled'))"
_EVENT_INDEXES = (
    "CREATE UNIQUE INDEX idx_events_session_seq ON events (session_id, seq)",
    "CREATE INDEX idx_events_type_timestamp ON events (type, timestamp)",
    "CREATE INDEX idx_events_turn ON events (turn_id) WHERE turn_id IS NOT NULL",
    "CREATE INDEX idx_events_parent ON events (parent_event_id) WHERE parent_event_id IS NOT NULL",
)

_LIST_VIEW = """CREATE VIEW session_list AS
SELECT id, name, active_model, message_count, {created} AS created, {updated} AS updated,
    workspace_path, parent_id
FROM sessions"""
_CALLS_VIEW = """CREATE VIEW call_list AS
SELECT c.session_id, m.seq, c.name, c.status, c.executor, c.provider, c.provider_id, c.id,
    {created} AS created, (c.completed_at - c.created_at) / 1000000.0 AS seconds
FROM tool_calls c JOIN messages m ON m.session_id = c.session_id AND m.id = c.message_id"""

SQLITE: tuple[str, ...] = (
    _SESSIONS.format(**_SQLITE),
    _UPDATED,
    _UNINDEXED,
    _MESSAGES.format(**_SQLITE),
    *_MESSAGE_INDEXES,
    f"""CREATE TABLE tool_calls (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    result_message_id TEXT REFERENCES messages (id) ON DELETE SET NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL {_STATUS},
    provider_id TEXT,
    provider TEXT,
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    executor TEXT NOT NULL DEFAULT 'client'
) WITHOUT ROWID""",
    _CALL_INDEX,
    "CREATE INDEX idx_tool_calls_message ON tool_calls (message_id)",
    "CREATE INDEX idx_tool_calls_result ON tool_calls (result_message_id)"
    " WHERE result_message_id IS NOT NULL",
    _EVENTS.format(**_SQLITE),
    *_EVENT_INDEXES,
    "CREATE INDEX idx_events_session_id ON events (session_id, id)",
    """CREATE TABLE message_texts (
    number INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL UNIQUE REFERENCES messages (id) ON DELETE CASCADE,
    text TEXT NOT NULL
)""",
    "CREATE INDEX idx_message_texts_session ON message_texts (session_id)",
    """CREATE VIRTUAL TABLE message_search USING fts5 (
    text, content='message_texts', content_rowid='number',
    tokenize='unicode61 remove_diacritics 0'
)""",
    """CREATE TRIGGER message_texts_added AFTER INSERT ON message_texts BEGIN
    INSERT INTO message_search (rowid, text) VALUES (new.number, new.text);
END""",
    """CREATE TRIGGER message_texts_removed AFTER DELETE ON message_texts BEGIN
    INSERT INTO message_search (message_search, rowid, text)
    VALUES ('delete', old.number, old.text);
END""",
    _LIST_VIEW.format(
        created="datetime(created_at / 1000000, 'unixepoch')",
        updated="datetime(updated_at / 1000000, 'unixepoch')",
    ),
    _CALLS_VIEW.format(created="datetime(c.created_at / 1000000, 'unixepoch')"),
    """CREATE VIEW conversation AS
SELECT m.session_id, m.seq, m.role,
    datetime(m.created_at / 1000000, 'unixepoch') AS created,
    json_extract(m.metadata_json, '$.model') AS model,
    coalesce(json_extract(m.metadata_json, '$.status'), 'complete') AS status,
    (SELECT group_concat(line, char(10)) FROM (
        SELECT CASE json_extract(b.value, '$.type')
            WHEN 'text' THEN json_extract(b.value, '$.text')
            WHEN 'refusal' THEN json_extract(b.value, '$.text')
            WHEN 'tool_use' THEN '[calls ' || json_extract(b.value, '$.name') || ']'
            WHEN 'tool_result' THEN (
                SELECT group_concat(json_extract(p.value, '$.text'), char(10))
                FROM json_each(b.value, '$.content') AS p)
            ELSE '[' || json_extract(b.value, '$.type') || ']' END AS line
        FROM json_each(m.content_json) AS b)) AS text,
    m.id
FROM messages m""",
    """CREATE VIEW message_costs AS
SELECT session_id, seq, id, role, date(created_at / 1000000, 'unixepoch') AS day,
    json_extract(metadata_json, '$.model') AS model,
    json_extract(metadata_json, '$.provider') AS provider,
    json_extract(metadata_json, '$.user_id') AS user_id,
    json_extract(metadata_json, '$.team_id') AS team_id,
    json_extract(metadata_json, '$.usage.input_tokens') AS input_tokens,
    json_extract(metadata_json, '$.usage.cached_input_tokens') AS cached_input_tokens,
    json_extract(metadata_json, '$.usage.cache_creation_input_tokens')
        AS cache_creation_input_tokens,
    json_extract(metadata_json, '$.usage.output_tokens') AS output_tokens,
    json_extract(metadata_json, '$.usage.cost_usd') AS cost_usd,
    json_extract(metadata_json, '$.usage.pricing_version') AS pricing_version
FROM messages WHERE json_extract(metadata_json, '$.usage') IS NOT NULL""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    "PRAGMA user_version = 1",
)
"""Everything a new file begins with."""

_PG_TIME = "to_timestamp({} / 1000000.0)"
_PG_CAN_READ = "position('\\u0000' in {} :: text) = 0"
"""PostgreSQL's text cannot hold NUL, so a view leaves out values with one; the column has them
all."""

POSTGRES: tuple[str, ...] = (
    "CREATE TABLE store_info (version INTEGER NOT NULL)",
    _SESSIONS.format(**_POSTGRES),
    _UPDATED,
    _UNINDEXED,
    _MESSAGES.format(**_POSTGRES),
    *_MESSAGE_INDEXES,
    f"""CREATE TABLE tool_calls (
    id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message_id TEXT NOT NULL,
    result_message_id TEXT,
    name TEXT NOT NULL,
    status TEXT NOT NULL {_STATUS},
    provider_id TEXT,
    provider TEXT,
    created_at BIGINT NOT NULL,
    completed_at BIGINT,
    executor TEXT NOT NULL DEFAULT 'client',
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, message_id) REFERENCES messages (session_id, id) ON DELETE CASCADE,
    FOREIGN KEY (session_id, result_message_id) REFERENCES messages (session_id, id)
        ON DELETE CASCADE
)""",
    _CALL_INDEX,
    "CREATE INDEX idx_tool_calls_message ON tool_calls (session_id, message_id)",
    "CREATE INDEX idx_tool_calls_result ON tool_calls (session_id, result_message_id)"
    " WHERE result_message_id IS NOT NULL",
    _EVENTS.format(**_POSTGRES),
    *_EVENT_INDEXES,
    """CREATE TABLE message_texts (
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    text TEXT NOT NULL,
    words TSVECTOR NOT NULL,
    PRIMARY KEY (session_id, message_id),
    FOREIGN KEY (session_id, message_id) REFERENCES messages (session_id, id) ON DELETE CASCADE
)""",
    "CREATE INDEX idx_message_texts_words ON message_texts USING gin (words)",
    _LIST_VIEW.format(created=_PG_TIME.format("created_at"), updated=_PG_TIME.format("updated_at")),
    _CALLS_VIEW.format(created=_PG_TIME.format("c.created_at")),
    f"""CREATE VIEW conversation AS
SELECT m.session_id, m.seq, m.role, {_PG_TIME.format("m.created_at")} AS created,
    CASE WHEN {_PG_CAN_READ.format("m.metadata_json")}
        THEN m.metadata_json ->> 'model' END AS model,
    CASE WHEN {_PG_CAN_READ.format("m.metadata_json")}
        THEN coalesce(m.metadata_json ->> 'status', 'complete') END AS status,
    CASE WHEN {_PG_CAN_READ.format("m.content_json")} THEN (
        SELECT string_agg(CASE b ->> 'type'
            WHEN 'text' THEN b ->> 'text'
            WHEN 'refusal' THEN b ->> 'text'
            WHEN 'tool_use' THEN '[calls ' || (b ->> 'name') || ']'
            WHEN 'tool_result' THEN (
                SELECT string_agg(p ->> 'text', E'\\n')
                FROM json_array_elements(coalesce(b -> 'content', '[]')) AS p)
            ELSE '[' || (b ->> 'type') || ']' END, E'\\n')
        FROM json_array_elements(m.content_json) AS b) END AS text,
    m.id
FROM messages m""",
    f"""CREATE VIEW message_costs AS
SELECT session_id, seq, id, role,
    ({_PG_TIME.format("created_at")} AT TIME ZONE 'UTC')::date AS day,
    metadata_json ->> 'model' AS model,
    metadata_json ->> 'provider' AS provider,
    metadata_json ->> 'user_id' AS user_id,
    metadata_json ->> 'team_id' AS team_id,
    (metadata_json #>> '{{usage,input_tokens}}')::bigint AS input_tokens,
    (metadata_json #>> '{{usage,cached_input_tokens}}')::bigint AS cached_input_tokens,
    (metadata_json #>> '{{usage,cache_creation_input_tokens}}')::bigint
        AS cache_creation_input_tokens,
    (metadata_json #>> '{{usage,output_tokens}}')::bigint AS output_tokens,
    (metadata_json #>> '{{usage,cost_usd}}')::numeric AS cost_usd,
    metadata_json #>> '{{usage,pricing_version}}' AS pricing_version
FROM messages
WHERE metadata_json -> 'usage' IS NOT NULL AND {_PG_CAN_READ.format("metadata_json")}""",
    "INSERT INTO store_info VALUES (1)",
)
"""Everything an empty database begins with."""
