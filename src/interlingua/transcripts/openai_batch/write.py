"""Transcripts to batches. A body is checked by the API, so nothing of ours is kept beside it."""

from __future__ import annotations

from typing import Any

from interlingua.losses import Report
from interlingua.transcripts.answers import is_answer, write_answer
from interlingua.transcripts.bodies import model_of, write_body
from interlingua.transcripts.format import Draft
from interlingua.transcripts.openai_batch.tables import NAME, OBJECTS, URLS
from interlingua.transcripts.rows import Row, draft
from interlingua.transcripts.transcript import Transcript


def write(transcript: Transcript, name: str) -> Draft:
    """A file of one line: a request that asks for the next answer, or the answer it was."""
    report = Report(NAME)
    kept = transcript.details.get("row", {}) if transcript.format == NAME else {}
    if kept and "body" not in kept:
        row = _answer(transcript, kept, report)
        transcript = transcript.replace(branches=transcript.branches[:1])
    else:
        row = _request(transcript, kept, report)
    return draft(name, row, transcript, report)


def _answer(transcript: Transcript, kept: Row, report: Report) -> Row:
    """An answer that failed has no words of its own: it stays as it was."""
    response = kept.get("response")
    if not is_answer(transcript) or not isinstance(response, dict):
        return kept
    dialect = OBJECTS.get(response["body"].get("object"), "openai-chat")
    return {**kept, "response": {**response, "body": write_answer(transcript, dialect, report)}}


def _request(transcript: Transcript, kept: Row, report: Report) -> Row:
    url = kept.get("url", next(iter(URLS)))
    body = write_body(transcript, URLS[url], report, NAME)
    old: dict[str, Any] = kept.get("body", {})
    model = old.get("model") or model_of(transcript)
    if model is None:
        report.add("approximated", "$.models", "no model is known: the body names none", "warning")
    head = {"model": model} if model else {}
    row = {"custom_id": transcript.id or "session", "method": "POST", "url": url}
    return {**row, **kept, "body": {**head, **old, **body}}
