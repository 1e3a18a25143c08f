"""A prompt that Ollama will cut without a word is reported before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets

LONG, SHORT = "word " * 9000, "word"


def codes(text: str, num_ctx: Any = None, model: str = "ollama:llama3.2") -> list[str]:
    targets = Targets(environ={}, keys={"openai": "k"})
    raw = None if num_ctx is None else {"ollama": {"options": {"num_ctx": num_ctx}}}
    request = il.Request((il.Message.user(text),), raw=raw)
    prepared = targets.prepare(request, targets.find(model), stream=False)
    return [loss.code for loss in prepared.report.losses]


@pytest.mark.parametrize(
    ("text", "num_ctx", "found"),
    [
        (SHORT, None, []),
        (LONG, None, ["prompt_may_be_cut"]),
        (LONG, 2048, ["prompt_cut"]),
        (LONG, 65536, []),
        (LONG, "many", ["prompt_may_be_cut"]),
    ],
)
def test_a_prompt_that_does_not_fit_is_a_loss(text: str, num_ctx: Any, found: list[str]) -> None:
    assert codes(text, num_ctx) == found


def test_other_servers_refuse_by_themselves() -> None:
    assert codes(LONG, model="openai:gpt-5.6") == []
