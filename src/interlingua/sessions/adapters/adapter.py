"""The interface between a session and a provider's wire: four calls, and the model's
capabilities."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, overload

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.caching import Caching
from interlingua.adapt.fit.tools import dialect_for_request
from interlingua.adapt.request import adapt, write
from interlingua.adapt.target import Instructions, ProfileChoice, find_target
from interlingua.coerce import Messages, OptionsLike, Tools
from interlingua.costs.table import PriceTable
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialects
from interlingua.model.base import unchecked
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.profiles.resolving import resolve
from interlingua.providers.profiles import ModelLookup, lookup_here
from interlingua.sessions.adapters.assemble import AdapterStream, RequestContext, assemble
from interlingua.sessions.adapters.ids import IdMap

_NO_CONTEXT = RequestContext()


class Adapter:
    """A dialect bound to a model. With the `ids` of a session it uses each provider's own ids;
    without, it keeps a map of its own for as long as it lives."""

    def __init__(
        self,
        model: str,
        dialect: str | None = None,
        *,
        ids: IdMap | None = None,
        prices: PriceTable | None = None,
        wire_name: str | None = None,
        profile: ProfileChoice = None,
        model_lookup: ModelLookup | None = None,
        instructions: Instructions = "place",
        caching: Caching = "auto",
    ) -> None:
        """`model` is `<provider>:<name>` or an alias; `dialect` replaces the provider's default;
        `wire_name` is the model's name on the wire, where it differs. `profile` replaces the rules
        for the model, or with False switches them off; `model_lookup` has those rules, where they
        are not the package's and the user's. With `instructions="hoist"`, later instructions are
        moved to the front. `caching` is the mode of prompt caching."""
        self.instructions, self.caching = instructions, caching
        lookup = self._model_lookup = model_lookup or lookup_here()
        self._chosen_profile = profile
        self.target = target = find_target(
            lookup,
            resolve(model),
            dialect,
            name=wire_name,
            profile=profile,
            instructions=instructions,
            caching=caching,
        )
        self.model, self.wire_name, self.provider = target.model, target.name, target.provider.key
        self.dialect, self.profile = target.dialect, target.profile
        self.capabilities = target.capabilities
        self.ids = ids if ids is not None else IdMap()
        self.prices = prices

    def __repr__(self) -> str:
        return f"<Adapter {self.model} in {self.dialect.name}>"

    def request(
        self,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> Request:
        """The request with the ids that this provider knows; the stored history is not changed."""
        renamed = self.ids.with_provider_ids(messages, self.provider)
        # Side effects concern only us: leaving them out is no loss.
        offered = tuple(
            [tool.replace(side_effects=None, requires_workspace=False) for tool in tools]
        )
        return unchecked(Request, renamed, self.wire_name, offered, options or Options())

    def for_request(self, request: Request) -> Adapter:
        """The same model in another dialect, if this request needs one; this adapter if its dialect
        was chosen."""
        if not self.target.dialect_is_default or self.profile is None:
            return self
        rules = self.profile.speaks
        if rules.tools_dialect is None and rules.server_dialect is None:
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
            profile=self._chosen_profile,
            model_lookup=self._model_lookup,
            instructions=self.instructions,
            caching=self.caching,
        )

    def retold(self, request: Request) -> Adapted:
        """The request in a form that this model accepts."""
        return adapt(request, self.target)

    def written(self, adapted: Adapted) -> Written:
        """The body that is sent to the model's provider."""
        return write(adapted)

    def to_wire(
        self,
        messages: Messages | Iterable[Message],
        tools: Tools = (),
        options: OptionsLike | None = None,
    ) -> Written:
        """The request body for this provider, and the report of its losses. Messages, tools and
        options may be in any form that the client takes."""
        listed: Any = list(messages) if isinstance(messages, Iterator) else messages
        checked = Request(listed, None, tools, options or Options())
        request = self.request(checked.messages, checked.tools, checked.options)
        adapter = self.for_request(request)
        return write(adapt(request, adapter.target))

    def from_wire_response(
        self, response: dict[str, Any] | bytes | str, context: RequestContext = _NO_CONTEXT
    ) -> Message:
        """The answer as a canonical message under our ids, with the data of the context. An error
        body gives an empty message of status `error`."""
        return self.take(self.dialect.read_response(response), context)

    def take(self, response: Response, context: RequestContext = _NO_CONTEXT) -> Message:
        """The same for an answer that was read already."""
        if context.answer_adapter is not None:
            response = context.answer_adapter.response(response)
        message = self.ids.adopt(response.message, self.provider)
        name = self.dialect.name
        return assemble(message, self.model, name, context, self.prices, response.error)

    def incoming(self, context: RequestContext = _NO_CONTEXT) -> AdapterStream:
        """A parser for a stream, without sockets or clocks."""
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
        self, chunks: AsyncIterable[bytes] | Iterable[bytes], context: RequestContext = _NO_CONTEXT
    ) -> AsyncIterator[Event] | Iterator[Event]:
        """The events of a stream under our ids. The last one is `message_complete` with the
        message as `from_wire_response` returns it, or `error` with the part that had arrived."""
        if isinstance(chunks, AsyncIterable):
            return _events_later(chunks, self.incoming(context))
        return _events(chunks, self.incoming(context))

    def estimate_input_tokens(
        self,
        messages: Iterable[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> int:
        """About how many tokens the prompt has, counted offline."""
        return estimate_input_tokens(messages, tools, self.model, options)


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
