"""What of a provider's error comes down to a client: its body and a few headers, without the keys
that it may repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interlingua.client.failures import redact, request_id
from interlingua.gateway.relay.headers import DOWN_PREFIXES

ATTEMPTS = b"x-interlingua-attempts"
"""How often a provider was asked, where that was more than once."""
UPSTREAM_ID = b"x-interlingua-upstream-id"


def headers_down(upstream: Mapping[str, str], secrets: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """How much of a limit is left, and the provider's own name for the request."""
    secrets = tuple(secrets)
    out = []
    for name, value in upstream.items():
        low = name.lower()
        if low.startswith(DOWN_PREFIXES) and _is_plain(value):
            out.append((low.encode("latin-1"), redact(value, secrets).encode("latin-1")))
    id = request_id(upstream, secrets)
    if id is not None and _is_plain(id):
        out.append((UPSTREAM_ID, id.encode("latin-1")))
    return out


def body_down(body: bytes, secrets: Iterable[str]) -> bytes:
    """A provider's own words, byte for byte, unless a key of ours is in them."""
    if not any(secret.encode() in body for secret in secrets if secret):
        return body
    return redact(body.decode("utf-8", "replace"), secrets).encode()


def _is_plain(value: str) -> bool:
    return len(value) <= 4096 and all(" " <= mark <= "\xff" and mark != "\x7f" for mark in value)
