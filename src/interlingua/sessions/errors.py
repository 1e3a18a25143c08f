"""What a session refuses."""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class SessionError(InterlinguaError):
    """Something that this session cannot take; nothing was stored."""


class TurnError(SessionError):
    """A turn or a call that is asked for at the wrong moment."""
