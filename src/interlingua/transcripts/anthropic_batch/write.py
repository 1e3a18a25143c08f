"""Transcripts to message batches. Params are checked by the API, so nothing of ours is kept beside
them; thinking keeps its signatures, as any request of this API."""

from __future__ import annotations

import re
from typing import Any

from interlingua.losses import Report
from interlingua.transcripts.answers import is_answer, write_answer
from interlingua.transcripts.anthropic_batch.read import DIALECT, NAME
from interlingua.transcripts.bodies import model_of, write_body
from interlingua.transcripts.format import Draft
from interlingua.transcripts.rows import Row, draft
from interlingua.transcripts.transcript import Transcript

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def write(transcript: Transcript, name: str) -> Draft:
    """A file of one line: a request that asks for the next answer, or the result it was."""
    report = Report(NAME)
    kept = transcript.details.get("row", {}) if transcript.format == NAME else {}
    if "result" in kept:
        row = _result(transcript, kept, report)
    else:
        row = _request(transcript, kept, report)
    return draft(name, row, transcript, report)


def _result(transcript: Transcript, kept: Row, report: Report) -> Row:
    """A result that failed has no words of its own: it stays as it was."""
    if not is_answer(transcript):
        return kept
    message = write_answer(transcript, DIALECT, report)
    return {**kept, "result": {**kept["result"], "message": message}}


def _request(transcript: Transcript, kept: Row, report: Report) -> Row:
    body = write_body(transcript, DIALECT, report, NAME)
    old: dict[str, Any] = kept.get("params", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", "no model is known: params name none", "warning")
    head: dict[str, Any] = {"model": model} if model else {}
    said: dict[str, Any] = {
        key: body[key] for key in ("system", "messages", "tools") if key in body
    }
    params: dict[str, Any] = {**head, "max_tokens": body.get("max_tokens"), **old, **said}
    name = _ODD.sub("-", transcript.id or "session")[:64]
    row: Row = {"custom_id": name}
    return {**row, **kept, "params": params}
