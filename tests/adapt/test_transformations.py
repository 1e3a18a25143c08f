"""Thinking that a service left out is reported in the words of the client's vendor."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.transformations import KEY, carried, read, reported

CLAUDE = {
    "messages": [
        {"role": "user", "content": "2 + 2?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "one"},
                {"type": "redacted_thinking", "data": "two"},
                {"type": "text", "text": "Four."},
            ],
        },
    ]
}
OPENAI = {
    "input": [
        {"role": "user", "content": "2 + 2?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "one"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "two"},
    ]
}
REASONS = {
    "model_binding_mismatch": "model_mismatch",
    "prefix_binding_mismatch": "prefix_mismatch",
    "organization_binding_mismatch": "organization_mismatch",
    "end_user_binding_mismatch": "end_user_mismatch",
}


def answer(dialect: str, *entries: Any) -> il.Response:
    message = il.Message.assistant("Yes.")
    return il.Response(message, raw={dialect: {KEY: list(entries), "other": 1}})


def dropped(reason: str) -> dict[str, Any]:
    return {"type": "thinking_dropped", "path": "messages.1.content.1", "reason": reason}


def removed(reason: str) -> dict[str, Any]:
    return {"id": "rs_2", "action": "removed", "reason": reason, "type": "reasoning"}


@pytest.mark.parametrize(("theirs", "ours"), REASONS.items())
def test_entries_travel_between_the_two_vendors_and_back(theirs: str, ours: str) -> None:
    there = carried(
        answer("anthropic", dropped(theirs)), "anthropic", "openai-responses", CLAUDE, OPENAI
    )
    assert reported(there, "openai-responses") == [removed(ours)]
    assert there.raw is not None
    assert there.raw["anthropic"] == {"other": 1}
    back = carried(there, "openai-responses", "anthropic", OPENAI, CLAUDE)
    assert reported(back, "anthropic") == [dropped(theirs)]
    written = il.dialect("openai-responses").write_response(there)
    assert written.wire[KEY] == [removed(ours)]
    home = il.dialect("anthropic").write_response(back)
    assert home.wire[KEY] == [dropped(theirs)]


def test_a_place_is_found_by_its_number_where_seals_were_replaced() -> None:
    items = [dict(item) for item in OPENAI["input"]]
    for item in items:
        item.pop("encrypted_content", None)
    there = carried(
        answer("anthropic", dropped("model_binding_mismatch")),
        *("anthropic", "openai-responses", CLAUDE, {"input": items}),
    )
    assert reported(there, "openai-responses") == [removed("model_mismatch")]
    fewer = carried(
        answer("anthropic", dropped("model_binding_mismatch")),
        *("anthropic", "openai-responses", CLAUDE, {"input": items[:2]}),
    )
    assert reported(fewer, "openai-responses") == []
    assert reported(fewer, "anthropic") == [dropped("model_binding_mismatch")]


@pytest.mark.parametrize(
    ("source", "target", "entry"),
    [
        ("openai-responses", "anthropic", removed("turn_boundary")),
        ("openai-responses", "anthropic", removed("a new reason")),
        ("openai-responses", "gemini", removed("model_mismatch")),
        (
            "anthropic",
            "openai-responses",
            {**dropped("prefix_binding_mismatch"), "type": "thinking_mismatch_allowed"},
        ),
    ],
)
def test_what_the_other_vendor_cannot_say_stays_what_it_was(
    source: str, target: str, entry: dict[str, Any]
) -> None:
    bodies = (OPENAI, CLAUDE) if source == "openai-responses" else (CLAUDE, OPENAI)
    there = carried(answer(source, entry), source, target, *bodies)
    assert reported(there, source) == [entry]
    assert target not in (there.raw or {})


def test_an_entry_names_the_seal_of_its_thinking() -> None:
    found = read(removed("turn_boundary"), "openai-responses", OPENAI)
    assert found is not None
    assert (found.reason, found.removed, found.seal, found.place) == ("turn", True, "two", "rs_2")
    assert read(removed("new"), "openai-responses", OPENAI) is None
