"""Kinds of turns, how well a turn went, and which model did best with turns of one kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from interlingua.events.payloads import PatternAlternative
from interlingua.model.metadata import StopReason
from interlingua.routing.policy import PatternSettings
from interlingua.routing.turn import PatternStats, Turn

_TEXT_LIMIT = 20_000
_CODE = re.compile(r"```|^\s{4,}\S|[{};]\s*$|\bTraceback\b", re.MULTILINE)
_WORD = re.compile(r"[a-z0-9_+.-]{1,24}")
_MOST_WORDS = 3
_SIZES = ((16_000, "short"), (100_000, "long"), (float("inf"), "huge"))
"""By tokens of input."""
_FAILED_ENDS = (StopReason.ERROR, StopReason.REFUSAL, StopReason.CONTENT_FILTER)


class Match(NamedTuple):
    model: str
    confidence: float
    sample_size: int
    alternatives: tuple[PatternAlternative, ...]


def best_of(stats: Sequence[PatternStats], settings: PatternSettings) -> Match | str:
    """The model that leads, or why none does. Models with too few samples do not take part, and
    confidence is the leader's lead over the next one, as a part of the leader's own score."""
    known = [each for each in stats if each.sample_size >= settings.min_sample_size]
    if not known:
        return f"fewer than {settings.min_sample_size} samples" if stats else "no pattern"
    scores = _scores(known, settings.cost_weight)
    order = sorted(range(len(known)), key=lambda i: (-scores[i], known[i].model))
    first = order[0]
    lead = scores[first] - (scores[order[1]] if len(order) > 1 else 0.0)
    confidence = lead / scores[first] if scores[first] > 0 else 0.0
    if confidence < settings.min_confidence:
        return f"confidence {confidence:.2f} is below {settings.min_confidence:g}"
    others = tuple(
        [PatternAlternative(model=known[i].model, score=round(scores[i], 6)) for i in order[1:]]
    )
    best = known[first]
    return Match(best.model, min(confidence, 1.0), best.sample_size, others)


def _scores(stats: Sequence[PatternStats], weight: float) -> list[float]:
    """The success rate, blended with how cheap a model is among these: 1 for the cheapest, 0 for
    the most expensive. If all cost the same, the term for cost is 0."""
    low, high = min(s.cost_usd for s in stats), max(s.cost_usd for s in stats)
    return [
        (1 - weight) * each.success
        + weight * (float((high - each.cost_usd) / (high - low)) if high > low else 0.0)
        for each in stats
    ]


def fingerprint(turn: Turn) -> str:
    """The kind of a turn as words: its size, its needs, whether it contains code. Only yes-or-no
    answers are taken from the text, never the text itself."""
    needs, text = turn.needs, turn.text[:_TEXT_LIMIT]
    size = next(name for most, name in _SIZES if needs.input_tokens < most)
    features = {
        "images": turn.has_images,
        "tools": needs.tools,
        "called": turn.has_tool_calls_in_history,
        "structured": needs.structured_output,
        "code": _CODE.search(text) is not None,
        "question": "?" in text,
    }
    words = [size, *[name for name, holds in features.items() if holds]]
    words += [f"effect:{effect.value}" for effect in needs.side_effects]
    words += _named("file", turn.file_extensions) + _named("skill", turn.skills)
    return " ".join(words)


def _named(kind: str, names: Iterable[str]) -> list[str]:
    plain = sorted({name.lower().lstrip(".") for name in names})
    return [f"{kind}:{name}" for name in plain if _WORD.fullmatch(name)][:_MOST_WORDS]


class TurnResult(NamedTuple):
    """The result of a finished turn, before any feedback."""

    stop_reason: StopReason | None
    cancelled: bool = False
    failed_calls: int = 0
    tool_calls: int = 0
    failed_tools: int = 0


def success_of(result: TurnResult) -> float:
    """How well a turn went, from 0 to 1: refusals and errors are 0, a truncated answer at most a
    half; failed tools cost up to a half, and repeated calls a quarter."""
    if result.cancelled or result.stop_reason in (None, *_FAILED_ENDS):
        return 0.0
    score = 0.5 if result.stop_reason is StopReason.MAX_TOKENS else 1.0
    if result.tool_calls:
        score -= 0.5 * min(result.failed_tools / result.tool_calls, 1.0)
    if result.failed_calls:
        score -= 0.25
    return max(score, 0.0)


def stats_of(outcomes: Iterable[tuple[str, float, float, Decimal | None]]) -> list[PatternStats]:
    """Outcomes (model, success, weight, cost) as one row per model. An unknown cost counts as that
    of the most expensive turn."""
    by_model: dict[str, list[tuple[float, float, Decimal | None]]] = {}
    for model, success, weight, cost in outcomes:
        by_model.setdefault(model, []).append((success, weight, cost))
    known = [cost for rows in by_model.values() for *_, cost in rows if cost is not None]
    dearest = max(known, default=Decimal(0))
    return [
        PatternStats(
            model=model,
            success=sum(s * w for s, w, _ in rows) / sum(w for _, w, _ in rows),
            sample_size=len(rows),
            cost_usd=sum((dearest if c is None else c for *_, c in rows), Decimal(0)) / len(rows),
        )
        for model, rows in by_model.items()
    ]
