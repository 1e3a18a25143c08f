"""How a stream says that it has come to its end, or that it broke off before."""

from __future__ import annotations

from interlingua.dialects.front import Ending
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.exchange import ErrorKind, ProviderError

BROKEN_OFF = ProviderError(ErrorKind.NETWORK, "stream ended before the message was complete")


def ending(dialect: str, answers: int = 1) -> Ending:
    """Whether a stream with so many answers has come to its end."""
    front = dialect_of(dialect).front
    return Ending(answers) if front is None else front.ending(answers)
