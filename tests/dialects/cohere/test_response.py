"""Answers and errors of Cohere's v2 chat."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dialects.cohere.wires import ANSWER, CALLING, CITATION, answer, answer_home

THOUGHT_OF = {**CITATION, "type": "THINKING_CONTENT", "content_index": 0}
OF_PLAN = {"start": 0, "end": 1, "text": "I", "sources": [], "type": "PLAN"}
PLAIN = {"type": "text", "text": "Cold and wet."}
ODD: list[dict[str, Any]] = [
    ANSWER,
    CALLING,
    answer(content=[{"type": "text", "text": "a"}], citations=[]),
    answer(content=[PLAIN], citations=[{"start": 9, "end": 12}, {"start": 0, "end": 4}]),
    answer(content=[PLAIN], citations=[{"start": 0, "end": 4, "text": "elsewhere"}]),
    answer(content=[PLAIN, PLAIN], citations=[{**CITATION}, {"start": 0, "end": 4}]),
    answer(content=ANSWER["message"]["content"], citations=[THOUGHT_OF, CITATION]),
    answer(tool_plan="I look.", citations=[OF_PLAN], tool_calls=CALLING["message"]["tool_calls"]),
    answer(content=[{"type": "future", "x": 1}], tool_calls=[{"type": "function"}]),
    answer(),
    {"message": {}, "finish_reason": None, "usage": None},
    {"id": "", "message": {"role": "assistant", "content": None}, "logprobs": [{"text": "a"}]},
    {**ANSWER, "usage": {"tokens": {"input_tokens": 3}, "cached_tokens": 9}},
    {**ANSWER, "usage": {"billed_units": {"search_units": 1}, "cached_tokens": 4}},
    {"id": "e1", "message": "too many tokens", "error_type": "TOO_MANY_TOKENS"},
    {"message": "nothing else"},
]


@pytest.mark.parametrize("wire", ODD)
def test_an_answer_goes_home_as_it_came(wire: dict[str, Any]) -> None:
    assert answer_home(wire) == wire
