"""What a gateway is told: limits and places, with defaults that suit one machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from interlingua.client.retry import RETRYABLE, RetryPolicy
from interlingua.model.exchange import ErrorKind


@dataclass(frozen=True)
class Limits:
    """Bytes and seconds."""

    body: int = 32 * 1024 * 1024
    """Of a request."""
    answer: int = 64 * 1024 * 1024
    body_seconds: float = 30.0
    """For a request to arrive whole."""
    first_event: float = 10.0
    """How long the beginning of a stream is waited for before the client hears of it; what fails
    sooner is a plain error with its own status."""
    keep_alive: float = 15.0
    """Between two signs of life while upstream is silent."""
    stalled: float = 60.0
    """How long a client may take nothing of its stream."""


@dataclass(frozen=True)
class Route:
    """One name that clients may use for a model, and what is asked when it fails."""

    model: str
    fallbacks: tuple[str, ...] = ()
    dialect: str | None = None


@dataclass(frozen=True)
class Settings:
    """`routes` are names of the gateway's own; any `<provider>:<name>` works without one."""

    routes: Mapping[str, Route] = field(default_factory=dict)
    default_model: str | None = None
    """What a request without a known model gets; None: an error."""
    limits: Limits = field(default_factory=Limits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_on: frozenset[ErrorKind] = RETRYABLE
    raises: bool = False
    """For tests: what goes wrong inside is raised, after the client was told."""
