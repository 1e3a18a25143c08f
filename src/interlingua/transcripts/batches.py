"""Batches of OpenAI and of Anthropic: a line is a request, or the response to one."""

from __future__ import annotations

import re
from typing import Any

from interlingua.adapt.batches import OBJECTS, URLS
from interlingua.errors import ReadError, found
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import USUAL_TIERS, MessageMetadata, MessageStatus
from interlingua.model.reasons import because
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

ANTHROPIC = "anthropic-batch"
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
            raise ReadError(ANTHROPIC, "$.result", "a result that succeeded or not", found(result))


_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def _write_result(transcript: Transcript, own_row: Row, report: Report) -> Row:
    """Failed results have no content of their own, and stay unchanged."""
    if not is_answer(transcript):
        return own_row
    message = write_answer(transcript, DIALECT, report)
    return {**own_row, "result": {**own_row["result"], "message": message}}


def _write_params(transcript: Transcript, own_row: Row, report: Report) -> Row:
    body = write_body(transcript, DIALECT, report, ANTHROPIC)
    old: dict[str, Any] = own_row.get("params", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", because("model_unknown"))
    head: dict[str, Any] = {"model": model} if model else {}
    written: dict[str, Any] = {
        key: body[key] for key in ("system", "messages", "tools") if key in body
    }
    params: dict[str, Any] = {**head, "max_tokens": body.get("max_tokens"), **old, **written}
    name = _ODD.sub("-", transcript.id or "session")[:64]
    row: Row = {"custom_id": name}
    return {**row, **own_row, "params": params}


class AnthropicBatch(RowFormat):
    name = ANTHROPIC
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
        raise ReadError(ANTHROPIC, "$", "params or a result", found(result))

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line: a request for the next answer, or the original result."""
        report = Report(ANTHROPIC)
        own_row = self.own_row(transcript)
        if "result" in own_row:
            row = _write_result(transcript, own_row, report)
        else:
            row = _write_params(transcript, own_row, report)
        return draft(name, row, transcript, report)


OPENAI = "openai-batch"


def _known(table: dict[str, str], word: object, path: str) -> str:
    if isinstance(word, str) and word in table:
        return table[word]
    raise ReadError(OPENAI, path, f"one of {', '.join(table)}", found(word))


def _write_answer(transcript: Transcript, own_row: Row, report: Report) -> Row:
    """Failed answers have no content of their own, and stay unchanged."""
    response = own_row.get("response")
    if not is_answer(transcript) or not isinstance(response, dict):
        return own_row
    dialect = OBJECTS.get(response["body"].get("object"), "openai-chat")
    tier = as_text(response["body"].get("service_tier"))
    own = transcript.replace(messages=tuple([_with_tier(m, tier) for m in transcript.messages]))
    return {**own_row, "response": {**response, "body": write_answer(own, dialect, report)}}


_BATCH = "batch"


def _with_tier(message: Message, tier: str | None) -> Message:
    """The message of a batch's answer, at the price of batches or by the tier in its body:
    OpenAI's bodies do not show that they were served in a batch."""
    usage = message.metadata.usage
    if usage is None or usage.service_tier not in (*USUAL_TIERS, _BATCH):
        return message
    metadata = message.metadata.replace(usage=usage.replace(service_tier=tier))
    return message.replace(metadata=metadata)


def _write_request(transcript: Transcript, own_row: Row, report: Report) -> Row:
    url = own_row.get("url", next(iter(URLS)))
    body = write_body(transcript, URLS[url], report, OPENAI)
    old: dict[str, Any] = own_row.get("body", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", because("model_unknown"))
    head = {"model": model} if model else {}
    row = {"custom_id": transcript.id or "session", "method": "POST", "url": url}
    return {**row, **own_row, "body": {**head, **old, **body}}


class OpenAIBatch(RowFormat):
    name = OPENAI
    title = "OpenAI batch"
    tested = "the public types, 2026-11-16"
    rows = True
    unsupported_fields = ("title", "folder")

    def detect(self, sample: Sample) -> str | None:
        return detect_batch(sample, "url", "response")

    def read_row(self, row: Row, report: Report) -> Conversation:
        name = as_text(row.get("custom_id"))
        body = row.get("body")
        if isinstance(body, dict):
            dialect = _known(URLS, row.get("url"), "$.url")
            request = read_body(body, dialect, report)
            return Conversation(request.messages, name, request.tools, row)
        response = row.get("response")
        answer = response.get("body") if isinstance(response, dict) else None
        if isinstance(answer, dict):
            kind = answer.get("object")
            dialect = (
                "openai-chat" if "error" in answer else _known(OBJECTS, kind, "$.response.body")
            )
            done = read_answer(answer, dialect, name, row)
            return done._replace(messages=tuple([_with_tier(m, _BATCH) for m in done.messages]))
        if isinstance(row.get("error"), dict):
            return read_answer({"error": row["error"]}, "openai-chat", name, row)
        raise ReadError(OPENAI, "$", "a body, a response or an error", found(answer))

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line: a request for the next answer, or the original answer."""
        report = Report(OPENAI)
        own_row = self.own_row(transcript)
        if own_row and "body" not in own_row:
            row = _write_answer(transcript, own_row, report)
            transcript = transcript.replace(branches=transcript.branches[:1])
        else:
            row = _write_request(transcript, own_row, report)
        return draft(name, row, transcript, report)


FORMATS = (OpenAIBatch(), AnthropicBatch())
