"""The contract between a session and a provider's wire: four calls, and what the model can do."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, overload

from interlingua.adapters.assemble import RequestContext, assemble
from interlingua.adapters.ids import IdMap
from interlingua.adapters.stream import AdapterStream
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.dialects.registry import dialects
from interlingua.estimate.estimator import estimate_input_tokens
from interlingua.fitting.dialect_choice import dialect_for_request
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.models.capabilities import expected_capabilities
from interlingua.models.names import model_name
from interlingua.models.resolving import resolve
from interlingua.outbound import Target, host_of, retold_for, written_for
from interlingua.prices.table import PriceTable
from interlingua.providers.profiles import ModelLookup, lookup_here
from interlingua.providers.provider import Provider
from interlingua.retell import Retold
from interlingua.say import Fitting

_NO_CONTEXT = RequestContext()


class Adapter:
    """A dialect bound to a model. With the `ids` of a session it speaks each provider's own ids;
    without, it keeps a map of its own for as long as it lives."""

    def __init__(
        self,
        model: str,
        dialect: str | None = None,
        *,
        ids: IdMap | None = None,
        prices: PriceTable | None = None,
        wire_name: str | None = None,
        profile: Fitting = None,
        model_lookup: ModelLookup | None = None,
    ) -> None:
        """`model` is `<provider>:<name>` or an alias; `dialect` is the provider's usual one unless
        given; `wire_name` what the wire calls the model, where that is not its name. `profile` is
        what the model takes, where that is not as rules say; False fits requests to none.
        `model_lookup` has those rules, where they are not the package's and the user's."""
        self.model = resolve(model)
        self.provider, name = model_name(self.model)
        lookup = self._model_lookup = model_lookup or lookup_here()
        self.dialect = dialect_of(dialect or lookup.dialect(self.model))
        self._usual = dialect is None or lookup.is_usual(self.model, dialect)
        self.wire_name = wire_name or name
        self._given = profile
        spoken = self.dialect.name
        self.profile = lookup.profile(self.model, spoken) if profile is None else profile or None
        self.ids = ids if ids is not None else IdMap()
        self.prices = prices
        self.capabilities = (
            expected_capabilities(self.model, spoken, profile)
            if profile
            else lookup.capabilities(self.model, spoken)
        )
        self.target = self._target()

    def _target(self) -> Target:
        spoken = self.dialect
        provider = self._model_lookup.providers.get(self.provider)
        provider = provider or _nobody(self.provider, spoken.name)
        return Target(
            self.model,
            self.wire_name,
            provider,
            spoken,
            self.capabilities.supports_images,
            self.profile,
            self._usual,
            host=host_of(provider, spoken),
        )

    def __repr__(self) -> str:
        return f"<Adapter {self.model} in {self.dialect.name}>"

    def request(
        self,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> Request:
        """What is to be said, under the ids that this provider knows; stored history is not
        touched."""
        spoken = self.ids.spoken(messages, self.provider)
        offered = tuple([_offered(tool) for tool in tools])
        return Request(spoken, self.wire_name, offered, options or Options())

    def for_request(self, request: Request) -> Adapter:
        """The same model in the dialect that this request needs, where it is another one and nobody
        asked for this."""
        if not self._usual or self.profile is None:
            return self
        known = self._model_lookup.speaks(self.model) or dialects()
        other = dialect_for_request(self.profile, request, known)
        if other is None:
            return self
        return Adapter(
            self.model,
            other,
            ids=self.ids,
            prices=self.prices,
            wire_name=self.wire_name,
            profile=self._given,
            model_lookup=self._model_lookup,
        )

    def retold(self, request: Request) -> Retold:
        """The same in a form that this model can take."""
        return retold_for(request, self.target)

    def written(self, told: Retold) -> Written:
        """What was retold, as the body that is sent to who serves the model."""
        return written_for(told, self.target)

    def to_wire(
        self,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> Written:
        """The request as this provider takes it, and the report of what it could not say."""
        request = self.request(messages, tools, options)
        spoken = self.for_request(request)
        return spoken.written(spoken.retold(request))

    def from_wire_response(
        self, response: dict[str, Any] | bytes | str, context: RequestContext = _NO_CONTEXT
    ) -> Message:
        """The answer as a canonical message under our ids, with what the context knows about it. An
        error body gives an empty message of status `error`."""
        return self.take(self.dialect.read_response(response), context)

    def take(self, response: Response, context: RequestContext = _NO_CONTEXT) -> Message:
        """The same for an answer that was read already."""
        if context.back is not None:
            response = context.back.response(response)
        message = self.ids.adopt(response.message, self.provider)
        name = self.dialect.name
        return assemble(message, self.model, name, context, self.prices, response.error)

    def incoming(self, context: RequestContext = _NO_CONTEXT) -> AdapterStream:
        """Takes a stream apart as it comes in, without sockets or clocks."""
        return AdapterStream(self.dialect, self.model, self.ids, context, self.prices)

    @overload
    def stream_response(
        self, chunks: AsyncIterable[bytes], context: RequestContext = ...
    ) -> AsyncIterator[Event]: ...
    @overload
    def stream_response(
        self, chunks: Iterable[bytes], context: RequestContext = ...
    ) -> Iterator[Event]: ...
    def stream_response(
        self,
        chunks: AsyncIterable[bytes] | Iterable[bytes],
        context: RequestContext = _NO_CONTEXT,
    ) -> AsyncIterator[Event] | Iterator[Event]:
        """The events of a stream under our ids. The last one is `message_complete` with the message
        as `from_wire_response` gives it, or `error` with what had arrived."""
        if isinstance(chunks, AsyncIterable):
            return _events_later(chunks, self.incoming(context))
        return _events(chunks, self.incoming(context))

    def estimate_input_tokens(
        self,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> int:
        """About how many tokens the prompt has, counted here and now."""
        return estimate_input_tokens(messages, tools, self.model, options)


def _nobody(key: str, dialect: str) -> Provider:
    """A provider that nobody knows anything of."""
    return Provider(key=key, auth=(), dialect=dialect, dialects={})


def _offered(tool: ToolDefinition) -> ToolDefinition:
    """A tool as a model may know it. What running it does to us is no part of what is said, so
    leaving that out is no loss."""
    return tool.replace(side_effects=None, requires_workspace=True)


def _events(chunks: Iterable[bytes], incoming: AdapterStream) -> Iterator[Event]:
    for chunk in chunks:
        yield from incoming.feed(chunk)
    yield from incoming.close()


async def _events_later(
    chunks: AsyncIterable[bytes], incoming: AdapterStream
) -> AsyncIterator[Event]:
    async for chunk in chunks:
        for event in incoming.feed(chunk):
            yield event
    for event in incoming.close():
        yield event
