"""What goes wrong inside, as an answer for clients of our own paths. Clients go by `code`."""

from __future__ import annotations

from interlingua.client.errors import CallError
from interlingua.errors import InterlinguaError, ReadError
from interlingua.gateway.sessions.turns import BusyError, FullError
from interlingua.gateway.shared.callers import ApiError
from interlingua.models.names import UnknownModelError
from interlingua.providers.errors import ProviderSetupError
from interlingua.routing.errors import (
    NoModelError,
    OverrideError,
    RoutingError,
    SwapError,
)
from interlingua.sessions.errors import SessionError, TurnError
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.tasks.errors import NothingToDoError, TaskBusyError
from interlingua.tools.errors import WorkspaceError


def api_error(error: InterlinguaError) -> ApiError:
    """The answer for an error of ours."""
    match error:
        case TaskBusyError():
            return ApiError(409, "task_busy", "the task runs")
        case NothingToDoError():
            return ApiError(409, "nothing_to_do", "the task has nothing to go on with")
        case WorkspaceError():
            return ApiError(409, "folder_gone", "the folder of the task cannot be used here")
        case BusyError():
            return ApiError(409, "turn_in_flight", str(error))
        case FullError():
            return ApiError(503, "too_many_turns", str(error), headers={"retry-after": "1"})
        case NoModelError():
            tried = [
                {"model": step.candidate_model, "reason": step.reason}
                for step in error.decision.chain
                if step.candidate_model is not None
            ]
            return ApiError(503, "routing_failed", str(error), {"tried": tried})
        case SwapError():
            return ApiError(409, "swap_refused", str(error))
        case OverrideError() | UnknownModelError():
            return ApiError(400, "unknown_model", str(error))
        case RoutingError():
            return ApiError(503, "routing_failed", str(error), {"tried": []})
        case ProviderSetupError():
            return ApiError(503, "provider_not_set_up", str(error))
        case TurnError():
            return ApiError(409, "turn_in_flight", str(error))
        case SessionError() | ReadError():
            return ApiError(400, "invalid_content", str(error))
        case NotFoundError():
            return ApiError(404, "not_found", f"there is no such {error.what}")
        case ConflictError():
            return ApiError(409, "conflict", "somebody else has changed this; read it again")
        case StoreError():
            text = f"the store cannot do this now ({error.reason})"
            return ApiError(503, "store_unavailable", text, headers={"retry-after": "1"})
        case CallError():
            return ApiError(502, "upstream_failed", error.problem)
        case _:
            return ApiError(500, "internal_error", "the gateway itself failed; see its log")
