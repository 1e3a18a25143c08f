"""An incoming stream: events as they arrive, and the answer so far at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Self

from interlingua.client import failures
from interlingua.client.answer import Answer, Attempt, Call
from interlingua.client.attempt import OpenReply, cut_short, with_dropped_thinking, with_provenance
from interlingua.client.errors import CallCancelledError, CallError, NetworkError, TooLargeError
from interlingua.client.retry import Clock, InFlight
from interlingua.client.targets import Target
from interlingua.client.transport import TooLarge, TransportError
from interlingua.dialects.framing import decoder
from interlingua.errors import InterlinguaError, ReadError
from interlingua.model.events import Event, MessageComplete, Other, StreamError
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.streams.fold import Folder, unfold

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient


_GRACE = 0.05
"""Seconds to wait for the end of a finished stream's body before its connection is reused."""
STREAMS = 4
"""Factor by which a stream may be larger than a whole answer."""


class StreamDecoder:
    """One reply on its way from bytes to events."""

    def __init__(self, opened: OpenReply, marks: bool, limit: int) -> None:
        self._opened = opened
        self.reply = reply = opened.reply
        self.prepared = prepared = opened.prepared
        self.target: Target = prepared.target
        self._left = limit
        self._limit = limit
        self._decoder = decoder(self.target.dialect.name)
        self._adapter = prepared.answer_adapter
        reader = self.target.dialect.stream_reader()
        self._reader = reader if self._adapter is None else self._adapter.reader(reader)
        self._reader.marks = marks
        self._is_over = False
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._is_page = kind == "text/html"
        # A server that knows no streams answers in one piece; arrays of JSON are Gemini's streams.
        self._is_whole = kind == "application/json" and (
            self.target.dialect.traits.framing == "sse"
        )

    async def more(self) -> list[Event]:
        """The next events; empty if the data did not complete a frame."""
        if self._is_page or self._is_whole:
            return await self._whole()
        try:
            chunk = await self.reply.chunk()
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLargeError(
                    f"response too large: a stream of more than {self._limit} bytes"
                )
            events: list[Event] = []
            read = self._reader.feed
            for frame in self._decoder.feed(chunk) if chunk else self._decoder.close():
                events += read(frame)
            if not chunk:
                events += self._reader.close()
            return _up_to_last(events) if events else events
        except (TransportError, ReadError) as error:
            failed = self._opened.failure(error)
        raise failed

    async def _whole(self) -> list[Event]:
        """A reply that is no stream."""
        try:
            body = await self.reply.body(self._limit // STREAMS)
            if body.lstrip()[:1] == b"[":
                return self._array(body)
            response = self.target.dialect.read_response(body)
        except TooLarge:
            raise TooLargeError(
                f"response too large: more than {self._limit // STREAMS} bytes"
            ) from None
        except (TransportError, ReadError) as error:
            failed = self._opened.failure(error)
        else:
            return unfold(response if self._adapter is None else self._adapter.response(response))
        raise failed

    def _array(self, body: bytes) -> list[Event]:
        events: list[Event] = []
        for frame in (*self._decoder.feed(body), *self._decoder.close()):
            events += self._reader.feed(frame)
        return [*events, *self._reader.close()]

    def rest(self) -> list[Event]:
        """The last events of a stream that ends here, those of a frame without its end included."""
        events: list[Event] = []
        try:
            for frame in self._decoder.close():
                events += self._reader.feed(frame)
            if not (events and is_last(events[-1])):
                events += self._reader.close()
        except InterlinguaError:
            pass
        return events

    async def drain(self) -> None:
        """Wait a moment for the end of the body."""
        try:
            async with asyncio.timeout(_GRACE):
                while await self.reply.chunk():
                    pass
        except (TransportError, TimeoutError):
            pass

    def failure(self, last: StreamError) -> CallError:
        """The error that ended a stream. The kind `network` is set by the reader for a stream that
        broke off."""
        failed = self._opened.refusal(last.error)
        if isinstance(failed, NetworkError):
            failed.begun = self._left < self._limit
        return failed

    def placed(self, error: CallError) -> CallError:
        return self._opened.placed(error)


def is_last(event: Event) -> bool:
    return type(event) is MessageComplete or type(event) is StreamError


def _up_to_last(events: list[Event]) -> list[Event]:
    """The events up to the end of a message, which is the last one."""
    for index, event in enumerate(events):
        if is_last(event):
            return events[: index + 1]
    return events


class AsyncStream:
    """A stream of events; use it with `async with`: leaving it closes the connection, and the
    provider stops.

    The last event is `message_complete` with the whole response, or `error` with the part that had
    arrived; after an `error`, the next step raises it. `response()` returns the answer so far at
    any time, also after leaving the stream, when its status is `cancelled`.
    """

    def __init__(self, client: AsyncClient, call: Call, marks: bool = False) -> None:
        self.call = call
        self._id = call.id
        self.attempts: tuple[Attempt, ...] = ()
        self.latency_ms: int | None = None
        """From the request to the last event."""
        self.first_event_ms: int | None = None
        self._client = client
        self._marks = marks
        self._flight: InFlight | None = None
        self._decoder: StreamDecoder | None = None
        self._clock = Clock(None)
        self._events: list[Event] = []
        self._next = 0
        self._final: Response | None = None
        self._report: Report | None = None
        self._error: CallError | None = None
        self._folder = Folder()

    async def __aenter__(self) -> Self:
        """Returns once the first event has arrived, so that earlier failures are raised here."""
        if self._flight is not None:
            raise InterlinguaError("a stream can be used only once")
        client = self._client
        self._clock = Clock(None)
        self._flight = client.begin(self.call.id)
        try:
            self.call = await client.layers.request(self.call)
            work = client.tries(self.call, self._open)
            (self._decoder, events), self.attempts = await self._flight.wait(work)
        except CallError as error:
            client.end(self._id)
            failed = client.failed(self.call, error)
        except BaseException:
            client.end(self._id)
            client.layers.dropped(self.call)
            raise
        else:
            self.first_event_ms = self._clock.passed_ms()
            if self._take(events):
                await self._finish()
            return self
        raise failed

    async def __aexit__(self, *_: object) -> None:
        if self._final is None and self._decoder is not None:
            self._break_off(
                CallCancelledError("stream closed before it was complete"), self._decoder.rest()
            )
        if self._decoder is not None:
            if self._error is None and self._final is not None:
                await self._decoder.drain()
            self._decoder.reply.close()
        self._client.end(self._id)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self if self._flight is not None else self._by_itself()

    async def _by_itself(self) -> AsyncIterator[Event]:
        async with self:
            async for event in self:
                yield event

    async def __anext__(self) -> Event:
        while self._next >= len(self._events):
            if self._final is not None:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            await self._more()
        event = self._events[self._next]
        self._next += 1
        return event

    async def batch(self) -> list[Event]:
        """All events that have arrived, at least one; none at the end."""
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return []
        rest = self._events[self._next :]
        self._next = len(self._events)
        return [first, *rest]

    def cancel(self) -> bool:
        """Stop it. The iterating code gets an `error` event of kind `cancelled`, then the error."""
        return self._flight is not None and self._final is None and self._flight.cancel()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._final is not None

    @property
    def report(self) -> Report:
        """The losses of the request; at the end also what the provider removed from it."""
        report = self._opened().prepared.report if self._report is None else self._report
        return self.call.placed(report)

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._opened().target.model

    @property
    def request_id(self) -> str | None:
        return failures.request_id(self._opened().reply.headers)

    def response(self) -> Response:
        """The answer, as far as it has come."""
        if self._final is not None:
            return self._final
        if self._decoder is None:
            raise InterlinguaError("stream not started: use it with `async with`")
        return with_provenance(self._folder.response(), self._decoder.target)

    def message(self) -> Message:
        return self.response().message

    def answer(self) -> Answer:
        """The answer with its attempts and report."""
        response = self.response()
        return Answer(
            response, self.report, self.model, self.request_id, self.latency_ms, self.attempts
        )

    def _opened(self) -> StreamDecoder:
        if self._decoder is None:
            raise InterlinguaError("stream not started: use it with `async with`")
        return self._decoder

    async def _open(self, model: str, clock: Clock) -> tuple[StreamDecoder, list[Event]]:
        """One try, up to the first events. An error before these may be tried again: the caller
        has seen nothing of this answer yet."""
        asker = self._client.asker
        target = asker.target(model, self.call)
        prepared = await asker.prepare(self.call, target, clock, self._client.layers)
        opened = await asker.open(prepared, clock, stream=True, lessons=asker.lessons)
        decoder = StreamDecoder(opened, self._marks, STREAMS * asker.max_bytes)
        try:
            events: list[Event] = []
            while not events:
                events = await decoder.more()
        except BaseException:
            decoder.reply.close()
            raise
        last = events[-1]
        if type(last) is StreamError and all(type(event) is Other for event in events[:-1]):
            decoder.reply.close()
            raise decoder.failure(last)
        return decoder, events

    async def _more(self) -> None:
        """Wait for more events."""
        decoder, flight = self._decoder, self._flight
        if decoder is None or flight is None:
            raise InterlinguaError("stream not started: use it with `async with`")
        try:
            events = await flight.wait(decoder.more())
        except NetworkError as error:
            events = decoder.rest()
            if not (events and type(events[-1]) is MessageComplete):
                self._break_off(error, events)
                return
            # The connection broke after the message was complete.
        except CallError as error:
            self._break_off(error, decoder.rest())
            return
        except asyncio.CancelledError:
            self._break_off(CallCancelledError("its task was cancelled"), decoder.rest())
            self._events = []
            raise
        if self._take(events):
            await self._finish()

    def _take(self, events: list[Event]) -> bool:
        """New events: fold them, and have them ready. Whether they were the last."""
        decoder = self._decoder
        assert decoder is not None, "there are no events without it"
        last = events[-1] if events else None
        over = last is not None and is_last(last)
        if over:
            events = [*events[:-1], self._with_provenance(last, decoder)]  # type: ignore[arg-type]  # it is one
        self._events, self._next = self._outgoing(events), 0
        return over

    def _with_provenance(
        self, last: MessageComplete | StreamError, decoder: StreamDecoder
    ) -> Event:
        if isinstance(last, MessageComplete):
            response = with_provenance(last.response, decoder.target)
            response = self._client.asker.diagnosed(response, decoder.prepared)
            return MessageComplete(response, frame=last.frame)
        failed = decoder.failure(last)
        text = failed.problem
        partial = Response(last.partial or Message(Role.ASSISTANT))
        partial = cut_short(partial, decoder.target, MessageStatus.ERROR, text)
        self._error = failed
        error = last.error.replace(kind=failed.kind, message=text)
        return StreamError(error, partial.message, frame=last.frame)

    async def _finish(self) -> None:
        self._final = self._folder.response()
        prepared = self._opened().prepared
        self._report = with_dropped_thinking(
            self._final, self.call.request, prepared.http, prepared.report
        )
        self.latency_ms = self._clock.passed_ms()
        if self._error is not None:
            self._fail(self._error)
            return
        self._client.end(self._id)
        answer = await self._client.layers.answer(self.call, self.answer())
        self._final = answer.response

    def _break_off(self, failed: CallError, rest: list[Event]) -> None:
        """The end of a stream that did not come to its end: `rest`, the last that had arrived, and
        why."""
        decoder = self._opened()
        decoder.placed(failed)
        cancelled = isinstance(failed, CallCancelledError)
        status = MessageStatus.CANCELLED if cancelled else MessageStatus.ERROR
        unfinished = [event for event in rest if not is_last(event)]
        events = self._outgoing(unfinished)
        partial = self._folder.response()
        last = rest[-1] if rest else None
        if isinstance(last, StreamError) and last.partial is not None:
            partial = Response(last.partial, partial.alternatives)
        error = ProviderError(failed.kind, failed.problem, failed.code, failed.status)
        self._final = cut_short(partial, decoder.target, status, failed.problem).replace(
            error=error
        )
        self.latency_ms = self._clock.passed_ms()
        events += self._outgoing([StreamError(error, self._final.message)])
        self._events, self._next = events, 0
        self._fail(failed)

    def _outgoing(self, events: list[Event]) -> list[Event]:
        """Outgoing events: as the middleware lets them pass, and folded."""
        if self._client.layers.on_event:
            seen = [self._client.layers.event(self.call, event) for event in events]
            events = [event for event in seen if event is not None]
        feed = self._folder.feed
        for event in events:
            feed(event)
        return events

    def _fail(self, failed: CallError) -> None:
        failed.partial = self._final
        failed.attempts = self.attempts
        self._opened().reply.close()
        self._client.end(self._id)
        self._error = self._client.failed(self.call, failed)
