"""Responses over WebSocket: a socket at `/v1/responses`, with any model behind it.

Every `response.create` takes the way of an HTTP request. Requests of one lane (`stream_id`) are
answered in their order, those of different lanes at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec

from interlingua.gateway.gateway import Gateway
from interlingua.gateway.memory.responses import keeps
from interlingua.gateway.relay.app import ClientLeft
from interlingua.gateway.relay.counting import NOTHING
from interlingua.gateway.relay.inbound import parse_inbound
from interlingua.gateway.responses.inner import ErrorAnswer, InnerRequest, error_of, scope_of
from interlingua.gateway.responses.socket_memory import Members, SocketMemory
from interlingua.gateway.shared.callers import UNKNOWN_ROUTE, log_refused
from interlingua.gateway.shared.fronts import (
    DRAIN,
    RESPONSES,
    Asgi,
    Match,
    Receive,
    Scope,
    Send,
    error_body,
    token_of,
)
from interlingua.gateway.shared.own_keys import with_own_key
from interlingua.gateway.shared.principal import OpenRequests, most_of_key
from interlingua.gateway.shared.state import Arrival, Exchange, Principal, Refusal
from interlingua.gateway.shared.unserved import not_served, unserved_socket
from interlingua.model.codec import body_problem
from interlingua.model.exchange import ErrorKind

MOST_WAITING = 16
"""Responses of one socket that are under way or wait for their turn."""
LONGEST_LANE = 256
SERVICE_RESTART = 1012
"""The close code that asks the client to reconnect."""
FAREWELL = 2.0
"""Seconds for requests to end after their client has left."""
_REMEMBER = frozenset({"response.completed", "response.incomplete"})
_members = msgspec.json.Decoder(Members).decode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_value = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class _Answer(msgspec.Struct):
    id: str
    output: list[msgspec.Raw] = []


class _Ended(msgspec.Struct):
    response: _Answer


_ended = msgspec.json.Decoder(_Ended).decode


class Sockets:
    """The application for WebSockets. `app` answers the requests that come through them."""

    def __init__(self, gateway: Gateway, app: Asgi) -> None:
        self.gateway = gateway
        self.app = app
        self.served = 0
        """Sockets that were accepted."""
        allowed = most_of_key(2**31)
        self._open = OpenRequests(lambda: min(gateway.settings.limits.open_requests, allowed))

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if RESPONSES.paths.get(scope["path"]) != "generate":
                raise _not_here(scope["path"])
            token = token_of(dict(scope["headers"]), scope["query_string"])
            principal = await self.gateway.keys.find(token)
            self._open.take(principal, RESPONSES.dialect)
        except Refusal as refused:
            known = scope["path"] in RESPONSES.paths or unserved_socket(scope["path"]) is not None
            route = scope["path"] if known else UNKNOWN_ROUTE
            log_refused("GET", route, refused.status, refused.error.code or "refused")
            await _deny(send, refused)
            return
        try:
            await receive()
            await send({"type": "websocket.accept"})
            self.served += 1
            await Socket(self, scope, receive, send, principal).run()
        finally:
            self._open.release(principal)


def _not_here(path: str) -> Refusal:
    if unserved_socket(path) is None:
        return Refusal(404, ErrorKind.INVALID_REQUEST, "no such endpoint", "not_found")
    text = not_served("a WebSocket at", path)
    return Refusal(501, ErrorKind.INVALID_REQUEST, text, "not_implemented")


async def _deny(send: Send, refused: Refusal) -> None:
    """An answer in place of a socket."""
    headers = [(b"content-type", b"application/json")]
    headers += [(name.encode(), value.encode()) for name, value in refused.headers]
    start = {"type": "websocket.http.response.start", "status": refused.status, "headers": headers}
    await send(start)
    body = error_body(RESPONSES, refused.error)
    await send({"type": "websocket.http.response.body", "body": body})


class Socket:
    """One client's socket."""

    def __init__(
        self, sockets: Sockets, scope: Scope, receive: Receive, send: Send, principal: Principal
    ) -> None:
        self._gateway = sockets.gateway
        self._app = sockets.app
        self._scope = scope
        self._receive = receive
        self._asgi_send = send
        self._principal = principal
        self._drain: asyncio.Event = scope.get(DRAIN) or asyncio.Event()
        self._gone = asyncio.Event()
        self._memory = SocketMemory()
        self._lanes: dict[str | None, asyncio.Task[None]] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client leaves, or the gateway shuts down and no response is under way."""
        draining = asyncio.ensure_future(self._drain.wait())
        receiving = asyncio.ensure_future(self._receive())
        try:
            while not draining.done():
                waiting: set[asyncio.Future[Any]] = {draining, receiving}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done():
                    break
                message = receiving.result()
                if message["type"] == "websocket.disconnect":
                    return
                await self._handle(message)
                receiving = asyncio.ensure_future(self._receive())
            while self._under_way and not receiving.done():
                waiting = {receiving, *self._under_way}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            close = {"type": "websocket.close", "code": SERVICE_RESTART, "reason": "shutting down"}
            await self._asgi_send(close)
        finally:
            draining.cancel()
            receiving.cancel()
            await self._leave()

    async def _leave(self) -> None:
        self._gone.set()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=FAREWELL)
        for task in self._under_way:
            task.cancel()

    # What a client sends

    async def _handle(self, message: MutableMapping[str, Any]) -> None:
        data = message.get("text") or message.get("bytes") or ""
        try:
            members = _members(data)
            kind = _value(members.pop("type", msgspec.Raw(b"null")))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            await self._refuse(None, body_problem(error, data), "invalid_json")
            return
        if kind == "response.create":
            await self._create(members)
        elif kind == "response.steer":
            await self._fail_steering(members)
        else:
            text = "type: expected 'response.create' or 'response.steer'"
            await self._refuse(None, text, "unknown_event")

    async def _create(self, members: Members) -> None:
        lane = _value(members.pop("stream_id", msgspec.Raw(b"null")))
        if lane is not None and not (isinstance(lane, str) and 0 < len(lane) <= LONGEST_LANE):
            text = f"stream_id: expected a text of 1 to {LONGEST_LANE} characters"
            await self._refuse(None, text, "invalid_value", "stream_id")
            return
        if _value(members.get("background", msgspec.Raw(b"null"))) not in (None, False):
            text = "background: not supported over WebSocket; send the request by HTTP"
            await self._refuse(lane, text, "unsupported_parameter", "background")
            return
        if len(self._under_way) >= MOST_WAITING:
            text = f"this socket has {MOST_WAITING} responses in progress; wait for one to end"
            await self._refuse(lane, text, "too_many_responses", status=429)
            return
        before = self._lanes.get(lane)
        task = asyncio.ensure_future(self._respond(members, lane, before))
        self._lanes[lane] = task
        self._under_way.add(task)
        task.add_done_callback(lambda done: self._over(lane, done))

    def _over(self, lane: str | None, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if self._lanes.get(lane) is task:
            del self._lanes[lane]
        if not task.cancelled():
            task.exception()  # the client has left; its request has been logged

    async def _fail_steering(self, members: Members) -> None:
        steer = {
            name: members[name] for name in ("input", "previous_response_id") if name in members
        }
        text = "a response cannot be steered here; send the input with the next response.create"
        error = {
            "type": "invalid_request_error",
            "code": "steering_not_supported",
            "message": text,
        }
        event = {"type": "response.steer.failed", "error": error, "steer": steer}
        await self._send({**event, "sequence_number": 0}, None)

    # Answers

    async def _respond(
        self, members: Members, lane: str | None, before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await asyncio.wait({before})
        if self._gone.is_set():
            return
        generates = _value(members.pop("generate", msgspec.Raw(b"null"))) is not False
        members["stream"] = msgspec.Raw(b"true")
        members, previous = self._memory.expanded(members)
        if not generates:
            await self._prepare(members, lane, previous)
            return

        async def event(name: str, data: str) -> None:
            if name in _REMEMBER:
                self._remember(members, data)
            if name == "error":
                data = _socket_error(data)
            try:
                if lane is not None or previous is not None:
                    await self._send(_patched(_decode(data), previous), lane)
                else:
                    await self._asgi_send({"type": "websocket.send", "text": data})
            except OSError:
                raise ClientLeft from None  # before its leaving was reported

        scope = scope_of(self._scope, [(b"content-type", b"application/json")])
        inner = InnerRequest(event, self._gone)
        error = await inner.run(self._app, scope, _encode(members))
        if error is not None:
            await self._send_error(error, lane)

    def _remember(self, members: Members, data: str) -> None:
        """Remembers a response, unless the next request finds it where it is stored."""
        stored = _value(members.get("store", msgspec.Raw(b"true"))) is not False
        if stored and not self._principal.keep_content:
            model = _value(members.get("model", msgspec.Raw(b"null")))
            route = self._gateway.route(model, RESPONSES)
            stored = keeps(route.targets[0], RESPONSES.dialect)
        if not stored:
            with suppress(msgspec.DecodeError):
                response = _ended(data).response
                self._memory.add(response.id, members, response.output)

    async def _prepare(self, members: Members, lane: str | None, previous: str | None) -> None:
        """Answers `generate: false`: the request is checked and stored, without calling a model."""
        gateway, body = self._gateway, _encode(members)
        arrival = Arrival(f"req_{gateway.ids.new()}", RESPONSES.dialect, action="prepare")
        exchange = Exchange(arrival)
        try:
            headers = dict(self._scope["headers"])
            principal = await gateway.keys.find(token_of(headers, self._scope["query_string"]))
            exchange.arrival = with_own_key(arrival.by(principal), self._scope)
            inbound = parse_inbound(gateway, exchange, Match(RESPONSES), body, headers)
            if principal.capped:
                targets = inbound.route.targets
                exchange.outcome.reservation = await gateway.caps.reserve(
                    exchange.arrival, NOTHING, targets
                )
                await gateway.caps.settle(exchange)
            exchange.outcome.status = 200
        except Refusal as refused:
            exchange.outcome.fail(refused.status, refused.error.kind, refused.error.code)
            answer = error_of(refused.status, error_body(RESPONSES, refused.error))
            await self._send_error(answer, lane)
            return
        finally:
            gateway.trace.finished(exchange)
        id = f"resp_{gateway.ids.new()}"
        self._memory.add(id, members, [])
        for number, event in enumerate(_prepared(id, body)):
            await self._send({**_patched(event, previous), "sequence_number": number}, lane)

    async def _send(self, event: dict[str, Any], lane: str | None) -> None:
        if lane is not None:
            event["stream_id"] = lane
        await self._asgi_send({"type": "websocket.send", "text": _encode(event).decode()})

    async def _send_error(self, answer: ErrorAnswer, lane: str | None) -> None:
        error = dict(answer.error)
        if "retry-after" in answer.headers:
            error["headers"] = {"retry-after": answer.headers["retry-after"]}
        await self._send({"type": "error", "status": answer.status, "error": error}, lane)

    async def _refuse(
        self, lane: str | None, text: str, code: str, param: str | None = None, status: int = 400
    ) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": text, "param": param}
        await self._send_error(ErrorAnswer(status, error, {}), lane)


def _patched(event: dict[str, Any], previous: str | None) -> dict[str, Any]:
    """An event whose response names the one that the client continues."""
    if previous is not None and isinstance(event.get("response"), dict):
        event["response"]["previous_response_id"] = previous
    return event


def _socket_error(data: str) -> str:
    """The error of a stream in the WebSocket form."""
    event = _decode(data)
    if "error" in event:
        return data
    error = {name: event.pop(name, None) for name in ("code", "message", "param")}
    event["error"] = {"type": "server_error", **error}
    return _encode(event).decode()


def _prepared(id: str, body: bytes) -> list[dict[str, Any]]:
    """The events of a response without output."""
    filler = RESPONSES.filler(body)
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    begun = {"id": id, "object": "response", "status": "in_progress", "output": []}
    ended = {**begun, "status": "completed", "usage": usage}
    return [
        {"type": "response.created", "response": filler.whole(begun)},
        {"type": "response.completed", "response": filler.whole(ended)},
    ]
