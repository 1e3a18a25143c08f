"""Arguments as text: what is read and written at once is what the long way gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects.kernel.calls import read_arguments, write_arguments
from interlingua.errors import WriteError
from interlingua.model import arguments
from interlingua.model.blocks import ToolUseBlock

INPUTS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "null", "a" * 300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b"]), INPUTS)
TEXTS = st.sampled_from(
    ['{"a":1}', '{"a": 1}', "{}", "", "{a", "[1]", '{"a":{"b":[]}}', '{"a":1,"a":2}', '{"a":[1']
)


@given(OBJECTS)
def test_arguments_that_are_written_at_once(value: Any) -> None:
    assert write_arguments(ToolUseBlock("c", "f", value)) == arguments.to_text(value)


def test_arguments_that_are_too_deep_or_no_json_are_refused_alike() -> None:
    deep: Any = {}
    for _ in range(600):
        deep = {"a": deep}
    for odd in (deep, {"a": float("nan")}, {"a": object()}):
        with pytest.raises(WriteError) as quick:
            write_arguments(ToolUseBlock("c", "f", odd))
        with pytest.raises(WriteError) as slow:
            arguments.to_text(odd)
        assert str(quick.value) == str(slow.value)


@given(TEXTS | OBJECTS.map(arguments.to_text))
def test_arguments_that_are_read_at_once(text: str) -> None:
    input, stored, mode = read_arguments(text)
    found = arguments.recover(text)
    assert (input, mode) == (found.input, found.mode)
    assert stored == (None if mode == "strict" and arguments.to_text(input) == text else text)


@given(TEXTS, OBJECTS)
def test_a_text_is_written_while_it_says_the_input(text: str, other: Any) -> None:
    input = read_arguments(text)[0]
    assert write_arguments(ToolUseBlock("c", "f", input, text)) == text
    if not arguments.same(input, other):
        changed = ToolUseBlock("c", "f", other, text)
        assert write_arguments(changed) == arguments.to_text(other)
