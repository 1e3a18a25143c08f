"""Batches at the provider, for its price: requests are translated and submitted, and its results
are processed like the answers to single requests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.client.targets import Target
from interlingua.client.transport import HttpRequest, HttpTransport, Reply
from interlingua.client.transport_errors import Limits, TransportError
from interlingua.errors import InterlinguaError
from interlingua.gateway.batches.forms import FORMS, BatchForm, Planned
from interlingua.gateway.batches.state import Handed, Item, Result
from interlingua.gateway.relay.inbound import parse_inbound
from interlingua.gateway.relay.sending import prepare
from interlingua.gateway.shared.file_owners import file_ids
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, error_body, match
from interlingua.gateway.shared.state import Arrival, Exchange, Principal, Refusal
from interlingua.gateway.upstream.transport import FinishedReply
from interlingua.model.exchange import ErrorKind, ProviderError

if TYPE_CHECKING:
    from interlingua.gateway.batches.run import BatchRun

logger = logging.getLogger(__name__)

POLL = 20.0
"""Seconds between two looks at a batch of a provider."""
SPOOLED = 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024
Wire = dict[str, Any]


class HandOverError(InterlinguaError):
    """A provider refuses a batch, or does not return its results. `status` is that of its answer;
    None if it was not asked."""

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status

    @property
    def is_final(self) -> bool:
        """Whether asking again would change nothing."""
        return self.status is None or (self.status < 500 and self.status not in (408, 409, 429))


class NativeBatch:
    """One batch at its provider."""

    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._batches = run.batches
        self._batch = run.batch
        self._gateway = run.batches.gateway
        self._transport = HttpTransport()
        self._cancelled = False

    async def run(self, done: set[int]) -> None:
        """Submits the batch, if possible, and stores its results. `done` has the stored results, in
        the end all of them."""
        try:
            while not await self._tried(done):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._run.cancelled.wait(), POLL)
                if time.time() >= self._batch.expires_at or self._run.is_cancelled:
                    return
        finally:
            await self._transport.close()

    async def _tried(self, done: set[int]) -> bool:
        """Whether nothing is left to do. A batch that may have been submitted is never run by the
        queue as well, unless the provider has refused it."""
        batch = self._batch
        try:
            await self._work(done)
        except (TransportError, HandOverError) as error:
            extra = {"batch": batch.id, "why": str(error)}
            logger.warning("batch_not_handed_over", extra=extra)
            if isinstance(error, HandOverError) and error.is_final:
                if batch.handed is not None and batch.handed.id is None:
                    batch.handed = None
                    await self._batches.save(batch)
                return True
            return batch.handed is None
        return True

    async def _work(self, done: set[int]) -> None:
        batch = self._batch
        target = None
        if batch.handed is None or batch.handed.id is None:
            planned = await self._planned()
            if planned is None:
                return
            target = planned.target
            try:
                await self._submit(planned)
            finally:
                planned.spool.close()
        handed = batch.handed
        assert handed is not None
        target = target or self._gateway.targets.find(handed.model)
        shown = await self._awaited(target, handed)
        async for number, status, body in self._results(target, handed, shown):
            if number not in done:
                await self._store(target, number, status, body)
                done.add(number)

    # Handing over

    async def _principal(self) -> Principal | None:
        """For whom it is run; None where its caps have to be held for each request."""
        try:
            who = Principal(self._batch.key_id)
            found = await self._gateway.keys.current(who, looked_up=True)
        except Refusal:
            return None
        return None if found.capped else found

    async def _planned(self) -> Planned | None:
        """The requests, translated; None where they cannot be one batch of one provider."""
        principal = await self._principal()
        if principal is None or match(self._batch.endpoint) is None:
            return None
        spool = SpooledTemporaryFile(max_size=SPOOLED)  # noqa: SIM115  # closed by who gets it
        target: Target | None = None
        count, after, url = 0, -1, ""
        try:
            while items := await self._batches.items(self._batch, after):
                for number, item in items:
                    found, url, body = await self._wire(principal, item)
                    form = FORMS[found.provider.batches or ""]
                    if target is not None and not _is_alike(target, found, form):
                        raise HandOverError("its requests are for several providers or models")
                    target, after, count = found, number, count + 1
                    spool.write(form.line(self._id(number), url, body, first=count == 1))
                    if spool.tell() > form.most_bytes:
                        raise HandOverError("it is too large")
        except (Refusal, InterlinguaError):
            spool.close()
            return None
        if target is None:
            spool.close()
            return None
        return Planned(self._batch.id, target, url, spool, count)

    def _id(self, number: int) -> str:
        """The id of a request in the provider's batch."""
        return f"{self._batch.id[-26:]}-{number}"

    async def _wire(self, principal: Principal, item: Item) -> tuple[Target, str, bytes]:
        """The path of a request at the provider, and its body."""
        found = match(self._batch.endpoint)
        assert found is not None
        if found.action != "generate":
            raise HandOverError("only requests that generate are handed over")
        gateway = self._gateway
        arrival = Arrival(self._batch.id, found.front.dialect, principal)
        exchange = Exchange(arrival)
        inbound = parse_inbound(gateway, exchange, found, bytes(item.body), {})
        target = inbound.route.targets[0]
        if target.provider.batches is None or inbound.route.pool is not None:
            raise HandOverError(f"{target.provider.key} has no batches")
        prepared, _ = await prepare(gateway, exchange, inbound, target, {})
        if file_ids(prepared.http.body):
            raise HandOverError("it names files, whose owner is looked up for each request")
        paths = prepared.target.provider.dialects[prepared.target.dialect.name]
        return prepared.target, f"/v1{paths.request.removeprefix('/v1')}", prepared.http.body

    async def _submit(self, planned: Planned) -> None:
        """Submits the batch once. The provider is asked whether an earlier process did."""
        batch, target = self._batch, planned.target
        form = target.provider.batches or ""
        if batch.handed is None:
            batch.handed = Handed(target.model, form, time.time())
            await self._batches.save(batch)
        else:
            batch.handed.id = await self._adopted(planned, batch.handed.at)
        if batch.handed.id is None:
            batch.handed.id = await FORMS[form].send(self, planned)
        await self._batches.save(batch)

    async def _adopted(self, planned: Planned, since: float) -> str | None:
        """The batch that was begun before this process, if any."""
        form = FORMS[planned.target.provider.batches or ""]
        page = await self.json("GET", planned.target, form.page())
        for each in page.get(form.listed) or ():
            if form.is_same(each, planned, since):
                return form.id_of(each)
        return None

    # Waiting

    async def _awaited(self, target: Target, handed: Handed) -> Wire:
        """The batch as its provider shows it when it is over."""
        form, id = FORMS[handed.form], handed.id or ""
        while True:
            shown = await self.json("GET", target, f"{form.path}/{id}")
            if form.is_over(shown):
                return shown
            if self._run.is_cancelled and not self._cancelled:
                self._cancelled = True
                await self.json("POST", target, form.cancel(id), b"{}")
                continue
            with suppress(TimeoutError):
                waiting = self._run.cancelled.wait() if not self._cancelled else asyncio.sleep(POLL)
                await asyncio.wait_for(waiting, POLL)

    # Results

    async def _results(
        self, target: Target, handed: Handed, shown: Wire
    ) -> AsyncIterator[tuple[int, int, bytes]]:
        """The number, the status (0: it was not run) and the body of each."""
        start = f"{self._batch.id[-26:]}-"
        found = FORMS[handed.form].results(self, target, handed.id or "", shown)
        async for id, status, body in found:
            if id.startswith(start) and id[len(start) :].isdigit():
                yield int(id[len(start) :]), status, body

    async def lines(self, target: Target, path: str) -> AsyncGenerator[bytes, None]:
        reply = await self._send("GET", target, path)
        held = b""
        try:
            while data := await reply.chunk():
                *whole, held = (held + data).split(b"\n")
                for line in whole:
                    if line.strip():
                        yield line
                if len(held) > LONGEST_LINE:
                    raise HandOverError("a result is too long")
            if held.strip():
                yield held
        finally:
            reply.close()

    async def _store(self, target: Target, number: int, status: int, body: bytes) -> None:
        found = await self._batches.items(self._batch, number - 1)
        item = found[0][1]
        result = Result(item.custom_id, "cancelled" if self._run.is_cancelled else "expired")
        if status == 200:
            reply = FinishedReply(body)
            result = await self._run.result_of(item, reply)
        elif status:
            front = ANTHROPIC if self._batch.is_anthropic else CHAT
            error = _error(target, body, status)
            data = msgspec.Raw(error_body(front, error))
            result = Result(item.custom_id, "failed", error.status or status, "", data)
        await self._run.keep(number, result)

    # HTTP

    async def _send(
        self,
        method: str,
        target: Target,
        path: str,
        body: bytes = b"",
        pieces: AsyncIterator[bytes] | None = None,
        kind: str = "application/json",
    ) -> Reply:
        await self._gateway.targets.start(target)
        address = self._gateway.targets.address(target, {}, "request", body=body, path="/")
        headers = {**address.headers, "content-type": kind, "accept-encoding": "identity"}
        url = f"{address.url.removesuffix('/')}{path}"
        request = HttpRequest(url, headers, body, address.secrets, method, pieces)
        reply = await self._transport.send(request, Limits(10.0, 300.0, 120.0, None))
        if not 200 <= reply.status < 300:
            reply.close()
            text = f"{target.provider.key} answered {reply.status} to {method} {path[:100]}"
            raise HandOverError(text, reply.status)
        return reply

    async def json(self, method: str, target: Target, path: str, *args: Any, **more: Any) -> Wire:
        reply = await self._send(method, target, path, *args, **more)
        try:
            found = msgspec.json.decode(await reply.body(64 * 1024 * 1024))
        except msgspec.DecodeError:
            raise HandOverError(f"{target.provider.key} answered no JSON", 502) from None
        finally:
            reply.close()
        return found if isinstance(found, dict) else {}


def _is_alike(one: Target, other: Target, form: BatchForm) -> bool:
    """Whether two requests can be in one batch."""
    if one.provider.key != other.provider.key:
        return False
    return one.name == other.name or not form.one_model


def _error(target: Target, body: bytes, status: int) -> ProviderError:
    try:
        found = target.dialect.read_response(body).error
    except InterlinguaError:
        found = None
    return found or ProviderError(ErrorKind.OTHER, "the request failed", None, status)
