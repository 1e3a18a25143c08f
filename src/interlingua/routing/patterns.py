"""Which model did best with turns of this kind, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.bus.payloads.routes import PatternAlternative
from interlingua.routing.policy import PatternSettings
from interlingua.routing.turn import PatternStats


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
    """Success, blended with how cheap a model is among these: 1 for the cheapest, 0 for the
    dearest. Where all cost the same, cost says nothing and its term is 0."""
    low, high = min(s.cost_usd for s in stats), max(s.cost_usd for s in stats)
    return [
        (1 - weight) * each.success
        + weight * (float((high - each.cost_usd) / (high - low)) if high > low else 0.0)
        for each in stats
    ]
