"""The headers that providers send with their answers, as far as clients look at them.

Names as the providers' API references had them in 2026-11; the values are made up."""

from __future__ import annotations

import msgspec

from tests.replay.answers import Header

AMAZON_ERRORS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


def of(dialect: str, id: str, status: int, body: bytes = b"") -> tuple[Header, ...]:
    """Request id and limits, the way this dialect's provider says them."""
    return (*_OF.get(dialect, _none)(f"req_{id}"), *_error(dialect, status, body))


def request_id(dialect: str) -> str | None:
    """The header that a request's id is in."""
    named = _OF.get(dialect, _none)("")
    return named[0][0] if named else None


def _openai(id: str) -> tuple[Header, ...]:
    return (
        ("x-request-id", id),
        ("openai-processing-ms", "12"),
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("x-ratelimit-reset-requests", "6ms"),
        ("x-ratelimit-limit-tokens", "200000"),
        ("x-ratelimit-remaining-tokens", "199900"),
        ("x-ratelimit-reset-tokens", "30ms"),
    )


def _anthropic(id: str) -> tuple[Header, ...]:
    return (
        ("request-id", id),
        ("anthropic-ratelimit-requests-limit", "1000"),
        ("anthropic-ratelimit-requests-remaining", "999"),
        ("anthropic-ratelimit-requests-reset", "2026-11-01T00:00:01Z"),
        ("anthropic-ratelimit-tokens-limit", "80000"),
        ("anthropic-ratelimit-tokens-remaining", "79000"),
        ("anthropic-ratelimit-tokens-reset", "2026-11-01T00:00:01Z"),
    )


def _bedrock(id: str) -> tuple[Header, ...]:
    return (("x-amzn-requestid", id),)


def _none(id: str) -> tuple[Header, ...]:
    return ()


_OF = {
    "openai-chat": _openai,
    "openai-responses": _openai,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
}


def _error(dialect: str, status: int, body: bytes) -> tuple[Header, ...]:
    """Bedrock names an error in a header; clients look there first."""
    if dialect != "bedrock" or status < 400:
        return ()
    try:
        named = msgspec.json.decode(body).get("__type")
    except (msgspec.MsgspecError, UnicodeError, AttributeError):
        named = None
    kind = named if isinstance(named, str) else AMAZON_ERRORS.get(status, "InternalServerException")
    return (("x-amzn-errortype", kind),)
