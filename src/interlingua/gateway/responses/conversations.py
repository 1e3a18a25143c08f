"""Conversations of OpenAI's API: lists of items that are stored here, and that requests go on from
with any model behind; their ids, and pages of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from interlingua.dialects.framing import decoder
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.inbound import Inbound, parse_inbound, patched
from interlingua.gateway.shared.bodies import json_of, number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.fronts import RESPONSES, Send
from interlingua.gateway.shared.state import Exchange, Principal, Refusal
from interlingua.model.exchange import ErrorKind
from interlingua.model.ids import Ulids
from interlingua.store.base import AsyncStore
from interlingua.store.idempotency import ObjectList, ObjectRow

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


Wire = dict[str, Any]
MOST_LISTED = 100
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco"}


def numbered(items: Iterable[Any], seed: str) -> list[Wire]:
    """Items with a type, a status and an id each; the same seed gives the same ids."""
    out: list[Wire] = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            kind = item.get("type") or "message"
            digest = hashlib.sha256(f"{seed}\0{index}".encode()).hexdigest()[:40]
            made = {"id": f"{_PREFIXES.get(kind, 'item')}_{digest}", "type": kind}
            if kind == "message":
                made["status"] = "completed"
            present = {name: value for name, value in item.items() if value is not None}
            out.append({**made, **present, **_content(kind, item)})
    return out


def _content(kind: str, item: Wire) -> Wire:
    """The content of a message as a list, which answers have."""
    content = item.get("content")
    if kind != "message" or not isinstance(content, str):
        return {}
    part = "output_text" if item.get("role") == "assistant" else "input_text"
    more: Wire = {"annotations": []} if part == "output_text" else {}
    return {"content": [{"type": part, "text": content, **more}]}


def input_of(value: Any) -> list[Any]:
    """The `input` of a request as items."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return list(value) if isinstance(value, list) else []


def without_triggers(items: Iterable[Any]) -> list[Any]:
    """Items without requests for a compaction, which are not part of a conversation."""
    return [
        item
        for item in items
        if not (isinstance(item, dict) and item.get("type") == "compaction_trigger")
    ]


def compacted(items: Sequence[Wire]) -> list[Wire]:
    """A conversation to be continued: before its last compaction, only the messages that are not
    the model's, as `/responses/compact` returns them."""
    items = without_triggers(items)
    places = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
    last = places[-1] if places else 0
    before = [item for item in items[:last] if item.get("role") not in (None, "assistant")]
    return [*before, *items[last:]]


def page(items: Sequence[Wire], query: Mapping[str, str]) -> Wire:
    """The requested part of a list: `after`, `limit`, `order`."""
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise ApiError(400, "invalid_value", "order: expected 'asc' or 'desc'")
    limit = number(query, "limit", 20, 1, MOST_LISTED)
    listed = list(items) if order == "asc" else list(reversed(items))
    after = query.get("after")
    if after is not None:
        places = [index for index, item in enumerate(listed) if item.get("id") == after]
        if not places:
            raise ApiError(404, "not_found", f"Item with id '{after[:100]}' not found.")
        listed = listed[places[0] + 1 :]
    data = listed[:limit]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": len(listed) > len(data),
    }


SECONDS = 365 * 86400.0
"""How long a conversation is stored after its last use."""
MOST_NEW = 20
"""Items that may be added at a time, as OpenAI has it."""
MOST_ITEMS = 10_000
LONGEST = 16 * 1024 * 1024
"""Bytes of the items that are added at a time."""
_ENDS = frozenset({"response.completed", "response.incomplete"})
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def may_store(principal: Principal) -> bool:
    """Whether content may be stored on request: if the key allows it, or on a gateway without
    keys."""
    return principal.keep_content or principal.key_id is None


class Expanded(NamedTuple):
    """A request with the items of its conversation."""

    id: str
    body: bytes
    new: list[Any]
    """The request's own items."""


class Conversations:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._ids = Ulids()

    # The store

    async def create(self, principal: Principal, metadata: Any) -> Wire:
        wire = {
            "id": f"conv_{self._ids.new()}",
            "object": "conversation",
            "created_at": int(time.time()),
            "metadata": metadata or {},
        }
        await self.put(principal, wire)
        return wire

    async def put(self, principal: Principal, wire: Wire) -> None:
        row = ObjectRow(wire["id"], 0, _encode(wire))
        await self._store.put_objects(_all(principal), [row], SECONDS)

    async def find(self, id: str, principal: Principal) -> Wire | None:
        row = await self._store.object(_all(principal), id)
        return None if row is None else _decode(row.body)

    async def items(self, id: str, principal: Principal) -> list[Wire]:
        rows = await self._store.objects(_one(id, principal), limit=MOST_ITEMS)
        return [_decode(row.body) for row in rows]

    async def add(self, id: str, principal: Principal, items: Sequence[Any]) -> list[Wire]:
        """Appends items, all of them or none."""
        place = _one(id, principal)
        last = await self._store.objects(place, after=2**62, limit=1, newest_first=True)
        start = last[0].seq + 1 if last else 0
        if start + len(items) > MOST_ITEMS:
            text = f"a conversation has at most {MOST_ITEMS} items"
            raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "conversation_full")
        new = numbered(items, self._ids.new())
        for item in new:
            if await self._store.object(place, item["id"]) is not None:
                item["id"] = f"item_{self._ids.new()}"
        rows = [ObjectRow(item["id"], start + n, _encode(item)) for n, item in enumerate(new)]
        if sum(len(row.body) for row in rows) > LONGEST:
            text = f"items: more than {LONGEST} bytes"
            raise Refusal(413, ErrorKind.INVALID_REQUEST, text, "request_too_large")
        if rows:
            await self._store.put_objects(place, rows, SECONDS)
        return new

    async def item(self, id: str, item: str, principal: Principal) -> Wire | None:
        row = await self._store.object(_one(id, principal), item)
        return None if row is None else _decode(row.body)

    async def remove_item(self, id: str, item: str, principal: Principal) -> bool:
        return await self._store.remove_object(_one(id, principal), item)

    async def remove(self, id: str, principal: Principal) -> bool:
        await self._store.remove_objects(_one(id, principal))
        return await self._store.remove_object(_all(principal), id)

    # Requests that go on from one

    async def expanded(self, body: bytes, principal: Principal) -> Expanded | None:
        """A request with the items of its conversation; None where it names none of ours."""
        try:
            wire = _decode(body)
        except msgspec.DecodeError:
            return None  # it is refused for that
        named = wire.get("conversation")
        id = named.get("id") if isinstance(named, dict) else named
        if not isinstance(id, str):
            return None
        if wire.get("previous_response_id") is not None:
            text = "conversation: cannot be combined with previous_response_id"
            raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "invalid_request")
        if await self.find(id, principal) is None:
            return None
        new = input_of(wire.get("input"))
        known = [_unnamed(item) for item in compacted(await self.items(id, principal))]
        changes = {"input": [*known, *new], "conversation": msgspec.UNSET}
        return Expanded(id, patched(body, changes), without_triggers(new))

    async def handle(
        self, gateway: Gateway, exchange: Exchange, inbound: Inbound, client: Any
    ) -> Inbound:
        """The request with the items of its conversation, to which the answer is added."""
        principal = exchange.arrival.principal
        found = await self.expanded(inbound.body, principal)
        if found is None:
            named = bytes(inbound.envelope.members["conversation"])
            if named == b"null" or inbound.route.common_dialect == RESPONSES.dialect:
                return inbound  # a provider may know it
            text = f"Conversation {named.decode()[:100]} not found."
            raise Refusal(404, ErrorKind.INVALID_REQUEST, text, "conversation_not_found")
        client.send = _Adding(self, found.id, principal, found.new, client.send)
        return parse_inbound(gateway, exchange, inbound.match, found.body, inbound.headers)


def _unnamed(item: Wire) -> Wire:
    """An item without its id here, which no provider knows."""
    return {name: value for name, value in item.items() if name not in ("id", "status")}


class _Adding:
    """Sends an answer, and adds it to a conversation before the client sees its end."""

    def __init__(
        self,
        conversations: Conversations,
        id: str,
        principal: Principal,
        new: list[Any],
        send: Send,
    ) -> None:
        self._conversations = conversations
        self._id = id
        self._principal = principal
        self._new = new
        self._send = send
        self._start: Any = None
        self._decoder: Any = None
        self._body = bytearray()

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message["headers"] if name == b"content-type"]
            if message["status"] != 200:
                await self._send(message)
            elif any(b"event-stream" in kind for kind in kinds):
                self._decoder = decoder(RESPONSES.dialect)
                await self._send(message)
            else:
                self._start = message
        elif self._decoder is not None:
            await self._send({**message, "body": await self._frames(message)})
        elif self._start is None:
            await self._send(message)
        else:
            await self._whole(message)

    async def _whole(self, message: Any) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        body = _encode(await self._added(_decode(bytes(self._body))))
        headers = [pair for pair in self._start["headers"] if pair[0] != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        await self._send({**self._start, "headers": headers})
        await self._send({**message, "body": body})

    async def _frames(self, message: Any) -> bytes:
        frames = self._decoder.feed(message["body"]) if message.get("body") else []
        if not message.get("more_body"):
            frames += self._decoder.close()
        out: list[bytes] = []
        for frame in frames:
            data = frame.data.encode()
            if b'"response":{' in data:
                event = _decode(data)
                done = event.get("type") in _ENDS
                event["response"] = await self._added(event["response"], done)
                data = _encode(event)
            out.append(b"event: %b\ndata: %b\n\n" % ((frame.event or "").encode(), data))
        return b"".join(out)

    async def _added(self, response: Wire, done: bool = True) -> Wire:
        if done and isinstance(response.get("output"), list):
            items = [*self._new, *response["output"]]
            await self._conversations.add(self._id, self._principal, items)
        return {**response, "conversation": {"id": self._id}}


def _all(principal: Principal) -> ObjectList:
    return ObjectList(principal.tenant or "", "conversation")


def _one(id: str, principal: Principal) -> ObjectList:
    return ObjectList(principal.tenant or "", "conversation-item", id)


# The paths


async def create(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    if not may_store(principal):
        raise ApiError(400, "content_not_stored", NOT_STORED)
    body = await _body(service, request)
    items = _new_items(body, required=False)
    made = await service.conversations.create(principal, _metadata(body))
    await service.conversations.add(made["id"], principal, items)
    return answer(made)


NOT_STORED = "this key does not allow content to be stored; issue one with --keep-content"


async def show(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    return answer(await _found(service, request, principal))


async def update(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found = await _found(service, request, principal)
    changed = {**found, "metadata": _metadata(await _body(service, request)) or {}}
    await service.conversations.put(principal, changed)
    return answer(changed)


async def remove(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found = await _found(service, request, principal)
    await service.conversations.remove(found["id"], principal)
    return answer({"id": found["id"], "object": "conversation.deleted", "deleted": True})


async def add_items(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found = await _found(service, request, principal)
    items = _new_items(await _body(service, request), required=True)
    new = await service.conversations.add(found["id"], principal, items)
    return answer(page(new, {"order": "asc", "limit": "100"}))


async def list_items(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found = await _found(service, request, principal)
    items = await service.conversations.items(found["id"], principal)
    return answer(page(items, request.query_params))


async def show_item(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found, id = await _found(service, request, principal), request.path_params["item"]
    item = await service.conversations.item(found["id"], id, principal)
    if item is None:
        raise ApiError(404, "not_found", f"Item with id '{id[:100]}' not found.")
    return answer(item)


async def remove_item(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    found, id = await _found(service, request, principal), request.path_params["item"]
    if not await service.conversations.remove_item(found["id"], id, principal):
        raise ApiError(404, "not_found", f"Item with id '{id[:100]}' not found.")
    return answer(found)


async def _found(service: Service, request: HttpRequest, principal: Principal) -> Wire:
    id = request.path_params["id"]
    found = await service.conversations.find(id, principal)
    if found is None:
        raise ApiError(404, "not_found", f"Conversation with id '{id[:100]}' not found.")
    return found


async def _body(service: Service, request: HttpRequest) -> Wire:
    body = await json_of(request, service.limits)
    if not isinstance(body, dict):
        raise ApiError(400, "invalid_request", "the body: expected an object")
    return body


def _new_items(body: Wire, required: bool) -> list[Any]:
    items = body.get("items")
    if items is None and not required:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ApiError(400, "invalid_value", "items: expected a list of items")
    if len(items) > MOST_NEW:
        raise ApiError(400, "invalid_value", f"items: at most {MOST_NEW} at a time")
    return items


def _metadata(body: Wire) -> Any:
    metadata = body.get("metadata")
    good = metadata is None or (
        isinstance(metadata, dict)
        and len(metadata) <= 16
        and all(isinstance(v, str) and len(k) <= 64 and len(v) <= 512 for k, v in metadata.items())
    )
    if not good:
        raise ApiError(400, "invalid_value", "metadata: expected at most 16 short texts")
    return metadata
