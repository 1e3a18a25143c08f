"""The bus itself, providers, the gateway and its quotas, feedback, and the keeping of traces."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

import msgspec

from interlingua.bus.payloads.base import Count, Payload, Share

QuotaScope = Literal["key", "user", "team"]
QuotaWindow = Literal["day", "month"]


class FeedbackExplicit(Payload, frozen=True):
    """What a person said about an answer."""

    message_id: str
    rating: Literal["up", "down"]
    redacted_comment: str | None = None


class FeedbackImplicit(Payload, frozen=True):
    """What a person did that tells about an answer."""

    message_id: str
    signal: Literal["retried", "edited", "overridden", "accepted", "abandoned"]
    strength: Share = 1.0


class SubscriberRegistered(Payload, frozen=True):
    name: str
    fast_path: bool
    types: tuple[str, ...] | None = None


class SubscriberUnregistered(Payload, frozen=True):
    name: str


class GapDetected(Payload, frozen=True):
    """A subscriber was too slow and missed these events; the store still has them."""

    name: str
    first_event_id: str
    last_event_id: str
    missed: Count


class ProviderDegraded(Payload, frozen=True):
    provider: str
    reason: str
    model: str | None = None
    error_rate: Share | None = None


class KeyIssued(Payload, frozen=True):
    gateway_key_id: str
    user_id: str | None = None
    team_id: str | None = None


class KeyRevoked(Payload, frozen=True):
    gateway_key_id: str


class KeyRotated(Payload, frozen=True):
    """The new key belongs to the same user and team as the old one."""

    gateway_key_id: str
    new_gateway_key_id: str


class AuthFailed(Payload, frozen=True):
    """`secret_hash_prefix` is at most the first eight hex digits of the hash of what was sent."""

    code: str
    inbound_shape: str | None = None
    gateway_key_id: str | None = None
    secret_hash_prefix: Annotated[str, msgspec.Meta(max_length=8)] | None = None


class QuotaExceeded(Payload, frozen=True):
    scope: QuotaScope
    window: QuotaWindow
    limit_usd: Decimal
    current_usd: Decimal
    gateway_key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


class QuotaAlert(Payload, frozen=True):
    """A soft limit was passed: `percent` of the hard one."""

    scope: QuotaScope
    window: QuotaWindow
    percent: Count
    limit_usd: Decimal
    current_usd: Decimal
    gateway_key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None


class TraceSwept(Payload, frozen=True):
    """Old events were deleted."""

    deleted: Count
    older_than: str
