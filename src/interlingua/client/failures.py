"""Turns failures of a provider or the network into the errors that callers get."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from interlingua.client.errors import (
    CLASSES,
    CallError,
    CallTimeoutError,
    NetworkError,
    ProviderFailure,
    TooLargeError,
)
from interlingua.client.retry import requested_delay, retry_after
from interlingua.client.targets import Target
from interlingua.client.transport import HttpRequest, TransportError
from interlingua.dialects.record import Dialect
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import ErrorKind, ProviderError

STATUSES: dict[int, ErrorKind] = {
    401: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    408: ErrorKind.NETWORK,
    413: ErrorKind.CONTEXT_OVERFLOW,
    429: ErrorKind.RATE_LIMIT,
}
"""The kind of error for a status; other statuses by their class."""
REQUEST_IDS = (
    "request-id",  # Anthropic
    "x-request-id",  # OpenAI, OpenRouter and most that are like them
    "x-amzn-requestid",
    "apim-request-id",  # Azure
    "x-goog-request-id",
    "mistral-correlation-id",
)
_VAGUE = frozenset({ErrorKind.OTHER, ErrorKind.INVALID_REQUEST})
"""Kinds of a body that are less specific than a status."""
_LONG = 2000
"""Characters of a provider's text that are passed on."""
# Keys as the large providers shape them, also where the provider has shortened them with stars.
_KEYS = re.compile(
    r"(?i)\b(?:bearer|basic)\s+[\w.~+/=*-]{8,}"
    r"|\b(?:sk|pk|rk|gsk|xai|gw|key|tok|AIza|AKIA|ASIA|ya29|ghp|hf|nvapi|pplx)[-_.]?[\w*.-]{12,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
)
BLOT = "[secret]"
UNKNOWN_MODEL = frozenset({"model_not_found", "unknown_model", "invalid_model"})
"""Codes for an unknown model; most providers use status 404."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets, and without what looks like a key."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, BLOT)
    return _KEYS.sub(BLOT, text)


def request_id(headers: Mapping[str, str], secrets: Iterable[str] | None = None) -> str | None:
    """The provider's own name for a request; with `secrets` in a form that can be shown."""
    for name in REQUEST_IDS:
        if name in headers:
            id = headers[name][:200]
            return id if secrets is None else redact(id, secrets)
    return None


def kind_of(status: int, reported: ErrorKind | None) -> ErrorKind:
    """The kind of an error: that in the body, or if it is vague, that of the status."""
    if reported is not None and reported not in _VAGUE:
        return reported
    if status in STATUSES:
        return STATUSES[status]
    if status >= 500:
        return ErrorKind.SERVER_ERROR
    return ErrorKind.INVALID_REQUEST if status >= 400 else reported or ErrorKind.OTHER


def of_reply(
    status: int, headers: Mapping[str, str], body: bytes, dialect: Dialect, secrets: Iterable[str]
) -> CallError:
    """The error for a reply with a status other than 200."""
    wire = _json(body)
    reported = _read(dialect, wire)
    if 300 <= status < 400:
        return ProviderFailure("a redirect, which is not followed", status=status)
    if reported is not None and reported.message:
        problem = redact(reported.message[:_LONG], secrets)
    else:
        size = f"{len(body)} bytes of {_type(headers)}"
        problem = redact(f"an error without a readable message ({size})", secrets)
    error = CLASSES[kind_of(status, reported.kind if reported else None)](
        problem,
        status=status,
        code=redact(reported.code, secrets) if reported and reported.code else None,
        request_id=request_id(headers, secrets),
        retry_after=_first(retry_after(headers), requested_delay(wire)),
    )
    return _read_failed(error)


def of_provider(
    reported: ProviderError, headers: Mapping[str, str], secrets: Iterable[str]
) -> CallError:
    """The error in the body or the stream of a reply with status 200."""
    kind = kind_of(reported.status, reported.kind) if reported.status else reported.kind
    error = CLASSES[kind](
        redact(reported.message[:_LONG], secrets) or "an error without a message",
        status=reported.status,
        code=redact(reported.code, secrets) if reported.code else None,
        request_id=request_id(headers, secrets),
        retry_after=retry_after(headers),
    )
    return _read_failed(error)


def of_transport(
    failure: TransportError, secrets: Iterable[str] = (), total: str = "total"
) -> NetworkError:
    """`total` is the limit that was exceeded: of an attempt, or the call's `deadline`."""
    error = (CallTimeoutError if failure.late else NetworkError)(redact(failure.problem, secrets))
    error.phase = total if failure.phase == "total" else failure.phase
    error.sent, error.begun = failure.sent, failure.begun
    return error


def unreadable(
    error: InterlinguaError, headers: Mapping[str, str], secrets: Iterable[str] = ()
) -> ProviderFailure:
    """The error for an unreadable answer with status 200. The text of a `ReadError` names places,
    not content."""
    problem = f"could not parse the response ({_type(headers)}): {error}"
    return ProviderFailure(redact(problem, secrets), request_id=request_id(headers, secrets))


def placed(error: CallError, target: Target, sent: HttpRequest | None = None) -> CallError:
    """The error with its model and, if the provider does not know the model, similar ones. `sent`
    is the request; its address is named if it may be wrong."""
    error.model, error.provider = target.model, target.provider.key
    if error.status == 404 or error.code in UNKNOWN_MODEL:
        error.alternatives = target.near()
    if sent is not None and _may_be_elsewhere(error):
        address = urlsplit(sent.url)._replace(query="", fragment="").geturl()
        error.address = redact(address, sent.secrets)
    return error


def _may_be_elsewhere(error: CallError) -> bool:
    """Whether the address may be wrong: nothing is there, it moved, or no provider answers."""
    if error.status is None:
        return isinstance(error, ProviderFailure) and not isinstance(error, TooLargeError)
    return error.status in (404, 405) or 300 <= error.status < 400


def _read_failed(error: CallError) -> CallError:
    if isinstance(error, NetworkError):
        error.phase = "read"
    return error


def _type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "no content type").partition(";")[0][:80]


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def is_readable(body: bytes) -> bool:
    """Whether the body of an error is empty or JSON, as every provider's is."""
    return not body or _json(body) is not None


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _read(dialect: Dialect, wire: Any) -> ProviderError | None:
    """Reads an error body with the dialect's reader. Google sometimes sends it in a list."""
    if isinstance(wire, list) and len(wire) == 1:
        wire = wire[0]
    if not isinstance(wire, dict):
        return None
    try:
        return dialect.read_response(wire).error
    except InterlinguaError:
        return None
