"""How turns went: one row per turn, with what kind of turn it was and which model served it.

Rows hold names, counts and scores, never message text. `scope` separates tenants: rows of one scope
are never read for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.store.rows import Table
from interlingua.store.statements import Op, Step, Work, now

EvictionReason = Literal["age", "capacity", "reset"]

MAX_AGE_DAYS = 90
MAX_TURNS = 10_000
"""Per scope; the oldest turns go first."""
RECENT_TURNS = 500
"""Turns of one kind that a recommendation is based on: the newest ones."""
_DAY_US = 86_400_000_000


class PatternRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one turn. `success` is 0 to 1; `weight` grows with feedback."""

    session_id: str
    turn_id: str
    scope: str
    fingerprint: str
    model: str
    success: float
    message_id: str | None = None
    """The last answer, which feedback refers to."""
    weight: float = 1.0
    cost_usd: Decimal | None = None
    duration_ms: int = 0
    llm_calls: int = 0
    failed_calls: int = 0
    tool_calls: int = 0
    failed_tools: int = 0


class Adjustment(NamedTuple):
    """Feedback on an answer: how far (0 to 1) its score moves to `target`."""

    target: float
    strength: float
    weight: float
    rating: str | None = None
    signal: str | None = None


class Outcome(NamedTuple):
    """What a recommendation needs of a row."""

    model: str
    success: float
    weight: float
    cost_usd: Decimal | None


class Evicted(NamedTuple):
    fingerprint: str
    reason: EvictionReason


PATTERNS = Table("pattern_turns", PatternRow)
_RECENT = "FROM pattern_turns WHERE scope = ?"


class Patterns(Work):
    def record_pattern(self, row: PatternRow) -> Op[list[Evicted]]:
        """Store the outcome of a turn; returns the kinds of turns that were evicted."""
        at = now()
        insert = PATTERNS.insert(recorded_at="?")
        values = (*PATTERNS.values(row), at)
        yield self._step(f"{insert} ON CONFLICT (session_id, turn_id) DO NOTHING", values)
        return (yield from self._evict(row.scope, at))

    def pattern_outcomes(self, scope: str, fingerprint: str) -> Op[list[Outcome]]:
        """The newest outcomes of turns of one kind."""
        rows = yield self._step(
            f"SELECT model, success, weight, cost_usd {_RECENT} AND fingerprint = ?"
            " ORDER BY recorded_at DESC LIMIT ?",
            (scope, fingerprint, RECENT_TURNS),
        )
        return [
            Outcome(model, success, weight, None if cost is None else Decimal(cost))
            for model, success, weight, cost in rows
        ]

    def adjust_pattern(self, session_id: str, message_id: str, change: Adjustment) -> Op[None]:
        """Apply feedback to the turn of an answer, if its outcome is stored. A rating replaces
        implicit feedback, and implicit feedback never changes a rated turn."""
        values = (
            *(change.strength, change.target, change.weight, change.rating, change.signal),
            *(session_id, message_id),
        )
        unrated = "" if change.rating is not None else " AND rating IS NULL"
        yield self._step(
            "UPDATE pattern_turns SET success = success + ? * (? - success), weight = ?,"
            " rating = coalesce(?, rating), signal = coalesce(?, signal)"
            f" WHERE session_id = ? AND message_id = ?{unrated}",
            values,
        )

    def reset_patterns(self, scope: str = "") -> Op[list[Evicted]]:
        """Forget all outcomes of a scope."""
        rows = yield self._step(f"SELECT DISTINCT fingerprint {_RECENT}", (scope,))
        yield self._step(f"DELETE {_RECENT}", (scope,))
        return [Evicted(fingerprint, "reset") for (fingerprint,) in rows]

    def pattern_kinds(self, scope: str = "") -> Op[list[tuple[str, str, int, float]]]:
        """Kinds of turns with their models: fingerprint, model, turns, and mean success."""
        rows = yield self._step(
            "SELECT fingerprint, model, count(*), sum(success * weight) / sum(weight)"
            f" {_RECENT} GROUP BY fingerprint, model ORDER BY 3 DESC, 1, 2",
            (scope,),
        )
        return [(kind, model, count, float(success)) for kind, model, count, success in rows]

    def _evict(self, scope: str, at: int) -> Op[list[Evicted]]:
        """Delete rows beyond the age or the number; returns the kinds that no row is left of."""
        oldest = yield self._step(f"SELECT min(recorded_at) {_RECENT}", (scope,))
        first_extra = yield self._step(
            f"SELECT recorded_at {_RECENT} ORDER BY recorded_at DESC LIMIT 1 OFFSET ?",
            (scope, MAX_TURNS),
        )
        cutoff, reason = at - MAX_AGE_DAYS * _DAY_US, "age"
        if first_extra and first_extra[0][0] >= cutoff:
            cutoff, reason = first_extra[0][0] + 1, "capacity"
        elif oldest[0][0] >= cutoff:
            return []
        gone = yield self._step(
            f"SELECT fingerprint {_RECENT} GROUP BY fingerprint HAVING max(recorded_at) < ?",
            (scope, cutoff),
        )
        yield self._step(f"DELETE {_RECENT} AND recorded_at < ?", (scope, cutoff))
        return [Evicted(fingerprint, reason) for (fingerprint,) in gone]  # type: ignore[arg-type]

    def _step(self, sql: str, values: Sequence[Any]) -> Step:
        return Step(self._sql(sql), values)
