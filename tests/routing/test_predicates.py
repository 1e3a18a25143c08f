"""What a rule may ask about a turn."""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.routing import Problem, Turn
from interlingua.routing.predicates import GROUPS, PREDICATES, compile_when
from interlingua.routing.turn import Needs


def holds(when: dict[str, Any], turn: Turn) -> bool:
    wrong: list[Problem] = []
    test = compile_when(when, "when", wrong)
    assert wrong == []
    return test(turn)


@pytest.mark.parametrize(
    ("when", "yes", "no"),
    [
        ({"message_matches": r"\bSQL\b"}, {"text": "some SQL here"}, {"text": "some sql"}),
        ({"message_contains_any": ["Haus", "x"]}, {"text": "ein haus"}, {"text": "ein boot"}),
        (
            {"estimated_input_tokens_gt": 5},
            {"needs": Needs(input_tokens=6)},
            {"needs": Needs(input_tokens=5)},
        ),
        (
            {"estimated_input_tokens_lt": 5},
            {"needs": Needs(input_tokens=4)},
            {"needs": Needs(input_tokens=5)},
        ),
        ({"has_images": True}, {"has_images": True}, {"has_images": False}),
        ({"has_images": False}, {"has_images": False}, {"has_images": True}),
        ({"has_tool_calls_in_history": True}, {"has_tool_calls_in_history": True}, {}),
        ({"skills_matching_message_includes": "pdf"}, {"skills": ("pdf", "x")}, {"skills": ("x",)}),
        ({"skills_matching_message_includes": ["a", "b"]}, {"skills": ("b",)}, {}),
        (
            {"file_extensions_in_context": [".py", "TS"]},
            {"file_extensions": ("PY",)},
            {"file_extensions": (".pyc",)},
        ),
        (
            {"workspace_path_matches": "^/srv/"},
            {"workspace_path": "/srv/a"},
            {"workspace_path": "/home/srv/"},
        ),
        ({"workspace_path_matches": "x"}, {"workspace_path": "x"}, {"workspace_path": None}),
        (
            {"time_of_day_between": ["09:00", "17:30"]},
            {"time_of_day": time(9)},
            {"time_of_day": time(17, 30)},
        ),
        (
            {"time_of_day_between": ["22:00", "06:00"]},
            {"time_of_day": time(5, 59, 59)},
            {"time_of_day": time(6)},
        ),
        ({"time_of_day_between": ["22:00", "06:00"]}, {"time_of_day": time(23)}, {}),
        (
            {"cost_today_exceeds_usd": Decimal("0.1")},
            {"cost_today_usd": Decimal("0.100001")},
            {"cost_today_usd": Decimal("0.1")},
        ),
        (
            {"team_budget_remaining_lt": 5},
            {"team_budget_remaining_usd": Decimal("4.99")},
            {"team_budget_remaining_usd": Decimal(5)},
        ),
        ({"team_budget_remaining_lt": 5}, {"team_budget_remaining_usd": Decimal(0)}, {}),
        (
            {"any_of": [{"has_images": True}, {"message_matches": "x"}]},
            {"text": "x"},
            {"text": "y"},
        ),
        (
            {"all_of": [{"has_images": True}, {"message_matches": "x"}]},
            {"text": "x", "has_images": True},
            {"text": "x"},
        ),
        ({"not": {"has_images": True}}, {}, {"has_images": True}),
        (
            {"message_matches": "x", "has_images": True},
            {"text": "x", "has_images": True},
            {"has_images": True},
        ),
    ],
)
def test_each_predicate_holds_where_it_should_and_nowhere_else(
    when: dict[str, Any], yes: dict[str, Any], no: dict[str, Any]
) -> None:
    assert holds(when, Turn(**yes))
    assert not holds(when, Turn(**no))


def test_the_set_of_predicates_is_closed() -> None:
    names = (
        "message_matches message_contains_any estimated_input_tokens_gt estimated_input_tokens_lt"
        " has_images has_tool_calls_in_history skills_matching_message_includes"
        " file_extensions_in_context workspace_path_matches time_of_day_between"
        " cost_today_exceeds_usd team_budget_remaining_lt any_of all_of not"
        " tool_side_effects_include"
    )
    assert sorted([*PREDICATES, *GROUPS]) == sorted(names.split())


@given(
    st.recursive(
        st.sampled_from([{"has_images": True}, {"message_matches": "x"}, {}]),
        lambda inner: st.one_of(
            st.builds(lambda a: {"any_of": a}, st.lists(inner, min_size=1, max_size=3)),
            st.builds(lambda a: {"all_of": a}, st.lists(inner, min_size=1, max_size=3)),
            st.builds(lambda a: {"not": a}, inner.filter(bool)),
        ),
        max_leaves=8,
    ),
    st.booleans(),
    st.sampled_from(["x", "y"]),
)
def test_groups_mean_what_they_say_however_they_nest(when: Any, images: bool, text: str) -> None:
    def meaning(table: dict[str, Any]) -> bool:
        return all(
            any(map(meaning, value))
            if key == "any_of"
            else all(map(meaning, value))
            if key == "all_of"
            else not meaning(value)
            if key == "not"
            else images is value
            if key == "has_images"
            else value in text
            for key, value in table.items()
        )

    assert holds(when, Turn(text=text, has_images=images)) == meaning(when)
