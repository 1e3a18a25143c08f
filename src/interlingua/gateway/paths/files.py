"""Files: requests of batches are stored here, other files are sent to a provider. All keys share
one account there, so each tenant lists, reads and uses only its own files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.client.targets import Target
from interlingua.client.transport import HttpRequest
from interlingua.dialects.front import Front
from interlingua.gateway.batches.api import page_between
from interlingua.gateway.batches.state import BATCH, StoredFile, Wire, page_of
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.paths.passing import answered, begun, path_at, recorded, reserve
from interlingua.gateway.relay.headers import forwarded
from interlingua.gateway.responses.conversations import NOT_STORED, may_store
from interlingua.gateway.shared.bodies import number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.file_owners import PassedFile
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT
from interlingua.gateway.shared.redaction import refuse_unredacted
from interlingua.gateway.shared.state import ROUTE, Decision, Exchange, Principal
from interlingua.gateway.shared.unserved import MISTRAL, client_of
from interlingua.gateway.shared.uploads import FileForm
from interlingua.profiles.names import model_name

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

PROVIDER = "x-interlingua-provider"
"""The header that names the provider of a file, where it is not the vendor of the SDK."""


def _front(request: Request) -> Front:
    return ANTHROPIC if "anthropic-version" in request.headers else CHAT


async def upload(service: Service, request: Request, principal: Principal) -> Response:
    """A file for batches, or one for a provider; its purpose decides."""
    form = FileForm(request, service.limits)
    try:
        await form.read()
        if form.purpose != BATCH or _front(request) is ANTHROPIC:
            return await _uploaded(service, request, principal, form)
        if not may_store(principal):
            raise ApiError(400, "content_not_stored", NOT_STORED)
        return answer((await service.batches.files.save(form, principal.tenant)).wire())
    finally:
        form.close()


async def _uploaded(
    service: Service, request: Request, principal: Principal, form: FileForm
) -> Response:
    exchange = begun(service.gateway, request, principal, _front(request), "files")
    async with recorded(service.gateway, exchange):
        refuse_unredacted(service.gateway, principal, request.url.path)
        target = await _target(service.gateway, exchange, request)
        upward = _upward(service.gateway, target, request)
        headers = {**upward.headers, "content-type": form.content_type}
        headers["content-length"] = str(form.length(None))
        upward = msgspec.structs.replace(upward, headers=headers, pieces=form.body(None))
        response = await answered(service, exchange, target, upward)
    if response.status_code >= 300:
        return response
    try:
        wire: Wire = msgspec.json.decode(response.body, type=dict[str, Any])
        file = PassedFile(str(wire["id"]), target.provider.key, principal.tenant or "", wire)
    except (msgspec.DecodeError, KeyError):
        raise ApiError(
            502, "upstream_failed", f"{target.provider.key} returned no file id"
        ) from None
    if not may_store(principal):
        file.wire = {**wire, "filename": ""}
    await service.provider_files.add(file)
    return response


async def _target(
    gateway: Gateway, exchange: Exchange, request: Request, provider: str | None = None
) -> Target:
    """The provider of a file. A key that is limited to some models uses the files of theirs."""
    arrival, front = exchange.arrival, _front(request)
    usual = "mistral" if client_of(request.headers) == MISTRAL else front.provider
    key = provider or request.headers.get(PROVIDER) or usual
    if key not in gateway.targets.providers:
        raise ApiError(400, "invalid_request", f"{PROVIDER}: no provider {key[:100]!r}")
    if not _may_use(gateway, arrival.principal, key):
        raise ApiError(403, "model_not_allowed", f"this key is not allowed to use {key}")
    route = gateway.route(f"{key}:files", front)
    if route.by_client:
        route = route.asked_with(arrival.own_key)
    exchange.decision = Decision(route.targets[0])
    await reserve(gateway, exchange, route.targets[0], "files")
    await gateway.targets.start(route.targets[0])
    return route.targets[0]


def _may_use(gateway: Gateway, principal: Principal, provider: str) -> bool:
    if principal.allowed_models is None:
        return True
    for name in principal.allowed_models:
        route = gateway.route_settings(name.removeprefix(ROUTE)) if name.startswith(ROUTE) else None
        model = gateway.targets.id_of(route.model) if route is not None else name
        if model_name(model).provider == provider:
            return True
    return False


def _upward(
    gateway: Gateway, target: Target, request: Request, id: str = "", part: str = ""
) -> HttpRequest:
    where = path_at(target.provider, "/v1/files")
    address = gateway.targets.address(target, {}, "request", body=b"", path=where)
    headers = {**address.headers, "accept": "*/*", "accept-encoding": "identity"}
    headers |= forwarded(dict(request.scope["headers"]), _front(request))
    headers["connection"] = "close"
    url = f"{address.url}/{quote(id, safe='')}{part}" if id else address.url
    return HttpRequest(url, headers, b"", address.secrets, request.method)


async def _passed(service: Service, request: Request, principal: Principal, part: str) -> Response:
    """A provider's response about one of its files; 404 for a file of another tenant."""
    id, tenant = request.path_params["id"], principal.tenant or ""
    file = await service.provider_files.find(id, tenant)
    if file is None:
        raise ApiError(404, "not_found", f"No such File object: {id[:100]}")
    exchange = begun(service.gateway, request, principal, _front(request), "files")
    async with recorded(service.gateway, exchange):
        target = await _target(service.gateway, exchange, request, file.provider)
        upward = _upward(service.gateway, target, request, id, part)
        response = await answered(service, exchange, target, upward)
    if request.method == "DELETE" and response.status_code < 300:
        await service.provider_files.remove(file)
    return response


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    query, anthropic = request.query_params, _front(request) is ANTHROPIC
    passed = await service.provider_files.listed(principal.tenant or "", anthropic)
    if anthropic:
        size = number(query, "limit", 20, 1, 1000)
        return answer(page_between(passed, query.get("before_id"), query.get("after_id"), size))
    size = number(query, "limit", 100, 1, 10_000)
    if client_of(request.headers) == MISTRAL:  # which cannot read the files of others
        passed = [file for file in passed if "sample_type" in file]
    files = [file.wire() for file in await service.batches.files.listed(principal.tenant)]
    files = sorted([*files, *passed], key=lambda file: -int(file.get("created_at") or 0))
    if query.get("purpose"):
        files = [file for file in files if file.get("purpose") == query["purpose"]]
    if query.get("order") == "asc":
        files.reverse()
    return answer(page_of(files, query.get("after"), size))


async def _stored(service: Service, request: Request, principal: Principal) -> StoredFile | None:
    """A file that is here."""
    if _front(request) is ANTHROPIC:
        return None
    return await service.batches.files.find(request.path_params["id"], principal.tenant)


async def show(service: Service, request: Request, principal: Principal) -> Response:
    file = await _stored(service, request, principal)
    if file is None:
        return await _passed(service, request, principal, "")
    return answer(file.wire())


async def content(service: Service, request: Request, principal: Principal) -> Response:
    file = await _stored(service, request, principal)
    if file is None:
        return await _passed(service, request, principal, "/content")
    if file.batch is None:
        pieces: AsyncIterator[bytes] = service.batches.files.pieces(file.id, principal.tenant)
    else:
        pieces = service.batches.result_lines(file.batch, principal.tenant, file.part or "")
    headers = {"cache-control": "no-store"}
    kind = "application/octet-stream"
    return PatientResponse(pieces, service.limits.stalled, media_type=kind, headers=headers)


async def remove(service: Service, request: Request, principal: Principal) -> Response:
    file = await _stored(service, request, principal)
    if file is None:
        return await _passed(service, request, principal, "")
    await service.batches.files.remove(file.id, principal.tenant)
    return answer({"id": file.id, "object": "file", "deleted": True})
