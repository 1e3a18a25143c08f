"""A repair asks for no more than the caller did, and leaves alone what is not on its list."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from interlingua.adapt.fit.lessons import NOTHING, AllowedValues, replacement, worth_remembering
from interlingua.model.exchange import EFFORTS

COSTLY = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict")
NUMBERS = st.one_of(st.none(), st.floats(-1e12, 1e12), st.integers(-5, 10**9).map(float))


@given(
    st.sampled_from((*COSTLY, "n", "candidate_count", "thinking_budget")),
    st.integers(-2, 10**7),
    NUMBERS,
    NUMBERS,
)
def test_a_number_that_costs_only_becomes_smaller_and_stays_a_limit(
    name: str, value: int, least: float | None, most: float | None
) -> None:
    new = replacement(name, value, AllowedValues((), least, most))
    if new is not None and new is not UNSET:
        assert 1 <= new < value
    assert replacement(name, value, worth_remembering(name, AllowedValues((), least, most))) in (
        new,
        UNSET,
    )


@given(st.sampled_from(EFFORTS), st.sets(st.sampled_from((*EFFORTS, "turbo", "auto"))))
def test_an_effort_only_becomes_lower(value: str, words: set[str]) -> None:
    new = replacement("reasoning_effort", value, AllowedValues(tuple(words) or ("turbo",)))
    assert new is None or EFFORTS.index(new) < EFFORTS.index(value)


@pytest.mark.parametrize("name", COSTLY)
def test_a_limit_is_never_left_out(name: str) -> None:
    assert replacement(name, 50, NOTHING) is None


@pytest.mark.parametrize(
    ("name", "value", "left_out"),
    [
        ("reasoning_effort", "low", False),
        ("reasoning_effort", "medium", False),  # Anthropic's default is higher
        ("reasoning_effort", "high", True),
        ("thinking_level", "HIGH", True),
        ("verbosity", "low", False),
        ("verbosity", "medium", True),
        ("n", 3, True),
        ("parallel_tool_calls", True, True),
        ("parallel_tool_calls", False, False),
        ("temperature", 0.2, True),
        ("seed", 7, True),
    ],
)
def test_what_is_left_out_leaves_no_larger_default(name: str, value: Any, left_out: bool) -> None:
    assert (replacement(name, value, NOTHING) is UNSET) is left_out


PROTECTING: dict[str, Any] = {
    "store": False,
    "metadata": {"a": "b"},
    "provider": {"data_collection": "deny", "zdr": True},
    "safety_identifier": "u",
    "user": "u",
    "moderation": {"strict": True},
    "safety_settings": [],
    "safetySettings": [],
    "guardrailConfig": {},
    "response_format": {"type": "json_object"},
    "tool_choice": "none",
    "stop": ["x"],
    "stop_sequences": ["x"],
    "service_tier": "flex",
    "prompt_cache_key": "k",
    "include": [],
    "truncation": "disabled",
    "thinking": {"type": "disabled"},
    "stream_options": {"include_usage": True},
}


@pytest.mark.parametrize("name", PROTECTING)
def test_what_protects_is_never_changed(name: str) -> None:
    values = (NOTHING, AllowedValues(("auto", "default", "priority")), AllowedValues((), 5, 9))
    assert [replacement(name, PROTECTING[name], each) for each in values] == [None, None, None]
