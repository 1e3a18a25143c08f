"""The beginning of an answer: who makes it, in which dialect, since when."""

from __future__ import annotations

from datetime import UTC, datetime

from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.profiles.capabilities import usual_dialect
from interlingua.profiles.names import model_name
from interlingua.profiles.resolving import resolve


def new_assistant_message(
    model: str, protocol: str | None = None, created_at: datetime | None = None
) -> Message:
    """An empty answer of status `partial`.

    `model` is `<provider>:<name>` or an alias; the defaults are the provider's dialect and now."""
    id = resolve(model)
    model_name(id)  # which says what is wrong with it
    known = NO_METADATA.made_by(id, protocol or usual_dialect(id))
    metadata = known.replace(status=MessageStatus.PARTIAL)
    return Message(Role.ASSISTANT, metadata=metadata, created_at=created_at or datetime.now(UTC))
