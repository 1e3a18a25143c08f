"""Instructions that come later: where two of the documents put all of them in front, and what is
done without being asked to, since moving them would change every byte before them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

requirement = pytest.mark.requirement

FLAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "And now?"},
]
TARGETS = [
    ("anthropic", "claude-sonnet-4-6"),
    ("bedrock", "anthropic.claude-sonnet-4-6"),
    ("gemini", "gemini-2.5-pro"),
]


def turns(wire: Any) -> list[Any]:
    return wire.get("messages") or wire["contents"]


def texts(parts: Any) -> list[str]:
    return [part["text"] for part in parts]


@requirement("S000-16", "S000-22", "S001-7")
@pytest.mark.parametrize(("target", "model"), TARGETS)
@pytest.mark.parametrize("source", ["flat", "openai-chat"])
def test_all_of_them_can_be_put_in_front(target: str, model: str, source: str) -> None:
    data: Any = FLAT if source == "flat" else {"model": "gpt-5", "messages": FLAT}
    told = il.convert(data, source, target, model=model, instructions="hoist")
    system = told.wire.get("system") or told.wire["systemInstruction"]["parts"]
    assert texts(system) == ["Be brief.", "Be kind."]
    roles = [turn["role"] for turn in turns(told.wire)]
    assert roles == ["user", "model" if target == "gemini" else "assistant", "user"]
    assert "Be kind." not in str(turns(told.wire))
    assert "$.messages[3]" in str([loss.path for loss in told.report])


@requirement("S000-27", "S001-9")
@pytest.mark.parametrize(("target", "model"), TARGETS)
def test_where_the_model_takes_none_later_they_are_marked_and_told(target: str, model: str) -> None:
    told = il.convert(FLAT, "flat", target, model=model)
    roles = [turn["role"] for turn in turns(told.wire)]
    assert roles == ["user", "model" if target == "gemini" else "assistant", "user"]
    last = turns(told.wire)[-1]
    assert "Be kind." in str(last)
    assert [loss.kind for loss in told.report if loss.path == "$.messages[3].role"] == [
        "downgraded"
    ]
