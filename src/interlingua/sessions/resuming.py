"""Going on with a turn that a program left: after a crash, or because it ended in between."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.model.exchange import Options
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.sessions.core import Core, open_calls
from interlingua.sessions.effects import Effects, ask
from interlingua.sessions.errors import TurnError
from interlingua.sessions.turn import Beginning, TurnCore, begin, is_whole
from interlingua.store.rows import EventRow

_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_TURN_EVENTS = ("turn.started", "turn.completed", "turn.cancelled")
_PAGE = 1000


def resume(core: Core, options: Options | None) -> Effects[TurnCore]:
    """A turn that goes on where the history ends: with results that nobody answered, a question
    without an answer, or calls without results. Those of the last kind belong to the new turn."""
    history = yield from core.load()
    recent = last_turn(history)
    waiting = open_calls(recent)
    last = _last_said(recent)
    if last is None or not is_unfinished(history):
        raise TurnError(f"session {core.id} has nothing to resume")
    if last.metadata.status is MessageStatus.CANCELLED or (yield from _was_cancelled(core, last)):
        raise TurnError(f"the last turn of session {core.id} was cancelled; begin a new one")
    turn = yield from begin(core, Beginning(None, options=options))
    turn.made = [m for m in recent if any(call.id in waiting for call in m.tool_calls)]
    return turn


def is_unfinished(history: Sequence[Message]) -> bool:
    """Whether the last turn lacks an answer, or results."""
    recent = last_turn(history)
    last = _last_said(recent)
    return last is not None and (not is_whole(last) or bool(open_calls(recent)))


def _last_said(messages: Sequence[Message]) -> Message | None:
    return next((m for m in reversed(messages) if m.role not in _INSTRUCTS), None)


def last_turn(history: Sequence[Message]) -> Sequence[Message]:
    """From the last question on. Calls of earlier turns were given up with them."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].role is Role.USER:
            return history[index:]
    return history


def _was_cancelled(core: Core, last: Message) -> Effects[bool]:
    """Whether the turn of the last message was given up; only the trace knows, where there was no
    answer to mark."""
    after, found = 0, None
    while True:
        page = yield from _turn_events(core, after)
        found = page[-1] if page else found
        if len(page) < _PAGE:
            break
        after = page[-1].seq
    if found is None or found.type != "turn.cancelled" or last.created_at is None:
        return False
    return last.created_at <= found.timestamp


def _turn_events(core: Core, after: int) -> Effects[list[EventRow]]:
    return (yield from ask(lambda store: store.events(core.id, after, _PAGE, _TURN_EVENTS)))
