"""Kinds of turns, and which model did best with them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from interlingua.model.metadata import StopReason
from interlingua.routing.patterns import TurnResult, fingerprint, stats_of, success_of
from interlingua.routing.turn import Needs, Turn


def test_a_kind_is_a_few_words_and_no_text() -> None:
    plain = Turn(text="How high is the Zugspitze?", needs=Needs(input_tokens=900))
    assert fingerprint(plain) == "short question"
    code = Turn(
        text="```\nx\n```",
        needs=Needs(input_tokens=5000, tools=True),
        file_extensions=(".py", "weird ext\n"),
        skills=("Review",),
    )
    assert fingerprint(code) == "short tools code file:py skill:review"


@pytest.mark.parametrize(
    ("result", "success"),
    [
        (TurnResult(StopReason.END_TURN), 1.0),
        (TurnResult(StopReason.END_TURN, tool_calls=4, failed_tools=2), 0.75),
        (TurnResult(StopReason.END_TURN, failed_calls=1), 0.75),
        (TurnResult(StopReason.MAX_TOKENS), 0.5),
        (TurnResult(StopReason.REFUSAL), 0.0),
        (TurnResult(None), 0.0),
        (TurnResult(StopReason.END_TURN, cancelled=True), 0.0),
    ],
)
def test_success_is_what_the_outcome_shows(result: TurnResult, success: float) -> None:
    assert success_of(result) == success


def test_a_model_of_unknown_cost_is_not_taken_for_free() -> None:
    rows = [("a", 1.0, 1.0, Decimal("0.5")), ("b", 1.0, 1.0, None), ("a", 0.0, 3.0, Decimal("0.1"))]
    a, b = stats_of(rows)
    assert (a.model, a.success, a.sample_size, a.cost_usd) == ("a", 0.25, 2, Decimal("0.3"))
    assert b.cost_usd == Decimal("0.5")
