"""The order of properties, which only Gemini's schemas can say."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

SCHEMA: dict[str, Any] = {
    "type": "OBJECT",
    "properties": {"propertyOrdering": {"type": "STRING"}},
    "propertyOrdering": ["propertyOrdering"],
}
WIRE: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}],
    "generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA},
}


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses"])
def test_it_is_left_out_elsewhere_with_a_note(target: str) -> None:
    done = il.convert(WIRE, "gemini", target, model="m")
    request = il.dialect(target).read_request(done.wire)
    plain = {"type": "object", "properties": {"propertyOrdering": {"type": "string"}}}
    assert request.tools[0].input_schema == plain
    assert request.options.response_format is not None
    assert request.options.response_format.schema == plain
    lost = [loss for loss in done.report if "propertyOrdering" in loss.reason]
    assert [loss.severity for loss in lost] == ["info", "info"]


def test_it_goes_home() -> None:
    gemini = il.dialect("gemini")
    assert gemini.write_request(gemini.read_request(WIRE)).wire == WIRE
