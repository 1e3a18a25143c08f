"""OpenAI's batches: a line is a request, or what came back for one."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.batches import OBJECTS, URLS
from interlingua.errors import ReadError, found
from interlingua.model.losses import Report
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

NAME = "openai-batch"


def _known(table: dict[str, str], word: object, path: str) -> str:
    if isinstance(word, str) and word in table:
        return table[word]
    raise ReadError(NAME, path, f"one of {', '.join(table)}", found(word))


def _write_answer(transcript: Transcript, own_row: Row, report: Report) -> Row:
    """An answer that failed has no words of its own: it stays as it was."""
    response = own_row.get("response")
    if not is_answer(transcript) or not isinstance(response, dict):
        return own_row
    dialect = OBJECTS.get(response["body"].get("object"), "openai-chat")
    return {**own_row, "response": {**response, "body": write_answer(transcript, dialect, report)}}


def _write_request(transcript: Transcript, own_row: Row, report: Report) -> Row:
    url = own_row.get("url", next(iter(URLS)))
    body = write_body(transcript, URLS[url], report, NAME)
    old: dict[str, Any] = own_row.get("body", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", "no model is known: the body names none", "warning")
    head = {"model": model} if model else {}
    row = {"custom_id": transcript.id or "session", "method": "POST", "url": url}
    return {**row, **own_row, "body": {**head, **old, **body}}


class OpenAIBatch(RowFormat):
    name = NAME
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
            return read_answer(answer, dialect, name, row)
        if isinstance(row.get("error"), dict):
            return read_answer({"error": row["error"]}, "openai-chat", name, row)
        raise ReadError(NAME, "$", "a body, a response or an error", found(answer))

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line: a request that asks for the next answer, or the answer it was."""
        report = Report(NAME)
        own_row = self.own_row(transcript)
        if own_row and "body" not in own_row:
            row = _write_answer(transcript, own_row, report)
            transcript = transcript.replace(branches=transcript.branches[:1])
        else:
            row = _write_request(transcript, own_row, report)
        return draft(name, row, transcript, report)


FORMAT = OpenAIBatch()
