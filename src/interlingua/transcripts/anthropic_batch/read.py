"""Message batches to transcripts."""

from __future__ import annotations

from typing import Any

from interlingua.errors import ReadError, found
from interlingua.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.transcripts.answers import read_answer
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, batch_signs, readers, text_in

NAME = "anthropic-batch"
DIALECT = "anthropic"


def signs(sample: Sample) -> str | None:
    return batch_signs(sample, "params", "result")


def _conversation(row: Row, report: Report) -> Conversation:
    name = text_in(row, "custom_id")
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


read, read_all = readers(NAME, _conversation)
