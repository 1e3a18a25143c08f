"""Migrations: how tables of one version become those of the next, as data.

A new database is made as version 1 (`schema.py`) and then migrated like an old one, so that there
is one way only. To add a table or a column: append one step for each engine below, under the
version it starts from, and raise `VERSION` by one. Steps that were published are never changed. All
steps that a database needs are run in one transaction; other programs wait for it, and those of an
older version refuse the result.
"""

from __future__ import annotations

VERSION = 25
"""The version of the tables; the `schema_version` of a row is that of the message format."""

_OWNER_STATUS = "CHECK (status IN ('active', 'disabled'))"
_REFERENCE = (
    f"""CREATE TABLE users (
    id TEXT PRIMARY KEY,
    email TEXT UNIQUE,
    name TEXT,
    status TEXT NOT NULL {_OWNER_STATUS},
    created_at {{big}} NOT NULL
)""",
    f"""CREATE TABLE teams (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL {_OWNER_STATUS},
    created_at {{big}} NOT NULL
)""",
    """CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    workspace_path TEXT NOT NULL,
    allowed_models_json {json},
    daily_cap_usd TEXT,
    monthly_cap_usd TEXT,
    user_id TEXT REFERENCES users (id),
    team_id TEXT REFERENCES teams (id),
    status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
    revoked_at {big},
    grace_period_until {big},
    created_at {big} NOT NULL
)""",
    """CREATE TABLE prices (
    version TEXT PRIMARY KEY,
    document_json {json} NOT NULL,
    created_at {big} NOT NULL
)""",
)
"""Small tables that belong to no session: in a distributed database each machine has a copy."""
_SEARCH_ANEW = ("DELETE FROM message_texts", "UPDATE sessions SET indexed_count = 0")
"""Version 2 finds text without spaces between words; the next search rebuilds the index."""


_MORE_OF_KEYS = (
    *(
        f"ALTER TABLE keys ADD COLUMN {column}"
        for column in (
            "account_id TEXT",
            "expires_at {big}",
            "requests_per_minute {big}",
            "tokens_per_minute {big}",
            "concurrent {big}",
            "refuse_losses INTEGER NOT NULL DEFAULT 0",
            "keep_content INTEGER NOT NULL DEFAULT 0",
            "allow_unpriced INTEGER NOT NULL DEFAULT 0",
        )
    ),
    *(
        f"ALTER TABLE {table} ADD COLUMN {window}_cap_usd TEXT"
        for table in ("users", "teams")
        for window in ("daily", "monthly")
    ),
)
_QUOTAS = (
    """CREATE TABLE spend (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    period TEXT NOT NULL,
    spent {big} NOT NULL,
    reserved {big} NOT NULL,
    alerted INTEGER NOT NULL
)""",
    """CREATE TABLE rates (
    id TEXT PRIMARY KEY,
    minute {big} NOT NULL,
    requests {big} NOT NULL,
    tokens {big} NOT NULL
)""",
    """CREATE TABLE ledger (
    id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    account_id TEXT NOT NULL,
    owners TEXT NOT NULL,
    day TEXT NOT NULL,
    minute {big} NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'settled', 'abandoned')),
    reserved {big} NOT NULL,
    cost {big} NOT NULL,
    tokens {big} NOT NULL,
    created_at {big} NOT NULL,
    settled_at {big}
)""",
    "CREATE INDEX idx_ledger_open ON ledger (account_id, holder) WHERE status = 'open'",
    "CREATE INDEX idx_ledger_created ON ledger (created_at)",
    """CREATE TABLE holders (
    id TEXT PRIMARY KEY,
    seen_at {big} NOT NULL
)""",
)
"""Spending and reservations, by owner and day or month; requests and tokens of a minute; one row
for each request that counts; and the processes that hold some of them. Money is in picodollars."""
_REMEMBERED = (
    """CREATE TABLE remembered (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    issuer TEXT NOT NULL,
    model TEXT NOT NULL,
    call_key TEXT,
    turn_key TEXT NOT NULL,
    turn_json {json} NOT NULL,
    size {big} NOT NULL,
    expires_at {big} NOT NULL
)""",
    "CREATE INDEX idx_remembered_call ON remembered (call_key) WHERE call_key IS NOT NULL",
    "CREATE INDEX idx_remembered_turn ON remembered (turn_key)",
    "CREATE INDEX idx_remembered_tenant ON remembered (tenant, id)",
    "CREATE INDEX idx_remembered_expires ON remembered (expires_at)",
)
"""Data that a client's dialect could not carry, for later requests to its issuer."""
_REPEATS = (
    """CREATE TABLE repeats (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    print TEXT NOT NULL,
    holder TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'done')),
    answer_json {json},
    size {big} NOT NULL,
    made_at {big} NOT NULL,
    expires_at {big} NOT NULL
)""",
    "CREATE INDEX idx_repeats_tenant ON repeats (tenant, made_at)",
    "CREATE INDEX idx_repeats_expires ON repeats (expires_at)",
)
"""Requests that may be sent again under the same key and are answered once: the process that
answers, and the answer if content may be stored."""
_TURNS = (
    "ALTER TABLE sessions ADD COLUMN turn_id TEXT",
    "ALTER TABLE sessions ADD COLUMN turn_holder TEXT",
    "ALTER TABLE sessions ADD COLUMN turn_seen_at {big}",
)
"""The turn of a session that is under way, and its holder."""
_TASKS = (
    """CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    cwd TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('idle', 'generating')),
    holder TEXT,
    lease_until {big} NOT NULL,
    stopping INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    web_search INTEGER NOT NULL,
    told {big} NOT NULL,
    event_count {big} NOT NULL,
    created_at {big} NOT NULL,
    changed_at {big} NOT NULL,
    ended_at {big}
)""",
    "CREATE UNIQUE INDEX idx_tasks_cwd ON tasks (owner, cwd) WHERE ended_at IS NULL",
    "CREATE INDEX idx_tasks_owner ON tasks (owner, id)",
    "CREATE INDEX idx_tasks_changed ON tasks (changed_at)",
    "CREATE INDEX idx_tasks_generating ON tasks (id) WHERE status = 'generating'",
    """CREATE TABLE task_messages (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    seq {big} NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('starting', 'queued', 'taken', 'removed')),
    message_json {json},
    made_at {big} NOT NULL,
    PRIMARY KEY (session_id, id)
)""",
    "CREATE INDEX idx_task_messages_queue ON task_messages (session_id, seq)"
    " WHERE state IN ('starting', 'queued')",
    """CREATE TABLE task_events (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq {big} NOT NULL,
    id TEXT NOT NULL,
    made_at {big} NOT NULL,
    size {big} NOT NULL,
    body_json {json} NOT NULL,
    PRIMARY KEY (session_id, seq)
)""",
    """CREATE TABLE task_confirmations (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('waiting', 'approved', 'denied', 'timeout', 'cancelled')),
    name TEXT NOT NULL,
    side_effects TEXT NOT NULL,
    input_json {json} NOT NULL,
    asked_at {big} NOT NULL,
    expires_at {big} NOT NULL,
    answered_at {big},
    PRIMARY KEY (session_id, id)
)""",
    "CREATE INDEX idx_task_confirmations_waiting ON task_confirmations (session_id)"
    " WHERE status = 'waiting'",
)
"""Sessions in which an agent runs: the holder, the last event, the queue, the events, and open
confirmations. `tasks` is a reference table, since a folder belongs to one task at a time, over all
sessions; its `id` is that of the session."""

_FREEDOMS_OF_KEYS = tuple(
    f"ALTER TABLE keys ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
    for name in ("allow_unbounded", "read_metrics")
)

_REQUESTS = (
    """CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    seq {big} NOT NULL,
    at {big} NOT NULL,
    tenant TEXT,
    key_id TEXT,
    user_id TEXT,
    team_id TEXT,
    turn_session TEXT,
    front TEXT NOT NULL,
    action TEXT NOT NULL,
    asked TEXT,
    model TEXT,
    dialect TEXT,
    stream INTEGER NOT NULL,
    status INTEGER NOT NULL,
    error TEXT,
    code TEXT,
    stop_reason TEXT,
    attempts INTEGER NOT NULL,
    duration_ms {big} NOT NULL,
    first_byte_ms {big},
    input_tokens {big},
    output_tokens {big},
    cached_input_tokens {big},
    cache_creation_input_tokens {big},
    reasoning_tokens {big},
    cost_usd TEXT,
    pricing_version TEXT,
    losses {big} NOT NULL,
    tries_json {json},
    report_json {json}
)""",
    "CREATE UNIQUE INDEX idx_requests_seq ON requests (seq)",
    "CREATE INDEX idx_requests_at ON requests (at, id)",
    "CREATE INDEX idx_requests_tenant ON requests (tenant, at, id)",
    "CREATE INDEX idx_requests_key ON requests (key_id, at, id)",
    "CREATE INDEX idx_requests_failed ON requests (at, id) WHERE error IS NOT NULL",
    "ALTER TABLE keys ADD COLUMN read_requests INTEGER NOT NULL DEFAULT 0",
)
"""The gateway's request log, one row for each finished request: names, counts and times, and no
content. `seq` is the order in which they were written."""

_FETCHING_KEYS = ("ALTER TABLE keys ADD COLUMN fetch_media INTEGER",)
"""Whether media by URL is fetched for a key; NULL: as in the gateway's settings."""

_QUEUED_DIGESTS = ("ALTER TABLE task_messages ADD COLUMN digest TEXT",)
"""The digest of a task's message, to recognise another one under the same id after the message
itself has left the queue; NULL for messages of earlier versions."""

_PATTERNS = (
    """CREATE TABLE pattern_turns (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    model TEXT NOT NULL,
    message_id TEXT,
    success DOUBLE PRECISION NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    cost_usd TEXT,
    duration_ms {big} NOT NULL,
    llm_calls {big} NOT NULL,
    failed_calls {big} NOT NULL,
    tool_calls {big} NOT NULL,
    failed_tools {big} NOT NULL,
    rating TEXT,
    signal TEXT,
    recorded_at {big} NOT NULL,
    PRIMARY KEY (session_id, turn_id)
)""",
    "CREATE INDEX idx_pattern_turns_kind ON pattern_turns (scope, fingerprint, recorded_at)",
    "CREATE INDEX idx_pattern_turns_recorded ON pattern_turns (scope, recorded_at)",
)
"""Outcomes of turns, by kind of turn and model; no message text."""
_REQUEST_INDEXES = (
    "CREATE INDEX idx_requests_name ON requests ((substr(model, {colon}(model, ':') + 1)), at, id)",
    "CREATE INDEX idx_requests_asked ON requests (asked, at, id)",
    "CREATE INDEX idx_requests_refused ON requests (at, id, status) WHERE status >= 400",
    "CREATE INDEX idx_requests_report ON requests (at) WHERE report_json IS NOT NULL",
)
"""For the filters of the request log, each in the order of the list, and for its retention."""

_QUEUED_KEYS = ("ALTER TABLE task_messages ADD COLUMN key_id TEXT",)
"""The gateway key of the sender; NULL for messages of earlier versions."""

_OBJECTS = (
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE objects (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    parent TEXT NOT NULL,
    id TEXT NOT NULL,
    seq {big} NOT NULL,
    body_json {json} NOT NULL,
    size {big} NOT NULL,
    created_at {big} NOT NULL,
    expires_at {big} NOT NULL,
    PRIMARY KEY (tenant, kind, parent, id)
)""",
    "CREATE INDEX idx_objects_list ON objects (tenant, kind, parent, seq)",
    "CREATE INDEX idx_objects_kind ON objects (kind, created_at)",
    "CREATE INDEX idx_objects_expires ON objects (expires_at)",
)
"""The gateway's stored data for clients beside their sessions, and secrets that a store makes for
itself."""

_BUDGETS = (
    *[
        f"ALTER TABLE {table} ADD COLUMN weekly_cap_usd TEXT"
        for table in ("keys", "users", "teams")
    ],
    "ALTER TABLE keys ADD COLUMN default_max_tokens {big}",
    "ALTER TABLE keys ADD COLUMN max_max_tokens {big}",
    """CREATE TABLE budgets (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('model', 'tag', 'end_user')),
    value TEXT NOT NULL,
    created_at {big} NOT NULL,
    owner_id TEXT,
    daily_cap_usd TEXT,
    weekly_cap_usd TEXT,
    monthly_cap_usd TEXT
)""",
)
"""Caps by week, limits of answers, and caps on models, tags and end users."""

_COUNTED = (
    *("requests", "failed", "fallbacks", "lossy", "losses", "unpriced"),
    *("input_tokens", "cached_tokens", "written_tokens", "output_tokens", "cost"),
)
_BUCKET = " ".join(
    f"WHEN duration_ms < {round(2 ** (step / 2))} THEN {step - 2}" for step in range(2, 40)
)
_COUNTING = """INSERT INTO request_stats
SELECT {owner}, k.kind, at - at % CASE k.kind WHEN 'all' THEN {hour} ELSE {day} END,
    CASE k.kind WHEN 'model' THEN model WHEN 'route' THEN CASE WHEN model IS NULL THEN NULL
        ELSE asked END WHEN 'key' THEN key_id WHEN 'team' THEN team_id ELSE '' END AS name,
    CASE {bucket} ELSE 38 END AS bucket, count(*), count(error),
    sum(CASE WHEN attempts > 1 THEN 1 ELSE 0 END), sum(CASE WHEN losses > 0 THEN 1 ELSE 0 END),
    sum(losses),
    sum(CASE WHEN cost_usd IS NULL AND input_tokens IS NOT NULL THEN 1 ELSE 0 END),
    sum(coalesce(input_tokens, 0)), sum(coalesce(cached_input_tokens, 0)),
    sum(coalesce(cache_creation_input_tokens, 0)), sum(coalesce(output_tokens, 0)),
    sum(CAST(coalesce(round(CAST(cost_usd AS NUMERIC) * 1000000000), 0) AS BIGINT))
FROM requests CROSS JOIN (SELECT 'all' AS kind UNION ALL SELECT 'model' UNION ALL SELECT 'route'
    UNION ALL SELECT 'key' UNION ALL SELECT 'team') AS k
WHERE at >= (SELECT max(at) FROM requests) - 32 * {day} AND {owned}
    AND (k.kind = 'all' OR CASE k.kind WHEN 'model' THEN model WHEN 'route' THEN
        CASE WHEN model IS NULL THEN NULL ELSE asked END
        WHEN 'key' THEN key_id ELSE team_id END IS NOT NULL)
GROUP BY 1, 2, 3, 4, 5"""


def _counting(owner: str, owned: str) -> str:
    return _COUNTING.format(
        owner=owner, owned=owned, bucket=_BUCKET, hour=3_600_000_000, day=86_400_000_000
    )


_STATS = (
    """CREATE TABLE request_stats (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    period {big} NOT NULL,
    name TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    """
    + ",\n    ".join(f"{name} {{big}} NOT NULL" for name in _COUNTED)
    + """,
    PRIMARY KEY (tenant, kind, period, name, bucket)
){clustered}""",
    _counting("''", "1 = 1"),
    _counting("tenant", "tenant IS NOT NULL"),
)
"""Counts of requests by hour or day: `request_stats.py`. Those of the last month are computed from
the stored requests."""

_MORE_OF_USAGE = ("ALTER TABLE requests ADD COLUMN usage_more TEXT",)
"""More columns of requests: tier, tools, cache writes by lifetime, modalities, and the provider's
own cost."""


_CONTENT_LOG = ("ALTER TABLE keys ADD COLUMN log_content_days {big}",)
"""The age of content logs of a key's requests; NULL: none are stored."""

_CACHING = (
    "ALTER TABLE keys ADD COLUMN caching TEXT",
    "ALTER TABLE requests ADD COLUMN cache_json {json}",
)
"""The mode of prompt caching of a key's requests, NULL: as in the gateway's settings; and why
the prompt cache was hit or missed."""

_AUDIT = (
    "ALTER TABLE keys ADD COLUMN admin INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at {big} NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target_id TEXT NOT NULL,
    changes_json {json} NOT NULL
)""",
)
"""Keys that administer, and the log of changes to keys, users, teams and budgets; no secrets."""

_TOOLS_OF_KEYS = ("ALTER TABLE keys ADD COLUMN allowed_tools_json {json}",)
"""Patterns of the tools of MCP servers that a key may call."""

_REDACTION = ("ALTER TABLE keys ADD COLUMN redaction TEXT",)
"""Whether secrets of a key's requests are replaced; NULL: as in the gateway's settings."""

_OWNED = "tenant, key_id"
_WIDER_INDEXES = tuple(
    [
        statement
        for name, columns in (
            ("tenant", "(tenant, at, id, {named}, asked, status, error)"),
            ("key", "(key_id, at, id, {named}, asked, status, error)"),
            ("name", f"((substr(model, {{colon}}(model, ':') + 1)), at, id, {_OWNED})"),
            ("asked", f"(asked, at, id, {_OWNED})"),
            ("failed", f"(at, id, {_OWNED}) WHERE error IS NOT NULL"),
            ("refused", f"(at, id, status, {_OWNED}) WHERE status >= 400"),
        )
        for statement in (
            f"DROP INDEX idx_requests_{name}",
            f"CREATE INDEX idx_requests_{name} ON requests {columns}",
        )
    ]
)
"""Indexes that contain all columns of the filters of an owner's requests, by name or by failure."""

_AMOUNT = (
    "(amount || CASE WHEN {colon}(amount, '.') = 0 THEN '.' ELSE '' END || '" + "0" * 24 + "')"
)
_KNOWN = (
    "coalesce(input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens,"
    " reasoning_tokens) IS NOT NULL OR cost_usd IS NOT NULL OR usage_more IS NOT NULL"
)
_SPENT = "day, model, user_id, team_id, key_id, prompt, output"
_USED = f"""SELECT at / 86400000000 * 86400000000 AS day, model, user_id, team_id, key_id,
        coalesce(input_tokens, 0) + coalesce(cached_input_tokens, 0)
            + coalesce(cache_creation_input_tokens, 0) AS prompt,
        coalesce(output_tokens, 0) AS output, cost_usd AS ours, {{partly}} AS partly,
        {{reported}} AS theirs
    FROM requests WHERE {{which}} AND front <> 'sessions' AND ({_KNOWN})"""
_COSTS = f"""WITH used AS MATERIALIZED (
    {_USED}
), priced AS (
    SELECT 'ours' AS whose, {_SPENT}, ours AS amount, partly FROM used
    UNION ALL SELECT 'billed', {_SPENT}, ours, 0 FROM used
        WHERE ours IS NOT NULL AND theirs IS NOT NULL
    UNION ALL SELECT 'reported', {_SPENT}, theirs, 0 FROM used
        WHERE ours IS NOT NULL AND theirs IS NOT NULL
), split AS (
    SELECT whose, {_SPENT}, amount, partly, {_AMOUNT} AS digits FROM priced
), sums AS (
    SELECT whose, day, model, user_id, team_id, key_id, count(*) AS requests,
        count(*) - count(amount) + sum(partly) AS unpriced,
        sum(prompt) AS prompt, sum(output) AS output,
        sum(CAST(substr(digits, 1, {{colon}}(digits, '.') - 1) AS BIGINT)) AS dollars,
        sum(CAST(substr(digits, {{colon}}(digits, '.') + 1, 12) AS BIGINT)) AS trillionths,
        sum(CAST(substr(digits, {{colon}}(digits, '.') + 13, 12) AS BIGINT)) AS rest
    FROM split GROUP BY whose, day, model, user_id, team_id, key_id
)
SELECT CASE whose WHEN 'ours' THEN k.kind ELSE whose END AS kind, day,
    coalesce(CASE k.kind WHEN 'model' THEN model WHEN 'user' THEN user_id
        WHEN 'team' THEN team_id WHEN 'key' THEN key_id END, '') AS name,
    CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(unpriced) AS BIGINT) AS unpriced,
    CAST(sum(prompt) AS BIGINT) AS prompt_tokens, CAST(sum(output) AS BIGINT) AS output_tokens,
    CAST(coalesce(sum(dollars), 0) AS BIGINT) AS dollars,
    CAST(coalesce(sum(trillionths), 0) AS BIGINT) AS trillionths,
    CAST(coalesce(sum(rest), 0) AS BIGINT) AS rest
FROM sums JOIN (SELECT 'model' AS kind UNION ALL SELECT 'day' UNION ALL SELECT 'user'
    UNION ALL SELECT 'team' UNION ALL SELECT 'key') AS k ON whose = 'ours' OR k.kind = 'model'
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
"""The costs of some requests, for `request_costs.py`, whose statements share it."""
_PARTLY = """CASE WHEN cost_usd IS NOT NULL AND substr(usage_more, 1, 11) = '{"unpriced"'
            THEN 1 ELSE 0 END"""
"""Whether a cost is incomplete, since parts have no price (`requests.py`)."""
_REPORTED = {
    "sqlite": """CASE WHEN usage_more IS NOT NULL THEN (
            SELECT printf('%.18f', amount) FROM (
                SELECT CAST(CASE WHEN e.type = 'object' THEN coalesce(
                    json_extract(e.value, '$.cost.total_cost'),
                    CASE WHEN json_type(e.value, '$.cost') IN ('integer', 'real', 'text')
                        THEN json_extract(e.value, '$.cost') END,
                    json_extract(e.value, '$.cost_in_usd_ticks') / 1e10
                ) END AS REAL) AS amount FROM json_each(usage_more, '$.raw') AS e
            ) WHERE amount >= 0 AND amount < 1e9 LIMIT 1) END""",
    "postgres": """CASE WHEN position('\\u0000' in usage_more) = 0 THEN (
            SELECT CAST(CAST(amount AS NUMERIC) AS TEXT) FROM (
                SELECT CASE WHEN json_typeof(e.value) = 'object' THEN coalesce(
                    e.value #>> '{cost,total_cost}', e.value ->> 'cost',
                    CASE WHEN e.value ->> 'cost_in_usd_ticks' ~ '^[0-9]{1,18}$' THEN CAST(CAST(
                        e.value ->> 'cost_in_usd_ticks' AS NUMERIC) / 10000000000 AS TEXT) END
                ) END AS amount FROM json_each(CAST(usage_more AS JSON) -> 'raw') AS e
            ) AS found WHERE amount ~ '^[0-9]{1,9}([.][0-9]+){0,1}([eE]-[0-9]{1,2}){0,1}$'
            LIMIT 1) END""",
}
"""The cost that the provider reports, as `costs/cost.py` finds it. PostgreSQL cannot look into JSON
with a NUL."""

_REQUEST_COSTS = (
    """CREATE TABLE request_costs (
    kind TEXT NOT NULL,
    day {big} NOT NULL,
    name TEXT NOT NULL,
    requests {big} NOT NULL,
    unpriced {big} NOT NULL,
    prompt_tokens {big} NOT NULL,
    output_tokens {big} NOT NULL,
    dollars {big} NOT NULL,
    trillionths {big} NOT NULL,
    rest {big} NOT NULL,
    PRIMARY KEY (kind, day, name)
){clustered}""",
    "INSERT INTO request_costs " + _COSTS.replace("{which}", "1 = 1"),
)
"""Costs of requests, by day: `request_costs.py`."""

_UNPRICED = ("ALTER TABLE spend ADD COLUMN unpriced {big} NOT NULL DEFAULT 0",)
"""The number of requests whose cost is not known, or only in part."""

_STEPS = {
    1: (*_SEARCH_ANEW, *_REFERENCE),
    2: (*_MORE_OF_KEYS, *_QUOTAS, *_REMEMBERED),
    3: _REPEATS,
    4: _TURNS,
    5: _TASKS,
    6: _FREEDOMS_OF_KEYS,
    7: _REQUESTS,
    8: _FETCHING_KEYS,
    9: _QUEUED_DIGESTS,
    10: _PATTERNS,
    11: _REQUEST_INDEXES,
    12: _QUEUED_KEYS,
    13: _OBJECTS,
    14: _BUDGETS,
    15: _STATS,
    16: _MORE_OF_USAGE,
    17: _CONTENT_LOG,
    18: _CACHING,
    19: _AUDIT,
    20: _TOOLS_OF_KEYS,
    21: _REQUEST_COSTS,
    22: _REDACTION,
    23: _WIDER_INDEXES,
    24: _UNPRICED,
}
_WORDS = {
    "sqlite": {
        "json": "TEXT",
        "big": "INTEGER",
        "colon": "instr",
        "named": "model",  # an index has the columns that conditions need
        "clustered": " WITHOUT ROWID",
        "reported": _REPORTED["sqlite"],
        "partly": _PARTLY,
    },
    "postgres": {
        "json": "JSON",
        "big": "BIGINT",
        "colon": "strpos",
        "named": "substr(model, strpos(model, ':') + 1)",
        "clustered": "",
        "reported": _REPORTED["postgres"],
        "partly": _PARTLY,
    },
}
MIGRATIONS: dict[tuple[str, int], tuple[str, ...]] = {
    (engine, version): tuple([text.format(**words) for text in statements])
    for engine, words in _WORDS.items()
    for version, statements in _STEPS.items()
}
"""(engine, version) to the statements that make the next version of it."""
_MAY_REPORT = "CASE WHEN {colon}(usage_more, 'cost') > 0 THEN usage_more END"
COSTS, USED = [
    {engine: text.format(**words, which="{which}") for engine, words in _WORDS.items()}
    for text in (_COSTS, _USED.replace("{reported}", _MAY_REPORT))
]
"""Costs of requests by day, and the requests one by one; in these the last column may hold the
provider's own cost."""

FORGET_WORDS = "INSERT INTO message_search (message_search, rank) VALUES ('secure-delete', 1)"
"""Removes the words of deleted messages from SQLite's index immediately, not at its next merge.
SQLite supports this from 3.42 on; older versions do without."""
