"""Models that this gateway cannot ask as it is set up: a key that nobody has given, an extra that
is not installed, a local model that does not start.

Coding agents ask for side models of their own choice (a small one that finds titles, say). They are
told in plain words, and with a status after which they do not try again and again."""

from __future__ import annotations

import logging

from interlingua.client.targets import Target
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.shared.state import Refusal
from interlingua.local.errors import LocalModelError
from interlingua.model.exchange import ErrorKind
from interlingua.providers.errors import MissingSettingError, ProviderSetupError

logger = logging.getLogger(__name__)

UNAVAILABLE = (ProviderSetupError, MissingExtraError, LocalModelError)
CODE = "model_not_available"


def unavailable(request_id: str, target: Target | None, error: InterlinguaError) -> Refusal:
    """What the client hears. The log has the rest, since it may name files of this machine."""
    logger.warning("cannot_ask", extra={"request": request_id, "why": str(error)})
    model = target.model if target is not None else "the model"
    text = f"{model} is not available: {_why(error)}"
    if isinstance(error, LocalModelError):
        return Refusal(503, ErrorKind.SERVER_ERROR, text, CODE)
    return Refusal(404, ErrorKind.INVALID_REQUEST, text, CODE)


def _why(error: InterlinguaError) -> str:
    if isinstance(error, MissingSettingError):
        ways = f" ({' or '.join(error.variables)})" if error.variables else ""
        return f"no {error.what} configured for {error.provider}{ways}"
    if isinstance(error, LocalModelError):
        return "the local model failed to start; see the gateway's log"
    return str(error)
