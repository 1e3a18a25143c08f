"""One attempt: a request out, an answer in. Clients, the gateway and its sessions all send here, so
that statuses, limits, error bodies and the masking of secrets are the same for each. Retries and
the next model happen further out (`attempts.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from interlingua.client import counting, failures
from interlingua.client.answer import Answer
from interlingua.client.attempts import Clock
from interlingua.client.dropped_thinking import with_dropped_thinking
from interlingua.client.errors import CallError, TooLargeError
from interlingua.client.fetching import MediaCache, MediaFetcher
from interlingua.client.lessons import Lessons
from interlingua.client.middleware import Call, Layers
from interlingua.client.provenance import with_provenance
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.client.transport import (
    MAX_ERROR_BYTES,
    Limits,
    Reply,
    TooLarge,
    Transport,
    TransportError,
)
from interlingua.errors import ReadError
from interlingua.model.exchange import ProviderError, Request, Response
from interlingua.providers.provider import Timeouts


class ErrorReply(NamedTuple):
    """What a provider said in place of an answer, as it came, and the secrets it may repeat."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...]


Heard = Callable[[ErrorReply], None]
"""Is told of a refusal in the provider's own words."""


class OpenReply:
    """A reply of success whose body is still to come."""

    __slots__ = ("bound", "prepared", "reply")

    def __init__(self, reply: Reply, prepared: Prepared, bound: str = "total") -> None:
        """`bound` is what to call it when the limit for everything is hit."""
        self.reply = reply
        self.prepared = prepared
        self.bound = bound

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
        return failures.request_id(self.reply.headers, self.secrets)

    def failure(self, error: TransportError | ReadError) -> CallError:
        """What became of the answer, where it broke off or cannot be read."""
        if isinstance(error, TransportError):
            return self.placed(failures.of_transport(error, self.secrets, self.bound))
        failed = failures.unreadable(error, self.reply.headers, self.secrets)
        return failures.placed(failed, self.target, self.prepared.http)

    def refusal(self, said: ProviderError) -> CallError:
        """The error that came in the body, or in the stream, of a reply of success."""
        failed = failures.of_provider(said, self.reply.headers, self.secrets)
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
        """The answer that a body tells, as it was asked for."""
        try:
            response = self.target.dialect.read_response(body)
        except ReadError as error:
            failed = self.failure(error)
        else:
            if response.error is None:
                back = self.prepared.back
                return response if back is None else back.response(response)
            failed = self.refusal(response.error)
        raise failed  # outside, since a `ReadError` knows what it read


class Asker:
    """Asks models, each time once. `timeout` is the most seconds for an answer that comes whole, in
    place of the provider's own; `max_bytes` the most that is read of one."""

    def __init__(
        self,
        targets: Targets,
        transport: Transport,
        timeout: float | None,
        max_bytes: int,
        fetcher: MediaFetcher | None = None,
        lessons: Lessons | None = None,
    ) -> None:
        """With `lessons`, a refusal that names one parameter is answered by one more try."""
        self.targets = targets
        self.transport = transport
        self.max_bytes = max_bytes
        self._timeout = timeout
        self._fetcher = fetcher
        self._fetched: dict[str, MediaCache] = {}
        """What was fetched for calls under way, so that another try does not fetch it again."""
        self.lessons = lessons

    def target(self, model: str, call: Call) -> Target:
        """Where a model is asked. A dialect that was asked for is that of the first model."""
        is_first = model == call.models[0]
        found = self.targets.find(model, call.dialect if is_first else None)
        if call.profile is False or (call.profile is not None and is_first):
            return found.fitted_to(call.profile)
        return found

    def ended(self, call_id: str) -> None:
        """A call is over: nothing has to be kept for it."""
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
                return self.targets.ready(written.body, target, call.stream)
            return self.targets.prepare(call.request, target, call.stream)
        target = self.targets.for_request(target, call.request)
        kept = self._fetched.setdefault(call.id, {})
        given = await self._fetcher.inlined(call.request, target.profile, clock.left(), kept)
        prepared = self.targets.prepare(given.request, target, call.stream)
        given.tell(prepared.report)
        return prepared

    async def open(
        self,
        prepared: Prepared,
        clock: Clock,
        stream: bool,
        heard: Heard | None = None,
        repairs: bool = True,
    ) -> OpenReply:
        """Send a request; a reply of success, else the error that it tells, which `heard` is told
        of as it came. Without `repairs` the request goes as it is, whatever was learned."""
        lessons = self.lessons if repairs else None
        if lessons is None:
            return await self._open(prepared, clock, stream, heard)
        if len(lessons):
            prepared = lessons.applied(prepared, self.targets, stream)
        raw: list[ErrorReply] = []
        try:
            return await self._open(prepared, clock, stream, raw.append)
        except CallError as error:
            lesson = lessons.from_refusal(prepared, error, raw[0].body if raw else None)
            again = None
            if lesson is not None:
                again = lessons.mended(prepared, lesson, self.targets, stream)
            if lesson is None or again is None:
                if heard is not None and raw:
                    heard(raw[0])
                raise
        opened = await self._open(again, clock, stream, heard)
        lessons.learn(lesson)
        return opened

    async def _open(
        self, prepared: Prepared, clock: Clock, stream: bool, heard: Heard | None
    ) -> OpenReply:
        limits, bound = self._limits(prepared.target, clock, stream)
        secrets = prepared.http.secrets
        try:
            reply = await self.transport.send(prepared.http, limits)
            if 200 <= reply.status < 300:
                return OpenReply(reply, prepared, bound)
            body = await _error_body(reply)
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
        """One answer that comes whole."""
        prepared = await self.prepare(call, self.target(model, call), clock, layers)
        opened = await self.open(prepared, clock, stream=False)
        target = prepared.target
        response = with_provenance(opened.read(await opened.body(self.max_bytes)), target)
        report = with_dropped_thinking(response, call.request, prepared.http, prepared.report)
        return Answer(response, report, target.model, failures.request_id(opened.headers))

    async def count(self, target: Target, call: Call, clock: Clock) -> int:
        """The provider's own count of a prompt's tokens."""
        await self.targets.start(target)
        request = call.request
        if self._fetcher is not None:
            given = await self._fetcher.inlined(request, target.profile, clock.left())
            request = given.request
        return await self.count_of(request, target, clock)

    async def count_of(self, request: Request, target: Target, clock: Clock) -> int:
        """The same for a request that needs nothing more, of a server that runs."""
        prepared = counting.prepare(request, target, self.targets)
        opened = await self.open(prepared, clock, stream=False, repairs=False)
        body = await opened.body(self.max_bytes)
        try:
            return counting.read(body, target)
        except ReadError as error:
            failed = opened.failure(error)
        raise failed

    def _limits(self, target: Target, clock: Clock, stream: bool) -> tuple[Limits, str]:
        """The limits for one try, and what to call it when the last of them is hit."""
        usual = target.provider.timeouts
        left = clock.left()
        if left is None and self._timeout is None:
            return _usual_limits(usual, stream), "total"
        total = None if stream else (self._timeout or usual.total)
        bound = "total"
        if left is not None and (total is None or left < total):
            total, bound = left, "deadline"
        first = usual.first_byte if stream else None
        return Limits(usual.connect, first, usual.idle if stream else None, total), bound


@lru_cache(256)
def _usual_limits(usual: Timeouts, stream: bool) -> Limits:
    """Those of a provider, for a call that has no other."""
    if stream:
        return Limits(usual.connect, usual.first_byte, usual.idle, None)
    return Limits(usual.connect, None, None, usual.total)


async def _error_body(reply: Reply) -> bytes:
    """What an error says; of one that breaks off or is too long, as much as there is of use."""
    try:
        return await reply.body(MAX_ERROR_BYTES)
    except (TooLarge, TransportError):
        return b""
    finally:
        reply.close()
