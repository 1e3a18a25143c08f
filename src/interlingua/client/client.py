"""`AsyncClient`: canonical values in, canonical values out, over HTTP.

A request is written in the dialect of the provider that serves its model, with its history adapted;
the answer comes back as canonical values with a report of the losses. Clients are stateless.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar, Unpack, overload

import msgspec

from interlingua.adapt.caching import Caching, require_caching
from interlingua.adapt.request import WrittenRequest
from interlingua.adapt.target import Instructions, ProfileChoice
from interlingua.client import counting
from interlingua.client.answer import (
    Answer,
    Attempt,
    Call,
    Layers,
    Middleware,
    Parsed,
    Run,
    TokenCount,
)
from interlingua.client.attempt import Asker
from interlingua.client.errors import CallError
from interlingua.client.failures import placed as placed
from interlingua.client.fetching import MediaFetcher
from interlingua.client.lessons import Lessons, TenantLessons
from interlingua.client.retry import (
    RETRYABLE,
    SHARED,
    Budget,
    Clock,
    InFlight,
    RetryPolicy,
    with_retries,
)
from interlingua.client.stream import AsyncStream
from interlingua.client.targets import Address, Key, Targets
from interlingua.client.transport import MAX_BYTES, HttpTransport, Transport
from interlingua.coerce import (
    Conversation,
    OptionsLike,
    OptionWords,
    Tools,
    as_conversation,
    as_definitions,
    as_options,
    places_in,
)
from interlingua.errors import InterlinguaError, a_type
from interlingua.model.base import unchecked
from interlingua.model.decisions import DecisionRequest, EmbedInput, EmbedRequest, InputType
from interlingua.model.exchange import NO_OPTIONS, ErrorKind, Request
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.profiles.overlay import ProfileSource
from interlingua.providers.provider import Provider

if TYPE_CHECKING:
    from interlingua.client.deciding import Decided, QuestionLike
    from interlingua.client.embedding import Embedded
    from interlingua.client.loop import Runner

logger = logging.getLogger(__name__)
NO_WORDS: Mapping[str, Any] = {}
_NUMBERS = itertools.count(1)
"""Numbers for calls without a name, across all clients of the process."""
T = TypeVar("T")
_ASK = "generate(model, messages)"


class AsyncClient:
    """Calls models of any provider.

    `providers` are names or a list of providers; the default is those of the package and of the
    user's file. `keys` and `base_urls`, by provider, take precedence over the environment.
    `timeout` overrides the provider's limit in seconds for an answer without streaming.
    `fallback_on` are the kinds of failure after which the next model of `fallbacks` is tried.
    `budget` limits retries; by default, the clients of a process share one. `ca` is a file of
    certificates to trust, `proxy` overrides the proxy of the environment. `max_bytes` is the
    largest answer; streams may have four times as many. With `fetch_media`, media given by URL is
    downloaded for models that need the data. `profiles` are rules of what models accept, instead of
    those of this machine's user; with False, requests are not adapted to any model. With `repair`,
    a request refused because of one harmless parameter is sent once more without it, or with a
    lower value; this is remembered for the model for an hour and reported (rule `learned`). With
    `instructions="hoist"`, instructions in mid-conversation are moved to the front. `caching` says
    whether cache breakpoints and keys are added to requests without any (`auto`), left as they are
    (`pass`) or removed (`off`).
    """

    def __init__(
        self,
        providers: Mapping[str, Provider] | Iterable[Provider] | None = None,
        *,
        timeout: float | None = None,
        max_retries: int = 2,
        middleware: Iterable[Middleware] = (),
        fallback_on: Iterable[ErrorKind] = RETRYABLE,
        aliases: Mapping[str, str] | None = None,
        keys: Mapping[str, Key] | None = None,
        base_urls: Mapping[str, Address] | None = None,
        environ: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
        budget: Budget | None = None,
        ca: str | None = None,
        proxy: str | None = None,
        max_bytes: int = MAX_BYTES,
        transport: Transport | None = None,
        fetch_media: bool | MediaFetcher = False,
        profiles: ProfileSource | Literal[False] = None,
        repair: bool | Lessons = False,
        instructions: Instructions = "place",
        caching: Caching = "auto",
    ) -> None:
        targets = Targets(
            providers,
            aliases=aliases,
            environ=environ,
            keys=keys,
            base_urls=base_urls,
            profiles=profiles,
            instructions=instructions,
            caching=caching,
        )
        way, fetcher = transport or HttpTransport(ca=ca, proxy=proxy), _fetcher(fetch_media, ca)
        self.asker = Asker(targets, way, timeout, max_bytes, fetcher, _lessons(repair))
        self.policy = retry or RetryPolicy(max_retries)
        self.budget, self._calls = budget or SHARED, dict[str, InFlight]()
        self.layers, self.fallback_on = Layers(middleware), frozenset(map(ErrorKind, fallback_on))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name)

    async def close(self) -> None:
        """Cancels the calls under way and closes every connection."""
        self.cancel()
        await self.asker.close()

    def cancel(self, call_id: str | None = None) -> bool:
        """Cancel one call, or all of them. True if there was something to cancel."""
        chosen = [self._calls.get(call_id)] if call_id else list(self._calls.values())
        cancelled = [call.cancel() for call in chosen if call is not None]
        return any(cancelled)

    async def generate(
        self,
        model: str,
        messages: Conversation,
        tools: Tools = (),
        options: OptionsLike | None = None,
        *,
        dialect: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
        profile: ProfileChoice = None,
        caching: Caching | None = None,
        written_request: WrittenRequest | None = None,
        **words: Unpack[OptionWords],
    ) -> Answer:
        """One answer.

            answer = await client.generate("local", "What is the capital of France?")
            answer.text, answer.usage, answer.report

        `model` is a name (`gpt-5`), `<provider>:<name>` or an alias (`sonnet`). `messages` are
        text, `il.Message`, dicts with role and content, a list of those, or a whole `il.Request`.
        `tools` are Python functions, `il.ToolDefinition` or dicts; they are not run here, see
        `run`. `options` are `il.Options` or a dict, or keywords: `temperature=0`, `max_tokens=100`.

        `dialect` replaces the model's default one; `deadline` is in seconds, retries and waits
        included; `fallbacks` are models to try if it fails; `call_id` is for `cancel`; `profile`
        replaces the rules for the model, or with False sends the request as it is; `caching`
        replaces the client's mode for this call; `written_request` is a session's body for it
        (`call.written_request`)."""
        arguments = (model, messages, tools, options, dialect, deadline, fallbacks, call_id)
        call = self.call(*arguments, False, profile, words, written_request, caching)
        return await self._answered(call)

    def tries(
        self, call: Call, once: Callable[[str, Clock], Awaitable[T]]
    ) -> Awaitable[tuple[T, tuple[Attempt, ...]]]:
        """Tries each model of a call with `once`, as often as the limits allow."""
        return with_retries(
            call,
            once,
            self.policy,
            self.fallback_on,
            asyncio.sleep,
            self.budget,
            lambda model: self.asker.target(model, call).provider.key,
        )

    async def _answered(self, call: Call) -> Answer:
        id = call.id
        flight = self.begin(id)
        try:
            call = await self.layers.request(call)
            clock = Clock(None)
            work = self.tries(
                call, lambda model, left: self.asker.answer(model, call, left, self.layers)
            )
            answer, attempts = await flight.wait(work)
            answer = msgspec.structs.replace(
                answer, latency_ms=clock.passed_ms(), attempts=attempts
            )
            return await self.layers.answer(call, answer)
        except CallError as error:
            failed = self.failed(call, error)
        except BaseException:
            self.layers.dropped(call)
            raise
        finally:
            self.end(id)
        raise failed

    def stream(
        self,
        model: str,
        messages: Conversation,
        tools: Tools = (),
        options: OptionsLike | None = None,
        *,
        dialect: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
        marks: bool = False,
        profile: ProfileChoice = None,
        caching: Caching | None = None,
        written_request: WrittenRequest | None = None,
        **words: Unpack[OptionWords],
    ) -> AsyncStream:
        """The events of one answer while it arrives; takes what `generate` takes:

            async with client.stream("sonnet", "Hello") as stream:
                async for event in stream: ...
                stream.response()

        `marks` records which wire frame each event came from, to write the stream back
        unchanged."""
        arguments = (model, messages, tools, options, dialect, deadline, fallbacks, call_id, True)
        call = self.call(*arguments, profile, words, written_request, caching)
        return AsyncStream(self, call, marks)

    async def count_tokens(
        self,
        model: str,
        messages: Conversation,
        tools: Tools = (),
        options: OptionsLike | None = None,
        *,
        dialect: str | None = None,
        deadline: float | None = None,
        profile: ProfileChoice = None,
        **words: Unpack[OptionWords],
    ) -> TokenCount:
        """Tokens of the prompt: the provider's own count where it has one, else our estimate."""
        call = self.call(
            model, messages, tools, options, dialect, deadline, profile=profile, words=words
        )
        target = self.asker.target(call.models[0], call)
        if not counting.can_count(target):
            request = call.request
            tokens = estimate_input_tokens(
                request.messages, request.tools, target.model, request.options
            )
            return TokenCount(tokens, "estimate", target.model)
        work = with_retries(
            call,
            lambda _, left: self.asker.count(target, call, left),
            self.policy,
            frozenset(),
            asyncio.sleep,
            self.budget,
            lambda _: target.provider.key,
        )
        tokens, _ = await work
        return TokenCount(tokens, "provider", target.model)

    async def embed(
        self,
        model: str,
        inputs: str | Sequence[EmbedInput],
        *,
        dimensions: int | None = None,
        input_type: InputType | None = None,
        truncate: Literal["start", "end", "none"] | None = None,
        title: str | None = None,
        user: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Embedded:
        """A vector for each input.

            made = await client.embed("text-embedding-3-small", ["a text", "another"])
            made.vectors, made.usage, made.report

        `inputs` are texts; where the model takes media, tuples of blocks as well. `input_type` is
        what the vectors are for (`query`, `document`, `classification`, …). Vectors of different
        models cannot be compared, so name `fallbacks` only where that does not matter."""
        listed = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        if not listed:
            raise InterlinguaError("there is nothing to embed: the list of inputs is empty")
        more: Any = {"truncate": truncate, "title": title, "user": user}
        request = EmbedRequest(listed, model, dimensions, input_type, **more)
        call = self.call(model, (), (), None, None, deadline, fallbacks, call_id)
        return await self._embedded(call, request)

    async def _embedded(self, call: Call, request: EmbedRequest) -> Embedded:
        from interlingua.client.embedding import embedded

        clock, flight = Clock(None), self.begin(call.id)
        try:
            work = self.tries(
                call,
                lambda name, left: embedded(
                    self.asker, request, self.asker.target(name, call), left
                ),
            )
            made, attempts = await flight.wait(work)
        finally:
            self.end(call.id)
        return msgspec.structs.replace(made, latency_ms=clock.passed_ms(), attempts=attempts)

    async def decide(
        self,
        model: str,
        input: Conversation,
        questions: QuestionLike | Sequence[QuestionLike] | Mapping[str, QuestionLike],
        *,
        user: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
    ) -> Decided:
        """Answers to closed questions about a text or a conversation, with probabilities.

            done = await client.decide("gpt-5-mini", "My parcel is late!", {
                "angry": "The customer is angry.",
                "team": {"instructions": "Who handles it?", "choices": ["billing", "shipping"]},
                "urgency": {"instructions": "How urgent is it?", "levels": ["low", "high"]},
            })
            done["angry"].probability, done["team"].value, done["urgency"].value

        A question is a text that is true or false, a choice or a score. A model without an API for
        decisions answers as a chat model, which `report` says."""
        from interlingua.client.deciding import as_questions

        conversation = as_conversation(input)
        messages = conversation.messages if isinstance(conversation, Request) else conversation
        request = DecisionRequest(messages, as_questions(questions), model, user)
        call = self.call(model, (), (), None, None, deadline, fallbacks, call_id)
        return await self._decided(call, request)

    async def _decided(self, call: Call, request: DecisionRequest) -> Decided:
        from interlingua.client.deciding import decided

        clock, flight = Clock(None), self.begin(call.id)
        try:
            work = self.tries(
                call,
                lambda name, left: decided(
                    self.asker, request, self.asker.target(name, call), left
                ),
            )
            made, attempts = await flight.wait(work)
        finally:
            self.end(call.id)
        return msgspec.structs.replace(made, latency_ms=clock.passed_ms(), attempts=attempts)

    async def run(
        self,
        /,
        model: str,
        messages: Conversation,
        tools: Tools,
        dispatcher: Runner | None = None,
        max_rounds: int = 1,
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Run:
        """Answer, run the tools that were called, answer again, for at most so many rounds of
        tools. Python functions among the tools run by themselves; for others `dispatcher` is a
        `Dispatcher`, a function of the call, or a function for each tool by name. `how` is what
        `generate` takes as well."""
        from interlingua.client.loop import run

        return await run(self, model, messages, tools, dispatcher, max_rounds, options, **how)

    @overload
    async def parse(
        self,
        model: str,
        messages: Conversation,
        schema: type[T],
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[T]: ...
    @overload
    async def parse(
        self,
        model: str,
        messages: Conversation,
        schema: Any,
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[Any]: ...
    async def parse(
        self,
        model: str,
        messages: Conversation,
        schema: Any,
        tools: Tools = (),
        options: OptionsLike | None = None,
        **how: Any,
    ) -> Parsed[Any]:
        """An answer with a schema: a pydantic, msgspec or dataclass type, or a JSON Schema.

            client.parse("local", "A city in France, please.", City).value    # a City

        The answer is validated; `OutputError` says what does not fit. `how` is what `generate`
        takes as well."""
        from interlingua.client.structured import shape_of

        shape = shape_of(schema)
        how["response_format"] = shape.format
        answer = await self.generate(model, messages, tools, options, **how)
        return Parsed(shape.read(answer), answer)

    # What streams share with whole answers.

    def call(
        self,
        model: str,
        messages: Conversation,
        tools: Tools = (),
        options: OptionsLike | None = None,
        dialect: str | None = None,
        deadline: float | None = None,
        fallbacks: Sequence[str] = (),
        call_id: str | None = None,
        stream: bool = False,
        profile: ProfileChoice = None,
        words: Mapping[str, Any] = NO_WORDS,
        written_request: WrittenRequest | None = None,
        caching: Caching | None = None,
    ) -> Call:
        if not isinstance(model, str):
            raise TypeError(f"a model is a name, as in 'gpt-5'; found {a_type(model)}")
        request = _request(messages, as_definitions(tools), options, words)
        id = call_id or f"call-{next(_NUMBERS)}"
        models = (model, *fallbacks)
        if caching is not None:
            require_caching(caching)
        return Call(
            *(id, models, request, stream, dialect, deadline, profile),
            written_request=written_request,
            caching=caching,
            source=places_in(messages),
        )

    def begin(self, id: str) -> InFlight:
        """A call that can be cancelled from now on."""
        if id in self._calls:
            raise InterlinguaError(f"a call with id {id!r} is already in progress")
        flight = self._calls[id] = InFlight()
        return flight

    def end(self, id: str) -> None:
        self._calls.pop(id, None)
        self.asker.ended(id)

    def failed(self, call: Call, error: CallError) -> CallError:
        """An error on its way out."""
        logger.debug(
            "call_failed", extra={"call": call.id, "model": error.model, "kind": error.kind.value}
        )
        return self.layers.error(call, error)


_ELSEWHERE = {
    **dict.fromkeys(("chat", "completion", "completions", "create", "complete", "invoke"), _ASK),
    **dict.fromkeys(("messages", "responses", "acompletion", "ainvoke", "agenerate"), _ASK),
    "beta": "parse(model, messages, schema)",
    "generate_stream": "stream(model, messages)",
}
"""Method names of other libraries, and ours."""


def no_attribute(client: object, name: str) -> AttributeError:
    """An error that names our method in place of another library's."""
    hint = f"; use client.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    text = f"{type(client).__name__!r} object has no attribute {name!r}{hint}"
    return AttributeError(text, name=name, obj=client)


def _fetcher(fetch_media: bool | MediaFetcher, ca: str | None) -> MediaFetcher | None:
    return MediaFetcher(ca=ca) if fetch_media is True else fetch_media or None


def _lessons(repair: bool | Lessons) -> TenantLessons | None:
    """The lessons of a new client, which is a tenant of its own where clients share them."""
    if repair is False:
        return None
    shared = Lessons() if repair is True else repair
    return shared.of(f"client-{next(_NUMBERS)}")


def _request(
    messages: Conversation,
    tools: tuple[ToolDefinition, ...],
    options: OptionsLike | None,
    words: Mapping[str, Any],
) -> Request:
    if "stream" in words:
        raise TypeError(
            "client.stream(model, messages) streams; this call returns the whole answer"
        )
    conversation = as_conversation(messages)
    if not isinstance(conversation, Request):
        return unchecked(
            Request, conversation, None, tools, as_options(options, words) or NO_OPTIONS
        )
    changes: dict[str, Any] = {"tools": tools} if tools else {}
    if options is not None or words:
        changes["options"] = as_options(conversation.options if options is None else options, words)
    return conversation.replace(**changes) if changes else conversation
