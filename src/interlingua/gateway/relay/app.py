"""Requests in, answers out: plain ASGI, so that the way of a request is short.

Paths of the providers' dialects are served here; all others by the application that is given."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from interlingua.client.errors import CallError
from interlingua.dialects.front import Front
from interlingua.errors import InterlinguaError
from interlingua.gateway.gateway import CROWDED, Gateway, next_round
from interlingua.gateway.idempotency.keys import KEY, IdempotentRequest
from interlingua.gateway.memory.content import Recorder
from interlingua.gateway.relay.completions import Completion, CompletionSend
from interlingua.gateway.relay.counting import count
from interlingua.gateway.relay.deciding import decide
from interlingua.gateway.relay.embedding import embed
from interlingua.gateway.relay.headers import ATTEMPTS, answer_headers
from interlingua.gateway.relay.inbound import (
    JSON,
    HttpAnswer,
    Inbound,
    parse_inbound,
    reserve,
    reserved_as,
    with_history,
)
from interlingua.gateway.relay.outgoing import error_frames
from interlingua.gateway.relay.replaced import replacing, restore, tokens_of
from interlingua.gateway.relay.sending import note_cache
from interlingua.gateway.relay.stream import Line, Stream, more, open_stream
from interlingua.gateway.relay.whole import error_answer, relay
from interlingua.gateway.relay.wrapped import WrappedSend, opened
from interlingua.gateway.settings import COMPACT
from interlingua.gateway.shared.direct_client import DIRECT_CLIENT, DirectClient
from interlingua.gateway.shared.fronts import (
    PRINCIPAL,
    Asgi,
    Match,
    Receive,
    Scope,
    Send,
    error_body,
    match,
    token_of,
)
from interlingua.gateway.shared.own_keys import with_own_key
from interlingua.gateway.shared.refusals import UNAVAILABLE, coded, unavailable
from interlingua.gateway.shared.state import ANONYMOUS, Arrival, Exchange, Principal, Refusal
from interlingua.model.exchange import ErrorKind, ProviderError

logger = logging.getLogger(__name__)
_OTHERS = frozenset({"count_tokens", "embed", "decide"})


class ClientLeft(Exception):  # noqa: N818  # no client is left to get an error
    """The client has gone."""


class _Client(msgspec.Struct, eq=False):
    """The client of a request: its body, and how it is answered."""

    scope: Scope
    receive: Receive
    send: Send
    direct: DirectClient | None
    """Takes a whole answer at once; None where it is changed or recorded on its way."""
    idempotent: IdempotentRequest | None = None
    recorder: Recorder | None = None
    holds_place: bool = False
    """Whether it counts among the open requests of its key."""

    async def is_replayed(
        self, gateway: Gateway, exchange: Exchange, headers: dict[bytes, bytes], body: bytes
    ) -> bool:
        """Whether a stored answer was replayed; otherwise the answer is recorded from now on, for
        repeats or for the content log."""
        self.direct = None
        if gateway.content is not None and exchange.arrival.principal.log_content_days is not None:
            self.recorder = Recorder(gateway.content, exchange, body, self.send)
            self.send = self.recorder.send
        if KEY not in headers:
            return False
        idempotent = self.idempotent = IdempotentRequest(
            gateway.idempotency, exchange, self.scope["path"], headers[KEY], body, self.send
        )
        with WhileThere(self.scope, self.receive):
            await idempotent.begin()
        if not idempotent.answered:
            self.send = idempotent.send
        return idempotent.answered

    def end(self) -> None:
        """Ends the recording: the answer is complete."""
        if self.idempotent is not None:
            self.idempotent.end()
        if self.recorder is not None:
            self.recorder.end()


class Preparation(Protocol):
    """Prepares some requests before they take the usual way."""

    def concerns(self, inbound: Inbound) -> bool:
        """Whether there may be something to do."""

    async def handle(self, exchange: Exchange, inbound: Inbound, client: Any) -> Inbound | None:
        """The request as it goes on; None if it is answered by `client.send`."""

    async def shorten(self, exchange: Exchange, inbound: Inbound, client: Any) -> Inbound | None:
        """The request with a compacted conversation; None where that is impossible."""

    async def with_conversation(self, body: bytes, principal: Principal) -> bytes:
        """The body of a request with the items of its conversation."""


class App:
    """The ASGI application of a gateway. `others` serves every other path."""

    def __init__(
        self, gateway: Gateway, others: Asgi | None = None, preparation: Preparation | None = None
    ) -> None:
        self.gateway = gateway
        self._others = others
        self._preparation = preparation

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["method"] == "POST":
            found = match(scope["path"])
            if found is not None:
                wrapping = found.front.wrapping
                if wrapping is not None:
                    send = WrappedSend(send, wrapping, found.front.stream_type)
                direct = scope.get(DIRECT_CLIENT)
                return self._serve(found, _Client(scope, receive, send, direct))
        if self._others is not None:
            return self._others(scope, receive, send)
        if scope["type"] == "lifespan":
            return _lifespan(receive, send, self.gateway)
        return _plain(send, HttpAnswer(404, [JSON], b'{"error":{"code":"not_found"}}'))

    async def _serve(self, found: Match, client: _Client) -> None:
        """Answers one request, whatever happens, and records it in the trace."""
        id = f"req_{self.gateway.ids.new()}"
        exchange = Exchange(Arrival(id, found.front.dialect, action=found.action))
        self.gateway.under_way[id] = exchange
        outcome = exchange.outcome
        try:
            await self._answer(exchange, found, client)
        except Refusal as refused:
            outcome.fail(refused.status, refused.error.kind, refused.error.code)
            await _plain(client.send, refusal(exchange, found.front, refused))
        except asyncio.CancelledError:  # the gateway stops, and has answered the client
            outcome.fail(499, ErrorKind.CANCELLED)
            raise
        except ClientLeft:
            outcome.left()
        except UNAVAILABLE as error:
            await self._refuse_model(exchange, found.front, error, client.send)
        except Exception as error:
            logger.error("request_failed", extra={"request": id, "why": type(error).__name__})
            outcome.fail(500, ErrorKind.OTHER)
            text = "internal gateway error; see the gateway's log"
            failure = Refusal(500, ErrorKind.SERVER_ERROR, text)
            await _plain(client.send, refusal(exchange, found.front, failure))
            if self.gateway.settings.raises:
                raise
        finally:
            del self.gateway.under_way[id]
            if outcome.leave_pool is not None:
                outcome.leave_pool(tokens_of(outcome.usage))
            if client.holds_place:
                self.gateway.open_requests.release(exchange.arrival.principal)
            if client.idempotent is not None or client.recorder is not None:
                client.end()
            try:
                if outcome.reservation is not None or outcome.replaced:
                    self.gateway.caps.settle_soon(exchange)
            finally:
                self.gateway.trace.finished(exchange)

    async def _answer(self, exchange: Exchange, found: Match, client: _Client) -> None:
        gateway, scope, preparation = self.gateway, client.scope, self._preparation
        headers, query = dict(scope["headers"]), scope["query_string"]
        principal = scope.get(PRINCIPAL) or await gateway.keys.find(token_of(headers, query))
        if principal is not ANONYMOUS:
            exchange.arrival = replace(exchange.arrival, principal=principal)
            gateway.open_requests.take(principal, found.front.dialect)
            client.holds_place = True
        if gateway.targets.client_keys:
            exchange.arrival = with_own_key(exchange.arrival, scope)
        body = None if client.direct is None else client.direct.body()
        if body is None:
            body = await self._body(headers, client.receive, client.direct)
        elif len(body) > gateway.settings.limits.body:
            raise too_long(gateway.settings.limits.body)
        if found.front.wrapping is not None:
            client.direct, (found, body, headers) = None, opened(found, body, headers)
        if found.action in _OTHERS:
            await self._other(exchange, found, body, headers, client)
            return
        if len(gateway.under_way) >= CROWDED:
            await next_round()
        if found.action == "complete":
            inbound = self._as_chat(exchange, found, body, headers, client)
        else:
            inbound = parse_inbound(gateway, exchange, found, body, headers)
        is_recorded = KEY in headers or principal.log_content_days is not None
        if is_recorded and await client.is_replayed(gateway, exchange, headers, body):
            return
        if preparation is not None and (found.action == "compact" or preparation.concerns(inbound)):
            if (prepared := await self._prepared(preparation, exchange, inbound, client)) is None:
                return
            inbound = prepared
        elif found.action == "compact":
            raise Refusal(404, ErrorKind.INVALID_REQUEST, "no such endpoint", "not_found")
        if found.front.stored is not None:
            inbound = await with_history(gateway, exchange.arrival, inbound, found.front.stored)
        with WhileThere(scope, client.receive):
            await self._work(exchange, inbound, client)

    def _as_chat(
        self,
        exchange: Exchange,
        found: Match,
        body: bytes,
        headers: dict[bytes, bytes],
        client: _Client,
    ) -> Inbound:
        """A request for a completion as one for chat; its answer goes the same way back."""
        completion = Completion(body)
        client.direct, client.send = None, CompletionSend(completion, client.send)
        inbound = parse_inbound(self.gateway, exchange, found, completion.body, headers)
        report = completion.report
        if inbound.changes is not None:
            report.extend(inbound.changes)
        return inbound._replace(changes=report)

    async def _other(
        self,
        exchange: Exchange,
        found: Match,
        body: bytes,
        headers: dict[bytes, bytes],
        client: _Client,
    ) -> None:
        """Answers a request for something else than a message: a count of tokens, embeddings,
        decisions."""
        gateway = self.gateway
        if found.action == "count_tokens":
            if self._preparation is not None and b'"conversation"' in body:
                principal = exchange.arrival.principal
                body = await self._preparation.with_conversation(body, principal)
            await _plain(client.send, await count(gateway, exchange, found, body, headers))
            return
        if KEY in headers and await client.is_replayed(gateway, exchange, headers, body):
            return
        with WhileThere(client.scope, client.receive):
            if found.action == "decide":
                path = client.scope["path"]
                answer = await decide(gateway, exchange, found, body, headers, path)
            else:
                answer = await embed(gateway, exchange, found, body, headers)
            await _plain(client.send, answer)

    async def _prepared(
        self, preparation: Preparation, exchange: Exchange, inbound: Inbound, client: _Client
    ) -> Inbound | None:
        """The request as it goes on; None if it is answered."""
        client.direct = None
        with WhileThere(client.scope, client.receive):
            return await preparation.handle(exchange, inbound, client)

    async def _refuse_model(
        self, exchange: Exchange, front: Front, error: InterlinguaError, send: Send
    ) -> None:
        """Answers for a model that this gateway cannot call, perhaps after a stream has begun."""
        refused = unavailable(exchange.arrival.id, exchange.decision.target, error)
        if exchange.outcome.status:
            frames = error_frames(front, refused.error)
            await send({"type": "http.response.body", "body": frames})
        else:
            await _plain(send, refusal(exchange, front, refused))
        exchange.outcome.fail(refused.status, refused.error.kind, refused.error.code)

    async def _body(
        self, headers: dict[bytes, bytes], receive: Receive, direct: DirectClient | None
    ) -> bytes:
        """The whole body; one that is too long is refused before it is read."""
        limits = self.gateway.settings.limits
        content_length = headers.get(b"content-length", b"")
        if content_length.isdigit() and int(content_length) > limits.body:
            raise too_long(limits.body)
        try:
            async with asyncio.timeout(limits.body_seconds):
                if (
                    direct is not None
                    and (body := await direct.whole_body(limits.body)) is not None
                ):
                    if direct.has_left:
                        raise ClientLeft
                    if len(body) > limits.body:
                        raise too_long(limits.body)
                    return body
                return await _received(receive, limits.body)
        except TimeoutError:
            raise Refusal(
                408, ErrorKind.INVALID_REQUEST, "timed out waiting for the request body"
            ) from None

    async def _work(self, exchange: Exchange, inbound: Inbound, client: _Client) -> None:
        """Caps may take a moment, and nothing is asked for a client that leaves in it.

        Where many requests are under way, they take each step together, in a round of the event
        loop of its own (being let in, reading, adapting, sending, reading the answer, writing it,
        settling, answering): what one needs for a step is in the processor's caches for all."""
        if exchange.arrival.principal.capped:
            inbound = await reserve(self.gateway, exchange, inbound)
        if exchange.arrival.stream:
            await self._stream(exchange, inbound, client)
        else:
            if len(self.gateway.under_way) >= CROWDED:
                await next_round()
            answer = await relay(self.gateway, exchange, inbound)
            if inbound.route.settings.overflow == COMPACT:
                shorter = await self._shorter(exchange, inbound, client)
                if shorter is not None:
                    client.direct, answer = None, await relay(self.gateway, exchange, shorter)
            if answer.status == 200:
                exchange.outcome.error = None  # one that was cut is an answer as well
            if len(self.gateway.under_way) >= CROWDED:
                await next_round()
            if exchange.arrival.principal.capped:
                await self.gateway.caps.settle(exchange)
            if len(self.gateway.under_way) >= CROWDED:
                await next_round()
            if client.direct is None or not client.direct.answer(*answer):
                await _plain(client.send, answer)

    async def _shorter(
        self, exchange: Exchange, inbound: Inbound, client: _Client
    ) -> Inbound | None:
        """The request with a shorter conversation, if it was too long for the model."""
        outcome, preparation = exchange.outcome, self._preparation
        if preparation is None or outcome.error is not ErrorKind.CONTEXT_OVERFLOW:
            return None
        is_paid = outcome.usage is not None  # an answer that was cut
        if is_paid:
            await replacing(self.gateway, exchange, inbound)
        shorter = await preparation.shorten(exchange, inbound, client)
        if shorter is not None:
            outcome.status, outcome.error = 0, None
            return reserved_as(inbound, shorter)
        if is_paid:
            restore(self.gateway, exchange)
        return None

    async def _stream(self, exchange: Exchange, inbound: Inbound, client: _Client) -> None:
        gateway, limits, send = self.gateway, self.gateway.settings.limits, client.send
        raw: list[HttpAnswer] = []
        opening = asyncio.ensure_future(open_stream(gateway, exchange, inbound, raw))
        try:
            await asyncio.wait({opening}, timeout=limits.first_event)
            if not opening.done():
                await self._begin(exchange, inbound, send)
                await self._keep_alive(opening, inbound.front, send)
            try:
                stream = opening.result()
            except CallError as error:
                await self._not_opened(exchange, inbound, error, raw, client)
                return
            if not exchange.outcome.status:
                await self._begin(exchange, inbound, send, stream)
        except BaseException:
            opening.cancel()
            opening.add_done_callback(_unwanted)
            raise
        await self._pump(exchange, inbound, stream, send)

    async def _not_opened(
        self,
        exchange: Exchange,
        inbound: Inbound,
        error: CallError,
        raw: list[HttpAnswer],
        client: _Client,
    ) -> None:
        """Sends a plain error, or ends a stream that has already begun."""
        begun = bool(exchange.outcome.status)
        if not begun and inbound.route.settings.overflow == COMPACT:
            exchange.outcome.error = error.kind
            shorter = await self._shorter(exchange, inbound, client)
            if shorter is not None:
                await self._stream(exchange, shorter, client)
                return
        answer = error_answer(exchange, inbound, error, raw)
        if not begun:
            await _plain(client.send, answer)
            return
        shown = ProviderError(error.kind, error.problem, error.code, answer.status)
        await client.send(
            {"type": "http.response.body", "body": error_frames(inbound.front, shown)}
        )

    async def _begin(
        self, exchange: Exchange, inbound: Inbound, send: Send, stream: Stream | None = None
    ) -> None:
        exchange.outcome.status = 200
        target = exchange.decision.target
        upstream = stream.opened.headers if stream is not None else {}
        secrets = stream.opened.secrets if stream is not None else ()
        upstream_dialect = target.dialect.name if target is not None else ""
        headers = [
            (b"content-type", inbound.front.stream_type.encode()),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
            *answer_headers(exchange, upstream, inbound.front, upstream_dialect, secrets),
        ]
        if exchange.outcome.attempts > 1:
            headers.append((ATTEMPTS, b"%d" % exchange.outcome.attempts))
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _keep_alive(self, waiting: asyncio.Future[Any], front: Front, send: Send) -> None:
        """Keep-alive frames until the first content."""
        limits = self.gateway.settings.limits
        while not waiting.done():
            if front.keep_alive is not None:
                sign = {"type": "http.response.body", "body": front.keep_alive, "more_body": True}
                await send(sign)
            await asyncio.wait({waiting}, timeout=limits.keep_alive)

    async def _pump(self, exchange: Exchange, inbound: Inbound, stream: Stream, send: Send) -> None:
        """Sends bytes as they arrive; a slow client slows down reading upstream. The cost is stored
        before the end is sent, so a process that dies has not finished any answer that was not
        counted."""
        limits = self.gateway.settings.limits
        line = Line(send, inbound.front.keep_alive, limits.keep_alive)
        out: bytes | None = stream.first
        try:
            while out is not None:
                if out:
                    is_end = stream.outgoing.is_last or stream.outgoing.over
                    if is_end:
                        await self._settle(exchange, stream)
                    await line.say(out)
                    exchange.outcome.is_sent = is_end
                if stream.outgoing.over:
                    break
                out = await more(self.gateway, exchange, stream)
            await self._settle(exchange, stream)
        finally:
            line.close()
            stream.outgoing.end()
            stream.opened.reply.close()
            if exchange.outcome.compared is not None:
                note_cache(self.gateway, exchange)
        await line.end()

    async def _settle(self, exchange: Exchange, stream: Stream) -> None:
        exchange.outcome.is_last = True
        if exchange.outcome.reservation is not None:
            stream.outgoing.note()
            await self.gateway.caps.settle(exchange)


def _unwanted(opening: asyncio.Future[Stream]) -> None:
    """A stream that came when its client had just left."""
    if not opening.cancelled() and opening.exception() is None:
        stream = opening.result()
        stream.outgoing.end()
        stream.opened.reply.close()


class WhileThere:
    """Cancels the work inside when its client leaves, and then raises `ClientLeft`. Our own server
    reports that by itself; any other has to be polled."""

    __slots__ = ("_asking", "_direct", "_is_over", "_left", "_receive", "_task")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._direct: DirectClient | None = scope.get(DIRECT_CLIENT)
        self._receive = receive
        self._asking: asyncio.Task[None] | None = None
        self._left = self._is_over = False

    def __enter__(self) -> None:
        direct = self._direct
        if direct is not None and direct.has_left:
            raise ClientLeft
        task = asyncio.current_task(None if direct is None else direct.loop)
        assert task is not None
        self._task = task
        if direct is None:
            self._asking = task.get_loop().create_task(_gone(self._receive, self._leave))
        else:
            direct.tell(self._leave)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        if self._direct is not None:
            self._direct.forget()
        if self._asking is not None:
            self._asking.cancel()
        if self._left and (error is None or self._is_ours(error)):
            raise ClientLeft from None

    def _leave(self) -> None:
        if not self._is_over:  # a call that is on its way cannot be taken back
            self._left = True
            self._task.cancel()

    def _is_ours(self, error: BaseException) -> bool:
        """Whether it is our cancellation, and no other."""
        return isinstance(error, asyncio.CancelledError) and self._task.uncancel() <= 0


async def _received(receive: Receive, most: int) -> bytes:
    """The whole body, from a server that is not ours."""
    pieces, size, more = list[bytes](), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        pieces.append(bytes(message.get("body", b"")))
        size, more = size + len(pieces[-1]), message.get("more_body", False)
        if size > most:
            raise too_long(most)
    return b"".join(pieces)


async def _gone(receive: Receive, leave: Callable[[], None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    leave()


def too_long(limit: int) -> Refusal:
    text = f"request body too large: more than {limit} bytes"
    return Refusal(413, ErrorKind.INVALID_REQUEST, text, "request_too_large")


def refusal(exchange: Exchange, front: Front, refused: Refusal) -> HttpAnswer:
    upstream_dialect = (
        exchange.decision.target.dialect.name if exchange.decision.target else front.dialect
    )
    headers = [(name.encode(), value.encode()) for name, value in refused.headers]
    error = refused.error if refused.error.raw else coded(front.dialect, refused.error)
    body = error_body(front, error)
    return HttpAnswer(
        refused.status,
        [JSON, *answer_headers(exchange, {}, front, upstream_dialect), *headers],
        body,
    )


async def _plain(send: Send, answer: HttpAnswer) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    headers = [*answer.headers, length]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _lifespan(receive: Receive, send: Send, gateway: Gateway) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            await gateway.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
