"""Anthropic's own `/v1/sessions`, for clients that identify themselves as its SDK: forwarded to
Anthropic if a key for it is configured. Our sessions have the same path for all other clients, and
`/il/sessions` for everyone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.client.transport import HttpRequest, HttpTransport, Reply
from interlingua.client.transport_errors import Limits, TransportError
from interlingua.errors import InterlinguaError
from interlingua.gateway.relay.headers import client_body
from interlingua.gateway.shared.bodies import body_of
from interlingua.gateway.shared.callers import ApiError, log_refused, principal_of
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.fronts import (
    ANTHROPIC,
    Asgi,
    Receive,
    Scope,
    Send,
    error_body,
    kind_of,
)
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.redaction import refuse_unredacted
from interlingua.gateway.shared.state import Principal, Refusal
from interlingua.model.exchange import ProviderError
from interlingua.store.idempotency import ObjectList, ObjectRow

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

PATH = "/v1/sessions"
SECONDS = 365 * 86400.0
_PASSED = ("anthropic-version", "anthropic-beta", "content-type", "accept")
_MODEL = "anthropic:claude-sonnet-4-6"
"""Any model of theirs leads to the address and the key."""


class ManagedAgents:
    """Handles Anthropic's managed agents, before the application of the other paths."""

    def __init__(self, service: Service, app: Asgi) -> None:
        self._service = service
        self._app = app
        self._transport = HttpTransport()

    async def close(self) -> None:
        await self._transport.close()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"].startswith(PATH):
            rest = scope["path"][len(PATH) :]
            is_anthropic = any(name == b"anthropic-version" for name, _ in scope["headers"])
            if is_anthropic and (not rest or rest.startswith("/")):
                return self._serve(rest, Request(scope, receive), send)
        return self._app(scope, receive, send)

    async def _serve(self, rest: str, request: Request, send: Send) -> None:
        try:
            principal = await principal_of(self._service.gateway.keys, request)
            refuse_unredacted(self._service.gateway, principal, PATH)
            response = await self._forwarded(rest, request, principal)
        except Refusal as refused:
            code, text = refused.error.code or "", refused.error.message
            response = _refusal(ApiError(refused.status, code, text), request)
        except ApiError as error:
            response = _refusal(error, request)
        await response(request.scope, request.receive, send)

    async def _forwarded(self, rest: str, request: Request, principal: Principal) -> Response:
        id = rest.strip("/").partition("/")[0]
        await self._require_own(id, request.method, principal)
        body = await body_of(request, self._service.limits)
        if principal.tenant is not None:
            await self._service.provider_files.require_own(body, principal.tenant)
        upward = self._upward(request, body)
        try:
            reply = await self._transport.send(upward, Limits(idle=600.0, total=None))
        except TransportError as error:
            raise ApiError(502, "connection_failed", f"Anthropic: {error}") from None
        kind = reply.headers.get("content-type", "application/json")
        if "event-stream" in kind:
            stalled = self._service.limits.stalled
            return PatientResponse(_pieces(reply), stalled, media_type=kind)
        data = client_body(await reply.body(self._service.limits.answer), upward.secrets)
        if reply.status < 300 and request.method == "POST" and not id:
            await self._note(data, principal)
        return Response(data, reply.status, media_type=kind)

    def _upward(self, request: Request, body: bytes) -> HttpRequest:
        gateway = self._service.gateway
        try:
            address = gateway.targets.address(gateway.targets.find(_MODEL), {}, "request")
        except InterlinguaError:
            text = "no key for Anthropic is configured here; sessions of this gateway: /il/sessions"
            raise ApiError(404, "model_not_available", text) from None
        base = address.url.partition("/v1/")[0]
        query = f"?{request.url.query}" if request.url.query else ""
        passed = {name: request.headers[name] for name in _PASSED if name in request.headers}
        headers = {**address.headers, "accept-encoding": "identity", **passed}
        url = f"{base}{request.url.path}{query}"
        return HttpRequest(url, headers, body, address.secrets, request.method)

    async def _require_own(self, id: str, method: str, principal: Principal) -> None:
        """Checks that a session belongs to the caller, because all keys share one account at
        Anthropic."""
        if principal.key_id is None:
            return
        free = isinstance(principal, KeyPrincipal) and principal.allow_unbounded
        if principal.capped and not free:
            text = "this key has a cap, and what a session costs has no upper bound"
            raise ApiError(403, "unbounded_request", text)
        if not id and method != "POST":
            text = "all keys of this gateway share one account, whose sessions cannot be listed"
            raise ApiError(403, "not_allowed", text)
        if id and await self._service.store.object(_place(principal), id) is None:
            raise ApiError(404, "not_found", f"session {id[:100]!r} not found")

    async def _note(self, data: bytes, principal: Principal) -> None:
        try:
            id = msgspec.json.decode(data)["id"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return
        row = ObjectRow(str(id), 0, b"{}")
        await self._service.store.put_objects(_place(principal), [row], SECONDS)


def _place(principal: Principal) -> ObjectList:
    return ObjectList(principal.tenant or "", "managed-session")


async def _pieces(reply: Reply) -> AsyncGenerator[bytes, None]:
    try:
        while data := await reply.chunk():
            yield data
    finally:
        reply.close()


def _refusal(error: ApiError, request: Request) -> Response:
    log_refused(request.method, PATH, error.status, error.code)
    kind = kind_of(error.status)
    raw: dict[str, Any] = {ANTHROPIC.dialect: {"code": error.code}}
    problem = ProviderError(kind, error.message, error.code, error.status, raw)
    return Response(error_body(ANTHROPIC, problem), error.status, media_type="application/json")
