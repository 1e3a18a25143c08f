"""One request through the gateway, answered as a stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from interlingua.client.attempt import OpenReply
from interlingua.client.fetching import MediaCache
from interlingua.client.retry import Clock
from interlingua.client.transport import TransportError
from interlingua.costs.comparing import merged
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.pools import Pool
from interlingua.gateway.relay.continued import CONTINUE, ContinuedStream
from interlingua.gateway.relay.inbound import HttpAnswer, Inbound, note_owner
from interlingua.gateway.relay.outgoing import PassthroughStream, TranslatedStream
from interlingua.gateway.relay.passthrough import AwsPassthrough, ModelRenamer, Passthrough
from interlingua.gateway.relay.replaced import replacing
from interlingua.gateway.relay.sending import (
    CUT,
    asks_usage,
    has_content,
    is_cut,
    is_wrapped,
    may_be_cut,
    prepare,
    send,
    try_targets,
)
from interlingua.gateway.relay.whole import echoed
from interlingua.gateway.shared.fronts import Send
from interlingua.gateway.shared.state import Arrival, Exchange, Recall
from interlingua.model.exchange import Request, Response


class Line:
    """The way to a client while a stream runs: when it has been silent for too long, it gives a
    sign of life. One timer does, however many pieces there are."""

    def __init__(self, send: Send, sign: bytes | None, silence: float) -> None:
        self._send = send
        self._sign = sign
        self._silence = silence
        self._last = time.monotonic()
        self._busy = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer = None if sign is None else self._loop.call_later(silence, self._look)

    async def say(self, data: bytes) -> None:
        if self._busy.locked():
            async with self._busy:
                pass
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._last = time.monotonic()

    def _look(self) -> None:
        quiet = time.monotonic() - self._last
        if quiet >= self._silence and self._task is None:
            self._task = self._loop.create_task(self._live())
        self._timer = self._loop.call_later(max(self._silence - quiet, 0.05), self._look)

    async def _live(self) -> None:
        async with self._busy:
            sign = {"type": "http.response.body", "body": self._sign, "more_body": True}
            await self._send(sign)
        self._last, self._task = time.monotonic(), None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})


class Stream(NamedTuple):
    """A stream whose first bytes are there."""

    opened: OpenReply
    outgoing: TranslatedStream | PassthroughStream
    first: bytes
    recall: Recall | None = None
    to_keep: Request | None = None
    """The request, if its answer may have to be stored."""
    pool: Pool | None = None
    """The pool that served it."""


async def open_stream(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, raw: list[HttpAnswer]
) -> Stream:
    """Opens the stream and waits for its first bytes. Failures before that may be retried, since
    the client has not received anything."""

    fetched: MediaCache = {}

    async def once(model: str, clock: Clock) -> Stream:
        target = inbound.route.target(model)
        raw.clear()
        prepared, recall = await prepare(gateway, exchange, inbound, target, fetched)
        opened = await send(gateway, exchange, inbound, prepared, clock, True, raw)
        exchange.outcome.upstream_id = opened.request_id
        outgoing = outgoing_of(gateway, exchange, inbound, opened)
        try:
            first = await _first(opened, outgoing, may_be_cut(inbound, prepared.target))
            if first is None:
                outgoing.note()
                await replacing(gateway, exchange, inbound)
                raise opened.refusal(CUT)
            if outgoing.error is not None:
                exchange.outcome.error = outgoing.error.kind
            pool = inbound.route.pool
            stream = Stream(opened, outgoing, first, recall, inbound.to_keep, pool)
            await remember(gateway, exchange.arrival, stream)
        except (TransportError, ReadError) as error:
            opened.reply.close()
            failed = opened.failure(error)
        except BaseException:
            opened.reply.close()
            raise
        else:
            return stream
        raise failed

    stream = await try_targets(gateway, exchange, inbound, once)
    exchange.outcome.first_byte_ms = exchange.arrival.elapsed_ms()
    return stream


async def _first(
    opened: OpenReply, outgoing: TranslatedStream | PassthroughStream, may_be_cut: bool
) -> bytes | None:
    """The first bytes for the client; None if the answer is cut before its content. An error that
    comes before all else is no stream."""
    first = frames = b""
    while not first or (may_be_cut and not has_content(frames)):
        chunk = await opened.reply.chunk()
        first += outgoing.feed(chunk) if chunk else outgoing.close()
        error = outgoing.error or outgoing.broke
        if error is not None and not outgoing.began:
            raise opened.refusal(error)
        frames += chunk if may_be_cut else b""
        if may_be_cut and is_cut(frames) and not has_content(frames):
            return None
        if not chunk or outgoing.broke is not None:
            break
    return first


def outgoing_of(
    gateway: Gateway, exchange: Exchange, inbound: Inbound, opened: OpenReply
) -> TranslatedStream | PassthroughStream:
    prepared, secrets = opened.prepared, opened.secrets
    front, target, adapter = inbound.front, prepared.target, prepared.answer_adapter
    if inbound.route.settings.on_break == CONTINUE:
        usage = not asks_usage(inbound)
        return ContinuedStream(exchange, inbound, opened, front, usage)
    plain = not (inbound.ours or is_wrapped(target))
    if target.dialect.name == front.dialect and plain and adapter is None:
        client_model, rename = inbound.envelope.model, None
        if client_model not in ("", None, target.name) and inbound.match.model is None:
            rename = ModelRenamer(client_model, target.name)
        answers = inbound.envelope.answers()
        passes = AwsPassthrough if target.dialect.traits.framing == "aws" else Passthrough
        passthrough = passes(target.dialect, asks_usage(inbound), answers, secrets)
        principal = exchange.arrival.principal
        return PassthroughStream(principal, exchange.outcome, front, passthrough, rename, secrets)
    tells_usage = not asks_usage(inbound)
    arrival, outcome = exchange.arrival, exchange.outcome
    how = (front, tells_usage, inbound.body, secrets, _diagnosing(gateway, exchange, inbound))
    return TranslatedStream(arrival, outcome, prepared, *how)


def _diagnosing(
    gateway: Gateway, exchange: Exchange, inbound: Inbound
) -> Callable[[Response], Response] | None:
    """What adds to an answer why the prompt cache was missed, for a client that asks for it."""
    compared, request = exchange.outcome.compared, inbound.request
    if compared is None or request is None or request.options.cache_comparison is None:
        return None

    def diagnose(response: Response) -> Response:
        message = response.message
        own = compared.diagnosis(message.metadata.usage)
        found = merged(message.metadata.cache_diagnosis, own)
        metadata = message.metadata.replace(cache_diagnosis=found)
        return response.replace(message=message.replace(metadata=metadata))

    return diagnose


async def more(gateway: Gateway, exchange: Exchange, stream: Stream) -> bytes | None:
    """The next bytes for the client, perhaps none yet; None at the end. The turn is remembered
    before the client can know that the answer is complete."""
    outgoing = stream.outgoing
    if isinstance(outgoing, ContinuedStream):
        out: bytes | None = await outgoing.more(gateway, exchange)
        await remember(gateway, exchange.arrival, stream)
        return out
    try:
        chunk = await stream.opened.reply.chunk()
        out = outgoing.feed(chunk) if chunk else outgoing.close()
    except (TransportError, ReadError) as error:
        if outgoing.is_whole:  # the client has it all; how the connection ended does not matter
            return outgoing.close() or None
        failure = stream.opened.failure(error)
        out = outgoing.fail(failure)
        if not outgoing.is_whole:  # it may have been, but for a word that is not needed
            exchange.outcome.error = failure.kind
        await remember(gateway, exchange.arrival, stream)  # the end may have come before the break
        return out or None
    await remember(gateway, exchange.arrival, stream)
    if outgoing.error is not None:
        exchange.outcome.error = outgoing.error.kind
    if not chunk and not out:
        return None
    return out


async def remember(gateway: Gateway, arrival: Arrival, stream: Stream) -> None:
    """Keep an answer that is whole, before the client can know that it is."""
    outgoing, target = stream.outgoing, stream.opened.prepared.target
    if isinstance(outgoing, PassthroughStream):
        response = outgoing.take_response()
        if response is not None:
            note_owner(gateway, arrival, target, response, stream.pool)
        return
    if outgoing.complete is None:
        return
    complete, outgoing.complete = outgoing.complete, None
    if isinstance(outgoing, ContinuedStream):
        target = outgoing.opened.prepared.target
        if not outgoing.seams:
            note_owner(gateway, arrival, target, complete, stream.pool)
    if stream.recall is not None and not outgoing.seams:
        await gateway.memory.keep(complete, arrival, stream.recall)
    if stream.to_keep is not None and gateway.responses is not None:
        echo = echoed(complete, arrival, target)
        await gateway.responses.keep(stream.to_keep, echo, arrival, target.dialect.name)
