"""One request through the gateway, answered as a stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

from interlingua.adapt.stream_convert import StreamConverter
from interlingua.client.attempt import OpenReply
from interlingua.client.errors import CallError
from interlingua.client.failures import redact
from interlingua.client.fetching import MediaCache
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared
from interlingua.client.transport import TransportError
from interlingua.dialects.framing import encoder
from interlingua.dialects.front import Front
from interlingua.errors import ReadError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.pools import Pool
from interlingua.gateway.relay.inbound import HttpAnswer, Inbound, note_owner
from interlingua.gateway.relay.passthrough import (
    BROKEN_OFF,
    AwsPassthrough,
    ModelRenamer,
    Passthrough,
    TextCounter,
)
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
from interlingua.gateway.relay.whole import echoed, fallback_id
from interlingua.gateway.shared.fronts import Send, codec_of, recognizable
from interlingua.gateway.shared.state import Arrival, Exchange, Outcome, Principal, Recall
from interlingua.model.codec import dumps
from interlingua.model.events import (
    Event,
    MessageComplete,
    MessageStart,
    Stop,
    StreamError,
    UsageUpdate,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Request, Response
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason


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


class TranslatedStream:
    """A stream from another dialect."""

    def __init__(
        self,
        arrival: Arrival,
        outcome: Outcome,
        prepared: Prepared,
        front: Front,
        tells_usage: bool,
        request_body: bytes,
        secrets: Iterable[str] = (),
    ) -> None:
        self.error: ProviderError | None = None
        self.complete: Response | None = None
        self._answer: Response | None = None
        self.began = False
        self.is_whole = False
        """Whether the answer is complete; what happens to the connection after that does not
        matter."""
        self.over = False
        """Whether nothing can follow."""
        self._secrets = tuple(secrets)
        self._arrival = arrival
        self._outcome = outcome
        self._report = prepared.report
        self._tells_usage = tells_usage
        self._front = front
        self._filler = front.filler(request_body) if front.fills_frames else None
        upstream_dialect, back = prepared.target.dialect.name, prepared.answer_adapter
        self._converter = StreamConverter(upstream_dialect, front.dialect, None, self._watch, back)

    def _watch(self, event: Event) -> Event | None:
        kind, arrival, outcome = type(event), self._arrival, self._outcome
        if kind is MessageStart:
            self.began = True
            id = event.response_id or fallback_id(arrival)  # type: ignore[union-attr]  # by its kind
            return event.replace(model=arrival.client_model, response_id=id)
        if kind is UsageUpdate:
            outcome.usage = event.usage  # type: ignore[union-attr]  # by its kind
            return event if self._tells_usage else None
        if kind is Stop:
            return event.replace(raw_stop_reason=None)  # the provider's word, see `echoed`
        if kind is MessageComplete:
            self.complete = event.response  # type: ignore[union-attr]  # by its kind
            self.is_whole = True
            self._answer = self.complete
            self._hear(self.complete.message)
            metadata = self.complete.message.metadata
            outcome.usage = metadata.usage or outcome.usage
            outcome.stop_reason = metadata.stop_reason
            return MessageComplete(self._echo_of(self.complete), choice=event.choice)
        if kind is StreamError:
            self.error = shown(event.error, self._secrets)  # type: ignore[union-attr]  # by its kind
            self.over = True
            partial: Message | None = event.partial  # type: ignore[union-attr, assignment]  # by its kind
            if partial is not None:
                self._hear(partial)
            return event.replace(error=self.error)
        return event

    def _hear(self, message: Message) -> None:
        if self._arrival.principal.metered:
            self._outcome.heard = len(dumps(message))

    def _echo_of(self, response: Response) -> Response:
        echo = echoed(response, self._arrival)
        if self._tells_usage:
            return echo
        metadata = echo.message.metadata.replace(usage=None)
        return echo.replace(message=echo.message.replace(metadata=metadata))

    def feed(self, data: bytes) -> bytes:
        out = self._converter.feed(data)
        return out if self._filler is None else self._filler.frames(out)

    def close(self) -> bytes:
        out = self._converter.close()
        return out if self._filler is None else self._filler.frames(out)

    def fail(self, error: CallError) -> bytes:
        self.over = True
        out = self._converter.fail(error)
        return out if self._filler is None else self._filler.frames(out)

    @property
    def is_last(self) -> bool:
        """Whether no more usage can arrive."""
        return self.is_whole

    def note(self) -> None:
        """What is known of the exchange so far, which is noted as it comes."""

    def end(self) -> None:
        self._report.extend(self._converter.report)
        front, answer = self._front, self._answer
        if front.restyle is not None and answer is not None:
            self._report.extend(
                codec_of(front.dialect).write_response(front.restyle(answer)).report
            )


class PassthroughStream:
    """A stream of the client's own dialect."""

    complete: Response | None = None

    def __init__(
        self,
        principal: Principal,
        outcome: Outcome,
        front: Front,
        passthrough: Passthrough,
        rename: ModelRenamer | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._outcome = outcome
        self._rename = rename
        self._front = front
        self._passthrough = passthrough
        self._secrets = tuple(secrets)
        self._counter = TextCounter(front.dialect) if principal.metered else None
        self.began = False
        self.over = False

    @property
    def error(self) -> ProviderError | None:
        return self._passthrough.error

    @property
    def is_whole(self) -> bool:
        return self._passthrough.end.is_reached

    @property
    def is_last(self) -> bool:
        return self._passthrough.end.is_last

    def feed(self, data: bytes) -> bytes:
        out = self._passthrough.feed(data)
        if out:
            self.began = True
            if self._counter is not None:
                self._counter.add(out)
        if self._passthrough.error is BROKEN_OFF and not self.over:
            self.over = True
            return out + error_frames(self._front, BROKEN_OFF) if self.began else b""
        return out if self._rename is None else self._rename(out)

    def close(self) -> bytes:
        """Ends the stream; a premature end is reported to the client."""
        before = self._passthrough.error
        out = self._passthrough.close()
        error = self._passthrough.error
        if error is not None and before is None:
            self.over = True
            return error_frames(self._front, shown(error, self._secrets)) if self.began else b""
        return out if self._rename is None else self._rename(out)

    def fail(self, error: CallError) -> bytes:
        self.over = True
        return error_frames(self._front, ProviderError(ErrorKind.NETWORK, error.problem))

    def note(self) -> None:
        """What is known of the exchange so far."""
        outcome, passthrough = self._outcome, self._passthrough
        usage, stop_reason = passthrough.usage, passthrough.stop_reason
        if passthrough.end.is_last and stop_reason is None and passthrough.error is None:
            stop_reason = StopReason.OTHER  # `[DONE]`, and not a word why
        outcome.usage, outcome.stop_reason = usage, stop_reason
        if self._counter is not None and (usage is None or outcome.error is not None):
            outcome.heard = self._counter.count()

    end = note

    def take_response(self) -> Response | None:
        """The answer as far as it was looked at, once, when it is whole."""
        response, self._passthrough.response = self._passthrough.response, None
        return response


def shown(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """An error without the secrets that its provider may repeat in it."""
    text = f"{error.message}{error.code}{error.raw}"
    if not any(secret in text for secret in secrets if secret):
        return error
    code = error.code if error.code is None else redact(error.code, secrets)
    return error.replace(message=redact(error.message, secrets), code=code, raw=None)


def error_frames(front: Front, error: ProviderError) -> bytes:
    """The end of a stream that cannot go on, in the client's dialect."""
    writer = codec_of(front.dialect).stream_writer()
    encode = encoder(front.dialect)
    frames = [*writer.feed(StreamError(recognizable(front, error))), *writer.close()]
    return b"".join([encode(frame) for frame in frames])


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
        outgoing = outgoing_of(exchange, inbound, prepared, opened.secrets)
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
        if outgoing.error is not None and not outgoing.began:
            raise opened.refusal(outgoing.error)
        frames += chunk if may_be_cut else b""
        if may_be_cut and is_cut(frames) and not has_content(frames):
            return None
        if not chunk:
            break
    return first


def outgoing_of(
    exchange: Exchange, inbound: Inbound, prepared: Prepared, secrets: tuple[str, ...] = ()
) -> TranslatedStream | PassthroughStream:
    front, target, adapter = inbound.front, prepared.target, prepared.answer_adapter
    plain = not (inbound.ours or is_wrapped(target))
    if target.dialect.name == front.dialect and plain and adapter is None:
        client_model, rename = inbound.envelope.model, None
        if client_model not in (None, target.name) and inbound.match.model is None:
            rename = ModelRenamer(client_model, target.name)
        answers = inbound.envelope.answers()
        passes = AwsPassthrough if target.dialect.traits.framing == "aws" else Passthrough
        passthrough = passes(target.dialect, asks_usage(inbound), answers, secrets)
        principal = exchange.arrival.principal
        return PassthroughStream(principal, exchange.outcome, front, passthrough, rename, secrets)
    tells_usage = not asks_usage(inbound)
    arrival, outcome = exchange.arrival, exchange.outcome
    return TranslatedStream(arrival, outcome, prepared, front, tells_usage, inbound.body, secrets)


async def more(gateway: Gateway, exchange: Exchange, stream: Stream) -> bytes | None:
    """The next bytes for the client, perhaps none yet; None at the end. What has to be remembered
    is, before the client can know that the answer is whole."""
    outgoing = stream.outgoing
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
    if stream.recall is not None:
        await gateway.memory.keep(complete, arrival, stream.recall)
    if stream.to_keep is not None and gateway.responses is not None:
        echo = echoed(complete, arrival)
        await gateway.responses.keep(stream.to_keep, echo, arrival, target.dialect.name)
