"""Steps that are no content: thoughts, calls and results."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.gemini_interactions import calls
from interlingua.dialects.gemini_interactions import calls as thinking
from tests.dialects.gemini_interactions.plain import NAME, WORDS, both, outcome

CALLS = st.fixed_dictionaries(
    {"type": st.just("function_call"), "id": WORDS, "name": WORDS},
    optional={"arguments": st.sampled_from([{}, {"a": 1}, None, "x"]), "signature": WORDS},
)

THOUGHTS = st.fixed_dictionaries(
    {"type": st.just("thought")}, optional={"signature": WORDS, "x": st.just(1)}
)


@given(CALLS)
def test_a_call_that_is_read_at_once(step: Any) -> None:
    assert outcome(calls.read_call, step) == outcome(calls._read_call, step)


@given(THOUGHTS)
def test_a_thought_that_is_read_at_once(step: Any) -> None:
    assert outcome(thinking.read_thought, step) == outcome(thinking._read_thought, step)


@given(
    st.builds(
        il.ToolUseBlock,
        id=st.just("a"),
        name=st.just("f"),
        input=st.sampled_from([{}, {"a": 1}]),
        raw_arguments=st.none() | st.sampled_from(['{"a": 1}', "{a"]),
        signature=st.none() | st.just("s"),
        call_type=st.none() | st.just("custom"),
        cache=st.none() | st.just(il.Cache()),
        raw=st.sampled_from([None, {NAME: {"x": 1}}, {"gemini": {"y": 2}}]),
    )
)
def test_a_call_that_is_written_at_once(block: il.ToolUseBlock) -> None:
    both(block, calls.write_call, calls._write_call)
