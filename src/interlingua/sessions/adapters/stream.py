"""A stream on its way in: bytes or events in, events under our own ids out.

The message so far can be asked for at any time, so that a session can keep what has arrived. The
last event of a stream that is cancelled says so, and holds what the user has already seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from interlingua.costs.table import PriceTable
from interlingua.dialects.framing import decoder
from interlingua.dialects.record import Dialect
from interlingua.errors import ReadError
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    StreamError,
    ToolUseStart,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.sessions.adapters.assemble import RequestContext, assemble, so_far
from interlingua.sessions.adapters.ids import IdMap, renamed
from interlingua.streams.fold import Folder

_CANCELLED = ProviderError(ErrorKind.CANCELLED, "cancelled")


class AdapterStream:
    """One stream. `context` may be replaced while it runs, as when its latency is known."""

    def __init__(
        self,
        dialect: Dialect,
        model: str,
        ids: IdMap,
        context: RequestContext,
        prices: PriceTable | None = None,
    ) -> None:
        self.context = context
        self.ended = False
        self._dialect = dialect
        self._model = model
        self._provider = model.partition(":")[0]
        self._ids = ids
        self._prices = prices
        self._decoder = decoder(dialect.name)
        reader = dialect.stream_reader()
        self._reader = (
            reader if context.answer_adapter is None else context.answer_adapter.reader(reader)
        )
        self._reader.marks = False
        self._folder = Folder()
        self._names: dict[str, list[str]] = {}
        """The provider's ids of this stream's calls to ours; some servers use one id twice."""

    def feed(self, data: bytes) -> list[Event]:
        """The events in these bytes. Invalid bytes end the stream with an error, after the events
        before them."""
        events: list[Event] = []
        try:
            for frame in () if self.ended else self._decoder.feed(data):
                for event in self._reader.feed(frame):
                    events += self.take(event)
        except ReadError as error:
            events += self.fail(error)
        return events

    def close(self) -> list[Event]:
        """The connection has ended; a stream that ended too early ends with an error."""
        events: list[Event] = []
        try:
            for frame in () if self.ended else self._decoder.close():
                for event in self._reader.feed(frame):
                    events += self.take(event)
            for event in () if self.ended else self._reader.close():
                events += self.take(event)
        except ReadError as error:
            events += self.fail(error)
        return events

    def fail(self, problem: Exception | ProviderError) -> list[Event]:
        """The end of a stream that cannot go on: an error with all that had arrived."""
        if not isinstance(problem, ProviderError):
            problem = ProviderError(ErrorKind.NETWORK, str(problem))
        return [] if self.ended else [*self._closed(), *self._end(problem)]

    def cancel(self) -> list[Event]:
        """The end that the user wanted: open calls are closed with what can be read of them, and
        the message is complete as far as it got, with the stop reason `cancelled`."""
        return [] if self.ended else [*self._closed(), *self._end(_CANCELLED)]

    def message(self) -> Message:
        """What has arrived so far, `partial` until the stream has ended."""
        message = self._folder.message()
        if self.ended:
            return message
        return so_far(message, self._model, self._dialect.name, self.context)

    def take(self, event: Event) -> list[Event]:
        """An event of the dialect's reader as one of ours."""
        if self.ended:
            return []
        renamed_event: Event = event
        kind = type(event)
        if kind is ToolUseStart:
            renamed_event = event.replace(id=self._name(event.id))  # type: ignore[union-attr]  # by its kind
        elif kind is BlockStart or kind is BlockEnd:
            renamed_event = self._block(event)
        elif kind is MessageComplete:
            return self._complete(event.response)  # type: ignore[union-attr]  # by its kind
        elif kind is StreamError:
            return [*self._closed(), *self._end(event.error, event.partial)]  # type: ignore[union-attr, arg-type]  # by its kind
        self._folder.feed(renamed_event)
        return [renamed_event]

    def _name(self, id: str) -> str:
        """Our id for a call of this stream."""
        named = self._names.setdefault(id, [])
        named.append(self._ids.new(id, self._provider, again=bool(named)))
        return named[-1]

    def _known(self, id: str) -> str:
        return self._names[id][-1] if id in self._names else self._name(id)

    def _answered(self, id: str) -> str:
        named = self._names.get(id)
        return named[-1] if named else self._ids.ours(id, self._provider) or id

    def _block(self, event: Any) -> Event:
        block = event.block
        if type(block) is ToolUseBlock:
            return event.replace(block=block.replace(id=self._known(block.id)))  # type: ignore[no-any-return]  # an event
        if type(block) is ToolResultBlock:
            found = self._answered(block.tool_use_id)
            return event.replace(block=block.replace(tool_use_id=found))  # type: ignore[no-any-return]  # an event
        return event  # type: ignore[no-any-return]  # as it came

    def _adopted(self, message: Message) -> Message:
        """The message under the ids that its events had."""
        seen: Counter[str] = Counter()

        def call(id: str) -> str:
            named = self._names.get(id, ())
            seen[id] += 1
            return named[seen[id] - 1] if seen[id] <= len(named) else self._name(id)

        return renamed(message, call, self._answered)

    def _assembled(self, message: Message, error: ProviderError | None = None) -> Message:
        context, prices = self.context, self._prices
        return assemble(message, self._model, self._dialect.name, context, prices, error)

    def _complete(self, response: Response) -> list[Event]:
        message = self._assembled(self._adopted(response.message), response.error)
        others = tuple([self._adopted(each) for each in response.alternatives])
        whole = response.replace(message=message, alternatives=others)
        return self._last(MessageComplete(whole))

    def _end(self, error: ProviderError, partial: Message | None = None) -> list[Event]:
        message = self._folder.message() if partial is None else self._adopted(partial)
        message = self._assembled(message, error)
        if error.kind is ErrorKind.CANCELLED:
            return self._last(MessageComplete(Response(message)))
        return self._last(StreamError(error, message))

    def _closed(self) -> list[Event]:
        """The ends of unfinished calls."""
        ends: list[Event] = [*self._folder.open_calls()]
        for end in ends:
            self._folder.feed(end)
        return ends

    def _last(self, event: Event) -> list[Event]:
        self._folder.feed(event)
        self.ended = True
        return [event]
