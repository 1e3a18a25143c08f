"""All instructions in front, for those who want them there."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role

_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})


def in_front(request: Request, scribe: LossRecorder) -> Request:
    """The request with later instructions moved behind the first ones. What stood before them is
    then said in another order than before, which no prompt cache survives."""
    front: list[Message] = []
    rest: list[Message] = []
    for message in request.messages:
        if message.role not in _INSTRUCTS:
            rest.append(message)
            continue
        if rest:
            scribe.lost(message, None, "put in front of the conversation", kind="moved")
        front.append(message)
    return request.replace(messages=(*front, *rest))
