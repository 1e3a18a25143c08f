"""Anthropic's message batches: a line is a request, or its result."""

from __future__ import annotations

import re
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.transcripts.format import Draft, Sample
from interlingua.transcripts.rows import (
    Conversation,
    Row,
    RowFormat,
    detect_batch,
    draft,
    is_answer,
    model_of,
    read_answer,
    read_body,
    write_answer,
    write_body,
)
from interlingua.transcripts.transcript import Transcript
from interlingua.transcripts.values import as_text

NAME = "anthropic-batch"
DIALECT = "anthropic"


def _result(result: dict[str, Any], name: str | None, row: Row) -> Conversation:
    match result:
        case {"type": "succeeded", "message": dict(body)}:
            return read_answer(body, DIALECT, name, row)
        case {"type": "errored", "error": dict(body)}:
            return read_answer(body, DIALECT, name, row)
        case {"type": "canceled" | "expired" as word}:
            metadata = MessageMetadata(status=MessageStatus.CANCELLED, error_message=word)
            return Conversation((Message(Role.ASSISTANT, (), metadata=metadata),), name, row=row)
        case _:
            raise ReadError(NAME, "$.result", "a result that succeeded or not", found(result))


_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def _write_result(transcript: Transcript, own_row: Row, report: Report) -> Row:
    """A result that failed has no words of its own: it stays as it was."""
    if not is_answer(transcript):
        return own_row
    message = write_answer(transcript, DIALECT, report)
    return {**own_row, "result": {**own_row["result"], "message": message}}


def _write_request(transcript: Transcript, own_row: Row, report: Report) -> Row:
    body = write_body(transcript, DIALECT, report, NAME)
    old: dict[str, Any] = own_row.get("params", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", "no model is known: params name none", "warning")
    head: dict[str, Any] = {"model": model} if model else {}
    written: dict[str, Any] = {
        key: body[key] for key in ("system", "messages", "tools") if key in body
    }
    params: dict[str, Any] = {**head, "max_tokens": body.get("max_tokens"), **old, **written}
    name = _ODD.sub("-", transcript.id or "session")[:64]
    row: Row = {"custom_id": name}
    return {**row, **own_row, "params": params}


class AnthropicBatch(RowFormat):
    name = NAME
    title = "Anthropic batch"
    tested = "the public types, 2026-11-16"
    rows = True
    unsupported_fields = ("title", "folder")

    def detect(self, sample: Sample) -> str | None:
        return detect_batch(sample, "params", "result")

    def read_row(self, row: Row, report: Report) -> Conversation:
        name = as_text(row.get("custom_id"))
        params, result = row.get("params"), row.get("result")
        if isinstance(params, dict):
            request = read_body(params, DIALECT, report)
            return Conversation(request.messages, name, request.tools, row)
        if isinstance(result, dict):
            return _result(result, name, row)
        raise ReadError(NAME, "$", "params or a result", found(result))

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line: a request that asks for the next answer, or the result it was."""
        report = Report(NAME)
        own_row = self.own_row(transcript)
        if "result" in own_row:
            row = _write_result(transcript, own_row, report)
        else:
            row = _write_request(transcript, own_row, report)
        return draft(name, row, transcript, report)


FORMAT = AnthropicBatch()
