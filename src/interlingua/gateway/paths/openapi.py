"""Our own paths as an OpenAPI document. Those that speak a provider's dialect are described by that
provider; of them, the lists of models are here, since we answer them ourselves."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import msgspec

from interlingua import __version__
from interlingua.gateway.page import NewConversion, NewExport, NewRedaction
from interlingua.gateway.shared.bodies import (
    ChangedSession,
    NewRating,
    NewSession,
    NewTurn,
    Rules,
    ShownModel,
)
from interlingua.gateway.tasks.output import NewAnswer, NewMessage, NewTask

_ID = re.compile(r"\{(\w+)(?::path)?\}")
Json = dict[str, Any]
Refs = dict[type[msgspec.Struct], Json]

ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": ["string", "integer"]},
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}
SESSION: Json = {
    "type": "object",
    "required": ["id", "workspace_path", "message_count", "created_at", "updated_at"],
    "properties": {
        "id": {"type": "string"},
        "workspace_path": {"type": "string"},
        "name": {"type": ["string", "null"]},
        "active_model": {"type": ["string", "null"]},
        "message_count": {"type": "integer"},
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
        "parent_id": {"type": ["string", "null"]},
        "source": {"enum": ["chat", "gateway", "task"]},
        "turn_in_flight": {"type": "boolean"},
        "swap_queued": {"type": "boolean"},
    },
}
TASK: Json = {
    "type": "object",
    "required": ["id", "name", "status", "created", "cwd", "web_search", "model", "interrupted"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": ["string", "null"]},
        "status": {"type": "string", "enum": ["idle", "generating"]},
        "created": {"type": "integer"},
        "changed": {"type": "integer"},
        "ended": {"type": ["integer", "null"]},
        "cwd": {"type": "string"},
        "port": {"type": ["integer", "null"]},
        "web_search": {"type": "boolean"},
        "model": {"type": ["string", "null"]},
        "interrupted": {"type": "boolean"},
        "queued": {"type": "integer"},
        "waiting": {"type": "integer"},
        "queued_messages": {"type": "array", "items": {"$ref": "#/components/schemas/Queued"}},
        "confirmations": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/Confirmation"},
        },
    },
}
QUEUED: Json = {
    "type": "object",
    "required": ["id", "message"],
    "properties": {"id": {"type": "string"}, "message": {"type": "object"}},
}
CONFIRMATION: Json = {
    "type": "object",
    "required": ["id", "name", "side_effects", "args", "status", "asked", "expires"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "side_effects": {"type": "string"},
        "args": {"type": "object"},
        "status": {"enum": ["waiting", "approved", "denied", "timeout", "cancelled"]},
        "asked": {"type": "integer"},
        "expires": {"type": "integer"},
    },
}

CONVERSION: Json = {
    "type": "object",
    "required": ["source", "kind", "evidence", "others", "target", "text", "losses"],
    "properties": {
        "source": {"type": "string"},
        "kind": {"enum": ["request", "response"]},
        "evidence": {"type": "array", "items": {"type": "string"}},
        "others": {"type": "array", "items": {"type": "string"}},
        "target": {"type": "string"},
        "text": {"type": "string"},
        "losses": {"type": "array", "items": {"type": "object"}},
    },
}

_COUNT: Json = {"type": ["integer", "null"]}
_MAYBE: Json = {"type": ["string", "null"]}
REQUEST: Json = {
    "type": "object",
    "required": ["id", "at", "front", "status", "duration_ms", "usage", "losses"],
    "properties": {
        "id": {"type": "string"},
        "at": {"type": "string", "format": "date-time"},
        "front": {"type": "string"},
        "status": {"type": "integer"},
        "duration_ms": {"type": "integer"},
        "key_id": _MAYBE,
        "user_id": _MAYBE,
        "team_id": _MAYBE,
        "session_id": _MAYBE,
        "action": {"type": "string"},
        "asked": _MAYBE,
        "model": _MAYBE,
        "dialect": _MAYBE,
        "stream": {"type": "boolean"},
        "error": _MAYBE,
        "code": _MAYBE,
        "stop_reason": _MAYBE,
        "attempts": {"type": "integer"},
        "first_byte_ms": _COUNT,
        "usage": {"type": ["object", "null"]},
        "losses": {"type": "integer"},
        "tries": {"type": "array", "items": {"type": "object"}},
        "report": {"type": ["object", "null"]},
        "trace": {"type": "array", "items": {"type": "object"}},
    },
}
KEY: Json = {
    "type": "object",
    "required": ["id", "name", "status", "created_at", "caps"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "user_id": _MAYBE,
        "team_id": _MAYBE,
        "status": {"enum": ["active", "ending", "revoked", "expired", "disabled"]},
        "created_at": {"type": "string", "format": "date-time"},
        "expires_at": {"type": ["string", "null"], "format": "date-time"},
        "allowed_models": {"type": ["array", "null"], "items": {"type": "string"}},
        "requests_per_minute": _COUNT,
        "tokens_per_minute": _COUNT,
        "concurrent": _COUNT,
        "caps": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["scope", "window", "limit_usd", "spent_usd"],
                "properties": {
                    "scope": {"enum": ["key", "user", "team"]},
                    "window": {"enum": ["day", "month"]},
                    "limit_usd": {"type": "string"},
                    "spent_usd": {"type": "string"},
                },
            },
        },
    },
}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(item: Json) -> Json:
    return {"type": "array", "items": item}


def _of(name: str, kind: Json) -> Json:
    return {"type": "object", "required": [name], "properties": {name: kind}}


_ONE_TASK = _of("task", _ref("Task"))
_TASKS = _of("tasks", _list(_ref("Task")))
_SESSION_REF: Json = {"$ref": "#/components/schemas/Session"}
_ANY: Json = {"type": "object"}


def _page(name: str, item: Json) -> Json:
    properties = {name: {"type": "array", "items": item}, "has_more": {"type": "boolean"}}
    return {"type": "object", "required": [name, "has_more"], "properties": properties}


_REQUESTS = _page("requests", _ref("Request"))
_REQUESTS["properties"]["last"] = {"type": "integer"}


def _query(name: str, kind: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": kind}


_LIMIT = _query("limit", {"type": "integer", "minimum": 1, "maximum": 200})
_TEXT: Json = {"type": "string"}
_TIME: Json = {"type": "string", "format": "date-time"}
_CURSOR: Json = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The number of the last event that was seen.",
}


class Doc(NamedTuple):
    """What the document says of one path, beside what the table of paths says."""

    summary: str
    answer: Json = _ANY
    status: int = 200
    body: type[msgspec.Struct] | None = None
    parameters: tuple[Json, ...] = ()
    errors: tuple[int, ...] = ()
    kind: str = "application/json"
    there: Json | None = None
    """What a 409 shows beside an error: what is there already."""
    live: bool = False
    """Whether it is a stream of events for who accepts one."""


_INTERACTIONS = {
    ("GET", ""): Doc("An interaction that was stored.", errors=(400, 404)),
    ("DELETE", ""): Doc("Delete an interaction.", errors=(404,)),
    ("POST", "/cancel"): Doc(
        "Cancel an interaction, of which none goes on here.", errors=(400, 404)
    ),
}
DOCS: dict[tuple[str, str], Doc] = {
    ("GET", "/"): Doc("That somebody is here; a page for who accepts HTML."),
    ("GET", "/health/live"): Doc("Whether the process lives."),
    ("GET", "/health/ready"): Doc("Whether requests may be sent.", errors=(503,)),
    ("GET", "/health"): Doc("The same.", errors=(503,)),
    ("GET", "/openapi.json"): Doc("This document."),
    ("GET", "/metrics"): Doc("Numbers for Prometheus.", kind="text/plain", errors=(404,)),
    ("GET", "/losses/{id}"): Doc("What a request could not say.", errors=(404,)),
    ("GET", "/compactions/{id}"): Doc("A compaction and the history it replaced.", errors=(404,)),
    ("GET", "/requests"): Doc(
        "What passed the gateway, the newest first; with `Accept: text/event-stream`, as it ends.",
        _REQUESTS,
        parameters=(
            _LIMIT,
            _query("before", _TEXT),
            _query("model", _TEXT),
            _query("status", {"type": "string", "pattern": "^(ok|failed|[1-5](xx|[0-9]{2}))$"}),
            _query("key", _TEXT),
            _query("since", _TIME),
            _query("until", _TIME),
            _query("after", {"type": "integer", "minimum": 0}),
            _CURSOR,
        ),
        errors=(400, 404, 410),
        live=True,
    ),
    ("GET", "/requests/{id}"): Doc(
        "One request, with its tries, its report and its trace.", _ref("Request"), errors=(404,)
    ),
    ("GET", "/keys"): Doc(
        "Keys that the caller may know of, with their caps; they are changed elsewhere.",
        _of("keys", _list(_ref("Key"))),
    ),
    ("GET", "/server/version"): Doc("Versions of the program and of what it keeps."),
    ("GET", "/routing/policy"): Doc("The rules in force."),
    ("POST", "/routing/check"): Doc("Whether rules could be used.", body=Rules),
    ("GET", "/convert"): Doc(
        "The formats that bodies can be read and written in.", _of("formats", _list(_TEXT))
    ),
    ("POST", "/convert"): Doc(
        "A body of one provider in the form of another, with what that loses.",
        CONVERSION,
        body=NewConversion,
    ),
    ("GET", "/models"): Doc("Models, with what they can do."),
    ("GET", "/v1/models"): Doc("Models, as OpenAI or Anthropic list them.", errors=(400,)),
    ("GET", "/v1/models/{model:path}"): Doc("One model.", errors=(404,)),
    ("GET", "/v1beta/models"): Doc("Models, as Gemini lists them.", errors=(400,)),
    ("GET", "/v1beta/models/{model:path}"): Doc("One model.", errors=(404,)),
    ("GET", "/api/tags"): Doc("Models, as Ollama lists them."),
    ("GET", "/api/version"): Doc("The version of Ollama's API."),
    ("POST", "/api/show"): Doc("One model, as Ollama shows it.", body=ShownModel, errors=(404,)),
    ("GET", "/v1/responses/{id}"): Doc("A response that was stored.", errors=(404,)),
    ("DELETE", "/v1/responses/{id}"): Doc("Delete a response.", errors=(404,)),
    **{
        (method, f"/{version}/interactions/{{id}}{rest}"): doc
        for version in ("v1beta", "v1")
        for (method, rest), doc in _INTERACTIONS.items()
    },
    ("POST", "/sessions"): Doc("Make a session.", _SESSION_REF, 201, NewSession, errors=(403, 503)),
    ("GET", "/sessions"): Doc(
        "The caller's sessions, the last changed first.",
        _page("sessions", _SESSION_REF),
        parameters=(
            _LIMIT,
            _query("before", _TEXT),
            _query("q", _TEXT),
            _query("source", {"enum": ["chat", "gateway", "task"]}),
            _query("model", _TEXT),
            _query("folder", _TEXT),
            _query("since", _TEXT),
            _query("until", _TEXT),
        ),
        errors=(400, 404),
    ),
    ("GET", "/search"): Doc(
        "Messages of the caller's sessions in which all words occur, the newest first.",
        _of("messages", _list(_ANY)),
        parameters=(_query("q", _TEXT), _LIMIT),
        errors=(400,),
    ),
    ("GET", "/sessions/{id}"): Doc("One session.", _SESSION_REF, errors=(404,)),
    ("PATCH", "/sessions/{id}"): Doc(
        "Change the model; null goes back to the default.",
        _SESSION_REF,
        body=ChangedSession,
        errors=(404, 409, 503),
    ),
    ("DELETE", "/sessions/{id}"): Doc(
        "End a session; with `purge=true` delete all of it.",
        parameters=(_query("purge", {"type": "boolean"}),),
        errors=(400, 404),
    ),
    ("POST", "/sessions/{id}/turns"): Doc(
        "Begin a turn, which goes on in the background.",
        status=202,
        body=NewTurn,
        errors=(403, 404, 409, 429, 503),
    ),
    ("POST", "/sessions/{id}/cancel"): Doc("Stop the turn under way.", status=202, errors=(404,)),
    ("POST", "/sessions/{id}/rating"): Doc(
        "Rate an answer `up` or `down`: the one named, or the last.", body=NewRating, errors=(404,)
    ),
    ("GET", "/sessions/{id}/messages"): Doc(
        "Messages, in order: the last ones, or those before, after or around one.",
        _page("messages", _ANY),
        parameters=(
            _LIMIT,
            _query("before", _TEXT),
            _query("after", _TEXT),
            _query("around", _TEXT),
        ),
        errors=(400, 404),
    ),
    ("GET", "/sessions/{id}/summary"): Doc(
        "Tokens and cost by model, what caching saved, changes of model, branches.",
        errors=(404,),
    ),
    ("POST", "/sessions/{id}/redaction"): Doc(
        "What redaction would take out of a session, and where.",
        _of("findings", _list(_ANY)),
        body=NewRedaction,
        errors=(404,),
    ),
    ("POST", "/sessions/{id}/export"): Doc(
        "A session as one file: HTML, Markdown or JSON Lines, redacted unless that is not wanted.",
        _TEXT,
        body=NewExport,
        errors=(404,),
        kind="text/html",
    ),
    ("GET", "/sessions/{id}/events"): Doc(
        "The trace; with `Accept: text/event-stream`, as it happens.",
        _page("events", _ANY),
        parameters=(
            _query("after", {"type": "integer", "minimum": 0}),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}),
            _query("types", _TEXT),
            _query("snapshot", {"type": "boolean"}),
            _CURSOR,
        ),
        errors=(400, 404, 410),
    ),
    ("POST", "/task"): Doc(
        "Make a task in a folder, and give it a first message.",
        _ONE_TASK,
        201,
        NewTask,
        errors=(403, 409, 429, 503),
        there=_ONE_TASK,
    ),
    ("GET", "/tasks"): Doc(
        "The caller's tasks that live, the newest first; with `ended=true` a page of all.",
        _TASKS,
        parameters=(
            _query("ended", {"type": "boolean"}),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}),
            _query("before", _TEXT),
        ),
        errors=(400,),
    ),
    ("GET", "/events"): Doc("The caller's tasks, and each as it changes.", _TASKS, errors=(400,)),
    ("GET", "/queued_messages"): Doc(
        "What waits in the caller's tasks.",
        _list(_ref("Queued")),
        parameters=(_query("task", _TEXT),),
        errors=(404,),
    ),
    ("GET", "/queued-messages"): Doc(
        "The same.",
        _list(_ref("Queued")),
        parameters=(_query("task", _TEXT),),
        errors=(404,),
    ),
    ("GET", "/task/{id}"): Doc("One task, with what waits.", _ONE_TASK, errors=(404,)),
    ("DELETE", "/task/{id}"): Doc(
        "End a task; with `purge=true` delete all of it.",
        parameters=(_query("purge", {"type": "boolean"}),),
        errors=(400, 404),
    ),
    ("GET", "/task/{id}/status"): Doc("Whether it runs.", errors=(404,)),
    ("POST", "/task/{id}/message"): Doc(
        "Give a task a message: it is taken up at once, or waits.",
        body=NewMessage,
        errors=(403, 404, 409, 429, 503),
    ),
    ("DELETE", "/task/{id}/message/{message}"): Doc(
        "Take back a message that waits.", _ref("Queued"), errors=(404,)
    ),
    ("POST", "/task/{id}/cancel"): Doc(
        "Stop the run, and empty the queue.",
        _of("pending_messages", _list(_ref("Queued"))),
        errors=(404,),
    ),
    ("POST", "/task/{id}/resume"): Doc(
        "Go on where the last run broke off.", _ONE_TASK, 202, errors=(403, 404, 409, 429, 503)
    ),
    ("GET", "/task/{id}/confirmations"): Doc(
        "Which calls wait for a yes.",
        _of("confirmations", _list(_ref("Confirmation"))),
        errors=(404,),
    ),
    ("POST", "/task/{id}/confirmations"): Doc(
        "Say yes or no to a call.", _ref("Confirmation"), body=NewAnswer, errors=(404, 409)
    ),
    ("GET", "/task/{id}/events"): Doc(
        "What happens in a task, as SSE; a page of it for who accepts JSON alone.",
        _page("events", _ANY),
        parameters=(
            _query("after", {"type": "integer", "minimum": 0}),
            _query("tail", {"type": "integer", "minimum": 0}),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}),
            _CURSOR,
        ),
        errors=(400, 404, 410),
    ),
}


@cache
def document() -> Json:
    """The whole document."""
    from interlingua.gateway.paths.routes import rows

    schemas: Json = {"Error": ERROR, "Session": SESSION, "Task": TASK}
    schemas |= {"Queued": QUEUED, "Confirmation": CONFIRMATION, "Request": REQUEST, "Key": KEY}
    bodies = [doc.body for doc in DOCS.values() if doc.body is not None]
    made, parts = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    schemas.update(parts)
    refs = dict(zip(bodies, made, strict=True))
    paths: Json = {}
    for row in rows():
        doc = DOCS.get((row.method, row.path)) or DOCS[row.method, row.path.removeprefix("/v1")]
        operation = _operation(doc, row.path, row.open, row.dialect, refs)
        paths.setdefault(_ID.sub(r"{\1}", row.path), {})[row.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "interlingua gateway", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(doc: Doc, path: str, open: bool, dialect: bool, refs: Refs) -> Json:
    inside: Json = {} if doc.kind != "application/json" else {"schema": doc.answer}
    operation: Json = {
        "summary": doc.summary,
        "responses": {str(doc.status): {"description": "As asked.", "content": {doc.kind: inside}}},
        "security": [] if open else [{"key": []}],
    }
    if doc.live or path.endswith("/events"):
        operation["responses"]["200"]["content"]["text/event-stream"] = {}
    if path == "/":
        operation["responses"]["200"]["content"]["text/html"] = {}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
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
    schema = _ANY if dialect or path.startswith(("/health", "/v1/health")) else _ERROR_REF
    for status in sorted(errors):
        shown = schema if status != 409 or doc.there is None else {"anyOf": [schema, doc.there]}
        what = {"description": "Not so.", "content": {"application/json": {"schema": shown}}}
        operation["responses"][str(status)] = what
    return operation


_ERROR_REF: Json = {"$ref": "#/components/schemas/Error"}
