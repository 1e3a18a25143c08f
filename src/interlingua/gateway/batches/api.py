"""The paths of batches: `/v1/batches` of OpenAI's API, `/v1/messages/batches` of Anthropic's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.gateway.batches.run import MOST_REQUESTS
from interlingua.gateway.batches.state import ENDPOINTS, MESSAGES, Batch, Item, Wire, page_of
from interlingua.gateway.shared.bodies import number, read
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.state import Principal

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

_WINDOW = "24h"


class NewBatch(msgspec.Struct):
    """`POST /v1/batches`."""

    input_file_id: str
    endpoint: str
    completion_window: str = _WINDOW
    metadata: dict[str, str] | None = None


class NewRequest(msgspec.Struct):
    """One request of a batch of messages."""

    custom_id: str
    params: dict[str, Any]


class NewMessageBatch(msgspec.Struct):
    """`POST /v1/messages/batches`."""

    requests: list[NewRequest]


async def create(service: Service, request: Request, principal: Principal) -> Response:
    asked = await read(request, NewBatch, service.limits)
    if asked.endpoint not in ENDPOINTS:
        text = f"endpoint: expected one of {', '.join(ENDPOINTS)}"
        raise ApiError(400, "invalid_request", text)
    if asked.completion_window != _WINDOW:
        raise ApiError(400, "invalid_request", f"completion_window: expected {_WINDOW}")
    file = await service.batches.files.find(asked.input_file_id, principal.tenant)
    if file is None or file.batch is not None:
        text = f"input_file_id: no file {asked.input_file_id[:100]!r} with requests"
        raise ApiError(400, "invalid_request", text)
    batch = await service.batches.create(principal, asked.endpoint, file.id, asked.metadata)
    return answer(batch.openai())


async def create_messages(service: Service, request: Request, principal: Principal) -> Response:
    asked = await read(request, NewMessageBatch, service.limits)
    if not 1 <= len(asked.requests) <= MOST_REQUESTS:
        raise ApiError(400, "invalid_request", f"requests: expected 1 to {MOST_REQUESTS} requests")
    ids = [each.custom_id for each in asked.requests]
    if len(set(ids)) < len(ids) or not all(1 <= len(id) <= 64 for id in ids):
        text = "requests: each needs a unique custom_id of at most 64 characters"
        raise ApiError(400, "invalid_request", text)
    items = [
        Item(each.custom_id, msgspec.Raw(msgspec.json.encode(each.params)))
        for each in asked.requests
    ]
    batch = await service.batches.create(principal, MESSAGES, items=items)
    return answer(batch.anthropic(base_of(request)))


def base_of(request: Request) -> str:
    """The base URL under which the client reaches this gateway."""
    return str(request.base_url).rstrip("/")


async def found(service: Service, request: Request, principal: Principal) -> Batch:
    id = request.path_params["id"]
    anthropic = request.url.path.startswith(MESSAGES)
    batch = await service.batches.find(id, principal.tenant, anthropic)
    if batch is None:
        raise ApiError(404, "not_found", f"No batch found with id '{id[:100]}'.")
    return batch


def _shown(batch: Batch, request: Request) -> Response:
    return answer(batch.anthropic(base_of(request)) if batch.is_anthropic else batch.openai())


async def show(service: Service, request: Request, principal: Principal) -> Response:
    return _shown(await found(service, request, principal), request)


async def cancel(service: Service, request: Request, principal: Principal) -> Response:
    batch = await found(service, request, principal)
    return _shown(await service.batches.cancel(batch), request)


async def listing(service: Service, request: Request, principal: Principal) -> Response:
    size = number(request.query_params, "limit", 20, 1, 100)
    batches = await service.batches.listed(principal.tenant, anthropic=False)
    wires = [batch.openai() for batch in batches]
    return answer(page_of(wires, request.query_params.get("after"), size))


async def list_messages(service: Service, request: Request, principal: Principal) -> Response:
    query = request.query_params
    size = number(query, "limit", 20, 1, 1000)
    batches = await service.batches.listed(principal.tenant, anthropic=True)
    wires = [batch.anthropic(base_of(request)) for batch in batches]
    return answer(page_between(wires, query.get("before_id"), query.get("after_id"), size))


def page_between(found: list[Wire], before: str | None, after: str | None, size: int) -> Wire:
    """A page of a list, as Anthropic has them."""
    ids = [each["id"] for each in found]
    if before in ids:
        end = ids.index(before)
        start, more = max(0, end - size), end > size
    else:
        start = ids.index(after) + 1 if after in ids else 0
        end, more = start + size, start + size < len(found)
    part = found[start:end]
    first, last = (part[0]["id"], part[-1]["id"]) if part else (None, None)
    return {"data": part, "has_more": more, "first_id": first, "last_id": last}


async def results(service: Service, request: Request, principal: Principal) -> Response:
    batch = await found(service, request, principal)
    if batch.is_open:
        raise ApiError(
            400, "invalid_request", "the batch has not ended; its results are available once it has"
        )
    lines = service.batches.result_lines(batch.id, principal.tenant, "")
    kind, headers = "application/x-jsonl", {"cache-control": "no-store"}
    return PatientResponse(lines, service.limits.stalled, media_type=kind, headers=headers)


async def remove(service: Service, request: Request, principal: Principal) -> Response:
    batch = await found(service, request, principal)
    if batch.is_open:
        raise ApiError(400, "invalid_request", "the batch has not ended; cancel it first")
    await service.batches.remove(batch)
    return answer({"id": batch.id, "type": "message_batch_deleted"})
