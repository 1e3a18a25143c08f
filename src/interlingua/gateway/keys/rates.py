"""Headers that tell a client what its key has left of this minute, in the form of its SDK."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.store.cap_rules import Counted

_TIMES = ("anthropic",)
"""Dialects whose SDK reads when a limit is renewed; the others read the seconds until then."""


def rate_headers(
    dialect: str, who: KeyPrincipal, counted: Counted, now: datetime
) -> Iterator[tuple[str, str]]:
    """OpenAI's names and seconds, or Anthropic's names and times."""
    limits = (
        ("requests", who.requests_per_minute, counted.requests),
        ("tokens", who.tokens_per_minute, counted.tokens),
    )
    for what, limit, used in limits:
        if limit is None:
            continue
        left = str(max(0, limit - used))
        if dialect in _TIMES:
            reset = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
            name = f"anthropic-ratelimit-{what}"
            yield f"{name}-limit", str(limit)
            yield f"{name}-remaining", left
            yield f"{name}-reset", f"{reset:%Y-%m-%dT%H:%M:%SZ}"
        else:
            yield f"x-ratelimit-limit-{what}", str(limit)
            yield f"x-ratelimit-remaining-{what}", left
            yield f"x-ratelimit-reset-{what}", f"{60 - now.second}s"
