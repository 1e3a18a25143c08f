"""One reply on its way from bytes to events."""

from __future__ import annotations

import asyncio

from interlingua.client.attempt import OpenReply
from interlingua.client.errors import CallError, NetworkError, TooLargeError
from interlingua.client.targets import Target
from interlingua.client.transport import TooLarge, TransportError
from interlingua.errors import InterlinguaError, ReadError
from interlingua.model.events import Event, MessageComplete, StreamError
from interlingua.streams.fold import unfold
from interlingua.streams.framing import decoder

_GRACE = 0.05
"""Seconds that a finished stream is given to end its connection properly, so that the next request
can use it."""
STREAMS = 4
"""How much longer than an answer in one piece a stream may be."""


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
        self._back = prepared.back
        reader = self.target.dialect.stream_reader()
        self._reader = reader if self._back is None else self._back.reader(reader)
        self._reader.marks = marks
        self._is_over = False
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._is_page = kind == "text/html"
        # A server that knows no streams answers in one piece; arrays of JSON are Gemini's streams.
        self._is_whole = kind == "application/json" and (
            self.target.dialect.traits.framing == "sse"
        )

    async def more(self) -> list[Event]:
        """The next events; none where what came was no whole frame."""
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
            return unfold(response if self._back is None else self._back.response(response))
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
        """The error that a stream ended with. One of kind `network` is the reader's own word for a
        stream that broke off."""
        failed = self._opened.refusal(last.error)
        if isinstance(failed, NetworkError):
            failed.begun = self._left < self._limit
        return failed

    def placed(self, error: CallError) -> CallError:
        return self._opened.placed(error)


def is_last(event: Event) -> bool:
    return type(event) is MessageComplete or type(event) is StreamError


def _up_to_last(events: list[Event]) -> list[Event]:
    """Nothing comes after the end of a message."""
    for index, event in enumerate(events):
        if is_last(event):
            return events[: index + 1]
    return events
