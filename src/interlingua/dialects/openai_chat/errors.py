"""Errors: in place of a response, or in one."""

from __future__ import annotations

from functools import cache

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_errors import ErrorBodies
from interlingua.model.exchange import ProviderError, Response


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error, even one that came with status 200."""
    if wire.get("error"):
        return True
    if "choices" in wire:
        return False
    return "detail" in wire or type(wire.get("message")) is str or "error" in wire


@cache
def _bodies(name: str, status_codes: bool) -> ErrorBodies:
    return ErrorBodies(name, status_codes=status_codes)


def read_failure(wire: Wire, t: Tables) -> Response:
    return _bodies(t.name, t.status_codes).read_failure(wire)


def write_failure(
    response: Response, error: ProviderError, t: Tables, recorder: LossRecorder
) -> Wire:
    return _bodies(t.name, t.status_codes).write_failure(response, error, recorder)
