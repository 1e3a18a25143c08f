"""Message batches to transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.transcripts.answers import read_answer
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, first_row, read_first, read_rows
from interlingua.transcripts.transcript import Transcript

NAME = "anthropic-batch"
DIALECT = "anthropic"


def signs(sample: Sample) -> str | None:
    row = first_row(sample)
    if row is None or "custom_id" not in row:
        return None
    if "params" in row:
        return "requests with a custom_id and params"
    return "answers with a custom_id and a result" if "result" in row else None


def read(path: Path) -> Transcript:
    """The first request or answer."""
    return read_first(path, NAME, _conversation)


def read_all(path: Path) -> Iterator[Transcript]:
    return read_rows(path, NAME, _conversation)


def _conversation(row: Row, report: Report) -> Conversation:
    name = row.get("custom_id")
    name = name if isinstance(name, str) else None
    params, result = row.get("params"), row.get("result")
    if isinstance(params, dict):
        request = read_body(params, DIALECT, report)
        return Conversation(request.messages, name, request.tools, row)
    if isinstance(result, dict):
        return _result(result, name, row)
    raise ReadError(NAME, "$", "params or a result", found(result))


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
