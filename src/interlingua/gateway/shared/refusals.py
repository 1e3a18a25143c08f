"""Errors of the gateway's own, with a word for programs in every dialect.

Some dialects have no place for a code of ours in their errors. There it stands beside the message,
where that dialect's clients preserve unknown members; a header has it for all clients."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from interlingua.client.targets import Target
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.shared.fronts import fronts
from interlingua.gateway.shared.state import Refusal
from interlingua.local.model import LocalModelError
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.providers.provider import MissingSettingError, ProviderSetupError


def coded(
    dialect: str, error: ProviderError, facts: Mapping[str, str] | None = None
) -> ProviderError:
    """The error with its code and facts where clients of this dialect can find them."""
    facts = dict(facts or {})
    if error.code is None and not facts:
        return error
    served = next((front for front in fronts() if front.dialect == dialect), None)
    inside = facts if served is None else served.error_details(error.code, facts)
    return error.replace(raw={dialect: inside}) if inside else error


class CodedRefusal(Refusal):
    """A refusal with details for programs, in the format of the client's dialect."""

    def __init__(
        self,
        dialect: str,
        status: int,
        kind: ErrorKind,
        message: str,
        code: str,
        facts: Mapping[str, str] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(status, kind, message, code, headers)
        self.error = coded(dialect, self.error, facts)


logger = logging.getLogger(__name__)

UNAVAILABLE = (ProviderSetupError, MissingExtraError, LocalModelError)
CODE = "model_not_available"


def unavailable(request_id: str, target: Target | None, error: InterlinguaError) -> Refusal:
    """The refusal for the client. Details go to the log only, since they may name files of this
    machine."""
    logger.warning("model_not_available", extra={"request": request_id, "why": str(error)})
    model = target.model if target is not None else "the model"
    text = f"{model} is not available: {_why(error)}"
    if isinstance(error, LocalModelError):
        return Refusal(503, ErrorKind.SERVER_ERROR, text, CODE)
    return Refusal(404, ErrorKind.INVALID_REQUEST, text, CODE)


def _why(error: InterlinguaError) -> str:
    if isinstance(error, MissingSettingError):
        ways = f" ({' or '.join(error.ways)})" if error.ways else ""
        return f"no {error.what} configured for {error.provider}{ways}"
    if isinstance(error, LocalModelError):
        return "the local model failed to start; see the gateway's log"
    return str(error)
