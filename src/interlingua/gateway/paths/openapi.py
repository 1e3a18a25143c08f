"""Our own paths as an OpenAPI document. Paths of a provider's API are described by that
provider; of these, only the lists of models are here, since the gateway itself answers them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import msgspec

from interlingua import __version__
from interlingua.dialects.front import GOOGLE_VERSIONS
from interlingua.gateway.batches.api import NewBatch, NewMessageBatch
from interlingua.gateway.convert import NewConversion
from interlingua.gateway.page import NewExport, NewRedaction
from interlingua.gateway.paths.admin import (
    ChangedKey,
    ChangedOwner,
    NewBudget,
    NewKey,
    NewOwner,
    Rotation,
)
from interlingua.gateway.paths.passing import PASSED
from interlingua.gateway.shared.bodies import (
    ChangedSession,
    NewRating,
    NewSession,
    NewTurn,
    Rules,
    ShownModel,
)
from interlingua.gateway.tasks.output import NewAnswer, NewBranch, NewMessage, NewTask

_ID = re.compile(r"\{(\w+)(?::path)?\}")
Json = dict[str, Any]
Refs = dict[type[msgspec.Struct], Json]

_TEXT: Json = {"type": "string"}
_TIME: Json = {"type": "string", "format": "date-time"}
_MAYBE: Json = {"type": ["string", "null"]}
_NUMBER: Json = {"type": "integer"}
_COUNT: Json = {"type": ["integer", "null"]}
_FLAG: Json = {"type": "boolean"}
_ANY: Json = {"type": "object"}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: Json) -> Json:
    return {"type": "array", "items": item}


def _object(required: str, properties: dict[str, Json]) -> Json:
    """An object; `properties` has the names of each schema, separated by spaces."""
    named = {name: kind for names, kind in properties.items() for name in names.split()}
    return {"type": "object", "required": required.split(), "properties": named}


_SCHEMAS: Json = {
    "Error": _object(
        "error",
        {
            "error": _object(
                "code message",
                {"code": {"type": ["string", "integer"]}, "message": _TEXT, "details": _ANY},
            )
        },
    ),
    "Session": _object(
        "id workspace_path message_count created_at updated_at",
        {
            "id workspace_path": _TEXT,
            "name active_model answered_by parent_id cost_usd": _MAYBE,
            "message_count unpriced": _NUMBER,
            "created_at updated_at": _TIME,
            "source": {"enum": ["chat", "gateway", "task"]},
            "turn_in_flight swap_queued": _FLAG,
        },
    ),
    "Task": _object(
        "id name status created cwd web_search model interrupted",
        {
            "id cwd": _TEXT,
            "name model": _MAYBE,
            "status": {"type": "string", "enum": ["idle", "generating"]},
            "created changed queued waiting": _NUMBER,
            "ended port": _COUNT,
            "web_search interrupted": _FLAG,
            "queued_messages": _list(_ref("Queued")),
            "confirmations": _list(_ref("Confirmation")),
        },
    ),
    "Queued": _object("id message", {"id": _TEXT, "message": _ANY}),
    "Confirmation": _object(
        "id name side_effects args status asked expires",
        {
            "id name side_effects": _TEXT,
            "args": _ANY,
            "status": {"enum": ["waiting", "approved", "denied", "timeout", "cancelled"]},
            "asked expires": _NUMBER,
        },
    ),
    "Request": _object(
        "id at front status duration_ms usage losses",
        {
            "id front action": _TEXT,
            "at": _TIME,
            "status duration_ms attempts losses": _NUMBER,
            "key_id user_id team_id session_id asked model dialect error code stop_reason": _MAYBE,
            "stream": _FLAG,
            "first_byte_ms": _COUNT,
            "usage report": {"type": ["object", "null"]},
            "tries trace": _list(_ANY),
        },
    ),
    "Key": _object(
        "id name status created_at caps",
        {
            "id name": _TEXT,
            "user_id team_id": _MAYBE,
            "status": {"enum": ["active", "ending", "revoked", "expired", "disabled"]},
            "created_at": _TIME,
            "expires_at": {"type": ["string", "null"], "format": "date-time"},
            "allowed_models": {"type": ["array", "null"], "items": _TEXT},
            "requests_per_minute tokens_per_minute concurrent": _COUNT,
            "caps": _list(
                _object(
                    "scope window limit_usd spent_usd",
                    {
                        "scope": {"enum": ["key", "user", "team"]},
                        "window": {"enum": ["day", "week", "month"]},
                        "limit_usd": _TEXT,
                        "spent_usd": _MAYBE,
                        "unpriced": _NUMBER,
                    },
                )
            ),
        },
    ),
}
_CONVERSION = _object(
    "source kind evidence others target text losses",
    {
        "source target text": _TEXT,
        "kind": {"enum": ["request", "response", "stream", "transcript"]},
        "evidence others": _list(_TEXT),
        "losses": _list(_ANY),
    },
)


def _page(name: str, item: Json) -> Json:
    return _object(f"{name} has_more", {name: _list(item), "has_more": _FLAG})


def _query(name: str, kind: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": kind}


def _texts(names: str) -> tuple[Json, ...]:
    return tuple([_query(name, _TEXT) for name in names.split()])


_ONE_TASK = _object("task", {"task": _ref("Task")})
_TASKS = _object("tasks", {"tasks": _list(_ref("Task"))})
_REQUESTS = _page("requests", _ref("Request"))
_REQUESTS["properties"]["last"] = _NUMBER
_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": 200})
_LONG_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000})
_REQUEST_FILTERS = (
    *_texts("model"),
    _query("status", {"type": "string", "pattern": "^(ok|failed|[1-5](xx|[0-9]{2}))$"}),
    _query("key", _TEXT),
    _query("since", _TIME),
    _query("until", _TIME),
)
_AFTER = _query("after", {"type": "integer", "minimum": 0})
_CURSOR: Json = {
    **_query("Last-Event-ID", _TEXT),
    "in": "header",
    "description": "The number of the last event that was seen.",
}


class Doc(NamedTuple):
    """The document's text about one path, beside the table of paths."""

    summary: str
    answer: Json = _ANY
    status: int = 200
    body: type[msgspec.Struct] | None = None
    parameters: tuple[Json, ...] = ()
    errors: tuple[int, ...] = ()
    kind: str = "application/json"
    there: Json | None = None
    """The resource that a 409 shows beside an error."""
    bare: tuple[int, ...] = ()
    """Statuses of answers that have no body, or one that is not described."""
    live: bool = False
    """Whether it is a stream of events for clients that accept one."""


_NEW_KEY = _object("token key", {"token": _TEXT, "key": _ref("Key")})
_INTERACTIONS = {
    ("GET", ""): Doc("A stored interaction.", errors=(400, 404)),
    ("DELETE", ""): Doc("Delete an interaction.", errors=(404,)),
    ("POST", "/cancel"): Doc("Cancel an interaction; stored ones are complete.", errors=(400, 404)),
}
DOCS: dict[tuple[str, str], Doc] = {
    ("GET", "/"): Doc("The page for browsers; otherwise the name and version of the service."),
    ("GET", "/health/live"): Doc("Liveness of the process."),
    ("GET", "/health/ready"): Doc("Readiness for requests.", errors=(503,)),
    ("GET", "/health"): Doc("The same.", errors=(503,)),
    ("GET", "/openapi.json"): Doc("This document."),
    ("GET", "/docs"): Doc("This document as a page.", kind="text/html"),
    ("GET", "/metrics"): Doc("Metrics for Prometheus.", kind="text/plain", errors=(404,)),
    ("GET", "/losses/{id}"): Doc("The losses and notes of one request.", errors=(404,)),
    ("POST", "/mcp"): Doc(
        "A message of the Model Context Protocol.", errors=(501,), bare=(202, 400, 406, 413, 415)
    ),
    ("GET", "/compactions/{id}"): Doc("A compaction and the history it replaced.", errors=(404,)),
    ("GET", "/requests.csv"): Doc(
        "The same as a table, for spreadsheets: at most 100,000 of them.",
        kind="text/csv",
        parameters=_REQUEST_FILTERS,
        errors=(400,),
    ),
    ("GET", "/requests"): Doc(
        "The request log, newest first; with `Accept: text/event-stream`, each request as it ends.",
        _REQUESTS,
        parameters=(
            _LIMIT,
            *_texts("before"),
            *_REQUEST_FILTERS,
            _AFTER,
            _CURSOR,
        ),
        errors=(400, 404, 410),
        live=True,
    ),
    ("GET", "/requests/{id}"): Doc(
        "One request with its attempts, losses and trace.", _ref("Request"), errors=(404,)
    ),
    ("GET", "/requests/running"): Doc(
        "Requests that are being answered by this process, the longest under way first.",
        _object("requests count", {"requests": _list(_ANY), "count": {"type": "integer"}}),
    ),
    ("GET", "/keys"): Doc(
        "The keys visible to the caller, with their caps; and whether the caller's administers.",
        _object("keys admin", {"keys": _list(_ref("Key")), "admin": _FLAG}),
    ),
    ("GET", "/stats"): Doc(
        "How much passed today, in 7 and in 30 days; and by model, route, key and team.",
        parameters=(_query("days", {"type": "integer", "enum": [1, 7, 30]}),),
        errors=(400,),
    ),
    ("GET", "/server/version"): Doc("Versions of the program, its price table and its rules."),
    ("GET", "/routing/policy"): Doc("The active routing rules."),
    ("POST", "/routing/check"): Doc("Check routing rules without using them.", body=Rules),
    ("GET", "/convert"): Doc(
        "The formats that can be converted.",
        _object(
            "formats transcripts titles",
            {"formats": _list(_TEXT), "transcripts": _list(_TEXT), "titles": _ANY},
        ),
    ),
    ("POST", "/convert"): Doc(
        "Convert a body to another format, with its losses.",
        _CONVERSION,
        body=NewConversion,
    ),
    ("GET", "/models"): Doc("Models with their capabilities."),
    ("GET", "/v1/models"): Doc("Models, as OpenAI or Anthropic list them.", errors=(400,)),
    ("GET", "/v1/models/{model:path}"): Doc("One model.", errors=(404,)),
    **{
        ("GET", f"/{version}/models{rest}"): doc
        for version in ("v1beta", "v1alpha")
        for rest, doc in (
            ("", Doc("Models, as Gemini lists them.", errors=(400,))),
            ("/{model:path}", Doc("One model.", errors=(404,))),
        )
    },
    ("GET", "/api/tags"): Doc("Models, as Ollama lists them."),
    ("GET", "/api/version"): Doc("The version of Ollama's API."),
    ("POST", "/api/show"): Doc("One model, as Ollama shows it.", body=ShownModel, errors=(404,)),
    ("GET", "/v1/responses/{id}"): Doc("A stored response.", errors=(400, 404)),
    ("DELETE", "/v1/responses/{id}"): Doc("Delete a response.", errors=(404,)),
    ("POST", "/v1/responses/{id}/cancel"): Doc(
        "Cancel a response in the background.", errors=(400, 404)
    ),
    ("GET", "/v1/responses/{id}/input_items"): Doc(
        "The input items of a response.", errors=(400, 404)
    ),
    ("POST", "/v1/conversations"): Doc("Create a conversation.", errors=(400, 413)),
    ("GET", "/v1/conversations/{id}"): Doc("A conversation.", errors=(404,)),
    ("POST", "/v1/conversations/{id}"): Doc("Change its metadata.", errors=(400, 404, 413)),
    ("DELETE", "/v1/conversations/{id}"): Doc("Delete a conversation.", errors=(404,)),
    ("POST", "/v1/conversations/{id}/items"): Doc("Add items.", errors=(400, 404, 413)),
    ("GET", "/v1/conversations/{id}/items"): Doc("Its items.", errors=(400, 404)),
    ("GET", "/v1/conversations/{id}/items/{item}"): Doc("One of its items.", errors=(404,)),
    ("DELETE", "/v1/conversations/{id}/items/{item}"): Doc("Delete an item.", errors=(404,)),
    **{
        (method, f"/{version}/interactions/{{id}}{rest}"): doc
        for version in GOOGLE_VERSIONS
        for (method, rest), doc in _INTERACTIONS.items()
    },
    ("POST", "/sessions"): Doc(
        "Create a session.", _ref("Session"), 201, NewSession, errors=(403, 503)
    ),
    ("GET", "/sessions"): Doc(
        "The caller's sessions, the last changed first.",
        _page("sessions", _ref("Session")),
        parameters=(
            _LIMIT,
            *_texts("before q"),
            _query("source", {"enum": ["chat", "gateway", "task"]}),
            *_texts("model folder since until"),
            _query("costs", _FLAG),
        ),
        errors=(400, 404),
    ),
    ("GET", "/search"): Doc(
        "Messages of the caller's sessions in which all words occur, the newest first.",
        _object("messages", {"messages": _list(_ANY)}),
        parameters=(_query("q", _TEXT), _query("session", _TEXT), _LIMIT),
        errors=(400,),
    ),
    ("GET", "/sessions/{id}"): Doc("One session.", _ref("Session"), errors=(404,)),
    ("PATCH", "/sessions/{id}"): Doc(
        "Change the model; null goes back to the default.",
        _ref("Session"),
        body=ChangedSession,
        errors=(404, 409, 503),
    ),
    ("DELETE", "/sessions/{id}"): Doc(
        "End a session; with `purge=true` delete all of it.",
        parameters=(_query("purge", _FLAG),),
        errors=(400, 404),
    ),
    ("POST", "/sessions/{id}/turns"): Doc(
        "Start a turn, which runs in the background.",
        status=202,
        body=NewTurn,
        errors=(403, 404, 409, 429, 503),
    ),
    ("POST", "/sessions/{id}/cancel"): Doc("Cancel the current turn.", status=202, errors=(404,)),
    ("POST", "/sessions/{id}/rating"): Doc(
        "Rate an answer `up` or `down`: the one named, or the last.", body=NewRating, errors=(404,)
    ),
    ("GET", "/sessions/{id}/messages"): Doc(
        "Messages, in order: the last ones, or those before, after or around one.",
        _page("messages", _ANY),
        parameters=(_LIMIT, *_texts("before after around")),
        errors=(400, 404),
    ),
    ("GET", "/sessions/{id}/summary"): Doc(
        "Tokens and cost by model, what caching saved, changes of model, branches.", errors=(404,)
    ),
    ("POST", "/sessions/{id}/redaction"): Doc(
        "Preview of what redaction would remove from a session.",
        _object("findings", {"findings": _list(_ANY)}),
        body=NewRedaction,
        errors=(404,),
    ),
    ("POST", "/sessions/{id}/export"): Doc(
        "A session as one file: HTML, Markdown or JSON Lines; redacted by default.",
        _TEXT,
        body=NewExport,
        errors=(404,),
        kind="text/html",
    ),
    ("GET", "/sessions/{id}/events"): Doc(
        "The events of a session; with `Accept: text/event-stream`, live.",
        _page("events", _ANY),
        parameters=(
            _AFTER,
            _LONG_LIMIT,
            _query("types", _TEXT),
            _query("snapshot", _FLAG),
            _CURSOR,
        ),
        errors=(400, 404, 410),
    ),
    **{
        ("POST", path): Doc(
            "Passed on to the provider of its model.",
            errors=(400, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502),
        )
        for path in PASSED
    },
    ("POST", "/v1/files"): Doc(
        "Upload a file (form); those with the purpose `batch` are stored here, others passed on.",
        errors=(400, 403, 404, 408, 409, 413, 422, 429, 500, 502),
    ),
    ("GET", "/v1/files"): Doc(
        "The caller's files.",
        parameters=(_query("limit", _NUMBER), *_texts("purpose order after")),
        errors=(400,),
    ),
    ("GET", "/v1/files/{id}"): Doc("One file.", errors=(403, 404, 429, 502)),
    ("DELETE", "/v1/files/{id}"): Doc("Delete a file.", errors=(403, 404, 429, 502)),
    ("GET", "/v1/files/{id}/content"): Doc(
        "What is in a file.", kind="application/octet-stream", errors=(403, 404, 429, 502)
    ),
    ("POST", "/v1/batches"): Doc("Run the requests of a file.", body=NewBatch, errors=(400, 429)),
    ("GET", "/v1/batches"): Doc(
        "The caller's batches, newest first.",
        parameters=(_query("limit", _NUMBER), *_texts("after")),
        errors=(400,),
    ),
    ("GET", "/v1/batches/{id}"): Doc("One batch.", errors=(404,)),
    ("POST", "/v1/batches/{id}/cancel"): Doc("Cancel a batch.", errors=(404,)),
    ("POST", "/v1/messages/batches"): Doc(
        "Run requests for messages.", body=NewMessageBatch, errors=(400, 429)
    ),
    ("GET", "/v1/messages/batches"): Doc(
        "The caller's batches of messages, newest first.",
        parameters=(_query("limit", _NUMBER), *_texts("before_id after_id")),
        errors=(400,),
    ),
    ("GET", "/v1/messages/batches/{id}"): Doc("One batch of messages.", errors=(404,)),
    ("DELETE", "/v1/messages/batches/{id}"): Doc(
        "Delete a batch that has ended.", errors=(400, 404)
    ),
    ("POST", "/v1/messages/batches/{id}/cancel"): Doc("Cancel it.", errors=(404,)),
    ("GET", "/v1/messages/batches/{id}/results"): Doc(
        "What became of each request, a line for each.",
        kind="application/x-jsonl",
        errors=(400, 404),
    ),
    ("POST", "/task"): Doc(
        "Create a task in a folder, with a first message.",
        _ONE_TASK,
        201,
        NewTask,
        errors=(403, 409, 429, 503),
        there=_ONE_TASK,
    ),
    ("GET", "/tasks"): Doc(
        "The caller's open tasks, newest first; with `ended=true` a page of all.",
        _TASKS,
        parameters=(_query("ended", _FLAG), _LONG_LIMIT, _query("before", _TEXT)),
        errors=(400,),
    ),
    ("GET", "/events"): Doc("The caller's tasks, live.", _TASKS, errors=(400,)),
    ("GET", "/queued_messages"): Doc(
        "Open confirmations of the caller's tasks.",
        _list(_ref("Queued")),
        parameters=(_query("task", _TEXT),),
        errors=(404,),
    ),
    ("GET", "/queued-messages"): Doc(
        "The same.", _list(_ref("Queued")), parameters=(_query("task", _TEXT),), errors=(404,)
    ),
    ("GET", "/task/{id}"): Doc(
        "One task with its queue and open confirmations.", _ONE_TASK, errors=(404,)
    ),
    ("DELETE", "/task/{id}"): Doc(
        "End a task; with `purge=true` delete all of it.",
        parameters=(_query("purge", _FLAG),),
        errors=(400, 404),
    ),
    ("GET", "/task/{id}/status"): Doc("The status of a task.", errors=(404,)),
    ("POST", "/task/{id}/message"): Doc(
        "Send a message to a task; it waits in the queue while the task runs.",
        body=NewMessage,
        errors=(403, 404, 409, 429, 503),
    ),
    ("DELETE", "/task/{id}/message/{message}"): Doc(
        "Remove a message from the queue.", _ref("Queued"), errors=(404,)
    ),
    ("POST", "/task/{id}/cancel"): Doc(
        "Stop the task and empty its queue.",
        _object("pending_messages", {"pending_messages": _list(_ref("Queued"))}),
        errors=(404,),
    ),
    ("POST", "/task/{id}/resume"): Doc(
        "Resume an interrupted run.", _ONE_TASK, 202, errors=(403, 404, 409, 429, 503)
    ),
    ("GET", "/transcripts"): Doc(
        "Sessions of coding agents on this machine; none on a gateway with keys.",
        parameters=(_LIMIT,),
        errors=(400,),
    ),
    ("GET", "/transcripts/{agent}/{id}"): Doc("One of them, with its messages.", errors=(404, 422)),
    ("GET", "/task/{id}/confirmations/{call}/file"): Doc(
        "The file that a waiting call would write, as it is now.",
        _object("path", {"path": _TEXT, "text": {"type": ["string", "null"]}}),
        errors=(403, 404),
    ),
    ("POST", "/task/{id}/branch"): Doc(
        "Another task in the same folder, from a message of this one on; this one ends.",
        _ONE_TASK,
        201,
        body=NewBranch,
        errors=(403, 404, 409, 429, 503),
    ),
    ("GET", "/task/{id}/confirmations"): Doc(
        "Tool calls that wait for confirmation.",
        _object("confirmations", {"confirmations": _list(_ref("Confirmation"))}),
        errors=(404,),
    ),
    ("POST", "/task/{id}/confirmations"): Doc(
        "Allow or refuse a tool call.", _ref("Confirmation"), body=NewAnswer, errors=(404, 409)
    ),
    ("GET", "/task/{id}/events"): Doc(
        "The events of a task as SSE; with `Accept: application/json`, a page of them.",
        _page("events", _ANY),
        parameters=(
            _AFTER,
            _query("tail", {"type": "integer", "minimum": 0}),
            _LONG_LIMIT,
            _CURSOR,
        ),
        errors=(400, 404, 410),
    ),
    ("GET", "/admin/keys"): Doc(
        "All keys, with their caps.", _object("keys", {"keys": _list(_ref("Key"))})
    ),
    ("POST", "/admin/keys"): Doc(
        "Issue a key; its token is in this answer only.", _NEW_KEY, 201, NewKey
    ),
    ("GET", "/admin/keys/{id}"): Doc("One key.", _ref("Key")),
    ("PATCH", "/admin/keys/{id}"): Doc("Change its options.", _ref("Key"), body=ChangedKey),
    ("DELETE", "/admin/keys/{id}"): Doc("Revoke it.", _ref("Key")),
    ("POST", "/admin/keys/{id}/rotate"): Doc(
        "Replace it; the new token is in this answer only.", _NEW_KEY, 201, Rotation
    ),
    **{
        ("GET", f"/admin/{each}s"): Doc(
            f"The {each}s and their spending, by id.",
            _page(f"{each}s", _ANY),
            parameters=(_LONG_LIMIT, *_texts("after")),
            errors=(400,),
        )
        for each in ("user", "team", "budget")
    },
    **{
        ("POST", f"/admin/{each}s"): Doc(f"Add a {each}.", _ANY, 201, NewOwner, errors=(409,))
        for each in ("user", "team")
    },
    **{
        ("PATCH", f"/admin/{each}s/{{id}}"): Doc(
            f"Change, disable or enable a {each}.", body=ChangedOwner, errors=(409,)
        )
        for each in ("user", "team")
    },
    ("POST", "/admin/budgets"): Doc("Add a budget.", _ANY, 201, NewBudget),
    ("DELETE", "/admin/budgets/{id}"): Doc("Remove a budget."),
    ("GET", "/admin/usage"): Doc(
        "What passed, of all keys: as `/stats`.",
        parameters=(_query("days", {"type": "integer", "enum": [1, 7, 30]}),),
        errors=(400,),
    ),
    ("GET", "/admin/audit"): Doc(
        "Changes of keys, users, teams and budgets, newest first.",
        _page("changes", _ANY),
        parameters=(_LONG_LIMIT, *_texts("before")),
        errors=(400,),
    ),
}


@cache
def document() -> Json:
    """The whole document."""
    from interlingua.gateway.paths.routes import rows

    bodies = [doc.body for doc in DOCS.values() if doc.body is not None]
    made, parts = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    refs = dict(zip(bodies, made, strict=True))
    paths: Json = {}
    for row in rows():
        bare = row.path.removeprefix("/v1").removeprefix("/il")
        doc = DOCS.get((row.method, row.path)) or DOCS[row.method, bare]
        operation = _operation(doc, row.path, row.open, row.dialect, refs)
        paths.setdefault(_ID.sub(r"{\1}", row.path), {})[row.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "interlingua gateway", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**_SCHEMAS, **parts},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(doc: Doc, path: str, open: bool, dialect: bool, refs: Refs) -> Json:
    inside: Json = {} if doc.kind != "application/json" else {"schema": doc.answer}
    operation: Json = {
        "summary": doc.summary,
        "responses": {
            str(doc.status): {"description": "Success.", "content": {doc.kind: inside}},
            **{str(status): {"description": "As the protocol defines."} for status in doc.bare},
        },
        "security": [] if open else [{"key": []}],
    }
    if doc.live or path.endswith("/events"):
        operation["responses"]["200"]["content"]["text/event-stream"] = {}
    if path == "/":
        operation["responses"]["200"]["content"]["text/html"] = {}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in _ID.findall(path)
    ]
    if parameters or doc.parameters:
        operation["parameters"] = [*parameters, *doc.parameters]
    errors = set(doc.errors)
    if doc.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": refs[doc.body]}},
        }
        errors |= {400, 408, 413}
    if not open:
        errors |= {401, 503}
    if path.startswith("/admin/"):
        errors |= {403, 404}
    schema = _ANY if dialect or path.startswith(("/health", "/v1/health")) else _ref("Error")
    for status in sorted(errors):
        shown = schema if status != 409 or doc.there is None else {"anyOf": [schema, doc.there]}
        what = {"description": "Error.", "content": {"application/json": {"schema": shown}}}
        operation["responses"][str(status)] = what
    return operation
