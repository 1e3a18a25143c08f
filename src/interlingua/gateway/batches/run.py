"""One batch under way in this process: its file checked, its requests run, its results stored."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.gateway.batches.native import NativeBatch
from interlingua.gateway.batches.state import Batch, Counts, Item, Result
from interlingua.gateway.relay.inbound import patched
from interlingua.gateway.responses.inner import scope_of
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, PRINCIPAL, error_body
from interlingua.gateway.shared.redaction import redaction_of
from interlingua.gateway.shared.refusals import coded
from interlingua.gateway.shared.state import CODE_HEADER, Principal, Refusal
from interlingua.gateway.upstream.transport import FinishedReply, answered_by
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.store.errors import StoreError

if TYPE_CHECKING:
    from interlingua.gateway.batches.batches import Batches

logger = logging.getLogger(__name__)

AT_A_TIME = 8
"""Requests of one batch under way."""
MOST_REQUESTS = 50_000
MOST_ERRORS = 100
"""The most errors of a file that cannot be run."""
LONGEST_ID = 512
TRIES = 4
"""Attempts of a request that fails because of its provider."""
LONGEST_WAIT = 30.0
LONGEST_BESIDE = 5.0
"""The longest pause in seconds between checks whether the key's other requests have left room."""
LONGEST_FOR_CAP = 300.0
"""The same for a cap that is spent: a higher one may be set meanwhile."""
SAVED_EVERY = 1.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_line = msgspec.json.Decoder(dict[str, Any])


class WholeAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Room:
    """The number of concurrent requests of a batch: fewer if the caps of its key have no room for
    more."""

    def __init__(self, most: int) -> None:
        self.most = self._limit = most
        self.under_way = 0
        self._answers = 0
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.under_way < self.most)
            self.under_way += 1

    async def __aexit__(self, *_: object) -> None:
        self.under_way -= 1
        async with self._changed:
            self._changed.notify_all()

    def narrow(self) -> bool:
        """Lowers the limit after a request found no room; False if no other is under way."""
        self.most, self._answers = max(1, self.under_way - 1), 0
        return self.under_way > 1

    def widen(self) -> None:
        """One has its answer; after some, one more is tried at a time."""
        self._answers += 1
        if self._answers >= self._limit:
            self.most, self._answers = min(self._limit, self.most + 1), 0


class BatchRun:
    """Runs a batch to its end, from wherever it is."""

    def __init__(self, batches: Batches, batch: Batch) -> None:
        self.batches = batches
        self.batch = batch
        self.task: asyncio.Task[None] | None = None
        self.cancelled = asyncio.Event()
        self._room = Room(AT_A_TIME)
        self._saved = time.monotonic()

    @property
    def tenant(self) -> str:
        return self.batch.tenant

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled.is_set()

    async def cancel(self) -> None:
        """No other request is begun from now on."""
        if self.batch.is_open and not self.is_cancelled:
            self.cancelled.set()
            self.batch.become("cancelling", time.time())
            await self.batches.save(self.batch)

    async def run(self) -> None:
        try:
            await self._work()
        except StoreError as error:
            logger.error("batch_not_stored", extra={"batch": self.batch.id, "why": error.reason})
        except InterlinguaError as error:
            why = type(error).__name__
            logger.error("batch_failed", extra={"batch": self.batch.id, "why": why})

    async def _work(self) -> None:
        batch, batches = self.batch, self.batches
        if batch.status == "cancelling" or await batches.is_cancelled(batch.id, batch.tenant):
            self.cancelled.set()
        if batch.status == "validating":
            if not await self._checked():
                batch.become("failed", time.time())
                await batches.finish(batch)
                return
            batch.become("in_progress", time.time())
            await batches.save(batch)
        done = await self._resumed()
        if batch.handed is not None or await self._may_hand_over():
            await NativeBatch(self).run(done)
        await self._run_items(done)
        await self._end()

    async def _may_hand_over(self) -> bool:
        """Whether the provider may get the requests as they are."""
        gateway = self.batches.gateway
        if not gateway.settings.batches.at_provider:
            return False
        try:
            key = Principal(self.batch.key_id)
            principal = await gateway.keys.current(key, looked_up=True)
        except Refusal:
            return False
        return redaction_of(gateway, principal) == "off"

    # The file

    async def _checked(self) -> bool:
        """Whether the file can be run; its requests are stored then."""
        batch, files = self.batch, self.batches.files
        seen: set[str] = set()
        held: list[Item] = []
        count = 0
        longest = self.batches.gateway.settings.limits.body
        async for line in files.lines(batch.input_file_id or "", batch.tenant, longest):
            count += 1
            item = item_of(line, batch.endpoint, seen, longest)
            if count > MOST_REQUESTS or len(batch.errors) >= MOST_ERRORS:
                break
            if isinstance(item, Item):
                held.append(item)
            else:
                self._wrong(*item, count)
            if len(held) == AT_A_TIME * 8:
                await self.batches.add_items(batch, count - len(held), held)
                held = []
        if held and not batch.errors:
            await self.batches.add_items(batch, count - len(held), held)
        if count > MOST_REQUESTS:
            self._wrong("too_many_tasks", f"more than {MOST_REQUESTS} requests", None)
        elif not count:
            self._wrong("empty_file", "the input file has no requests", None)
        batch.counts = Counts(total=0 if batch.errors else count)
        return not batch.errors

    def _wrong(self, code: str, message: str, line: int | None) -> None:
        self.batch.errors.append({"code": code, "message": message, "param": None, "line": line})

    # The requests

    async def _resumed(self) -> set[int]:
        """The numbers of requests that have a result, which are counted anew."""
        batch, done = self.batch, set()
        counts, batch.usage = Counts(total=batch.counts.total), {}
        async for number, result in self.batches.all_results(batch.id, batch.tenant):
            done.add(number)
            counts.add(result.kind)
            self._add_usage(result)
        batch.counts = counts
        return done

    async def _run_items(self, done: set[int]) -> None:
        """Runs the requests without a result, a few at a time."""
        free = asyncio.Semaphore(AT_A_TIME)
        under_way: set[asyncio.Task[None]] = set()
        after = -1
        try:
            while items := await self.batches.items(self.batch, after):
                for number, item in items:
                    after = number
                    if number in done:
                        continue
                    await free.acquire()
                    task = asyncio.ensure_future(self._run_item(number, item))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                    task.add_done_callback(lambda _: free.release())
                await self._save_sometimes()
            if under_way:
                await asyncio.gather(*under_way)
        finally:
            for task in under_way:
                task.cancel()

    async def _run_item(self, number: int, item: Item) -> None:
        await self.keep(number, await self._result(item))

    async def keep(self, number: int, result: Result) -> None:
        """Stores a result, and counts it."""
        try:
            await self.batches.put_results(self.batch, [(number, result)])
        except StoreError as error:  # it is asked again, once the batch is taken anew
            extra = {"batch": self.batch.id, "why": error.reason}
            logger.error("batch_result_not_stored", extra=extra)
            return
        self.batch.counts.add(result.kind)
        self._add_usage(result)
        await self._save_sometimes()

    async def _save_sometimes(self) -> None:
        if time.monotonic() - self._saved > SAVED_EVERY:
            self._saved = time.monotonic()
            await self.batches.save(self.batch)

    async def _result(self, item: Item) -> Result:
        """Sends the request until there is an answer, the batch is cancelled, or it has expired."""
        tries, looks = Counter[bool](), 0
        while True:
            async with self._room:
                if (unasked := self._unasked(item)) is not None:
                    return unasked
                made = await self._asked(item)
                if made is None:
                    continue  # cancelled on the way
                if _is_full(made):
                    if not self._room.narrow():
                        looks += 1
                        await self._pause(min(0.25 * 2.0 ** min(looks, 6), LONGEST_BESIDE))
                    continue
                self._room.widen()
            is_limit = made.status == 429
            tries[is_limit] += 1
            wait = _wait(made, tries[is_limit], self.batch.expires_at - time.time())
            if wait is None:
                return _result(item, made)
            await self._pause(wait)

    def _unasked(self, item: Item) -> Result | None:
        """The result of a request that is no longer sent."""
        if self.cancelled.is_set():
            return Result(item.custom_id, "cancelled")
        if time.time() >= self.batch.expires_at:
            return Result(item.custom_id, "expired")
        return None

    async def _pause(self, seconds: float) -> None:
        """Until then, or until the batch is cancelled or expires."""
        left = max(0.0, self.batch.expires_at - time.time())
        with suppress(TimeoutError):
            await asyncio.wait_for(self.cancelled.wait(), min(seconds, left))

    async def result_of(self, item: Item, reply: FinishedReply) -> Result:
        """A provider's answer to a request, in the client's form."""
        with answered_by(reply):
            made = await self._asked(item, asyncio.Event())
        assert made is not None, "nothing cancels it"
        return _result(item, made)

    async def _asked(self, item: Item, gone: asyncio.Event | None = None) -> WholeAnswer | None:
        """The answer to one request; None where the batch was cancelled meanwhile."""
        batches, batch = self.batches, self.batch
        try:
            principal = await batches.gateway.keys.current(Principal(batch.key_id), looked_up=True)
        except Refusal as refused:
            return _refused(batch, refused)
        assert batches.app is not None
        scope = scope_of(None, [(b"content-type", b"application/json")])
        scope["path"] = batch.endpoint
        scope["raw_path"] = batch.endpoint.encode()
        scope[PRINCIPAL] = replace(principal, in_batch=True)
        body = patched(bytes(item.body), _LEFT_OUT)
        inner = _Inner(body, gone or self.cancelled)
        await batches.app(scope, inner.receive, inner.send)
        return inner.answer()

    def _add_usage(self, result: Result) -> None:
        if result.kind != "succeeded":
            return
        try:
            usage = _answer.decode(result.body).usage
        except msgspec.DecodeError:
            return
        for name, count in usage.counts().items():
            self.batch.usage[name] = self.batch.usage.get(name, 0) + count

    # The end

    async def _end(self) -> None:
        batch, batches = self.batch, self.batches
        if batch.counts.left > 0:
            return  # rows are missing: the next process that takes it looks again
        at = time.time()
        if not batch.is_anthropic:
            batch.become("finalizing", at)
            sizes = {"output": 0, "errors": 0}
            for part in sizes:
                async for line in batches.result_lines(batch.id, batch.tenant, part):
                    sizes[part] += len(line)
            if sizes["output"]:
                batch.output_file_id = await batches.add_file(batch, "output", sizes["output"])
            if sizes["errors"]:
                batch.error_file_id = await batches.add_file(batch, "errors", sizes["errors"])
        if self.cancelled.is_set():
            batch.become("cancelled", at)
        else:
            batch.become("expired" if batch.counts.expired else "completed", at)
        await batches.finish(batch)
        logger.info("batch_ended", extra={"batch": batch.id, "requests": batch.counts.total})


def item_of(line: bytes, endpoint: str, seen: set[str], longest: int) -> Item | tuple[str, str]:
    """The request on a line of a file, or a code and a sentence for why it is not a request."""
    if len(line) > longest:
        return "request_too_large", f"more than {longest} bytes"
    try:
        wire = _line.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "invalid_json_line", "the line is not a JSON object"
    id, body = wire.get("custom_id"), wire.get("body")
    if not isinstance(id, str) or not 1 <= len(id) <= LONGEST_ID:
        return "missing_required_parameter", f"custom_id: expected 1 to {LONGEST_ID} characters"
    if id in seen:
        return "duplicate_custom_id", f"custom_id {id[:100]!r} is used twice"
    seen.add(id)
    if wire.get("method") != "POST" or wire.get("url") != endpoint:
        return "mismatched_endpoint", f"expected method POST and url {endpoint}"
    if not isinstance(body, dict):
        return "missing_required_parameter", "body: expected an object"
    return Item(id, msgspec.Raw(msgspec.json.encode(body)))


class _Inner:
    """The two ends of a request that the gateway makes to itself."""

    def __init__(self, body: bytes, gone: asyncio.Event) -> None:
        self._body: bytes | None = body
        self._gone = gone
        self._status = 0
        self._headers: dict[str, str] = {}
        self._pieces = bytearray()

    async def receive(self) -> MutableMapping[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self._pieces += message.get("body", b"")

    def answer(self) -> WholeAnswer | None:
        if not self._status:
            return None
        return WholeAnswer(self._status, self._headers, bytes(self._pieces))


def _result(item: Item, made: WholeAnswer) -> Result:
    id, body = made.headers.get("x-request-id", ""), msgspec.Raw(on_one_line(made.body))
    kind: Literal["succeeded", "failed"] = "succeeded" if made.status == 200 else "failed"
    return Result(item.custom_id, kind, made.status, id, body)


def on_one_line(body: bytes) -> bytes:
    """An answer as a part of a line of results. A proxy's page in place of one is put into an
    error."""
    try:
        msgspec.json.decode(body)
        return msgspec.json.format(body, indent=-1)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        text = body[:500].decode("utf-8", "replace")
        error = {"message": f"the answer is not JSON: {text}", "type": "server_error"}
        return msgspec.json.encode({"error": {**error, "param": None, "code": "not_json"}})


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    completion_tokens: int = 0

    def counts(self) -> dict[str, int]:
        read, made = self.input_tokens + self.prompt_tokens, self.output_tokens
        return {"input": read, "output": made + self.completion_tokens}


_LEFT_OUT = dict.fromkeys(("stream", "stream_options", "background"), msgspec.UNSET)
"""Members that ask for an answer now, or for none: a batch has whole answers."""


class _Answer(msgspec.Struct):
    usage: _Usage = _Usage()


_answer = msgspec.json.Decoder(_Answer)


def _is_full(made: WholeAnswer) -> bool:
    """Whether limits of the key have no room for it beside requests that are under way."""
    headers = made.headers
    return CODE_HEADER in headers and made.status == 429 and headers.get("retry-after") == "1"


def _wait(made: WholeAnswer, tries: int, left: float) -> float | None:
    """Seconds until a request is sent again; None where its answer is final. Limits of a minute are
    waited for, and a cap that is renewed while the batch has time left."""
    if made.status not in _AGAIN or made.headers.get("x-should-retry") == "false":
        return None
    if made.status != 429 and tries >= TRIES:
        return None
    after = made.headers.get("retry-after", "")
    wait = float(after) if after.isdigit() and len(after) < 8 else 0.5 * 2.0 ** min(tries, 6)
    if CODE_HEADER not in made.headers:
        return min(wait, LONGEST_WAIT)
    return min(wait, LONGEST_FOR_CAP) if wait < left else None


def _refused(batch: Batch, refused: Refusal) -> WholeAnswer:
    """The answer to requests of a key that is void by now."""
    front = ANTHROPIC if batch.is_anthropic else CHAT
    problem = ProviderError(
        ErrorKind.AUTH, refused.error.message, refused.error.code, refused.status
    )
    return WholeAnswer(refused.status, {}, error_body(front, coded(front.dialect, problem)))
