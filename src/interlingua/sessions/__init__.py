"""Stored conversations that survive a change of model: turns, calls, swaps.

`session.py` has the classes for programs without and with `await`, `base.py` the methods of both.
They run effects: `core.py` for the session, `turn.py` for a turn, `call.py` for one request and its
answer.
"""

from interlingua.sessions.core import PARTS, compose
from interlingua.sessions.effects import SessionError, TurnError
from interlingua.sessions.plans import SwapPlan
from interlingua.sessions.session import AsyncCall, AsyncSession, AsyncTurn, Call, Session, Turn

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
