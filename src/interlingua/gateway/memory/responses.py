"""Stored answers for clients of APIs that have them (`Front.stored`): OpenAI's Responses and
Google's Interactions, with `store`, `previous_response_id` or `previous_interaction_id`, and
fetching or deleting one.

A provider that stores them itself is used. For all others they are in our store, if the key allows
that content is stored; if not, the client gets the dialect's own error for a missing response. Each
is one row, which deleting removes.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from interlingua.adapt.history.retell import retell
from interlingua.client.targets import Target
from interlingua.dialects.front import Front, Stored
from interlingua.gateway.shared.callers import JSON, ApiError, answer
from interlingua.gateway.shared.fronts import INTERACTIONS, RESPONSES, codec_of, front_of
from interlingua.gateway.shared.state import Arrival, Principal, Refusal
from interlingua.model.codec import dumps, loads
from interlingua.model.exchange import ErrorKind, Request, Response
from interlingua.model.message import Message, Role
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import MemoryRow, MemoryScope

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


RECENT = 10_000
"""Responses that are known without asking the store."""
WAITING = 10_000
PAUSE = 0.05
_PLACE = MemoryScope("response-owners", "responses", "")


class Owner(NamedTuple):
    """The tenant of a response ("" on a gateway without keys), and the deployment of a pool that
    has it."""

    tenant: str
    deployment: str = ""


class Owners:
    """Notes are in memory at once, and in the store a moment later, many together."""

    def __init__(self, store: AsyncStore, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._known: OrderedDict[str, Owner] = OrderedDict()
        self._waiting: list[MemoryRow] = []
        self._writing: asyncio.Task[None] | None = None

    def note(self, response_id: str, principal: Principal, deployment: str = "") -> None:
        """This tenant has got this response."""
        owner = Owner(principal.tenant or "", deployment)
        if not any(owner):
            return  # a gateway without keys has one tenant
        key = _key(response_id)
        if key in self._known:
            return
        self._keep(key, owner)
        if len(self._waiting) >= WAITING:
            logger.error("response_owner_dropped")
            return
        body = msgspec.json.encode({"deployment": deployment} if deployment else {})
        self._waiting.append(MemoryRow(key, owner.tenant, body))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write(PAUSE))

    async def anothers(self, ids: Sequence[str], principal: Principal) -> str | None:
        """The first of these that belongs to another tenant; any if the store is unavailable."""
        keys = {_key(id): id for id in ids if id}
        try:
            owners = await self._find(list(keys))
        except StoreError as error:
            logger.error("response_owner_unreadable", extra={"why": error.reason})
            return keys[next(key for key in keys if key not in self._known)]
        own = ("", principal.tenant)  # responses from before the first key have no owner
        strange = {key for key, owner in owners.items() if owner.tenant not in own}
        return next((id for key, id in keys.items() if key in strange), None)

    async def deployment(self, response_id: str, principal: Principal) -> str:
        """The label of the deployment that has a response of this tenant; "" if none is known."""
        key = _key(response_id)
        try:
            owner = (await self._find([key])).get(key)
        except StoreError as error:
            logger.error("response_owner_unreadable", extra={"why": error.reason})
            return ""
        is_open = owner is not None and owner.tenant in ("", principal.tenant)
        return owner.deployment if owner is not None and is_open else ""

    async def _find(self, keys: list[str]) -> dict[str, Owner]:
        """The owners of these, as far as there are any."""
        found = {key: self._known[key] for key in keys if key in self._known}
        unknown = [key for key in keys if key not in found]
        for row in await self._store.remembered(_PLACE, unknown, []) if unknown else ():
            label = msgspec.json.decode(row.turn).get("deployment", "")
            found.setdefault(row.call_key or "", Owner(row.turn_key, label))
        for key in unknown:
            if key in found:
                self._keep(key, found[key])
        return found

    def _keep(self, key: str, owner: Owner) -> None:
        self._known.setdefault(key, owner)
        while len(self._known) > RECENT:
            self._known.popitem(last=False)

    async def _write(self, pause: float) -> None:
        await asyncio.sleep(pause)
        while self._waiting:
            rows, self._waiting = self._waiting, []
            try:
                await self._store.remember(_PLACE, rows, self._seconds)
            except StoreError as error:
                logger.error("response_owners_not_stored", extra={"why": error.reason})

    async def close(self) -> None:
        """Writes everything that waits."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=5)


def _key(response_id: str) -> str:
    return hashlib.sha256(response_id.encode("utf-8", "surrogatepass")).hexdigest()


logger = logging.getLogger(__name__)

DAYS = 30
"""As long as OpenAI."""
LONGEST = 8 * 1024 * 1024
"""Bytes of one response; a longer one is not stored."""
MOST_OF_ALL = 1024 * 1024 * 1024
DEEPEST = 1000
"""Responses that one may go back by."""
TIDY_EVERY = 256


class StoredResponse(msgspec.Struct):
    """A stored response: the one it continues, its input messages, and the answer."""

    id: str
    previous: str | None
    messages: tuple[Message, ...]
    answer: Response
    source: str
    """The dialect that the answer was read from."""


def keeps(target: Target, front: str) -> bool:
    """Whether the provider itself stores the answers that clients of this API continue from."""
    stored = front_of(front).stored
    if stored is None or target.dialect.name != front:
        return False
    return target.provider.key in stored.keepers


def _stored(front: str) -> Stored:
    stored = front_of(front).stored
    assert stored is not None, f"{front} keeps nothing"
    return stored


class _Item(msgspec.Struct):
    id: Any = None


class _Named(msgspec.Struct):
    previous_response_id: Any = None
    previous_interaction_id: Any = None
    conversation: Any = None
    input: list[_Item] | str | None = None


class _Odd(msgspec.Struct):
    previous_response_id: Any = None
    previous_interaction_id: Any = None
    conversation: Any = None
    input: Any = None


_named = msgspec.json.Decoder(_Named).decode
_odd = msgspec.json.Decoder(_Odd).decode


def ids_named(body: bytes, front: str) -> list[str]:
    """References of a request to data at its provider: the response that it continues (or none),
    its conversation, and the items of its input, which a provider would replace by its own with
    that id."""
    try:
        named: _Named | _Odd = _named(body)
    except msgspec.ValidationError:
        named = _odd(body)
    conversation, before = named.conversation, getattr(named, _stored(front).previous)
    ids = [before, conversation.get("id") if isinstance(conversation, dict) else conversation]
    for each in named.input if isinstance(named.input, list) else ():
        ids.append(each.get("id") if isinstance(each, dict) else getattr(each, "id", None))
    if not isinstance(before, str):
        ids[0] = ""  # it goes on from nothing
    return list(dict.fromkeys([id for id in ids if isinstance(id, str)]))


def ids_in(response: Response) -> Iterator[str]:
    """The ids that a provider stores for an answer: itself, its items, its conversation."""
    if response.message.metadata.response_id is not None:
        yield response.message.metadata.response_id
    for block in response.message.content:
        form = _form(getattr(block, "raw", None))
        for id in (getattr(block, "id", None), form.get("item", {}).get("id")):
            if isinstance(id, str):
                yield id
    for fields in (response.raw or {}).values():
        conversation = fields.get("conversation") if isinstance(fields, dict) else None
        id = conversation.get("id") if isinstance(conversation, dict) else conversation
        if isinstance(id, str):
            yield id


def _form(raw: Any) -> dict[str, Any]:
    """The spelling of a value in its source dialect."""
    for fields in (raw or {}).values():
        form = fields.get("$form") if isinstance(fields, dict) else None
        if isinstance(form, dict):
            return form
    return {}


class Responses:
    """The responses in a store."""

    def __init__(self, store: AsyncStore, days: float = DAYS) -> None:
        self._store = store
        self._seconds = days * 86400
        self._stored_count = 0
        self.owners = Owners(store, self._seconds)

    async def require_own(self, ids: Sequence[str], arrival: Arrival) -> None:
        """`Refusal` if another tenant got one of these from a provider that stores it. The first is
        the response that a request continues, if any."""
        found = await self.owners.anothers(ids, arrival.principal)
        if found is not None:
            is_first = found == ids[0]
            raise _not_found(found, arrival) if is_first else _no_part(found)

    def note(self, ids: Iterable[str], principal: Principal, deployment: str = "") -> None:
        """Record that a provider stores these for the principal, and at which deployment."""
        for id in ids:
            self.owners.note(id, principal, deployment)

    async def deployment(self, id: str, principal: Principal) -> str:
        """The label of the deployment of a pool that has this one; "" if none is known."""
        return await self.owners.deployment(id, principal)

    async def close(self) -> None:
        await self.owners.close()

    async def expand(self, request: Request, arrival: Arrival) -> Request:
        """The request with the whole conversation, if it continues a response that is stored here.
        Instructions of earlier requests no longer apply."""
        goes_on = request.continues
        if goes_on is None or goes_on.response_id is None:
            return request
        earlier = await self._history(goes_on.response_id, arrival)
        rest = goes_on.replace(response_id=None)
        is_empty = rest == type(rest)()
        at = _instructions(request)
        messages = (*request.messages[:at], *earlier, *request.messages[at:])
        return request.replace(messages=messages, continues=None if is_empty else rest)

    async def items(self, id: str, arrival: Arrival) -> list[Any]:
        """The conversation up to a stored response, as input items of the Responses API."""
        return items_of(await self._history(id, arrival))

    async def input_items(self, id: str, principal: Principal) -> list[Any] | None:
        """The input of a stored response, as items; None if there is none."""
        stored = await self._find(id, principal)
        return None if stored is None else items_of(stored.messages)

    async def _history(self, id: str, arrival: Arrival) -> list[Message]:
        chain: list[StoredResponse] = []
        next_id: str | None = id
        while next_id is not None:
            stored = await self._find(next_id, arrival.principal)
            if stored is None or len(chain) >= DEEPEST:
                raise _not_found(next_id, arrival)
            chain.append(stored)
            next_id = stored.previous
        history: list[Message] = []
        for stored in reversed(chain):
            history += [*stored.messages, stored.answer.message]
        return history

    async def keep(
        self, request: Request, response: Response, arrival: Arrival, source: str
    ) -> bool:
        """Stores a response if the client and its key allow it; returns whether it was stored.
        `request` is as the client sent it, not expanded, `source` the dialect that answered."""
        id = response.message.metadata.response_id
        wants = (request.raw or {}).get(arrival.front, {}).get("store") is not False
        if not (wants and arrival.principal.keep_content and id) or response.error is not None:
            return False
        previous = None if request.continues is None else request.continues.response_id
        new_messages = request.messages[_instructions(request) :]
        data = msgspec.json.encode(
            {
                "id": id,
                "previous": previous,
                "said": [msgspec.Raw(dumps(message)) for message in new_messages],
                "answer": msgspec.Raw(dumps(response)),
                "source": source,
            }
        )
        if len(data) > LONGEST:
            logger.warning("response_too_long", extra={"request": arrival.id})
            return False
        place = _place(id, arrival.principal)
        try:
            await self._store.remember(place, [MemoryRow(None, place.tenant, data)], self._seconds)
        except StoreError as error:
            logger.error("response_not_stored", extra={"request": arrival.id, "why": error.reason})
            return False
        self._stored_count += 1
        if self._stored_count % TIDY_EVERY == 0:
            await self._store.forget_remembered([], 0, MOST_OF_ALL)
        return True

    async def _find(self, id: str, principal: Principal) -> StoredResponse | None:
        place = _place(id, principal)
        rows = await self._store.remembered(place, [], [place.tenant])
        if not rows:
            return None
        plain: dict[str, Any] = msgspec.json.decode(rows[-1].turn)
        return StoredResponse(
            plain["id"],
            plain["previous"],
            tuple([loads(msgspec.json.encode(each), Message) for each in plain["said"]]),
            loads(msgspec.json.encode(plain["answer"]), Response),
            plain["source"],
        )

    async def wire(self, id: str, principal: Principal, front: Front = RESPONSES) -> bytes | None:
        """A stored answer as it was sent to the client, or None."""
        stored = await self._find(id, principal)
        if stored is None:
            return None
        retold = retell(stored.answer, front.dialect, source=stored.source)
        from interlingua.dialects.registry import dialect

        written = dialect(front.dialect).write_response(retold.value, retold.recorder)
        wire: dict[str, Any] = dict(written.wire)
        if front.dialect == RESPONSES.dialect:  # which promises both in any case
            wire = {"previous_response_id": None, "store": True, **wire}
        if stored.previous is not None:
            wire[_stored(front.dialect).previous] = stored.previous
        return msgspec.json.encode(wire)

    async def remove(self, id: str, principal: Principal) -> bool:
        """Removes a response; False if there is none."""
        if await self._find(id, principal) is None:
            return False
        await self._store.forget_tenant(_place(id, principal).tenant)
        return True


def items_of(messages: Sequence[Message]) -> list[Any]:
    """Messages as input items of the Responses API."""
    value = retell(Request(tuple(messages)), RESPONSES.dialect).value
    wire = codec_of(RESPONSES.dialect).write_request(value).wire
    return list(wire.get("input", ()))


def _not_found(id: str, arrival: Arrival) -> Refusal:
    title = _stored(arrival.front).title.lower()
    text = f"Previous {title} with id '{id[:100]}' not found."
    return Refusal(400, ErrorKind.INVALID_REQUEST, text, f"previous_{title}_not_found")


def _no_part(id: str) -> Refusal:
    what = "Conversation" if id.startswith("conv_") else "Item"
    return Refusal(404, ErrorKind.INVALID_REQUEST, f"{what} with id '{id[:100]}' not found.")


def _instructions(request: Request) -> int:
    """The number of leading messages that are the request's instructions, which later requests do
    not inherit."""
    first = request.messages[0] if request.messages else None
    if first is None or first.role is not Role.SYSTEM:
        return 0
    return 0 if "place" in _form(first.metadata.provider_raw) else 1


def _place(id: str, principal: Principal) -> MemoryScope:
    """Each response has a place of its own, which no other tenant's key leads to."""
    whole = f"{principal.tenant or ''}\0{id}".encode("utf-8", "surrogatepass")
    return MemoryScope(f"response:{hashlib.sha256(whole).hexdigest()}", "responses", "")


# GET and DELETE


async def show(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    """A response of OpenAI's API."""
    return await _show(service, request, principal, RESPONSES)


async def show_interaction(
    service: Service, request: HttpRequest, principal: Principal
) -> HttpResponse:
    """An interaction of Google's API. Stored interactions are complete, so there is no stream to
    continue."""
    if request.query_params.get("stream") == "true":
        text = "A stored interaction is complete; request it without streaming."
        raise ApiError(400, "invalid_request", text)
    return await _show(service, request, principal, INTERACTIONS)


async def _show(
    service: Service, request: HttpRequest, principal: Principal, front: Front
) -> HttpResponse:
    wire = await service.responses.wire(request.path_params["id"], principal, front)
    if wire is None:
        raise _missing(request, front)
    return HttpResponse(wire, media_type=JSON, headers={"cache-control": "no-store"})


async def remove(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    id = request.path_params["id"]
    if not await service.responses.remove(id, principal):
        raise _missing(request, RESPONSES)
    return answer({"id": id, "object": "response", "deleted": True})


async def remove_interaction(
    service: Service, request: HttpRequest, principal: Principal
) -> HttpResponse:
    if not await service.responses.remove(request.path_params["id"], principal):
        raise _missing(request, INTERACTIONS)
    return answer({})


async def cancel_interaction(
    service: Service, request: HttpRequest, principal: Principal
) -> HttpResponse:
    """Answers that nothing can be cancelled, because there is no background work."""
    if await service.responses.wire(request.path_params["id"], principal, INTERACTIONS) is None:
        raise _missing(request, INTERACTIONS)
    raise ApiError(400, "invalid_request", "The interaction is complete; nothing is cancelled.")


def _missing(request: HttpRequest, front: Front) -> ApiError:
    id = request.path_params["id"][:100]
    return ApiError(404, "not_found", f"{_stored(front.dialect).title} with id '{id}' not found.")
