"""Batches of a provider's own, for those who want its price: the requests are translated and handed
over, and when its results are there, each takes the way back of an answer to a single request."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.client.targets import Target
from interlingua.client.transport import HttpRequest, HttpTransport, Reply
from interlingua.client.transport_errors import Limits, TransportError
from interlingua.errors import InterlinguaError
from interlingua.gateway.batches.state import Handed, Item, Result
from interlingua.gateway.relay.inbound import parse_inbound
from interlingua.gateway.relay.sending import prepare
from interlingua.gateway.shared.file_owners import file_ids
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, error_body, match
from interlingua.gateway.shared.state import Arrival, Exchange, Principal, Refusal
from interlingua.gateway.upstream.replay import FinishedReply
from interlingua.model.exchange import ErrorKind, ProviderError

if TYPE_CHECKING:
    from interlingua.gateway.batches.run import BatchRun

_MESSAGES = "anthropic"
"""The form of batches that Anthropic has; all others have OpenAI's."""

logger = logging.getLogger(__name__)

POLL = 20.0
"""Seconds between two looks at a batch of a provider."""
SPOOLED = 1024 * 1024
MOST_BYTES = 190 * 1024 * 1024
"""Of the requests of one batch, which is less than providers take."""
LONGEST_LINE = 64 * 1024 * 1024
_ENDED = frozenset({"completed", "failed", "expired", "cancelled", "ended"})
_BOUNDARY = "interlingua-batch-boundary"
_encode = msgspec.json.Encoder().encode
Wire = dict[str, Any]


class HandOverError(InterlinguaError):
    """A provider does not take a batch, or does not return its results. `status` is what it
    answered; None where it was not asked."""

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status

    @property
    def is_final(self) -> bool:
        """Whether asking again would change nothing."""
        return self.status is None or (self.status < 500 and self.status not in (408, 409, 429))


class Planned(NamedTuple):
    """The requests of a batch as their provider wants them."""

    target: Target
    url: str
    spool: Any
    requests: int


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
        """Hands the batch over, if that is possible, and stores its results; `done` are those that
        are there, and has all of them in the end."""
        try:
            while not await self._tried(done):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._run.cancelled.wait(), POLL)
                if time.time() >= self._batch.expires_at or self._run.is_cancelled:
                    return
        finally:
            await self._transport.close()

    async def _tried(self, done: set[int]) -> bool:
        """Whether nothing is left to be tried. What may have been handed over is never run by the
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
                    if target is not None and found.provider.key != target.provider.key:
                        raise HandOverError("its requests are for several providers")
                    target, after, count = found, number, count + 1
                    spool.write(self._line(found, number, url, body, first=count == 1))
                    if spool.tell() > MOST_BYTES:
                        raise HandOverError("it is too large")
        except (Refusal, InterlinguaError):
            spool.close()
            return None
        if target is None:
            spool.close()
            return None
        return Planned(target, url, spool, count)

    async def _wire(self, principal: Principal, item: Item) -> tuple[Target, str, bytes]:
        """Where a request goes, and its body there."""
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
        upward = await prepare(gateway, exchange, inbound, target, {})
        prepared = upward.prepared
        if file_ids(prepared.http.body):
            raise HandOverError("it names files, whose owner is looked up for each request")
        paths = prepared.target.provider.dialects[prepared.target.dialect.name]
        return prepared.target, f"/v1{paths.request.removeprefix('/v1')}", prepared.http.body

    def _line(self, target: Target, number: int, url: str, body: bytes, first: bool) -> bytes:
        id = f"{self._batch.id[-26:]}-{number}"
        wire = msgspec.Raw(body)
        if target.provider.batches == _MESSAGES:
            head = b"" if first else b","
            return head + _encode({"custom_id": id, "params": wire})
        return _encode({"custom_id": id, "method": "POST", "url": url, "body": wire}) + b"\n"

    async def _submit(self, planned: Planned) -> None:
        """Hands it over once. Whether an earlier process did is asked of the provider."""
        batch, target = self._batch, planned.target
        form = target.provider.batches or ""
        if batch.handed is None:
            batch.handed = Handed(target.model, form, time.time())
            await self._batches.save(batch)
        else:
            batch.handed.id = await self._adopted(target, batch.handed, planned.requests)
        if batch.handed.id is None:
            sent = self._sent_anthropic if form == _MESSAGES else self._sent_openai
            batch.handed.id = await sent(planned)
        await self._batches.save(batch)

    async def _adopted(self, target: Target, handed: Handed, count: int) -> str | None:
        """The batch that was begun before this process, if any."""
        path = "/v1/messages/batches?limit=100"
        if handed.form == "openai":
            path = "/batches?limit=100"
        for each in (await self._json("GET", target, path)).get("data", ()):
            if handed.form == "openai":
                if (each.get("metadata") or {}).get("interlingua") == self._batch.id:
                    return str(each["id"])
                continue
            counts = sum((each.get("request_counts") or {}).values())
            if counts == count and _seconds(each.get("created_at")) >= handed.at - 5:
                return str(each["id"])
        return None

    async def _sent_openai(self, planned: Planned) -> str:
        head = (
            f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="file";'
            ' filename="requests.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n'
        )
        tail = f"\r\n--{_BOUNDARY}--\r\n"
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        body = _spooled(head.encode(), planned.spool, tail.encode())
        file = await self._json("POST", planned.target, "/files", pieces=body, kind=kind)
        begun = {
            "input_file_id": file["id"],
            "endpoint": planned.url,
            "completion_window": "24h",
            "metadata": {"interlingua": self._batch.id},
        }
        made = await self._json("POST", planned.target, "/batches", _encode(begun))
        return str(made["id"])

    async def _sent_anthropic(self, planned: Planned) -> str:
        body = _spooled(b'{"requests":[', planned.spool, b"]}")
        made = await self._json("POST", planned.target, "/v1/messages/batches", pieces=body)
        return str(made["id"])

    # Waiting

    async def _awaited(self, target: Target, handed: Handed) -> Wire:
        """The batch as its provider shows it when it is over."""
        path = f"{'/v1/messages' if handed.form == _MESSAGES else ''}/batches/{handed.id}"
        while True:
            shown = await self._json("GET", target, path)
            status = shown.get("status") or shown.get("processing_status")
            if status in _ENDED:
                return shown
            if self._run.is_cancelled and not self._cancelled:
                self._cancelled = True
                await self._json("POST", target, f"{path}/cancel", b"{}")
                continue
            with suppress(TimeoutError):
                waiting = self._run.cancelled.wait() if not self._cancelled else asyncio.sleep(POLL)
                await asyncio.wait_for(waiting, POLL)

    # Results

    async def _results(
        self, target: Target, handed: Handed, shown: Wire
    ) -> AsyncIterator[tuple[int, int, bytes]]:
        """The number, the status (0: it was not run) and the body of each."""
        if handed.form == _MESSAGES:
            paths = [f"/v1/messages/batches/{handed.id}/results"]
        else:
            files = [shown.get("output_file_id"), shown.get("error_file_id")]
            paths = [f"/files/{file}/content" for file in files if file]
        start = f"{self._batch.id[-26:]}-"
        for path in paths:
            async for line in self._lines(target, path):
                wire = msgspec.json.decode(line)
                id = str(wire.get("custom_id"))
                if id.startswith(start) and id[len(start) :].isdigit():
                    yield int(id[len(start) :]), *_outcome(wire)

    async def _lines(self, target: Target, path: str) -> AsyncGenerator[bytes, None]:
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
        address = self._gateway.targets.address(target, {}, "request", body=body, path=path)
        headers = {**address.headers, "content-type": kind, "accept-encoding": "identity"}
        request = HttpRequest(address.url, headers, body, address.secrets, method, pieces)
        reply = await self._transport.send(request, Limits(10.0, 300.0, 120.0, None))
        if not 200 <= reply.status < 300:
            reply.close()
            text = f"{target.provider.key} answered {reply.status} to {method} {path[:100]}"
            raise HandOverError(text, reply.status)
        return reply

    async def _json(self, method: str, target: Target, path: str, *args: Any, **more: Any) -> Wire:
        reply = await self._send(method, target, path, *args, **more)
        try:
            found = msgspec.json.decode(await reply.body(16 * 1024 * 1024))
        except msgspec.DecodeError:
            raise HandOverError(f"{target.provider.key} answered no JSON", 502) from None
        finally:
            reply.close()
        return found if isinstance(found, dict) else {}


async def _spooled(head: bytes, spool: Any, tail: bytes) -> AsyncGenerator[bytes, None]:
    yield head
    spool.seek(0)
    while piece := spool.read(64 * 1024):
        yield piece
    yield tail


def _seconds(text: Any) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def _outcome(wire: Wire) -> tuple[int, bytes]:
    """The status and the body of a line of results."""
    match wire:
        case {"result": {"type": "succeeded", "message": message}}:
            return 200, _encode(message)
        case {"result": {"type": "errored", "error": error}}:
            return 400, _encode(error)
        case {"response": {"status_code": int(status), "body": body}}:
            return status, _encode(body)
    return 0, b""


def _error(target: Target, body: bytes, status: int) -> ProviderError:
    try:
        found = target.dialect.read_response(body).error
    except InterlinguaError:
        found = None
    return found or ProviderError(ErrorKind.OTHER, "the request failed", None, status)
