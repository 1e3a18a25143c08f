"""Learning from the outcome of turns: before a turn, the statistics of its kind; after it, its
outcome.

Nothing is read or stored unless the rules file has `[pattern] enabled = true`, except that explicit
feedback is always in the trace.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

import msgspec

from interlingua.events.payloads import (
    FeedbackExplicit,
    FeedbackImplicit,
    PatternEvicted,
    PatternMatched,
    PatternOverrideDismissed,
    PatternRecorded,
    Payload,
    Slot,
)
from interlingua.model.message import Message, Role
from interlingua.routing.decision import Decision
from interlingua.routing.patterns import TurnResult, best_of, fingerprint, stats_of, success_of
from interlingua.routing.turn import Turn
from interlingua.sessions.core import Core, LastTurn, cost_of_messages
from interlingua.sessions.effects import Effects, SessionError
from interlingua.store.errors import StoreError
from interlingua.store.usages import Adjustment, Evicted, Outcome, PatternRow

logger = logging.getLogger(__name__)

Rating = Literal["up", "down"]
Signal = Literal["retried", "edited", "overridden", "accepted", "abandoned"]

_RATED_WEIGHT = 3.0
_STRENGTHS: dict[Signal, float] = {
    "retried": 1.0,
    "edited": 0.75,
    "overridden": 0.5,
    "abandoned": 0.75,
    "accepted": 0.25,
}
"""The weight of each signal about an answer."""
_BY_HAND = (Slot.PER_MESSAGE_OVERRIDE, Slot.MANUAL_STICKY)

Emit = Callable[[str, Payload], object]


def scope_of(core: Core) -> str:
    """The owner of the outcomes that a session learns from: its owner at a gateway, else its
    user."""
    owner = (core.row.routing_policy or {}).get("owner")
    return str(owner or core.setting.user_id or "")


def is_enabled(core: Core) -> bool:
    return core.setting.router.config().policy.pattern.enabled


def question_digest(message: Message) -> str:
    """The same for the same content, before and after it is stored."""
    return Message(message.role, message.content).digest()


def with_patterns(core: Core, turn: Turn) -> Effects[tuple[Turn, str | None]]:
    """The turn with the statistics of its kind, and the kind itself if outcomes are recorded."""
    if not is_enabled(core):
        return turn, None
    kind, scope = fingerprint(turn), scope_of(core)
    if turn.patterns:
        return turn, kind
    outcomes: list[Outcome] = yield lambda store: store.pattern_outcomes(scope, kind)
    return msgspec.structs.replace(turn, patterns=tuple(stats_of(outcomes))), kind


def after_routing(
    core: Core, turn: Turn, kind: str, decision: Decision, question: Message | None, emit: Emit
) -> Effects[str | None]:
    """Emits the recommendation of the patterns, and the feedback in the new message about the
    answer before it. None if the user chose another model than the recommended one: such a turn
    is not learned from, since people override on the turns that are hard."""
    winner, chosen = decision.winner, decision.require()
    by_hand = winner is not None and winner.policy in _BY_HAND
    if core.last_turn is not None:
        again = question is not None and question_digest(question) == core.last_turn.question
        yield from _judge(core, core.last_turn, again, by_hand and chosen != core.last_turn.model)
    match = best_of(turn.patterns, core.setting.router.config().policy.pattern)
    if isinstance(match, str):
        return kind
    matched = PatternMatched(
        fingerprint=kind,
        model=match.model,
        confidence=match.confidence,
        sample_size=match.sample_size,
    )
    emit("pattern.matched", matched)
    if not by_hand or chosen == match.model:
        return kind
    emit("pattern.override_dismissed", PatternOverrideDismissed(fingerprint=kind, model=chosen))
    return None


def _judge(core: Core, last: LastTurn, again: bool, overridden: bool) -> Effects[None]:
    core.last_turn = None
    signal: Signal = "retried" if again else "overridden" if overridden else "accepted"
    yield from implicit(core, last.answer_id, signal)


def record(
    core: Core,
    turn_id: str,
    kind: str,
    model: str,
    answers: list[Message],
    result: TurnResult,
    llm_calls: int,
    duration_ms: int,
    emit: Emit,
) -> Effects[None]:
    """Store the outcome of a turn."""
    success, cost = success_of(result), cost_of_messages(answers)
    row = PatternRow(
        session_id=core.id,
        turn_id=turn_id,
        scope=scope_of(core),
        fingerprint=kind,
        model=model,
        success=success,
        message_id=answers[-1].id if answers else None,
        cost_usd=cost,
        duration_ms=duration_ms,
        llm_calls=llm_calls,
        failed_calls=result.failed_calls,
        tool_calls=result.tool_calls,
        failed_tools=result.failed_tools,
    )
    try:
        evicted: list[Evicted] = yield lambda store: store.record_pattern(row)
    except StoreError as error:  # an outcome that is not stored is no reason to fail the turn
        logger.warning("pattern_not_stored", extra={"session_id": core.id, "reason": error.reason})
        return
    recorded = PatternRecorded(fingerprint=kind, model=model, success=success, cost_usd=cost)
    emit("pattern.recorded", recorded)
    for old in evicted:
        emit("pattern.evicted", PatternEvicted(fingerprint=old.fingerprint, reason=old.reason))


def implicit(core: Core, message_id: str, signal: Signal) -> Effects[None]:
    """Emits what a user did with an answer, and adjusts the outcome of its turn."""
    strength = _STRENGTHS[signal]
    feedback = FeedbackImplicit(message_id=message_id, signal=signal, strength=strength)
    core.recorder.emit("feedback.implicit", feedback)
    target = 1.0 if signal == "accepted" else 0.0
    change = Adjustment(target, strength, 1.0 + strength, signal=signal)
    try:
        yield lambda store: store.adjust_pattern(core.id, message_id, change)
    except StoreError as error:
        logger.warning("pattern_not_stored", extra={"session_id": core.id, "reason": error.reason})


def rate(core: Core, message_id: str | None, rating: Rating) -> Effects[None]:
    """Record a user's rating of an answer; of the last one if none is named."""
    if rating not in ("up", "down"):
        raise ValueError(f"rating: expected 'up' or 'down', found {rating!r}")
    history = yield from core.load()
    answers = (m for m in reversed(history) if m.role is Role.ASSISTANT)
    answer = next((m for m in answers if message_id in (None, m.id)), None)
    if answer is None or answer.id is None:
        which = f"message {message_id}" if message_id else "a message"
        raise SessionError(f"session {core.id} has no answer to rate ({which} of the assistant)")
    rated = answer.id
    if core.last_turn is not None and core.last_turn.answer_id == rated:
        core.last_turn = None
    core.recorder.emit("feedback.explicit", FeedbackExplicit(message_id=rated, rating=rating))
    change = Adjustment(1.0 if rating == "up" else 0.0, 1.0, _RATED_WEIGHT, rating=rating)
    yield lambda store: store.adjust_pattern(core.id, rated, change)
    yield from core.recorder.stored()


def forked(core: Core, message_id: str | None, name: str | None) -> Effects[Core]:
    """A fork; one that leaves out an answer counts as a request for another one."""
    if message_id is not None and is_enabled(core):
        history = yield from core.load()
        ids = [message.id for message in history]
        left_out = history[ids.index(message_id) + 1 :] if message_id in ids else []
        answers = [m.id for m in left_out if m.role is Role.ASSISTANT and m.id is not None]
        if answers:
            yield from implicit(core, answers[0], "edited")
            yield from core.recorder.stored()
    return (yield from core.forked(message_id, name))
