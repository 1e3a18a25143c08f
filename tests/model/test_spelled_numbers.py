"""Schemas that go out as they were written."""

from __future__ import annotations

import json

import pytest

import interlingua as il
from interlingua.errors import ReadError

SCHEMA = (
    '{"type":"object","properties":{"z":{"type":"number","minimum":1.50,"maximum":1e3},'
    '"a":{"enum":[1.0,-0.0,12345678901234567890,0.10]}},"required":["z"]}'
)


@pytest.mark.requirement("S003-22")
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "ollama"])
def test_numbers_keys_and_order_of_a_schema_are_sent_as_they_are_spelled(dialect: str) -> None:
    tool = il.ToolDefinition("f", "F.", il.schema_of(SCHEMA), il.SideEffects.NONE)
    request = il.Request((il.Message.user("hi"),), "m", (tool.replace(side_effects=None),))
    assert SCHEMA.encode() in il.dialect(dialect).write_request(request).json()


@pytest.mark.requirement("S003-22")
def test_a_kept_definition_has_them_too() -> None:
    tool = il.ToolDefinition("f", "F.", il.schema_of(SCHEMA))
    assert SCHEMA.encode() in il.dumps(tool)


def test_to_everybody_else_it_is_a_schema_like_any_other() -> None:
    schema = il.schema_of(SCHEMA)
    plain = json.loads(SCHEMA)
    assert schema == plain
    assert json.loads(json.dumps(schema)) == plain
    assert il.ToolDefinition("f", "F.", schema) == il.ToolDefinition("f", "F.", plain)
    assert il.ToolDefinition("f", "F.", schema).digest() == (
        il.ToolDefinition("f", "F.", plain).digest()
    )


@pytest.mark.parametrize("text", ["[1]", "1.5", "{", b"\xff"])
def test_what_is_no_schema_is_refused(text: str | bytes) -> None:
    with pytest.raises(ReadError, match="tool schema"):
        il.schema_of(text)
