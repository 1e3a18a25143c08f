"""Every path of the gateway's own, in one table, and the application made of it. Beside them are
the files of the page, which are the same for every caller.

Access is decided on the row that matched, never on a text of the request; a row that is not `open`
requires a key.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from interlingua.agents.tasks.events import NothingToDoError, TaskBusyError
from interlingua.client.errors import CallError
from interlingua.dialects.front import GOOGLE_VERSIONS
from interlingua.errors import InterlinguaError, ReadError
from interlingua.gateway import convert, page
from interlingua.gateway import requests as requests_api
from interlingua.gateway import stats as stats_api
from interlingua.gateway.batches import api as batches
from interlingua.gateway.compaction import history as compactions
from interlingua.gateway.keys.key_admin import TakenError, TermsError
from interlingua.gateway.memory import responses as responses_store
from interlingua.gateway.paths import admin, files, mcp
from interlingua.gateway.paths import handlers as own
from interlingua.gateway.paths.listing import front_of, whose
from interlingua.gateway.paths.passing import PASSED, passed
from interlingua.gateway.responses import background, conversations
from interlingua.gateway.sessions import api as sessions_api
from interlingua.gateway.sessions import transcripts as transcripts_api
from interlingua.gateway.sessions.turns import BusyError, FullError
from interlingua.gateway.shared.callers import (
    UNKNOWN_ROUTE,
    ApiError,
    answer,
    error_answer,
    log_refused,
    principal_of,
)
from interlingua.gateway.shared.fronts import (
    HOST,
    RESPONSES,
    ROUTER,
    Asgi,
    at_host,
    error_body,
    kind_of,
)
from interlingua.gateway.shared.principal import OpenRequests
from interlingua.gateway.shared.state import ANONYMOUS, CODE_HEADER, Principal, Refusal
from interlingua.gateway.shared.unserved import is_other_api, not_served, unserved
from interlingua.gateway.tasks import api as tasks_api
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.profiles.names import UnknownModelError
from interlingua.providers.provider import ProviderSetupError
from interlingua.routing.decision import NoModelError, OverrideError, RoutingError, SwapError
from interlingua.sessions.effects import SessionError, TurnError
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.tools.handlers import WorkspaceError

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


logger = logging.getLogger(__name__)

Handler = Callable[["Service", Request, Principal], Awaitable[Response]]


class Row(NamedTuple):
    """One path. `both`: it exists with `/v1` before it, too. `dialect`: its errors have the form
    of a provider's dialect. `page`: browsers get the page there. `admin`: for admin keys; the
    path does not exist until there is such a key."""

    method: str
    path: str
    handler: Handler
    open: bool = False
    both: bool = False
    dialect: bool = False
    page: bool = False
    admin: bool = False


ROWS: tuple[Row, ...] = (
    Row("GET", "/", own.here, open=True),
    Row("GET", "/health/live", own.live, open=True),
    Row("GET", "/health/ready", own.ready, open=True),
    Row("GET", "/health", own.ready, open=True, both=True),
    Row("GET", "/openapi.json", own.api_document, open=True),
    Row("GET", "/docs", own.docs, open=True),
    Row("GET", "/metrics", own.metrics),
    Row("GET", "/losses/{id}", own.losses, both=True),
    Row("GET", "/requests", requests_api.listing, both=True, page=True),
    Row("GET", "/requests.csv", requests_api.table, both=True),
    Row("GET", "/requests/running", requests_api.running, both=True),
    Row("GET", "/requests/{id}", requests_api.show, both=True, page=True),
    Row("GET", "/keys", requests_api.keys, both=True),
    Row("GET", "/stats", stats_api.show, both=True),
    Row("GET", "/server/version", own.version, both=True),
    Row("GET", "/routing/policy", own.policy, both=True),
    Row("POST", "/routing/check", own.check_rules, both=True),
    Row("GET", "/convert", convert.formats_known, both=True, page=True),
    Row("POST", "/convert", convert.convert_body, both=True),
    Row("GET", "/models", own.models, dialect=True),
    Row("GET", "/v1/models", own.models, dialect=True),
    Row("GET", "/v1/models/{model:path}", own.model, dialect=True),
    *[
        Row("GET", f"/{version}/models{rest}", handler, dialect=True)
        for version in ("v1beta", "v1alpha")
        for rest, handler in (("", own.models), ("/{model:path}", own.model))
    ],
    Row("GET", "/api/tags", own.models, dialect=True),
    Row("GET", "/api/version", own.ollama_version, dialect=True),
    Row("POST", "/api/show", own.ollama_show, dialect=True),
    Row("GET", "/v1/responses/{id}", background.show, dialect=True),
    Row("DELETE", "/v1/responses/{id}", background.remove, dialect=True),
    Row("POST", "/v1/responses/{id}/cancel", background.cancel, dialect=True),
    Row("GET", "/v1/responses/{id}/input_items", background.input_items, dialect=True),
    *[
        Row(method, f"/v1/conversations{rest}", handler, dialect=True)
        for method, rest, handler in (
            ("POST", "", conversations.create),
            ("GET", "/{id}", conversations.show),
            ("POST", "/{id}", conversations.update),
            ("DELETE", "/{id}", conversations.remove),
            ("POST", "/{id}/items", conversations.add_items),
            ("GET", "/{id}/items", conversations.list_items),
            ("GET", "/{id}/items/{item}", conversations.show_item),
            ("DELETE", "/{id}/items/{item}", conversations.remove_item),
        )
    ],
    *[
        Row(method, f"/{version}/interactions/{{id}}{rest}", handler, dialect=True)
        for version in GOOGLE_VERSIONS
        for method, rest, handler in (
            ("GET", "", responses_store.show_interaction),
            ("DELETE", "", responses_store.remove_interaction),
            ("POST", "/cancel", responses_store.cancel_interaction),
        )
    ],
    *[Row("POST", path, passed, dialect=True) for path in PASSED],
    Row("POST", "/v1/files", files.upload, dialect=True),
    Row("GET", "/v1/files", files.listing, dialect=True),
    Row("GET", "/v1/files/{id}", files.show, dialect=True),
    Row("DELETE", "/v1/files/{id}", files.remove, dialect=True),
    Row("GET", "/v1/files/{id}/content", files.content, dialect=True),
    Row("POST", "/v1/batches", batches.create, dialect=True),
    Row("GET", "/v1/batches", batches.listing, dialect=True),
    Row("GET", "/v1/batches/{id}", batches.show, dialect=True),
    Row("POST", "/v1/batches/{id}/cancel", batches.cancel, dialect=True),
    Row("POST", "/v1/messages/batches", batches.create_messages, dialect=True),
    Row("GET", "/v1/messages/batches", batches.list_messages, dialect=True),
    Row("GET", "/v1/messages/batches/{id}", batches.show, dialect=True),
    Row("DELETE", "/v1/messages/batches/{id}", batches.remove, dialect=True),
    Row("POST", "/v1/messages/batches/{id}/cancel", batches.cancel, dialect=True),
    Row("GET", "/v1/messages/batches/{id}/results", batches.results, dialect=True),
    Row("POST", "/mcp", mcp.handle),
    Row("GET", "/compactions/{id}", compactions.show, both=True),
    Row("GET", "/search", sessions_api.search, both=True),
    Row("POST", "/sessions", sessions_api.create, both=True),
    Row("GET", "/sessions", sessions_api.listing, both=True, page=True),
    Row("GET", "/sessions/{id}", sessions_api.show, both=True, page=True),
    Row("PATCH", "/sessions/{id}", sessions_api.change, both=True),
    Row("DELETE", "/sessions/{id}", sessions_api.remove, both=True),
    Row("POST", "/sessions/{id}/turns", sessions_api.turn, both=True),
    Row("POST", "/sessions/{id}/cancel", sessions_api.cancel, both=True),
    Row("POST", "/sessions/{id}/rating", sessions_api.rate, both=True),
    Row("GET", "/sessions/{id}/messages", sessions_api.messages, both=True),
    Row("GET", "/sessions/{id}/summary", sessions_api.summed, both=True),
    Row("POST", "/sessions/{id}/redaction", page.look, both=True),
    Row("POST", "/sessions/{id}/export", page.export, both=True),
    Row("GET", "/sessions/{id}/events", sessions_api.events, both=True),
    Row("GET", "/transcripts", transcripts_api.listing, both=True),
    Row("GET", "/transcripts/{agent}/{id}", transcripts_api.show, both=True),
    Row("POST", "/task", tasks_api.create, both=True),
    Row("GET", "/tasks", tasks_api.listing, both=True, page=True),
    Row("GET", "/events", tasks_api.events_of_all, both=True),
    Row("GET", "/queued_messages", tasks_api.queues, both=True),
    Row("GET", "/queued-messages", tasks_api.queues, both=True),
    Row("GET", "/task/{id}", tasks_api.show, both=True, page=True),
    Row("DELETE", "/task/{id}", tasks_api.end, both=True),
    Row("GET", "/task/{id}/status", tasks_api.status, both=True),
    Row("POST", "/task/{id}/message", tasks_api.message, both=True),
    Row("DELETE", "/task/{id}/message/{message}", tasks_api.unqueue, both=True),
    Row("POST", "/task/{id}/cancel", tasks_api.cancel, both=True),
    Row("POST", "/task/{id}/resume", tasks_api.resume, both=True),
    Row("POST", "/task/{id}/branch", tasks_api.branch, both=True),
    Row("GET", "/task/{id}/confirmations", tasks_api.confirmations, both=True),
    Row("POST", "/task/{id}/confirmations", tasks_api.confirm, both=True),
    Row("GET", "/task/{id}/confirmations/{call}/file", tasks_api.file_before, both=True),
    Row("GET", "/task/{id}/events", tasks_api.events_of_task, both=True),
    *[
        Row(method, f"/admin/{path}", handler, admin=True)
        for method, path, handler in (
            ("GET", "keys", admin.keys),
            ("POST", "keys", admin.issue),
            ("GET", "keys/{id}", admin.key),
            ("PATCH", "keys/{id}", admin.change),
            ("DELETE", "keys/{id}", admin.revoke),
            ("POST", "keys/{id}/rotate", admin.rotate),
            ("GET", "users", admin.users),
            ("POST", "users", admin.add_user),
            ("PATCH", "users/{id}", admin.change_user),
            ("GET", "teams", admin.teams),
            ("POST", "teams", admin.add_team),
            ("PATCH", "teams/{id}", admin.change_team),
            ("GET", "budgets", admin.budgets),
            ("POST", "budgets", admin.add_budget),
            ("DELETE", "budgets/{id}", admin.remove_budget),
            ("GET", "usage", stats_api.show),
            ("GET", "audit", admin.audit),
        )
    ],
)


def rows() -> list[Row]:
    """All of them, each with its own path. `/v1/sessions` is Anthropic's, too, so ours have a
    second path that no vendor uses."""
    sessions = [row for row in ROWS if row.path.startswith("/sessions")]
    return [
        *ROWS,
        *[row._replace(path=f"/v1{row.path}", page=False) for row in ROWS if row.both],
        *[row._replace(path=f"/il{row.path}", page=False) for row in sessions],
    ]


def application(service: Service) -> Asgi:
    """The application of these paths; those of vendors are also where hosts of OpenAI's API have
    them."""
    routes = [
        StarletteRoute(row.path, _endpoint(service, row), methods=[row.method]) for row in rows()
    ]
    app = Starlette(routes=[*routes, *page.routes()], exception_handlers={HTTPException: _not_here})
    app.router.redirect_slashes = False

    async def at_any_host(scope: Scope, receive: Receive, send: Send) -> None:
        there = at_host(scope["path"]) if scope["type"] == "http" else None
        if there is not None:
            scope = {**scope, "path": there.path, HOST: there}
        await app(scope, receive, send)

    return at_any_host


def _endpoint(service: Service, row: Row) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        request.state.principal = ANONYMOUS
        try:
            return await _answered(service, row, request)
        except Exception as error:
            return _error_response(row, request, _failure(row, error))

    return endpoint


async def _answered(service: Service, row: Row, request: Request) -> Response:
    is_ours = HOST in request.scope and not row.dialect
    if is_ours or is_other_api(request.url.path, request.headers):
        return await _not_here(request, HTTPException(404))
    if row.page and page.wants_page(request):
        return page.shared_place(row.path, request)
    if row.admin and not await service.gateway.keys.administered():
        return await _not_here(request, HTTPException(404))
    principal = ANONYMOUS
    if not row.open:
        principal = request.state.principal = await principal_of(service.gateway.keys, request)
    if row.admin:
        principal = await admin.require_admin(service, principal)
    response = await _held(service.gateway.open_requests, row, request, principal, service)
    if response.status_code >= 400 and row.handler in _UNRECORDED:
        log_refused(request.method, row.path, response.status_code, "", principal)
    return response


def _failure(row: Row, error: Exception) -> ApiError:
    """The answer for an error; one of ours is in the log with its class."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Refusal):
        code, headers = error.error.code or "refused", dict(error.headers)
        made = ApiError(error.status, code, error.error.message, headers=headers)
        made.is_recorded = error.is_recorded
        return made
    text = "internal gateway error; see the gateway's log"
    made = ApiError(500, "internal_error", text)
    if isinstance(error, InterlinguaError):
        made = api_error(error)
    if made.status == 500:
        why = type(error).__name__
        logger.error("request_failed", extra={"path": row.path, "why": why})
    return made


class _HeldResponse(Response):
    """A response whose key has it open until its last byte was sent."""

    def __init__(self, inner: Response, release: Callable[[], None]) -> None:
        super().__init__(status_code=inner.status_code)
        self._inner = inner
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._inner(scope, receive, send)
        finally:
            self._release()


async def _held(
    open: OpenRequests, row: Row, request: Request, principal: Principal, service: Service
) -> Response:
    """The handler's response; until it was sent, it counts among the key's open requests."""
    open.take(principal, "")
    try:
        made = await row.handler(service, request, principal)
    except BaseException:
        open.release(principal)
        raise
    return (
        made if principal.key_id is None else _HeldResponse(made, partial(open.release, principal))
    )


_UNRECORDED = (own.models, own.model, own.ollama_show)
"""Paths that write their errors themselves."""


def _error_response(row: Row, request: Request, error: ApiError) -> Response:
    """An error in our format, or in that of the path's dialect; it is also logged."""
    if not error.is_recorded:
        principal = request.state.principal
        log_refused(request.method, row.path, error.status, error.code, principal)
    if not row.dialect:
        return error_answer(error)
    is_response = row.path.startswith(("/v1/responses/", "/v1/conversations"))
    front = RESPONSES if is_response else front_of(request.url.path, request.headers)
    kind = kind_of(error.status)
    provider_error = ProviderError(kind, error.message, error.code, error.status)
    return Response(
        error_body(front, provider_error),
        error.status,
        {CODE_HEADER: error.code, **(error.headers or {})},
        media_type="application/json",
    )


async def _not_here(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    if request.method == "GET" and page.wants_page(request):
        return page.page(404)
    status = error.status_code if isinstance(error, HTTPException) else 404
    code = "method_not_allowed" if status == 405 else "not_found"
    text = "method not allowed for this endpoint" if status == 405 else "no such endpoint"
    allowed, route = None, UNKNOWN_ROUTE
    if status == 405:
        here = [each for each in request.app.routes if each.path_regex.match(request.url.path)]
        route = here[0].path
        allowed = {"allow": ", ".join(sorted({m for each in here for m in each.methods}))}
    front = whose(request.url.path, request.headers)
    method = request.method if status == 405 else None
    vendor = unserved(request.url.path, request.headers, method)
    if vendor is not None:
        front, status, code = vendor, 501, "not_implemented"
        of = " of this SDK" if is_other_api(request.url.path, request.headers) else ""
        text = not_served(request.method, request.url.path, of)
        allowed = {"x-should-retry": "false", CODE_HEADER: code}
        route = request.url.path
        if vendor is ROUTER:
            status = 404  # its SDK repeats any 5xx for an hour
    log_refused(request.method, route, status, code)
    if front is None:
        return answer({"error": {"code": code, "message": text}}, status, allowed)
    provider_error = ProviderError(ErrorKind.INVALID_REQUEST, text, code, status)
    return Response(
        error_body(front, provider_error), status, allowed, media_type="application/json"
    )


Kinds = type[InterlinguaError] | tuple[type[InterlinguaError], ...]

_PLAIN: tuple[tuple[Kinds, int, str, str | None], ...] = (
    (TaskBusyError, 409, "task_busy", "the task is already running"),
    (NothingToDoError, 409, "nothing_to_do", "the task has nothing to resume"),
    (WorkspaceError, 409, "folder_gone", "the task's folder is missing or cannot be used here"),
    (BusyError, 409, "turn_in_flight", None),
    (TakenError, 409, "conflict", None),
    (TermsError, 400, "invalid_terms", None),
    (SwapError, 409, "swap_refused", None),
    ((OverrideError, UnknownModelError), 400, "unknown_model", None),
    (ProviderSetupError, 503, "provider_not_set_up", None),
    (TurnError, 409, "turn_in_flight", None),
    ((SessionError, ReadError), 400, "invalid_content", None),
    (ConflictError, 409, "conflict", "changed by another program in the meantime; read it again"),
)
"""Kinds of errors, and their messages; None: their own."""


def api_error(error: InterlinguaError) -> ApiError:
    """The answer for an error of ours."""
    for kinds, status, code, text in _PLAIN:
        if isinstance(error, kinds):
            return ApiError(status, code, text or str(error))
    match error:
        case FullError():
            return ApiError(503, "too_many_turns", str(error), headers={"retry-after": "1"})
        case NoModelError():
            return ApiError(503, "routing_failed", str(error), {"tried": _tried(error)})
        case RoutingError():
            return ApiError(503, "routing_failed", str(error), {"tried": []})
        case NotFoundError():
            return ApiError(404, "not_found", f"no such {error.what}")
        case StoreError():
            text = f"the store is unavailable ({error.reason})"
            return ApiError(503, "store_unavailable", text, headers={"retry-after": "1"})
        case CallError():
            return ApiError(502, "upstream_failed", error.problem)
        case _:
            return ApiError(500, "internal_error", "internal gateway error; see the gateway's log")


def _tried(error: NoModelError) -> list[dict[str, str | None]]:
    return [
        {"model": step.candidate_model, "reason": step.reason}
        for step in error.decision.chain
        if step.candidate_model is not None
    ]
