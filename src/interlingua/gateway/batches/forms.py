"""The batch APIs of the vendors: how each takes requests, reports progress, and returns results.

Wires as the SDKs have them: openai 3.51, anthropic 2.9, mistralai 3.7, google-genai 3.3 (read
2026-11-18).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from interlingua.client.targets import Target
from interlingua.gateway.relay.inbound import patched

Wire = dict[str, Any]
MEBIBYTE = 1024 * 1024
_BOUNDARY = "interlingua-batch-boundary"
_MARK = "interlingua"
"""The member of a batch's metadata by which it is found again."""
_encode = msgspec.json.Encoder().encode


class Planned(NamedTuple):
    """The requests of a batch as their provider wants them."""

    batch: str
    """Its id here."""
    target: Target
    url: str
    spool: Any
    requests: int


class Outcome(NamedTuple):
    """The outcome of a request: its id, a status (0: it was not run) and a body."""

    id: str
    status: int
    body: bytes = b""


class Way(Protocol):
    """The HTTP access to a provider's batch API."""

    async def json(self, method: str, target: Target, path: str, *args: Any, **more: Any) -> Wire:
        """Sends a request and returns the JSON object of its answer."""

    def lines(self, target: Target, path: str) -> AsyncGenerator[bytes, None]:
        """The lines of a file of its."""


class BatchForm:
    """The form of OpenAI's batches, and the shared parts of the others."""

    path = "/batches"
    listed = "data"
    most_bytes = 190 * MEBIBYTE
    """The most bytes of the requests of one batch; less than the provider's limit."""
    one_model = False
    over = frozenset({"completed", "failed", "expired", "cancelled"})

    def line(self, id: str, url: str, body: bytes, first: bool) -> bytes:
        """One request, behind others."""
        wire = {"custom_id": id, "method": "POST", "url": url, "body": msgspec.Raw(body)}
        return _encode(wire) + b"\n"

    async def send(self, way: Way, planned: Planned) -> str:
        """Hands the requests over; the id of the batch there."""
        begun = {
            "input_file_id": await self._file(way, planned),
            "endpoint": planned.url,
            "completion_window": "24h",
            "metadata": {_MARK: planned.batch},
        }
        made = await way.json("POST", planned.target, self.path, _encode(begun))
        return str(made["id"])

    async def _file(self, way: Way, planned: Planned) -> str:
        head = (
            f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="file";'
            ' filename="requests.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n'
        )
        tail = f"\r\n--{_BOUNDARY}--\r\n"
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        body = spooled(head.encode(), planned.spool, tail.encode())
        file = await way.json("POST", planned.target, "/files", pieces=body, kind=kind)
        return str(file["id"])

    def page(self) -> str:
        """The newest batches."""
        return f"{self.path}?limit=100"

    def is_same(self, shown: Wire, planned: Planned, since: float) -> bool:
        """Whether a batch of the provider is this one, handed over before."""
        return bool((shown.get("metadata") or {}).get(_MARK) == planned.batch)

    def id_of(self, shown: Wire) -> str:
        return str(shown["id"])

    def is_over(self, shown: Wire) -> bool:
        return shown.get("status") in self.over

    def cancel(self, id: str) -> str:
        return f"{self.path}/{id}/cancel"

    def files(self, shown: Wire) -> list[Any]:
        """The ids of its files of results."""
        return [shown.get("output_file_id"), shown.get("error_file_id")]

    async def results(
        self, way: Way, target: Target, id: str, shown: Wire
    ) -> AsyncIterator[Outcome]:
        """The outcome of each request, in any order."""
        for file in self.files(shown):
            if not file:
                continue
            async for line in way.lines(target, f"/files/{quote(str(file))}/content"):
                wire = msgspec.json.decode(line)
                match wire.get("response"):
                    case {"status_code": int(status), "body": body}:
                        yield Outcome(str(wire.get("custom_id")), status, _encode(body))
                    case _:
                        yield Outcome(str(wire.get("custom_id")), 0)


class AnthropicForm(BatchForm):
    """The requests are in the body; a batch has no metadata."""

    path = "/v1/messages/batches"

    def line(self, id: str, url: str, body: bytes, first: bool) -> bytes:
        wire = _encode({"custom_id": id, "params": msgspec.Raw(body)})
        return wire if first else b"," + wire

    async def send(self, way: Way, planned: Planned) -> str:
        body = spooled(b'{"requests":[', planned.spool, b"]}")
        return str((await way.json("POST", planned.target, self.path, pieces=body))["id"])

    def is_same(self, shown: Wire, planned: Planned, since: float) -> bool:
        """By its size and its time."""
        counts = sum((shown.get("request_counts") or {}).values())
        return counts == planned.requests and _seconds(shown.get("created_at")) >= since - 5

    def is_over(self, shown: Wire) -> bool:
        return bool(shown.get("processing_status") == "ended")

    async def results(
        self, way: Way, target: Target, id: str, shown: Wire
    ) -> AsyncIterator[Outcome]:
        async for line in way.lines(target, f"{self.path}/{id}/results"):
            wire = msgspec.json.decode(line)
            match wire.get("result"):
                case {"type": "succeeded", "message": message}:
                    yield Outcome(str(wire.get("custom_id")), 200, _encode(message))
                case {"type": "errored", "error": error}:
                    yield Outcome(str(wire.get("custom_id")), 400, _encode(error))
                case _:
                    yield Outcome(str(wire.get("custom_id")), 0)


class MistralForm(BatchForm):
    """A job with one model; the lines of its file have none."""

    path = "/batch/jobs"
    one_model = True
    over = frozenset({"SUCCESS", "FAILED", "TIMEOUT_EXCEEDED", "CANCELLED"})

    def line(self, id: str, url: str, body: bytes, first: bool) -> bytes:
        wire = msgspec.Raw(patched(body, {"model": msgspec.UNSET}))
        return _encode({"custom_id": id, "body": wire}) + b"\n"

    async def send(self, way: Way, planned: Planned) -> str:
        begun = {
            "input_files": [await self._file(way, planned)],
            "endpoint": planned.url,
            "model": planned.target.name,
            "metadata": {_MARK: planned.batch},
            "timeout_hours": 24,
        }
        made = await way.json("POST", planned.target, self.path, _encode(begun))
        return str(made["id"])

    def page(self) -> str:
        return f"{self.path}?page_size=100"

    def files(self, shown: Wire) -> list[Any]:
        return [shown.get("output_file"), shown.get("error_file")]


class GeminiForm(BatchForm):
    """An operation with one model, requests and results in its body; larger ones are not handed
    over."""

    listed = "operations"
    most_bytes = 19 * MEBIBYTE
    one_model = True
    over = frozenset(
        f"{kind}_STATE_{state}"
        for kind in ("BATCH", "JOB")
        for state in ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
    )

    def line(self, id: str, url: str, body: bytes, first: bool) -> bytes:
        wire = _encode({"request": msgspec.Raw(body), "metadata": {"key": id}})
        return wire if first else b"," + wire

    async def send(self, way: Way, planned: Planned) -> str:
        name = _encode(planned.batch)
        head = b'{"batch":{"displayName":%b,"inputConfig":{"requests":{"requests":[' % name
        body = spooled(head, planned.spool, b"]}}}}")
        path = f"/models/{quote(planned.target.name, safe='')}:batchGenerateContent"
        return self.id_of(await way.json("POST", planned.target, path, pieces=body))

    def page(self) -> str:
        return f"{self.path}?pageSize=100"

    def is_same(self, shown: Wire, planned: Planned, since: float) -> bool:
        return bool((shown.get("metadata") or {}).get("displayName") == planned.batch)

    def id_of(self, shown: Wire) -> str:
        return str(shown["name"]).removeprefix("batches/")

    def is_over(self, shown: Wire) -> bool:
        return bool(shown.get("done")) or (shown.get("metadata") or {}).get("state") in self.over

    def cancel(self, id: str) -> str:
        return f"{self.path}/{id}:cancel"

    async def results(
        self, way: Way, target: Target, id: str, shown: Wire
    ) -> AsyncIterator[Outcome]:
        output = (shown.get("metadata") or {}).get("output") or shown.get("response") or {}
        inlined = (output.get("inlinedResponses") or {}).get("inlinedResponses") or ()
        for each in inlined:
            key = str((each.get("metadata") or {}).get("key"))
            if "response" in each:
                yield Outcome(key, 200, _encode(each["response"]))
            else:
                yield Outcome(key, 400, _encode({"error": each.get("error")}))


FORMS: dict[str, BatchForm] = {
    "openai": BatchForm(),
    "anthropic": AnthropicForm(),
    "mistral": MistralForm(),
    "gemini": GeminiForm(),
}


async def spooled(head: bytes, spool: Any, tail: bytes) -> AsyncGenerator[bytes, None]:
    yield head
    spool.seek(0)
    while piece := spool.read(64 * 1024):
        yield piece
    yield tail


def _seconds(text: Any) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0
