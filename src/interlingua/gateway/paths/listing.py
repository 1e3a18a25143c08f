"""Lists of models in the format of each dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from interlingua import __version__
from interlingua.client.targets import Targets, of_reachable, reachable
from interlingua.costs.table import bundled
from interlingua.dialects.front import GOOGLE_VERSIONS, Front
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.settings import WILDCARD
from interlingua.gateway.shared.bodies import whole_number
from interlingua.gateway.shared.fronts import (
    ANTHROPIC,
    CHAT,
    COHERE,
    GEMINI,
    INTERACTIONS,
    OLLAMA,
    ROUTER,
)
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Principal, Refusal
from interlingua.gateway.shared.unserved import front_of_client
from interlingua.model.exchange import ErrorKind
from interlingua.profiles.capabilities import Capabilities, capabilities, known_models
from interlingua.profiles.names import model_name

LONG_AGO = "1970-01-01T00:00:00Z"
"""The dates of models are unknown; Anthropic's own list uses this date for such models."""
MILLION = Decimal(1_000_000)
MOST = 1000
"""On one page."""
_BEGINNINGS = {
    **{f"/{version}/interactions": INTERACTIONS for version in GOOGLE_VERSIONS},
    "/v1beta/": GEMINI,
    "/v1alpha/": GEMINI,
    "/v1/messages/": ANTHROPIC,
    "/v2/": COHERE,
    "/api/": OLLAMA,
}
OLLAMA_VERSION = "0.12.0"
"""Clients of Ollama check whether the server is new enough; this is the version of the API that
is served."""


class ListedModel:
    """One available model, by its name in requests."""

    def __init__(self, name: str, model: str) -> None:
        self.name = name
        self.model = model
        self.provider = model_name(model).provider
        self.embeds = model in bundled().embeddings
        self.can: Capabilities | None
        try:
            self.can = capabilities(model)
        except InterlinguaError:
            self.can = None


async def models(gateway: Gateway, principal: Principal) -> list[ListedModel]:
    """Names of the gateway's own, then available models, as far as this key may use them."""
    found: dict[str, str] = {}
    for name, route in gateway.settings.routes.items():
        if name.endswith(WILDCARD):
            continue  # stands for models that are listed below
        try:
            found[name] = gateway.targets.find(route.model).model
        except InterlinguaError:
            continue
    for model in await asyncio.to_thread(_askable, gateway.targets):
        if not _is_too_dear(model, gateway, principal):
            found.setdefault(model, model)
    allowed = principal.allowed_models
    return [
        ListedModel(name, model)
        for name, model in found.items()
        if allowed is None or model in allowed or gateway.may_use_route(name, allowed)
    ]


def _is_too_dear(model: str, gateway: Gateway, principal: Principal) -> bool:
    """Whether a key with a spending cap is refused this model, because its price is unknown."""
    if gateway.pricer is None or not isinstance(principal, KeyPrincipal):
        return False
    table = gateway.pricer.table
    return bool(principal.limits) and not principal.allow_unpriced and model not in table


def _askable(targets: Targets) -> list[str]:
    """Chat models, then embedding models."""
    there = reachable(targets)
    return of_reachable(there, [*known_models(), *bundled().embeddings])


def front_of(path: str, headers: Mapping[str, str]) -> Front:
    """The front whose responses are expected: paths under `/v1` belong to several vendors."""
    return _front_of_path(path) or front_of_client(headers) or CHAT


def whose(path: str, headers: Mapping[str, str]) -> Front | None:
    """The vendor whose client uses an unknown path; None if it could be any vendor's. OpenAI's
    client can read an error in our own form."""
    front = _front_of_path(path)
    if front is None and path.startswith("/v1"):
        front = front_of_client(headers)
    return None if front is CHAT else front


def _front_of_path(path: str) -> Front | None:
    for beginning, front in _BEGINNINGS.items():
        if path.startswith(beginning):
            return front
    return None


def page(front: Front, listed: Sequence[ListedModel], query: Mapping[str, str]) -> dict[str, Any]:
    """The list, or the requested part of it."""
    if front is ANTHROPIC:
        return _anthropic_page(listed, query)
    if front is GEMINI:
        return _gemini_page(listed, query)
    if front in (OLLAMA, COHERE):
        return {"models": [one(front, each) for each in listed]}
    if front is ROUTER:
        data = [one(front, each) for each in listed]
        return {"data": data, "links": {"next": None}, "total_count": len(data)}
    return {"object": "list", "data": [one(front, each) for each in listed]}


def one(front: Front, listed: ListedModel) -> dict[str, Any]:
    """One model in the dialect's format."""
    can = listed.can
    if front is ROUTER:
        return _at_router(listed)
    if front is ANTHROPIC:
        return {
            "type": "model",
            "id": listed.name,
            "display_name": listed.name,
            "created_at": LONG_AGO,
        }
    if front is GEMINI:
        return {
            "name": f"models/{listed.name}",
            "displayName": listed.name,
            "version": "1",
            "inputTokenLimit": (can.max_context_tokens if can else None) or 0,
            "outputTokenLimit": (can.max_output_tokens if can else None) or 0,
            "supportedGenerationMethods": (
                ["embedContent", "batchEmbedContents"]
                if listed.embeds
                else ["generateContent", "streamGenerateContent", "countTokens"]
            ),
        }
    if front is COHERE:
        size = can.max_context_tokens if can else None
        does = ["embed"] if listed.embeds else ["chat"]
        return {"name": listed.name, "endpoints": does, "context_length": size}
    if front is OLLAMA:
        return {
            "name": listed.name,
            "model": listed.name,
            "modified_at": LONG_AGO,
            "size": 0,
            "digest": "",
            "details": {"format": "remote", "family": listed.provider, "families": None},
        }
    return {"id": listed.name, "object": "model", "created": 0, "owned_by": listed.provider}


def shown_to_mistral(listed: ListedModel) -> dict[str, Any]:
    """One model as Mistral's SDK reads it at OpenAI's path."""
    can, chats = listed.can, not listed.embeds
    does = {
        "completion_chat": chats,
        "function_calling": chats and (can is None or can.supports_tools),
        "reasoning": can is not None and can.supports_thinking,
        "vision": can is not None and can.supports_images,
    }
    size = {} if can is None else {"max_context_length": can.max_context_tokens}
    return {**one(CHAT, listed), "type": "base", "capabilities": does, **size}


def _at_router(listed: ListedModel) -> dict[str, Any]:
    """One model as OpenRouter's SDK reads it. Prices are of one token, and -1 if they are not
    known."""
    can, table = listed.can, bundled()
    size = can.max_context_tokens if can else None
    rates = None
    if listed.model in table:
        rates = table[listed.model].period(datetime.now(UTC).date())
    prices = (-MILLION, -MILLION) if rates is None else (rates.input, rates.output)
    made = "embeddings" if listed.embeds else "text"
    read = ["text", "image"] if can is not None and can.supports_images else ["text"]
    return {
        **one(CHAT, listed),
        "canonical_slug": listed.name,
        "name": listed.name,
        "context_length": size,
        "architecture": {
            "modality": f"{'+'.join(read)}->{made}",
            "input_modalities": read,
            "output_modalities": [made],
        },
        "pricing": {
            name: f"{price / MILLION:f}"
            for name, price in zip(("prompt", "completion"), prices, strict=True)
        },
        "top_provider": {
            "context_length": size,
            "max_completion_tokens": can.max_output_tokens if can else None,
            "is_moderated": False,
        },
        "supported_parameters": ["tools", "tool_choice"] if can and can.supports_tools else [],
        "supported_voices": None,
        "default_parameters": None,
        "per_request_limits": None,
        "links": {"details": f"/api/v1/models/{listed.name}"},
    }


def find(gateway: Gateway, listed: Sequence[ListedModel], name: str, front: Front) -> ListedModel:
    """One model by the name that a client uses for it."""
    name = name.removeprefix("models/")
    meant = [name]
    with suppress(Refusal):
        meant += gateway.route(name, front).models[:1]
    for each in listed:
        if each.name in meant:
            return each
    text = f"model not found: {name[:200]!r}"
    raise Refusal(404, ErrorKind.INVALID_REQUEST, text, "model_not_found")


def shown(listed: ListedModel) -> dict[str, Any]:
    """The `/api/show` answer for clients of Ollama, which look up context length and tool
    support."""
    can = listed.can
    able = {
        "embedding": listed.embeds,
        "completion": not listed.embeds,
        "tools": not listed.embeds and (can is None or can.supports_tools),
        "vision": can is not None and can.supports_images,
        "thinking": can is not None and can.supports_thinking,
    }
    info: dict[str, Any] = {"general.architecture": listed.provider}
    if can is not None and can.max_context_tokens is not None:
        info[f"{listed.provider}.context_length"] = can.max_context_tokens
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": one(OLLAMA, listed)["details"],
        "model_info": info,
        "capabilities": [name for name, yes in able.items() if yes],
        "modified_at": LONG_AGO,
    }


def version() -> dict[str, Any]:
    """The `/api/version` answer for clients of Ollama."""
    return {"version": OLLAMA_VERSION, "interlingua": __version__}


def _size(query: Mapping[str, str], name: str, usual: int) -> int:
    value = query.get(name, str(usual))
    found = whole_number(value)
    if found is None or not 1 <= found <= MOST:
        text = f"{name}: expected a number from 1 to {MOST}"
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text)
    return found


def _anthropic_page(listed: Sequence[ListedModel], query: Mapping[str, str]) -> dict[str, Any]:
    size = _size(query, "limit", 20)
    names = [each.name for each in listed]
    before, after = query.get("before_id"), query.get("after_id")
    for name in (before, after):
        if name is not None and name not in names:
            raise Refusal(400, ErrorKind.INVALID_REQUEST, f"unknown model {name[:200]!r}")
    if before is not None:
        end = names.index(before)
        start, more = max(0, end - size), end > size
    else:
        start = 0 if after is None else names.index(after) + 1
        end, more = start + size, start + size < len(names)
    part = listed[start:end]
    return {
        "data": [one(ANTHROPIC, each) for each in part],
        "has_more": more,
        "first_id": part[0].name if part else None,
        "last_id": part[-1].name if part else None,
    }


def _gemini_page(listed: Sequence[ListedModel], query: Mapping[str, str]) -> dict[str, Any]:
    size = _size(query, "pageSize", 50)
    token = query.get("pageToken", "0")
    start = whole_number(token)
    if start is None or start > len(listed):
        raise Refusal(400, ErrorKind.INVALID_REQUEST, "pageToken: invalid page token")
    body: dict[str, Any] = {"models": [one(GEMINI, each) for each in listed[start : start + size]]}
    if start + size < len(listed):
        body["nextPageToken"] = str(start + size)
    return body
