"""The gateway's other paths: about itself, its models in each dialect, loss reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua import __version__
from interlingua.gateway.page import page, wants_page
from interlingua.gateway.paths import docs_page, listing
from interlingua.gateway.paths.openapi import document
from interlingua.gateway.shared.bodies import Rules, ShownModel, read
from interlingua.gateway.shared.callers import JSON, ApiError, answer
from interlingua.gateway.shared.fronts import OLLAMA, error_body
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Principal, Refusal
from interlingua.gateway.shared.unserved import MISTRAL, client_of
from interlingua.gateway.telemetry.metrics import CONTENT_TYPE, without_money
from interlingua.model.exchange import ErrorKind
from interlingua.profiles import aliases
from interlingua.routing.policy import SCHEMA_VERSION as RULES_VERSION
from interlingua.routing.policy import PolicyReader, Scope
from interlingua.store.migrations import VERSION as STORE_VERSION

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


async def here(service: Service, request: Request, principal: Principal) -> Response:
    """Browsers get the page; clients check that the gateway is there."""
    if wants_page(request):
        return page()
    links = {"name": "interlingua", "api": "/openapi.json", "models": "/v1/models"}
    return answer(links, headers={"vary": "accept"})


async def live(service: Service, request: Request, principal: Principal) -> Response:
    return answer({"status": "live"})


async def ready(service: Service, request: Request, principal: Principal) -> Response:
    good, checks = await service.health.ready()
    return answer(checks, 200 if good else 503)


async def metrics(service: Service, request: Request, principal: Principal) -> Response:
    if service.metrics is None:
        raise ApiError(404, "not_found", "metrics are switched off")
    service.count_in_flight()
    text = service.metrics.text()
    if isinstance(principal, KeyPrincipal) and not principal.read_metrics:
        text = without_money(text)
    return Response(text, headers={"content-type": CONTENT_TYPE})


async def losses(service: Service, request: Request, principal: Principal) -> Response:
    report = await service.losses.find(request.path_params["id"], principal)
    if report is None:
        text = "no report for this request; a request without losses has none"
        raise ApiError(404, "report_not_found", text)
    return answer(report.as_json())


async def version(service: Service, request: Request, principal: Principal) -> Response:
    schemas = {"message": 1, "store": STORE_VERSION, "rules": RULES_VERSION, "events": 1}
    return answer({"name": "interlingua", "version": __version__, "schema_versions": schemas})


async def api_document(service: Service, request: Request, principal: Principal) -> Response:
    return answer(document())


async def docs(service: Service, request: Request, principal: Principal) -> Response:
    """The same for people."""
    return Response(docs_page.html(), headers=docs_page.HEADERS, media_type="text/html")


async def policy(service: Service, request: Request, principal: Principal) -> Response:
    """The rules that hold for the caller's workspace, and how they were read."""
    now = service.turns.router.config()
    here = now.policy.scope(principal.workspace_path)
    return answer(
        {
            "version": now.policy.version,
            "global_default": now.global_default,
            "workspace": _scope(here),
            "everywhere": _scope(now.policy.everywhere),
            "aliases": dict(now.policy.aliases),
            "problems": len(service.turns.rules.problems),
        }
    )


def _scope(scope: Scope) -> dict[str, Any]:
    rules = [{"name": rule.name, "use": rule.model} for rule in scope.rules]
    return {"default": scope.default, "rules": rules}


async def check_rules(service: Service, request: Request, principal: Principal) -> Response:
    """Whether the text of a rules file could be used. Nothing is changed."""
    body = await read(request, Rules, service.limits)
    reader = PolicyReader(service.turns.registry)
    try:
        reader.read(body.rules.encode())
    except UnicodeEncodeError:
        raise ApiError(400, "invalid_request", "rules: expected Unicode text") from None
    problems = [{"path": each.path, "message": each.message} for each in reader.problems[:100]]
    return answer({"valid": not problems, "problems": problems})


# Lists of models, in the words of each dialect, errors included.


async def models(service: Service, request: Request, principal: Principal) -> Response:
    front = listing.front_of(request.url.path, request.headers)
    try:
        listed = await listing.models(service.gateway, principal)
        body = listing.page(front, listed, request.query_params)
        if request.url.path == "/models":
            short = aliases().items()
            for each, row in zip(listed, body["data"], strict=True):
                row["model"] = each.model
                row["aliases"] = [alias for alias, id in short if id == each.model]
                row["capabilities"] = None if each.can is None else msgspec.to_builtins(each.can)
        elif client_of(request.headers) == MISTRAL:
            body["data"] = [listing.shown_to_mistral(each) for each in listed]
        return answer(body)
    except Refusal as refused:
        return _in_dialect(front, refused)


async def model(service: Service, request: Request, principal: Principal) -> Response:
    front = listing.front_of(request.url.path, request.headers)
    try:
        listed = await listing.models(service.gateway, principal)
        found = listing.find(service.gateway, listed, request.path_params["model"], front)
        is_mistral = client_of(request.headers) == MISTRAL
        return answer(listing.shown_to_mistral(found) if is_mistral else listing.one(front, found))
    except Refusal as refused:
        return _in_dialect(front, refused)


async def ollama_version(service: Service, request: Request, principal: Principal) -> Response:
    return answer(listing.version())


async def ollama_show(service: Service, request: Request, principal: Principal) -> Response:
    body = await read(request, ShownModel, service.limits)
    try:
        name = body.model or body.name
        if name is None:
            raise Refusal(400, ErrorKind.INVALID_REQUEST, "the request body does not name a model")
        listed = await listing.models(service.gateway, principal)
        return answer(listing.shown(listing.find(service.gateway, listed, name, OLLAMA)))
    except Refusal as refused:
        return _in_dialect(OLLAMA, refused)


def _in_dialect(front: Any, refused: Refusal) -> Response:
    return Response(
        error_body(front, refused.error), refused.status, dict(refused.headers), media_type=JSON
    )
