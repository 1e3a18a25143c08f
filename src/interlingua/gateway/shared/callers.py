"""Callers of the gateway's own paths, and the errors that they get."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua.gateway.shared.fronts import token_of
from interlingua.gateway.shared.state import ANONYMOUS, Keys, Principal, Refusal

__all__ = [
    "UNKNOWN_ROUTE",
    "ApiError",
    "answer",
    "error_answer",
    "log_refused",
    "principal_of",
]

logger = logging.getLogger(__name__)

LONGEST = 200
"""Characters of a path in the log."""
UNKNOWN_ROUTE = "unknown"
"""In the log in place of a path that no API has: it may be anything, even a prompt or a key."""
_encode = msgspec.json.Encoder().encode
JSON = "application/json"


class ApiError(Exception):
    """An error response: `{"error": {"code", "message", "details"?}}`."""

    is_recorded = False
    """Whether the log has it already."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Any = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.headers = headers


def log_refused(
    method: str, route: str, status: int, code: str, principal: Principal = ANONYMOUS
) -> None:
    """A line for a request that gets an error and is no exchange, which has a line of its own."""
    fields = {"method": method, "route": route[:LONGEST], "status": status, "code": code}
    if principal.key_id is not None:
        fields["key"] = principal.key_id
    logger.warning("refused", extra=fields)


async def principal_of(keys: Keys, request: Request) -> Principal:
    """The principal of a request; decided by the key alone, before anything else is read."""
    token = token_of(dict(request.scope["headers"]), request.scope["query_string"])
    try:
        return await keys.find(token)
    except Refusal as refused:
        code = refused.error.code or ("unauthorized" if refused.status == 401 else "refused")
        headers = dict(refused.headers)
        if refused.status == 401:
            headers.setdefault("www-authenticate", "Bearer")
        raise ApiError(
            refused.status, code, refused.error.message, headers=headers or None
        ) from None


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer that no proxy may cache."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(_encode(value), status, all_headers, media_type=JSON)


def error_answer(error: ApiError) -> Response:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["details"] = error.details
    return answer({"error": body}, error.status, error.headers)
