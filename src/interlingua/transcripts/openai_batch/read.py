"""Batches to transcripts."""

from __future__ import annotations

from interlingua.errors import ReadError, found
from interlingua.losses import Report
from interlingua.transcripts.answers import read_answer
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.openai_batch.tables import NAME, OBJECTS, URLS
from interlingua.transcripts.rows import Conversation, Row, batch_signs, readers, text_in


def signs(sample: Sample) -> str | None:
    return batch_signs(sample, "url", "response")


def _conversation(row: Row, report: Report) -> Conversation:
    name = text_in(row, "custom_id")
    body = row.get("body")
    if isinstance(body, dict):
        dialect = _known(URLS, row.get("url"), "$.url")
        request = read_body(body, dialect, report)
        return Conversation(request.messages, name, request.tools, row)
    response = row.get("response")
    answer = response.get("body") if isinstance(response, dict) else None
    if isinstance(answer, dict):
        kind = answer.get("object")
        dialect = "openai-chat" if "error" in answer else _known(OBJECTS, kind, "$.response.body")
        return read_answer(answer, dialect, name, row)
    if isinstance(row.get("error"), dict):
        return read_answer({"error": row["error"]}, "openai-chat", name, row)
    raise ReadError(NAME, "$", "a body, a response or an error", found(answer))


def _known(table: dict[str, str], word: object, path: str) -> str:
    if isinstance(word, str) and word in table:
        return table[word]
    raise ReadError(NAME, path, f"one of {', '.join(table)}", found(word))


read, read_all = readers(NAME, _conversation)
