"""What a session says of an answer that was made elsewhere.

Every complete answer that a session holds names its model, its provider, its routing and its usage.
One that comes from a transcript or from a program's own hands may know none of these; then what is
not known is said to be unknown, and nothing is made up.
"""

from __future__ import annotations

from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    UNKNOWN,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    Usage,
)

APPENDED = "made elsewhere and appended; no model was chosen here"
"""The reason in the routing record of such an answer."""


def with_provenance(message: Message) -> Message:
    """The message as a session holds it: a complete answer with the provenance that is known of it;
    anything else, and one that says it all already, as it is."""
    metadata = message.metadata
    if message.role is not Role.ASSISTANT or metadata.status is not MessageStatus.COMPLETE:
        return message
    if metadata.model and metadata.provider and metadata.routing and metadata.usage is not None:
        return message
    model = _model(metadata)
    return message.replace(
        metadata=metadata.replace(
            model=model,
            provider=metadata.provider or model.partition(":")[0],
            routing=metadata.routing or RoutingRecord(RoutingMode.DEFAULT, model, APPENDED),
            usage=Usage() if metadata.usage is None else metadata.usage,
        )
    )


def is_from_elsewhere(message: Message) -> bool:
    """Whether an answer was not made in the session that holds it."""
    routing = message.metadata.routing
    return routing is not None and routing.reason == APPENDED


def _model(metadata: MessageMetadata) -> str:
    """`<provider>:<name>`, as far as either is known."""
    provider = metadata.provider
    name = metadata.model or metadata.response_model
    if metadata.model and ":" in metadata.model and provider is None:
        return metadata.model
    if name is not None and provider is not None and name.startswith(f"{provider}:"):
        return name
    return f"{provider or UNKNOWN}:{name or UNKNOWN}"
