"""What goes wrong inside, as an answer for clients of our own paths. Clients go by `code`."""

from __future__ import annotations

from interlingua.agents.tasks.events import NothingToDoError, TaskBusyError
from interlingua.client.errors import CallError
from interlingua.errors import InterlinguaError, ReadError
from interlingua.gateway.sessions.turns import BusyError, FullError
from interlingua.gateway.shared.callers import ApiError
from interlingua.profiles.names import UnknownModelError
from interlingua.providers.errors import ProviderSetupError
from interlingua.routing.decision import (
    NoModelError,
    OverrideError,
    RoutingError,
    SwapError,
)
from interlingua.sessions.effects import SessionError, TurnError
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.tools.handlers import WorkspaceError

Kinds = type[InterlinguaError] | tuple[type[InterlinguaError], ...]

_PLAIN: tuple[tuple[Kinds, int, str, str | None], ...] = (
    (TaskBusyError, 409, "task_busy", "the task is already running"),
    (NothingToDoError, 409, "nothing_to_do", "the task has nothing to resume"),
    (WorkspaceError, 409, "folder_gone", "the task's folder is missing or cannot be used here"),
    (BusyError, 409, "turn_in_flight", None),
    (SwapError, 409, "swap_refused", None),
    ((OverrideError, UnknownModelError), 400, "unknown_model", None),
    (ProviderSetupError, 503, "provider_not_set_up", None),
    (TurnError, 409, "turn_in_flight", None),
    ((SessionError, ReadError), 400, "invalid_content", None),
    (ConflictError, 409, "conflict", "changed by someone else in the meantime; read it again"),
)
"""Kinds of errors, and what they are answered with; None: their own words."""


def api_error(error: InterlinguaError) -> ApiError:
    """The answer for an error of ours."""
    for kinds, status, code, text in _PLAIN:
        if isinstance(error, kinds):
            return ApiError(status, code, text or str(error))
    match error:
        case FullError():
            return ApiError(503, "too_many_turns", str(error), headers={"retry-after": "1"})
        case NoModelError():
            return ApiError(503, "routing_failed", str(error), {"tried": _tried(error)})
        case RoutingError():
            return ApiError(503, "routing_failed", str(error), {"tried": []})
        case NotFoundError():
            return ApiError(404, "not_found", f"no such {error.what}")
        case StoreError():
            text = f"the store is unavailable ({error.reason})"
            return ApiError(503, "store_unavailable", text, headers={"retry-after": "1"})
        case CallError():
            return ApiError(502, "upstream_failed", error.problem)
        case _:
            return ApiError(500, "internal_error", "internal gateway error; see the gateway's log")


def _tried(error: NoModelError) -> list[dict[str, str | None]]:
    return [
        {"model": step.candidate_model, "reason": step.reason}
        for step in error.decision.chain
        if step.candidate_model is not None
    ]
