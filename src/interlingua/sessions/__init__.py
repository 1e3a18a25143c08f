"""Sessions: a conversation that is kept, priced, routed, and survives a change of model.

`session.py` and `aio.py` are the two ways in, without and with `await`; both run the same effects:
`core.py` for the session, `turn.py` for a turn, `call.py` for one request and its answer,
`resuming.py` for a turn that was left.
"""

from interlingua.sessions.aio import AsyncCall, AsyncSession, AsyncTurn
from interlingua.sessions.errors import SessionError, TurnError
from interlingua.sessions.plans import SwapPlan
from interlingua.sessions.prompts import PARTS, compose
from interlingua.sessions.session import Call, Session, Turn

__all__ = [
    "PARTS",
    "AsyncCall",
    "AsyncSession",
    "AsyncTurn",
    "Call",
    "Session",
    "SessionError",
    "SwapPlan",
    "Turn",
    "TurnError",
    "compose",
]
