"""One try: a request out, an answer in. Retries and everything else happen further out."""

from __future__ import annotations

from interlingua.client import counting, failures
from interlingua.client.answer import Answer
from interlingua.client.bound import told
from interlingua.client.errors import CallError, TooLargeError
from interlingua.client.failures import placed
from interlingua.client.fetching import Kept, MediaFetcher
from interlingua.client.lessons import Lessons
from interlingua.client.middleware import Call
from interlingua.client.stamp import stamped
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.client.transport import (
    MAX_ERROR_BYTES,
    Limits,
    Reply,
    TooLarge,
    Transport,
    TransportError,
)
from interlingua.client.tries import Clock
from interlingua.errors import ReadError


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
        self._fetched: dict[str, Kept] = {}
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

    async def prepare(self, call: Call, target: Target, clock: Clock) -> Prepared:
        """The request, ready to be sent; a server that is started on demand is started first."""
        prepared = await self._prepared(call, target, clock)
        return prepared.with_headers(call.headers) if call.headers else prepared

    async def _prepared(self, call: Call, target: Target, clock: Clock) -> Prepared:
        await self.targets.start(target)
        if self._fetcher is None:
            return self.targets.prepare(call.request, target, call.stream)
        target = self.targets.for_request(target, call.request)
        kept = self._fetched.setdefault(call.id, {})
        given = await self._fetcher.inlined(call.request, target.profile, clock.left(), kept)
        prepared = self.targets.prepare(given.request, target, call.stream)
        given.tell(prepared.report)
        return prepared

    async def open(self, prepared: Prepared, clock: Clock, stream: bool) -> tuple[Reply, str]:
        """Send a request; a reply of success, else the error that it tells. And what to call it
        when the limit for everything is hit."""
        if self.lessons is None:
            return await self._open(prepared, clock, stream)
        prepared = self.lessons.applied(prepared, self.targets, stream)
        raw: list[bytes] = []
        try:
            return await self._open(prepared, clock, stream, raw)
        except CallError as odd:
            lesson = self.lessons.from_refusal(prepared, odd, raw[0] if raw else None)
            again = None
            if lesson is not None:
                again = self.lessons.mended(prepared, lesson, self.targets, stream)
            if lesson is None or again is None:
                raise
        opened = await self._open(again, clock, stream)
        self.lessons.learn(lesson)
        return opened

    async def _open(
        self, prepared: Prepared, clock: Clock, stream: bool, raw: list[bytes] | None = None
    ) -> tuple[Reply, str]:
        """The same, once; what the error itself said is kept in `raw`."""
        limits, bound = self._limits(prepared.target, clock, stream)
        secrets = prepared.http.secrets
        try:
            reply = await self.transport.send(prepared.http, limits)
            if 200 <= reply.status < 300:
                return reply, bound
            body = await _error_body(reply)
            if raw is not None:
                raw.append(body)
            failed: CallError = failures.of_reply(
                reply.status, reply.headers, body, prepared.target.dialect, secrets
            )
        except TransportError as odd:
            failed = failures.of_transport(odd, secrets, bound)
        raise placed(failed, prepared.target, prepared.http)

    async def answer(self, model: str, call: Call, clock: Clock) -> Answer:
        """One answer that comes whole."""
        target = self.target(model, call)
        prepared = await self.prepare(call, target, clock)
        target = prepared.target
        reply, total = await self.open(prepared, clock, stream=False)
        headers = reply.headers
        body = await self._body(reply, prepared, total)
        secrets = prepared.http.secrets
        try:
            response = target.dialect.read_response(body)
        except ReadError as odd:
            failed: CallError = failures.unreadable(odd, headers, secrets)
        else:
            if response.error is None:
                if prepared.back is not None:
                    response = prepared.back.response(response)
                response = stamped(response, target)
                report = told(response, call.request, prepared.http, prepared.report)
                return Answer(response, report, target.model, failures.request_id(headers))
            failed = failures.of_provider(response.error, headers, secrets)
        # outside, since a `ReadError` knows what it read
        raise placed(failed, target, prepared.http)

    async def count(self, target: Target, call: Call, clock: Clock) -> int:
        """The provider's own count of a prompt's tokens."""
        await self.targets.start(target)
        request = call.request
        if self._fetcher is not None:
            given = await self._fetcher.inlined(request, target.profile, clock.left())
            request = given.request
        prepared = counting.prepare(request, target, self.targets)
        reply, total = await self.open(prepared, clock, stream=False)
        body = await self._body(reply, prepared, total)
        try:
            return counting.read(body, target)
        except ReadError as odd:
            failed = failures.unreadable(odd, reply.headers, prepared.http.secrets)
        raise placed(failed, target, prepared.http)

    async def _body(self, reply: Reply, prepared: Prepared, total: str) -> bytes:
        try:
            return await reply.body(self.max_bytes)
        except TooLarge:
            failed: CallError = TooLargeError(f"an answer of more than {self.max_bytes} bytes")
        except TransportError as odd:
            failed = failures.of_transport(odd, prepared.http.secrets, total)
            failed.request_id = failures.request_id(reply.headers, prepared.http.secrets)
        finally:
            reply.close()
        raise placed(failed, prepared.target)

    def _limits(self, target: Target, clock: Clock, stream: bool) -> tuple[Limits, str]:
        """The limits for one try, and what to call it when the last of them is hit."""
        usual = target.provider.timeouts
        left = clock.left()
        total = None if stream else (self._timeout or usual.total)
        bound = "total"
        if left is not None and (total is None or left < total):
            total, bound = left, "deadline"
        first = usual.first_byte if stream else None
        return Limits(usual.connect, first, usual.idle if stream else None, total), bound


async def _error_body(reply: Reply) -> bytes:
    """What an error says; of one that breaks off or is too long, as much as there is of use."""
    try:
        return await reply.body(MAX_ERROR_BYTES)
    except (TooLarge, TransportError):
        return b""
    finally:
        reply.close()
