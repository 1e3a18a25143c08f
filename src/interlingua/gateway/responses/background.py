"""Responses in the background (`background: true`): they run on when the client has left, are
polled, streamed from any event on, cancelled, and finished by another process where theirs died.

The request, each event and the state are in the store. The process that runs a response holds a
claim on it; a claim that is not renewed expires, and the next process that looks runs the response
again, under its id. Events continue their numbers then: a client that resumes its stream sees the
response begin anew, and its last event has all of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.memory import responses as responses_store
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, patched
from interlingua.gateway.responses.conversations import (
    NOT_STORED,
    Wire,
    input_of,
    may_store,
    numbered,
    page,
)
from interlingua.gateway.responses.inner import InnerRequest, scope_of
from interlingua.gateway.shared.bodies import whole_number
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.feed import PatientResponse
from interlingua.gateway.shared.fronts import PRINCIPAL, RESPONSES, Asgi, Send, codec_of
from interlingua.gateway.shared.leases import Leases
from interlingua.gateway.shared.state import Arrival, Exchange, Principal, Refusal
from interlingua.model.exchange import ErrorKind, Response
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import ObjectList, ObjectRow

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

SECONDS = 30 * 86400.0
FLUSH = 0.1
"""Seconds between two writes of events, and between two looks for new ones."""
MOST_RUNS = 3
"""How often a response is started; after that, it has failed."""
_OPEN = frozenset({"queued", "in_progress"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class State(msgspec.Struct):
    """A stored response."""

    id: str
    tenant: str
    key_id: str | None
    request: dict[str, Any]
    response: dict[str, Any]
    runs: int = 0

    @property
    def is_open(self) -> bool:
        return self.response.get("status") in _OPEN


def _place(tenant: str, kind: str = "background", id: str = "") -> ObjectList:
    return ObjectList(tenant, kind, id)


class Background(Leases["_Run"]):
    """The responses in the background, of all tenants."""

    kind, most, lifetime = "background", 256, SECONDS

    def __init__(self, gateway: Gateway, store: AsyncStore) -> None:
        super().__init__(store)
        self._gateway = gateway
        self.app: Asgi | None = None
        """The application that handles the requests."""

    # The store

    async def find(self, id: str, tenant: str | None) -> State | None:
        row = await self.store.object(_place(tenant or ""), id)
        return None if row is None else msgspec.json.decode(row.body, type=State)

    async def save(self, state: State) -> None:
        row = ObjectRow(state.id, 0, _encode(state))
        await self.store.put_objects(_place(state.tenant), [row], SECONDS)

    async def events(self, state: State, after: int) -> list[ObjectRow]:
        place = _place(state.tenant, "background-event", state.id)
        return await self.store.objects(place, after=after)

    async def last_event(self, state: State) -> int:
        """The number of the newest event; -1 if there is none."""
        place = _place(state.tenant, "background-event", state.id)
        rows = await self.store.objects(place, after=2**62, limit=1, newest_first=True)
        return rows[0].seq if rows else -1

    async def add_events(self, state: State, events: list[tuple[int, bytes]]) -> None:
        place = _place(state.tenant, "background-event", state.id)
        rows = [ObjectRow(str(number), number, data) for number, data in events]
        await self.store.put_objects(place, rows, SECONDS)

    async def remove(self, state: State) -> None:
        await self.cancel(state)
        await self.store.remove_objects(_place(state.tenant, "background-event", state.id))
        await self.store.remove_object(_place(state.tenant), state.id)

    async def finish(self, state: State) -> None:
        """Store the last state: the run is over."""
        await self.save(state)
        await self._finished(state.id, state.tenant)

    # What clients ask for

    async def start(self, exchange: Exchange, inbound: Inbound, send: Send) -> None:
        """Takes a request over, and sends its state to the client."""
        principal = exchange.arrival.principal
        if not may_store(principal):
            raise Refusal(400, ErrorKind.INVALID_REQUEST, NOT_STORED, "content_not_stored")
        wire = _decode(inbound.body)
        if wire.get("store") is False:
            text = "background: needs store to be true"
            raise Refusal(400, ErrorKind.INVALID_REQUEST, text, "invalid_request")
        if len(self._runs) >= self.most:
            text = f"{self.most} responses run in the background; try again later"
            raise Refusal(429, ErrorKind.RATE_LIMIT, text, "too_many_responses")
        id, tenant = f"resp_{self._gateway.ids.new()}", principal.tenant or ""
        begun = {"id": id, "object": "response", "status": "queued", "output": []}
        snapshot = RESPONSES.filler(inbound.body).whole({**begun, "background": True})
        state = State(id, tenant, principal.key_id, wire, snapshot)
        await self._claimed(id, tenant)
        await self.save(state)
        await self._mark("open", id, tenant)
        exchange.outcome.status = 200
        self._run(id, _Run(self, self._gateway, state))
        if wire.get("stream"):
            await self._send_events(state, send)
        else:
            await _send(send, HttpAnswer(200, [JSON], _encode(snapshot)))

    async def _send_events(self, state: State, send: Send) -> None:
        kind = (b"content-type", RESPONSES.stream_type.encode())
        await send({"type": "http.response.start", "status": 200, "headers": [kind]})
        async for data in self.follow(state, -1):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def follow(self, state: State, after: int) -> AsyncGenerator[bytes, None]:
        """The events behind a number, to the end of the response."""
        quiet = 0.0
        while True:
            current = await self.find(state.id, state.tenant)
            rows = await self.events(state, after)
            for row in rows:
                after = row.seq
                name = _decode(row.body).get("type", "")
                yield b"event: %b\ndata: %b\n\n" % (name.encode(), row.body)
            if not rows and (current is None or not current.is_open):
                return
            quiet = 0.0 if rows else quiet + FLUSH
            if quiet >= self._gateway.settings.limits.keep_alive:
                quiet = 0.0
                yield RESPONSES.keep_alive or b""
            run = self._runs.get(state.id)
            if run is None:
                await asyncio.sleep(FLUSH)
            else:
                await run.wait()

    async def cancel(self, state: State) -> State:
        """Returns the state after that; one that has ended is not changed."""
        if not state.is_open:
            return state
        run = self._runs.get(state.id)
        if run is not None:
            await run.cancel()
            return run.state
        await self._mark("cancel", state.id, state.tenant)
        state.response["status"] = "cancelled"
        return state

    # Running

    async def _take(self, tenant: str, id: str) -> None:
        if not await self._claimed(id, tenant):
            return
        state = await self.find(id, tenant)
        if state is None or not state.is_open:
            await self._finished(id, tenant)
            return
        logger.info("background_taken_over", extra={"response": id, "runs": state.runs})
        self._run(id, _Run(self, self._gateway, state))


class _Run:
    """One response under way in this process."""

    def __init__(self, background: Background, gateway: Gateway, state: State) -> None:
        self._background = background
        self._gateway = gateway
        self.state = state
        self.task: asyncio.Task[None] | None = None
        self._gone = asyncio.Event()
        self._changed = asyncio.Event()
        self._over = asyncio.Event()
        self._waiting: list[tuple[int, bytes]] = []
        self._number = 0
        self._ended: Wire | None = None

    @property
    def tenant(self) -> str:
        return self.state.tenant

    @property
    def is_cancelled(self) -> bool:
        return self._gone.is_set()

    async def wait(self) -> None:
        """Until there may be more to read."""
        try:
            await asyncio.wait_for(self._changed.wait(), FLUSH * 10)
        except TimeoutError:
            return

    async def cancel(self) -> None:
        self._gone.set()
        await self._over.wait()

    async def run(self) -> None:
        flushing = asyncio.ensure_future(self._flush_often())
        try:
            await self._work()
        except StoreError as error:
            logger.error("background_not_stored", extra={"why": error.reason})
        finally:
            flushing.cancel()
            self._over.set()

    async def _work(self) -> None:
        state, background = self.state, self._background
        self._number = await background.last_event(state) + 1
        state.runs += 1
        state.response["status"] = "in_progress"
        await background.save(state)
        if state.runs > MOST_RUNS:
            self._fail("the response was interrupted too often", "server_error")
        else:
            await self._ask(again=self._number > 0)
        if self._ended is None:
            cancelled = self._gone.is_set()
            if not cancelled:
                self._fail("the response was cut off", "server_error")
        state.response = self._ended or {**state.response, "status": "cancelled"}
        await self._flush()
        await background.finish(state)
        self._changed.set()

    async def _ask(self, again: bool) -> None:
        state, gateway, app = self.state, self._gateway, self._background.app
        assert app is not None
        try:
            principal = await gateway.keys.current(Principal(state.key_id), looked_up=True)
        except Refusal as refused:
            self._fail(refused.error.message, refused.error.code or "invalid_api_key")
            return
        changes = {"background": msgspec.UNSET, "stream": True, "store": False}
        body = patched(_encode(state.request), changes)
        scope = scope_of(None, [(b"content-type", b"application/json")])
        scope[PRINCIPAL] = principal

        async def event(name: str, data: str) -> None:
            if not (again and name == "response.created"):
                self._take(name, _decode(data))
            if self._ended is not None and name in _ENDS:
                await self._keep(principal)

        error = await InnerRequest(event, self._gone).run(app, scope, body)
        if error is not None and not self._gone.is_set():
            self._fail(error.error.get("message") or "", error.error.get("code"))

    def _take(self, name: str, event: Wire) -> None:
        """One event of the answer, under the id of this response."""
        response = event.get("response")
        if isinstance(response, dict):
            response |= {"id": self.state.id, "background": True, "store": True}
            if name in _ENDS:
                self._ended = response
        self._add(event)

    def _add(self, event: Wire) -> None:
        event["sequence_number"] = self._number
        self._waiting.append((self._number, _encode(event)))
        self._number += 1

    def _fail(self, message: str, code: str | None) -> None:
        error = {"code": code or "server_error", "message": message}
        self._ended = {**self.state.response, "status": "failed", "error": error}
        self._add({"type": "response.failed", "response": self._ended})

    async def _keep(self, principal: Principal) -> None:
        """Stores the answer where later requests go on from it."""
        responses, ended = self._gateway.responses, self._ended
        if responses is None or ended is None:
            return
        codec = codec_of(RESPONSES.dialect)
        try:
            request = codec.read_request(_encode(self.state.request))
            response: Response = codec.read_response(_encode(ended))
        except ReadError:
            return
        arrival = Arrival(self.state.id, RESPONSES.dialect, principal)
        await responses.keep(request, response, arrival, RESPONSES.dialect)

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH)
            await self._flush()

    async def _flush(self) -> None:
        events, self._waiting = self._waiting, []
        if events:
            await self._background.add_events(self.state, events)
            self._changed.set()
            self._changed.clear()


async def _send(send: Send, answer: HttpAnswer) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [*answer.headers, length]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


# The paths


async def show(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    """A response: a background response in its current state, or as a stream, or a stored one."""
    state = await service.background.find(request.path_params["id"], principal.tenant)
    streams = request.query_params.get("stream") == "true"
    if state is None:
        if streams:
            text = "stream: only responses in the background can be streamed again"
            raise ApiError(400, "invalid_request", text)
        return await responses_store.show(service, request, principal)
    if not streams:
        return answer(state.response)
    after = request.query_params.get("starting_after")
    number = -1 if after is None else whole_number(after)
    if number is None:
        raise ApiError(400, "invalid_request", "starting_after: expected a number")
    events = service.background.follow(state, number)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return PatientResponse(
        events, service.limits.stalled, media_type=RESPONSES.stream_type, headers=headers
    )


async def remove(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    state = await service.background.find(request.path_params["id"], principal.tenant)
    if state is None:
        return await responses_store.remove(service, request, principal)
    await service.background.remove(state)
    await service.responses.remove(state.id, principal)
    return answer({"id": state.id, "object": "response", "deleted": True})


async def cancel(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    id = request.path_params["id"]
    state = await service.background.find(id, principal.tenant)
    if state is None:
        if await service.responses.wire(id, principal) is not None:
            text = "Only responses created with background=true can be cancelled."
            raise ApiError(400, "invalid_request", text)
        raise ApiError(404, "not_found", f"Response with id '{id[:100]}' not found.")
    return answer((await service.background.cancel(state)).response)


async def input_items(service: Service, request: HttpRequest, principal: Principal) -> HttpResponse:
    """The items that a response was made from."""
    id = request.path_params["id"]
    state = await service.background.find(id, principal.tenant)
    if state is not None:
        items: list[Any] | None = input_of(state.request.get("input"))
    else:
        items = await service.responses.input_items(id, principal)
    if items is None:
        raise ApiError(404, "not_found", f"Response with id '{id[:100]}' not found.")
    return answer(page(numbered(items, id), request.query_params))
