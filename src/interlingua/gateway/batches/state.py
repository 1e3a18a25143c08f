"""A batch as it is stored, and as the APIs of OpenAI and Anthropic show it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from interlingua.gateway.batches.files import SECONDS, Wire

Status = Literal[
    "validating",
    "failed",
    "in_progress",
    "finalizing",
    "completed",
    "expired",
    "cancelling",
    "cancelled",
]
OPEN = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions")
"""Where the requests of a batch of OpenAI's API may go."""
MESSAGES = "/v1/messages"
DAY = 86400


class Counts(msgspec.Struct):
    """Requests of a batch, by what became of them."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    expired: int = 0

    @property
    def left(self) -> int:
        return self.total - self.succeeded - self.failed - self.cancelled - self.expired

    def add(self, kind: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)


class Handed(msgspec.Struct):
    """A batch that was handed over to the provider of its model, and its id there."""

    model: str
    form: str
    at: float
    id: str | None = None


class Batch(msgspec.Struct):
    """One batch; its requests and results are rows of their own."""

    id: str
    tenant: str
    key_id: str | None
    endpoint: str
    created_at: float
    expires_at: float
    status: Status = "validating"
    input_file_id: str | None = None
    window: str = "24h"
    metadata: dict[str, str] | None = None
    counts: Counts = msgspec.field(default_factory=Counts)
    times: dict[str, float] = {}
    """When it came into a status."""
    errors: list[Wire] = []
    """Why its file cannot be run."""
    output_file_id: str | None = None
    error_file_id: str | None = None
    usage: dict[str, int] = {}
    handed: Handed | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_anthropic(self) -> bool:
        return self.endpoint == MESSAGES

    def become(self, status: Status, at: float) -> None:
        self.status = status
        self.times.setdefault(status, at)

    def openai(self) -> Wire:
        """As `/v1/batches` shows it."""
        counts, times = self.counts, self.times
        stamps = {
            f"{status}_at": int(times[status]) if status in times else None
            for status in (
                *("in_progress", "finalizing", "completed", "failed"),
                *("expired", "cancelling", "cancelled"),
            )
        }
        errors = {"object": "list", "data": self.errors} if self.errors else None
        done = counts.failed + counts.expired
        shown = {"total": counts.total, "completed": counts.succeeded, "failed": done}
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "errors": errors,
            "input_file_id": self.input_file_id,
            "completion_window": self.window,
            "status": self.status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": int(self.created_at),
            "expires_at": int(self.expires_at),
            **stamps,
            "request_counts": shown,
            "usage": self._usage(),
            "metadata": self.metadata,
        }

    def _usage(self) -> Wire:
        read, made = self.usage.get("input", 0), self.usage.get("output", 0)
        return {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": self.usage.get("cached", 0)},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": self.usage.get("reasoning", 0)},
            "total_tokens": read + made,
        }

    def anthropic(self, base: str) -> Wire:
        """As `/v1/messages/batches` shows it; `base` is the address of this gateway."""
        counts, times = self.counts, self.times
        ended = None if self.is_open else max(times.values(), default=self.created_at)
        status = "in_progress" if self.is_open else "ended"
        cancelled = times.get("cancelling")
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "canceling" if self.status == "cancelling" else status,
            "request_counts": {
                "processing": counts.left,
                "succeeded": counts.succeeded,
                "errored": counts.failed,
                "canceled": counts.cancelled,
                "expired": counts.expired,
            },
            "created_at": _time(self.created_at),
            "expires_at": _time(self.expires_at),
            "ended_at": _time(ended),
            "cancel_initiated_at": _time(cancelled),
            "archived_at": None,
            "results_url": None if self.is_open else f"{base}{MESSAGES}/batches/{self.id}/results",
        }


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


class Item(msgspec.Struct):
    """One request of a batch."""

    custom_id: str
    body: msgspec.Raw


class Result(msgspec.Struct):
    """What became of one: an answer with its status, or that it was cancelled or has expired."""

    custom_id: str
    kind: Literal["succeeded", "failed", "cancelled", "expired"]
    status: int = 0
    request_id: str = ""
    body: msgspec.Raw = msgspec.Raw(b"null")

    def openai(self, batch: str, number: int) -> Wire:
        """A line of a file of results."""
        response: Any = None
        error: Any = None
        if self.status:
            response = {
                "status_code": self.status,
                "request_id": self.request_id,
                "body": self.body,
            }
        if self.kind in ("cancelled", "expired"):
            code = f"batch_{self.kind}"
            error = {"code": code, "message": f"This request was not run: the batch {_ENDED[code]}"}
        id = f"batch_req_{batch.removeprefix('batch_')}_{number}"
        return {"id": id, "custom_id": self.custom_id, "response": response, "error": error}

    def anthropic(self) -> Wire:
        """A line of the results of a batch of messages."""
        match self.kind:
            case "succeeded":
                result: Wire = {"type": "succeeded", "message": self.body}
            case "failed":
                result = {"type": "errored", "error": self.body}
            case "cancelled":
                result = {"type": "canceled"}
            case _:
                result = {"type": "expired"}
        return {"custom_id": self.custom_id, "result": result}

    @property
    def part(self) -> str:
        """The file of OpenAI's that it is in."""
        return "output" if self.kind == "succeeded" else "errors"


_ENDED = {"batch_cancelled": "was cancelled.", "batch_expired": "has expired."}
LIFETIME = SECONDS
