"""Rows of batch files: a request or an answer, and around it a name that its owner gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.kernel.wire import parse
from interlingua.dialects.registry import Kind
from interlingua.model.losses import Report
from interlingua.model.reasons import because

NAMES = ("openai-batch", "anthropic-batch")
MARK = b'"custom_id"'
"""Bytes that every row has; looking for them takes less than reading a row."""

URLS = {"/v1/chat/completions": "openai-chat", "/v1/responses": "openai-responses"}
"""The dialect of a request's body at OpenAI, by where it is sent; the first is written."""
OBJECTS = {"chat.completion": "openai-chat", "response": "openai-responses"}
"""The dialect of a response body, by its `object` or `type`."""

_NAME = "$.custom_id"
_SAID = frozenset({"method", "url", "params", "body", "type", "error"})
"""Members that only repeat the body and its dialect."""


class BatchRow(NamedTuple):
    """The body of a row, its dialect and kind, and the members around it, by path."""

    body: dict[str, Any]
    dialect: str
    kind: Kind
    around: dict[str, Any]

    def account(self, report: Report) -> None:
        """Reports that the members around the body are left out."""
        for path, value in self.around.items():
            if value is not None:
                reason = because("around_body")
                report.add("dropped", path, reason, "warning" if path == _NAME else "info")


def row_of(data: Any) -> BatchRow | None:
    """Parses a row of a batch file; None if it is not a row."""
    if isinstance(data, bytes) and MARK not in data:
        return None
    parsed = parse(data, "JSON") if isinstance(data, bytes) else data
    match parsed:
        case {"custom_id": _, "url": str(url), "body": dict(body)} if url in URLS:
            return BatchRow(body, URLS[url], "request", _around(parsed, "body"))
        case {"custom_id": _, "response": {"body": dict(body), **rest}}:
            around = {f"$.response.{key}": value for key, value in rest.items()}
            dialect = OBJECTS.get(body.get("object", ""), "openai-chat")
            return BatchRow(body, dialect, "response", _around(parsed, "response") | around)
        case {"custom_id": _, "response": None, "error": dict(error)}:
            around = _around(parsed, "response")
            return BatchRow({"error": error}, "openai-chat", "response", around)
        case {"custom_id": _, "params": dict(body)}:
            return BatchRow(body, "anthropic", "request", _around(parsed, "params"))
        case {"custom_id": _, "result": {"type": "succeeded", "message": dict(body)}}:
            return BatchRow(body, "anthropic", "response", _around(parsed, "result"))
        case {"custom_id": _, "result": {"type": "errored", "error": dict(body)}}:
            return BatchRow(body, "anthropic", "response", _around(parsed, "result"))
    return None


def _around(row: dict[str, Any], *inside: str) -> dict[str, Any]:
    return {f"$.{key}": row[key] for key in row if key not in _SAID and key not in inside}
