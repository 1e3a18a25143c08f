"""Answers of a session: events under our own ids, with data that the wire lacks (the model and why
it was chosen, cost, latency).

The message so far is available at any time, so that a session can store partial answers. The last
event of a cancelled stream is marked as such, and holds what the user has already seen.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from interlingua.adapt.fit.answers import AnswerAdapter
from interlingua.costs.cost import differs, priced, with_runs
from interlingua.costs.table import PriceTable, bundled
from interlingua.dialects.framing import decoder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect, traits_of
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
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import (
    KEY_ID,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    RoutingRecord,
    StopReason,
    Usage,
    reported_cost,
)
from interlingua.profiles.capabilities import usual_dialect
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.profiles.names import UnknownModelError, model_name
from interlingua.profiles.resolving import resolve
from interlingua.sessions.adapters.ids import IdMap, renamed
from interlingua.streams.fold import Folder
from interlingua.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)

INPUT_INVALID = "tool_input_invalid"
"""The diagnostic of a call whose input does not fit the tool's schema."""
NO_PRICE = "no_price"
"""The diagnostic of an answer whose cost is not known because the model has no price."""
COST_DIFFERS = "cost_differs"
"""The diagnostic of an answer for which the provider reports another cost, by more than 2 %."""
USAGE_ESTIMATED = "usage_estimated"
USAGE_IMPLAUSIBLE = "usage_implausible"
"""The diagnostic of an answer with negative or absurdly large token counts, which are left out."""


@dataclass(frozen=True)
class RequestContext:
    """The session's data about one request. Every field is optional."""

    session_id: str | None = None
    message_id: str | None = None
    """The id of the answer, where it has one already."""
    routing: RoutingRecord | None = None
    latency_ms: int | None = None
    at: datetime | None = None
    """When the request was sent; prices depend on it."""
    input_tokens: int | None = None
    """The estimate that was made before sending, for providers that count nothing."""
    user_id: str | None = None
    team_id: str | None = None
    gateway_key_id: str | None = None
    tools: ToolRegistry | None = None
    """Checks the input of calls to our own tools as they come in."""
    answer_adapter: AnswerAdapter | None = None
    """Translates the answer back if the request was changed for the model."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


def assemble(
    message: Message,
    model: str,
    protocol: str,
    context: RequestContext,
    prices: PriceTable | None,
    error: ProviderError | None = None,
) -> Message:
    """The answer with all metadata of a stored message."""
    metadata = message.metadata
    found: list[Diagnostic] = []
    usage = _plausible(with_runs(message), found)
    if usage is None or usage.total_tokens is None:
        usage = _estimated(message, model, usage or Usage(), context, found)
    if usage is not None:
        table = bundled() if prices is None else prices
        by = table.priced_as(model, metadata.response_model)
        usage = _priced(usage, by, protocol, context, table, found)
        if context.latency_ms is not None:
            usage = usage.replace(latency_ms=context.latency_ms)
    if context.tools is not None:
        found += input_problems(message, context.tools)
    diagnostics = (*metadata.diagnostics, *found)
    known = _identified(metadata, model, protocol, context, usage=usage, diagnostics=diagnostics)
    return _placed(message, context, known if error is None else failed(known, error))


def so_far(message: Message, model: str, protocol: str, context: RequestContext) -> Message:
    """The same of an answer that has not arrived whole: nothing is counted yet."""
    unfinished = {"status": MessageStatus.PARTIAL, "stop_reason": None, "raw_stop_reason": None}
    partial = _identified(message.metadata, model, protocol, context, **unfinished)
    return _placed(message, context, partial)


def _identified(
    metadata: MessageMetadata, model: str, protocol: str, context: RequestContext, **changes: object
) -> MessageMetadata:
    if context.gateway_key_id is not None:
        changes["extra"] = {**(metadata.extra or {}), KEY_ID: context.gateway_key_id}
    return metadata.replace(
        model=model,
        provider=model.partition(":")[0],
        protocol=protocol,
        routing=context.routing or metadata.routing,
        user_id=context.user_id or metadata.user_id,
        team_id=context.team_id or metadata.team_id,
        **changes,
    )


def _placed(message: Message, context: RequestContext, metadata: MessageMetadata) -> Message:
    return message.replace(
        id=context.message_id or message.id,
        session_id=context.session_id or message.session_id,
        metadata=metadata,
    )


def failed(metadata: MessageMetadata, error: ProviderError) -> MessageMetadata:
    """The metadata of an answer that ended like this."""
    if error.kind is ErrorKind.CANCELLED:
        return metadata.replace(
            status=MessageStatus.CANCELLED, stop_reason=StopReason.CANCELLED, error_message=None
        )
    return metadata.replace(
        status=MessageStatus.ERROR,
        stop_reason=StopReason.ERROR,
        error_message=metadata.error_message or error.message,
    )


def _plausible(usage: Usage | None, found: list[Diagnostic]) -> Usage | None:
    """Removes implausible counts; the provider's own report stays in `raw`."""
    if usage is None or (believed := usage.plausible()) is usage:
        return usage
    found.append(Diagnostic(USAGE_IMPLAUSIBLE, "the provider reported token counts that cannot be"))
    return believed


def _estimated(
    message: Message, model: str, usage: Usage, context: RequestContext, found: list[Diagnostic]
) -> Usage | None:
    """Providers that count nothing still cost something. Nothing is made up for a message that
    never arrived."""
    if not message.content:
        return usage if usage != Usage() else None
    extra = {"session_id": context.session_id, "model": model}
    logger.warning("usage_estimated", extra=extra)
    found.append(Diagnostic(USAGE_ESTIMATED, "the provider gave no token counts"))
    output = estimate_input_tokens([message], (), model)
    return usage.replace(input_tokens=context.input_tokens, output_tokens=output, estimated=True)


def _priced(
    usage: Usage,
    model: str,
    protocol: str,
    context: RequestContext,
    prices: PriceTable,
    found: list[Diagnostic],
) -> Usage:
    at = context.at or context.clock()
    try:
        known = priced(usage, model, prices, at, _hour_cache(usage, protocol))
        own = reported_cost(usage) if usage.raw is not None else None
        if own is not None and differs(known.cost_usd, own):
            text = f"the provider says ${own:f}, the price table ${known.cost_usd:f}"
            found.append(Diagnostic(COST_DIFFERS, text))
        for what in known.unpriced or ():
            found.append(Diagnostic(NO_PRICE, f"no price is known for {what}: not in the cost"))
        return known
    except UnknownModelError as unknown:
        found.append(Diagnostic(NO_PRICE, str(unknown)))
        return usage.replace(cost_usd=None, cost_breakdown=None, pricing_version=None)


def _hour_cache(usage: Usage, protocol: str) -> int:
    if not usage.cache_creation_input_tokens or not traits_of(protocol).hour_cache:
        return 0
    return dialect(protocol).hour_cache_tokens(usage)


def input_problems(message: Message, tools: ToolRegistry) -> list[Diagnostic]:
    """Calls to our own tools whose input their schemas refuse. Unknown names are for the dispatcher
    to answer."""
    from interlingua.errors import MissingExtraError, ToolInputError

    found: list[Diagnostic] = []
    for block in message.content:
        if type(block) is ToolUseBlock and block.executor == "client" and block.name in tools:
            try:
                tools.validate_input(block.name, block.input)
            except MissingExtraError:  # running the tool will raise it again; the answer is stored
                return found
            except ToolInputError as error:
                details = {
                    "tool_use_id": block.id,
                    "tool_name": block.name,
                    "problems": [[path, problem] for path, problem in error.problems],
                }
                found.append(Diagnostic(INPUT_INVALID, str(error), details=details))
    return found


def new_assistant_message(
    model: str, protocol: str | None = None, created_at: datetime | None = None
) -> Message:
    """An empty answer of status `partial`.

    `model` is `<provider>:<name>` or an alias; the defaults are the provider's dialect and now."""
    id = resolve(model)
    model_name(id)  # which raises with the reason
    known = NO_METADATA.made_by(id, protocol or usual_dialect(id))
    metadata = known.replace(status=MessageStatus.PARTIAL)
    return Message(Role.ASSISTANT, metadata=metadata, created_at=created_at or datetime.now(UTC))


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
        """Ends the answer because the user cancelled it: open calls are closed with the input
        parsed so far, and the message has the stop reason `cancelled`."""
        return [] if self.ended else [*self._closed(), *self._end(_CANCELLED)]

    def message(self) -> Message:
        """The message so far, `partial` until the stream has ended."""
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
        return event  # type: ignore[no-any-return] # unchanged

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
