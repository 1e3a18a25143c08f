"""The judge of the comparison: what it calls right, reported, silent and failed."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from tests.compared.bodies import Body, made, model_for
from tests.compared.drivers.runner import frames_of
from tests.compared.judge import verdict

CHAT = {"model": "gpt-4.1", "seed": 7, "messages": [{"role": "user", "content": "Hello"}]}
BODY = Body("seed", "openai-chat", "request", CHAT)
CLAUDE: Any = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}


@pytest.mark.parametrize(
    ("result", "word"),
    [
        ({"wire": CLAUDE, "told": ""}, "silent"),
        ({"wire": CLAUDE, "told": "no seed there"}, "reported"),
        ({"wire": [], "told": ""}, "failed"),
        ({"problem": "KeyError: 'role'"}, "failed"),
        ({"problem": "UnsupportedParamsError: seed"}, "reported"),
        ({"offered": False}, "-"),
    ],
)
def test_a_result_is_judged_by_what_is_in_it(result: dict[str, Any], word: str) -> None:
    assert verdict(BODY, "anthropic", "claude-sonnet-4-5", result, False).word == word


def test_what_a_model_refuses_is_seen() -> None:
    wire = {**CLAUDE, "messages": [{"role": "tool", "content": "Hello"}]}
    found = verdict(BODY, "anthropic", "claude-sonnet-4-5", {"wire": wire, "told": ""}, False)
    assert found.refused


def test_a_body_that_comes_home_is_right() -> None:
    for body in made():
        if body.kind == "request":
            wire = il.convert(body.wire, body.source, body.source).wire
            model = model_for(body.source, body.feature)
            result = {"wire": wire, "told": ""}
            assert verdict(body, body.source, model, result, False).word == "right", body


def test_frames_are_read_from_text() -> None:
    text = 'event: a\ndata: {"x": 1}\n\ndata: [DONE]\n\n'
    assert frames_of(text) == [("a", {"x": 1})]
