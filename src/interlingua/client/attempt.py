"""One attempt: sends a request and reads its answer. Clients, the gateway and its sessions all use
it, so statuses, limits, error bodies and the masking of secrets are the same. Retries and fallbacks
are in `retry.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from interlingua.adapt.transformations import seal_of
from interlingua.client import counting, failures
from interlingua.client.answer import Answer, Call, Layers
from interlingua.client.errors import CallError, TooLargeError
from interlingua.client.fetching import MediaCache, MediaFetcher
from interlingua.client.lessons import TenantLessons
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.client.transport import (
    MAX_ERROR_BYTES,
    HttpRequest,
    Limits,
    Reply,
    TooLarge,
    Transport,
    TransportError,
)
from interlingua.errors import ReadError
from interlingua.model.exchange import ProviderError, Request, Response
from interlingua.model.losses import Report
from interlingua.model.metadata import InputTransformation, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.providers.provider import Timeouts

if TYPE_CHECKING:
    from interlingua.costs.comparing import SentPrompts
    from interlingua.costs.table import PriceTable


def with_dropped_thinking(
    response: Response, request: Request, http: HttpRequest, report: Report
) -> Report:
    """The report of a request, with the thinking that the provider reports as dropped."""
    removed = [
        each for each in response.message.metadata.input_transformations if each.action != "allowed"
    ]
    if not removed:
        return report
    places = dict(_sealed(request))
    wire = msgspec.json.decode(http.body)
    whole = Report(report.target, list(report.entries))
    for each in removed:
        place = places.get(seal_of(each, wire) or "", _NOWHERE)
        reason = because("provider_dropped", reason=_why(each))
        whole.dropped_block(
            place.path, place.kind, reason, message_id=place.message_id, session_id=place.session_id
        )
    return whole


def _why(found: InputTransformation) -> str:
    """The reason; the provider's own text if no other is known."""
    words = [rest.get("reason") for rest in (found.raw or {}).values() if type(rest) is dict]
    return found.reason or next((word for word in words if type(word) is str), "unknown reason")


class _Place(NamedTuple):
    path: str
    kind: str
    message_id: str | None
    session_id: str | None


_NOWHERE = _Place("$", "thinking", None, None)


def _sealed(request: Request) -> Iterator[tuple[str, _Place]]:
    """Encrypted data by its value, with its position."""
    for number, message in enumerate(request.messages):
        for index, block in enumerate(message.content):
            seal = getattr(block, "signature", None) or getattr(block, "data", None)
            if seal is not None:
                path, kind = f"$.messages[{number}].content[{index}]", block.type
                yield seal, _Place(path, kind, message.id, message.session_id)


_LEAST_COMPARED = 2048
"""Bytes of a body that no vendor caches less of."""


def with_provenance(response: Response, target: Target) -> Response:
    """The response with model, provider, protocol and cost."""
    message = response.message
    usage = message.metadata.usage
    if usage is not None:
        from interlingua.costs.cost import with_runs

        usage = with_cost(with_runs(message), target.model, message.metadata.response_model)
    metadata = message.metadata.replace(
        model=target.model,
        provider=target.provider.key,
        protocol=target.dialect.name,
        usage=usage,
    )
    return response.replace(message=message.replace(metadata=metadata))


def cut_short(response: Response, target: Target, status: MessageStatus, why: str) -> Response:
    """The part of an unfinished answer that arrived, with the usage reported so far."""
    reason = StopReason.CANCELLED if status is MessageStatus.CANCELLED else StopReason.ERROR
    message = response.message
    metadata = message.metadata.replace(
        model=target.model,
        provider=target.provider.key,
        protocol=target.dialect.name,
        status=status,
        stop_reason=reason,
        raw_stop_reason=None,
        error_message=None if status is MessageStatus.CANCELLED else why,
    )
    return response.replace(message=message.replace(metadata=metadata))


class ErrorReply(NamedTuple):
    """An error reply of a provider, unchanged, and the secrets that have to be masked in it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...]


Heard = Callable[[ErrorReply], None]
"""Called with an error reply as received."""


class OpenReply(msgspec.Struct, frozen=True, eq=False):
    """A reply of success whose body is still to come."""

    reply: Reply
    prepared: Prepared
    bound: str = "total"
    """The name of the limit that applies to everything."""

    @property
    def target(self) -> Target:
        return self.prepared.target

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.prepared.http.secrets

    @property
    def headers(self) -> Mapping[str, str]:
        return self.reply.headers

    @property
    def request_id(self) -> str | None:
        """The provider's own name for the request, in a form that can be shown."""
        return failures.request_id(self.reply.headers, self.prepared.http.secrets)

    def failure(self, error: TransportError | ReadError) -> CallError:
        """The error for an answer that broke off or cannot be read."""
        if isinstance(error, TransportError):
            return self.placed(failures.of_transport(error, self.secrets, self.bound))
        drop_connection(self.reply)
        failed = failures.unreadable(error, self.reply.headers, self.secrets)
        return failures.placed(failed, self.target, self.prepared.http)

    def refusal(self, error: ProviderError) -> CallError:
        """The error in the body or the stream of a reply with a success status."""
        failed = failures.of_provider(error, self.reply.headers, self.secrets)
        return failures.placed(failed, self.target, self.prepared.http)

    def placed(self, error: CallError) -> CallError:
        if error.request_id is None:
            error.request_id = self.request_id
        return failures.placed(error, self.target)

    async def body(self, limit: int) -> bytes:
        """All of the answer."""
        try:
            return await self.reply.body(limit)
        except TooLarge:
            failed: CallError = TooLargeError(f"an answer of more than {limit} bytes")
        except TransportError as error:
            failed = self.failure(error)
        finally:
            self.reply.close()
        raise self.placed(failed)

    def read(self, body: bytes) -> Response:
        """Reads a body into the response to this request."""
        try:
            response = self.prepared.target.dialect.read_response(body)
        except ReadError as error:
            failed = self.failure(error)
        else:
            if response.error is None:
                adapter = self.prepared.answer_adapter
                return response if adapter is None else adapter.response(response)
            failed = self.refusal(response.error)
        raise failed  # outside, since a `ReadError` has its own input


class Asker:
    """Sends single attempts. `timeout` overrides the provider's limit in seconds for a whole
    answer; `max_bytes` limits the size of an answer."""

    def __init__(
        self,
        targets: Targets,
        transport: Transport,
        timeout: float | None,
        max_bytes: int,
        fetcher: MediaFetcher | None = None,
        lessons: TenantLessons | None = None,
    ) -> None:
        """With `lessons`, a request refused because of one parameter may be repaired."""
        self.targets = targets
        self.transport = transport
        self.max_bytes = max_bytes
        self._timeout = timeout
        self._fetcher = fetcher
        self._fetched: dict[str, MediaCache] = {}
        """Media fetched for calls under way, so that retries do not fetch them again."""
        self.lessons = lessons
        self._prompts: SentPrompts | None = None
        """Earlier prompts, to explain misses of the prompt cache."""

    def target(self, model: str, call: Call) -> Target:
        """The target of a model. A dialect that the caller names applies to the first model
        only."""
        is_first, found = model == call.models[0], call.targets.get(model)
        if found is None:
            found = self.targets.find(model, call.dialect if is_first else None)
        if call.profile is False or (call.profile is not None and is_first):
            found = found.fitted_to(call.profile)
        return found if call.caching is None else found.with_caching(call.caching)

    def diagnosed(self, response: Response, prepared: Prepared) -> Response:
        """The answer with why the prompt cache was hit or missed, as far as that is known."""
        body, target, message = prepared.http.body, prepared.target, response.message
        if len(body) < _LEAST_COMPARED or response.error is not None:
            return response
        from interlingua.costs.comparing import SentPrompts, merged

        if self._prompts is None:
            self._prompts = SentPrompts()
        metadata = message.metadata
        compared = self._prompts.compare(None, body, target.model, target.deployment)
        if compared is None:
            return response
        own = compared.diagnosis(metadata.usage, _prices())
        self._prompts.answered(compared, metadata.usage)
        found = merged(metadata.cache_diagnosis, own)
        if found is metadata.cache_diagnosis:
            return response
        return response.replace(
            message=message.replace(metadata=metadata.replace(cache_diagnosis=found))
        )

    def ended(self, call_id: str) -> None:
        """Forgets the media that were fetched for a call."""
        self._fetched.pop(call_id, None)

    async def close(self) -> None:
        await self.transport.close()
        if self._fetcher is not None:
            await self._fetcher.close()

    async def prepare(
        self, call: Call, target: Target, clock: Clock, layers: Layers | None = None
    ) -> Prepared:
        """The request, ready to be sent; a server that is started on demand is started first."""
        prepared = await self._prepared(call, target, clock)
        for sending in layers.on_sending if layers is not None else ():
            sending(call, prepared)
        return prepared.with_headers(call.headers) if call.headers else prepared

    async def _prepared(self, call: Call, target: Target, clock: Clock) -> Prepared:
        await self.targets.start(target)
        if self._fetcher is None:
            written = call.written_request
            if written is not None and written.serves(call.request, target, call.stream):
                written.on_use()
                return self.targets.ready(written.body, target, call.stream, written.text)
            return self.targets.prepare(call.request, target, call.stream)
        target = self.targets.for_request(target, call.request)
        cache = self._fetched.setdefault(call.id, {})
        inlined = await self._fetcher.inlined(call.request, target.profile, clock.left(), cache)
        prepared = self.targets.prepare(inlined.request, target, call.stream)
        inlined.tell(prepared.report)
        return prepared

    async def open(
        self,
        prepared: Prepared,
        clock: Clock,
        stream: bool,
        heard: Heard | None = None,
        lessons: TenantLessons | None = None,
    ) -> OpenReply:
        """Sends a request and returns a successful reply; any other raises its error, and is
        passed to `heard` unchanged. With `lessons`, a request refused for one parameter is sent
        once more without it, or with less of it."""
        if lessons is None:
            return await self._open(prepared, clock, stream, heard)
        if not lessons.all.is_empty:
            prepared = lessons.applied(prepared, self.targets, stream)
        raw: list[ErrorReply] = []
        try:
            return await self._open(prepared, clock, stream, raw.append)
        except CallError as error:
            reply = raw[0].body if raw else None
            repair = lessons.repair(prepared, error, reply, self.targets, stream)
            if repair is None:
                if heard is not None and raw:
                    heard(raw[0])
                raise
        opened = await self._open(repair.prepared, clock, stream, heard)
        if repair.lesson is not None:
            lessons.learn(repair.lesson)
        return opened

    async def _open(
        self, prepared: Prepared, clock: Clock, stream: bool, heard: Heard | None
    ) -> OpenReply:
        if clock.end is None and self._timeout is None:
            limits, bound = _usual_limits(prepared.target.provider.timeouts, stream), "total"
        else:
            limits, bound = self._limits(prepared.target, clock, stream)
        secrets = prepared.http.secrets
        try:
            reply = await self.transport.send(prepared.http, limits)
            if 200 <= reply.status < 300:
                return OpenReply(reply, prepared, bound)
            body = await _error_body(reply)
            if not failures.is_readable(body):
                drop_connection(reply)
            if heard is not None:
                heard(ErrorReply(reply.status, reply.headers, body, secrets))
            failed: CallError = failures.of_reply(
                reply.status, reply.headers, body, prepared.target.dialect, secrets
            )
        except TransportError as error:
            failed = failures.of_transport(error, secrets, bound)
        raise failures.placed(failed, prepared.target, prepared.http)

    async def answer(
        self, model: str, call: Call, clock: Clock, layers: Layers | None = None
    ) -> Answer:
        """Requests one answer without streaming."""
        prepared = await self.prepare(call, self.target(model, call), clock, layers)
        opened = await self.open(prepared, clock, stream=False, lessons=self.lessons)
        target = prepared.target
        response = with_provenance(opened.read(await opened.body(self.max_bytes)), target)
        response = self.diagnosed(response, prepared)
        report = with_dropped_thinking(response, call.request, prepared.http, prepared.report)
        return Answer(
            response, call.placed(report), target.model, failures.request_id(opened.headers)
        )

    async def count(self, target: Target, call: Call, clock: Clock) -> int:
        """The provider's own count of a prompt's tokens."""
        await self.targets.start(target)
        request = call.request
        if self._fetcher is not None:
            inlined = await self._fetcher.inlined(request, target.profile, clock.left())
            request = inlined.request
        return await self.count_of(request, target, clock)

    async def count_of(self, request: Request, target: Target, clock: Clock) -> int:
        """The same for a request that needs nothing more, of a server that runs."""
        prepared = counting.prepare(request, target, self.targets)
        opened = await self.open(prepared, clock, stream=False)
        body = await opened.body(self.max_bytes)
        try:
            return counting.read(body, target)
        except ReadError as error:
            failed = opened.failure(error)
        raise failed

    def _limits(self, target: Target, clock: Clock, stream: bool) -> tuple[Limits, str]:
        """The limits for one try, and the name of the last one to be reached."""
        usual, left = target.provider.timeouts, clock.left()
        total = None if stream else (self._timeout or usual.total)
        bound = "total"
        if left is not None and (total is None or left < total):
            total, bound = left, "deadline"
        first = usual.first_byte if stream else None
        return Limits(usual.connect, first, usual.idle if stream else None, total), bound


def drop_connection(reply: Reply) -> None:
    """Not to use a connection again whose answer cannot be read. It may be another request's: after
    an answer too many, every later one on the connection is."""
    drop = getattr(reply, "drop", None)  # recordings and tests have no connection
    if drop is not None:
        drop()


@lru_cache(256)
def _usual_limits(usual: Timeouts, stream: bool) -> Limits:
    """The limits of a provider, for a call without its own."""
    if stream:
        return Limits(usual.connect, usual.first_byte, usual.idle, None)
    return Limits(usual.connect, None, None, usual.total)


async def _error_body(reply: Reply) -> bytes:
    """The body of an error; if it breaks off or is too long, its usable part."""
    try:
        return await reply.body(MAX_ERROR_BYTES)
    except (TooLarge, TransportError):
        return b""
    finally:
        reply.close()


def with_cost(usage: Usage | None, model: str, answered_by: str | None = None) -> Usage | None:
    """The usage with its cost, unless the provider gave one or it cannot be known."""
    if usage is None or usage.cost_usd is not None or not usage.is_known:
        return usage
    from interlingua.costs.cost import priced
    from interlingua.dialects.anthropic.response import hour_cache_tokens
    from interlingua.profiles.names import UnknownModelError

    try:
        model = _prices().priced_as(model, answered_by)
        return priced(usage, model, _prices(), None, hour_cache_tokens(usage))
    except (UnknownModelError, ValueError):
        return usage


@cache
def _prices() -> PriceTable:
    from interlingua.costs.table import own_table

    return own_table()
