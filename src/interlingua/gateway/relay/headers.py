"""Which headers go up, which come down, and those that are ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from interlingua.client.failures import redact, request_id
from interlingua.dialects.front import Front
from interlingua.gateway.shared.state import Exchange, Outcome

DOWN_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_RATES = tuple([prefix.encode() for prefix in DOWN_PREFIXES])
DOWN = frozenset({"retry-after", "retry-after-ms", "openai-processing-ms"})
"""Headers of a provider that are passed to the client; ids get a name of ours."""


def forwarded(headers: Mapping[bytes, bytes], front: Front) -> dict[str, str]:
    """The client's headers that go to a provider of its own dialect."""
    if front.headers_up.isdisjoint(headers):
        return {}
    return {
        name.decode("latin-1"): headers[name].decode("latin-1")
        for name in front.headers_up
        if name in headers and _is_plain(headers[name])
    }


def answer_headers(
    exchange: Exchange,
    upstream: Mapping[str, str],
    front: Front,
    upstream_dialect: str,
    secrets: Iterable[str] = (),
) -> list[tuple[bytes, bytes]]:
    """Ours, and those of the provider that may come down, without a secret that it repeats."""
    arrival, decision, outcome = exchange.arrival, exchange.decision, exchange.outcome
    id = arrival.id.encode()
    target, report = decision.target, decision.report
    out = [(b"x-request-id", id)]
    if front.request_id is not None:
        out.append((front.request_id, id))
    if target is not None:
        out.append((b"x-interlingua-model", target.model.encode("ascii", "replace")))
    if report is not None:
        out.append((b"x-interlingua-losses", b"%d" % len(report.entries and report.losses)))
    if outcome.cost is not None:
        cost = outcome.cost
        for earlier in outcome.replaced:
            cost += earlier.outcome.cost or 0
        out.append((b"x-interlingua-cost-usd", f"{cost:f}".encode()))
    if outcome.cache is not None or outcome.compared is not None:
        out += _cache_header(outcome)
    if outcome.upstream_id is not None and _is_plain(outcome.upstream_id.encode()):
        out.append((b"x-interlingua-upstream-id", outcome.upstream_id.encode()))
    ours = () if outcome.reservation is None else outcome.reservation.rate_headers
    for name, value in ours:
        out.append((name.encode(), value.encode()))
    for name, value in upstream.items():
        down = _down(name)
        if down is not None and not (ours and down.startswith(_RATES)):
            if any(secret in value for secret in secrets if secret):
                value = redact(value, secrets)
            plain = value.encode("latin-1", "replace")
            if _is_plain(plain):
                out.append((down, plain))
    return out


def _cache_header(outcome: Outcome) -> list[tuple[bytes, bytes]]:
    """Whether the cache is hit, and why not: `miss; reason=tools_changed`. Before the end of a
    stream that is `expected`, from the comparison with the request before."""
    compared = outcome.compared
    found = outcome.cache or (None if compared is None else compared.diagnosis())
    if found is None:
        return []
    words: list[str] = [found.outcome] if outcome.cache else [found.outcome, "expected"]
    facts = (
        ("reason", found.reason),
        ("changed", ",".join(found.changed[:8])),
        ("since", None if found.since is None else found.since.isoformat(timespec="seconds")),
        ("missed-tokens", None if found.missed_tokens is None else str(found.missed_tokens)),
        ("cost-usd", None if found.cost_usd is None else f"{found.cost_usd:f}"),
    )
    words += [f"{name}={value}" for name, value in facts if value]
    return [(b"x-interlingua-cache", "; ".join(words).encode("ascii", "replace"))]


@lru_cache(maxsize=1000)
def _down(name: str) -> bytes | None:
    """The name of a header that may come down."""
    low = name.lower()
    return low.encode() if low in DOWN or low.startswith(DOWN_PREFIXES) else None


def _is_plain(value: bytes) -> bool:
    error = b"\n" in value or b"\r" in value or b"\0" in value
    return not error and len(value) <= 4096


ATTEMPTS = b"x-interlingua-attempts"
"""The number of attempts, if there was more than one."""
UPSTREAM_ID = b"x-interlingua-upstream-id"


def client_headers(
    upstream: Mapping[str, str], secrets: Iterable[str]
) -> list[tuple[bytes, bytes]]:
    """The rate-limit headers, and the provider's id of the request."""
    secrets = tuple(secrets)
    out = []
    for name, value in upstream.items():
        low = name.lower()
        if low.startswith(DOWN_PREFIXES) and _is_printable(value):
            out.append((low.encode("latin-1"), redact(value, secrets).encode("latin-1")))
    id = request_id(upstream, secrets)
    if id is not None and _is_printable(id):
        out.append((UPSTREAM_ID, id.encode("latin-1")))
    return out


def client_body(body: bytes, secrets: Iterable[str]) -> bytes:
    """The provider's body, byte for byte unless it contains a key of ours."""
    if not any(secret.encode() in body for secret in secrets if secret):
        return body
    return redact(body.decode("utf-8", "replace"), secrets).encode()


def _is_printable(value: str) -> bool:
    return len(value) <= 4096 and all(" " <= mark <= "\xff" and mark != "\x7f" for mark in value)
