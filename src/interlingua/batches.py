"""Rows of batch files: a request or an answer, and around it a name that its owner gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.kernel.wire import parse
from interlingua.dialects.registry import Kind
from interlingua.losses import Report

NAMES = ("openai-batch", "anthropic-batch")
MARK = b'"custom_id"'
"""Bytes that every row has; looking for them takes less than reading a row."""

URLS = {"/v1/chat/completions": "openai-chat", "/v1/responses": "openai-responses"}
"""The dialect of a request's body at OpenAI, by where it is sent; the first is written."""
OBJECTS = {"chat.completion": "openai-chat", "response": "openai-responses"}
"""The dialect of an answer's body, by what it calls itself."""

_NAME = "$.custom_id"
_SAID = frozenset({"method", "url", "params", "body", "type", "error"})
"""What says no more than the body and its dialect do."""


class BatchRow(NamedTuple):
    """The body of a row, its dialect and kind, and what stands around it, by path."""

    dialect: str
    kind: Kind
    body: dict[str, Any]
    around: dict[str, Any]

    def account(self, report: Report) -> None:
        """Say that what stood around the body is left out."""
        for path, value in self.around.items():
            if value is not None:
                reason = "it stood around the body, which is converted alone"
                report.add("dropped", path, reason, "warning" if path == _NAME else "info")


def row_of(data: bytes) -> BatchRow | None:
    """The row that this JSON is; None where it is none."""
    parsed = parse(data, "JSON")
    match parsed:
        case {"custom_id": _, "url": str(url), "body": dict(body)} if url in URLS:
            return BatchRow(URLS[url], "request", body, _around(parsed, "body"))
        case {"custom_id": _, "response": {"body": dict(body), **rest}}:
            around = {f"$.response.{key}": value for key, value in rest.items()}
            dialect = OBJECTS.get(body.get("object", ""), "openai-chat")
            return BatchRow(dialect, "response", body, _around(parsed, "response") | around)
        case {"custom_id": _, "response": None, "error": dict(error)}:
            around = _around(parsed, "response")
            return BatchRow("openai-chat", "response", {"error": error}, around)
        case {"custom_id": _, "params": dict(body)}:
            return BatchRow("anthropic", "request", body, _around(parsed, "params"))
        case {"custom_id": _, "result": {"type": "succeeded", "message": dict(body)}}:
            return BatchRow("anthropic", "response", body, _around(parsed, "result"))
        case {"custom_id": _, "result": {"type": "errored", "error": dict(body)}}:
            return BatchRow("anthropic", "response", body, _around(parsed, "result"))
    return None


def _around(row: dict[str, Any], *inside: str) -> dict[str, Any]:
    return {f"$.{key}": row[key] for key in row if key not in _SAID and key not in inside}
