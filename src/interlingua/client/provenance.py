"""What the client adds to an answer: who was asked, and how it ended if not by itself."""

from __future__ import annotations

from interlingua.client.targets import Target
from interlingua.model.exchange import Response
from interlingua.model.metadata import MessageStatus, StopReason


def with_provenance(response: Response, target: Target) -> Response:
    """The response with model, provider and protocol."""
    message = response.message
    metadata = message.metadata.replace(
        model=target.model, provider=target.provider.key, protocol=target.dialect.name
    )
    return response.replace(message=message.replace(metadata=metadata))


def cut_short(response: Response, target: Target, status: MessageStatus, why: str) -> Response:
    """What had arrived of an answer that did not come to its end. Its usage is what was told so
    far; whoever keeps the message estimates the rest."""
    reason = StopReason.CANCELLED if status is MessageStatus.CANCELLED else StopReason.ERROR
    message = response.message
    metadata = message.metadata.replace(
        model=target.model,
        provider=target.provider.key,
        protocol=target.dialect.name,
        status=status,
        stop_reason=reason,
        raw_stop_reason=None,
        error_message=None if status is MessageStatus.CANCELLED else why,
    )
    return response.replace(message=message.replace(metadata=metadata))
