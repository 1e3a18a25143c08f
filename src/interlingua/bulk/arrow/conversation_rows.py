"""Each kind of conversation as the values of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from interlingua.bulk.arrow import parts
from interlingua.bulk.arrow.kinds import Conversation, StoredSession, apart
from interlingua.bulk.arrow.rest import encode
from interlingua.errors import WriteError, found
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Loss
from interlingua.model.message import Message, micros
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.transcript import Transcript

NO_OPTIONS = Request().options
"""The very object that is the default."""


class ConversationRow(NamedTuple):
    """A row of `conversations`, but for what sums up its messages."""

    kind: str
    messages: Sequence[Message]
    id: str | None = None
    name: str | None = None
    model: str | None = None
    provider: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    tools: Sequence[ToolDefinition] = ()
    options: bytes | None = None
    rest: bytes | None = None
    losses: Sequence[Loss] = ()


def row_of(value: Conversation) -> ConversationRow:
    match value:
        case Request():
            return _request(value)
        case Response():
            return _response(value)
        case StoredSession():
            return _session(value)
        case Transcript():
            return _transcript(value)
        case _:
            raise WriteError("Arrow", "$", f"no conversation: {found(value)}")


def _request(request: Request) -> ConversationRow:
    options = None if request.options is NO_OPTIONS else encode(request.options)
    rest = parts.REQUEST.write(request)
    return ConversationRow(
        "request",
        request.messages,
        model=request.model,
        tools=request.tools,
        options=options,
        rest=rest,
    )


def _response(response: Response) -> ConversationRow:
    metadata = response.message.metadata
    return ConversationRow(
        "response",
        (response.message, *response.alternatives),
        id=metadata.response_id,
        model=metadata.model or metadata.response_model,
        provider=metadata.provider,
        created_at=_micros(response.message.created_at),
        rest=parts.RESPONSE.write(response),
    )


def _session(session: StoredSession) -> ConversationRow:
    row = session.row
    return ConversationRow(
        "session",
        session.messages,
        id=row.id,
        name=row.name,
        model=row.active_model,
        provider=_provider(row.active_model),
        created_at=_micros(row.created_at),
        updated_at=_micros(row.updated_at),
        rest=parts.SESSION.write(row),
    )


def _transcript(transcript: Transcript) -> ConversationRow:
    messages, rest = apart(transcript)
    model = transcript.models[-1] if transcript.models else None
    return ConversationRow(
        "transcript",
        messages,
        id=transcript.id,
        name=transcript.title,
        model=model,
        provider=_provider(model),
        created_at=_micros(transcript.created_at),
        updated_at=_micros(transcript.updated_at),
        tools=transcript.tools,
        rest=encode(rest),
        losses=transcript.report.losses,
    )


def _provider(model: str | None) -> str | None:
    """Of a name that says it: `<provider>:<name>`."""
    return model.partition(":")[0] if model and ":" in model else None


def _micros(time: datetime | None) -> int | None:
    return None if time is None else micros(time)
