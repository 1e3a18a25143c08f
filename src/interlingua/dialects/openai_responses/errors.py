"""Errors: in place of a response, and of a response that failed."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import error_kind
from interlingua.dialects.openai_errors import ErrorBodies, tell_kind
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.text import form
from interlingua.model.exchange import ErrorKind, ProviderError

BODIES = ErrorBodies(tables.NAME, first="code", other=tables.ERROR)


def is_failure(wire: Wire) -> bool:
    """Whether a body stands in place of a response."""
    if "output" in wire or wire.get("object") == "response":
        return False
    texts = [wire.get(key) for key in ("error", "detail", "message")]
    return type(texts[0]) is dict or str in map(type, texts)


def write_failed(error: ProviderError, recorder: LossRecorder) -> Wire:
    """The error of a response that failed: its codes are a closed set."""
    out = BODIES.write(error, recorder)
    if not form(error.raw) and error.code not in tables.ERROR_CODES:
        if error.code is not None:
            recorder.lost(error, "code", "no code that a failed response may have")
        limited = error.kind is ErrorKind.RATE_LIMIT
        out["code"] = "rate_limit_exceeded" if limited else "server_error"
        tell_kind(error, error_kind(error.message, None, out["code"]), recorder)
    return out
