"""Answers of providers inside files: what came back for a request, alone."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.registry import dialect
from interlingua.losses import Report
from interlingua.model.exchange import Response
from interlingua.model.message import Role
from interlingua.transcripts.rows import Conversation, Row
from interlingua.transcripts.transcript import Transcript


def read_answer(body: dict[str, Any], name: str, id: str | None, row: Row) -> Conversation:
    """The answer's message; if several were asked for, the others are branches."""
    response = dialect(name).read_response(body)
    return Conversation(
        (response.message,),
        id,
        row=row,
        alternatives=response.alternatives,
        raw=response.raw,
    )


def is_answer(transcript: Transcript) -> bool:
    """Whether there is nothing but one message of a model that said something."""
    if len(transcript.messages) != 1:
        return False
    only = transcript.messages[0]
    return only.role is Role.ASSISTANT and bool(only.content)


def write_answer(transcript: Transcript, name: str, report: Report) -> dict[str, Any]:
    """The inverse of `read_answer`."""
    others = (each.messages[-1] for each in transcript.branches if not each.active)
    response = Response(transcript.messages[0], tuple(others), raw=transcript.details.get("raw"))
    written = dialect(name).write_response(response)
    report.extend(written.report)
    wire: dict[str, Any] = written.wire
    return wire
