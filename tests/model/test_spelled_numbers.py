"""Schemas that go out as they were written."""

from __future__ import annotations

import json
from typing import Any

import msgspec
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


_CHAT = '{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[%s]}'
_FUNCTION = '{"type":"function","function":{"name":"f","parameters":%s}}'
_TEXT = '{"messages":[{"role":"user","content":[{"text":"q"}]}],"toolConfig":{"tools":[%s]}}'
_CONTENTS = '{"contents":[{"role":"user","parts":[{"text":"q"}]}],"tools":[%s]}'
_BODIES = {
    "openai-chat": _CHAT % _FUNCTION,
    "openrouter": _CHAT % _FUNCTION,
    "ollama": _CHAT % _FUNCTION,
    "cohere": _CHAT % _FUNCTION,
    "anthropic": _CHAT % '{"name":"f","input_schema":%s}',
    "openai-responses": '{"input":"q","tools":[{"type":"function","name":"f","parameters":%s}]}',
    "gemini-interactions": '{"input":"q","tools":[{"type":"function","name":"f","parameters":%s}]}',
    "gemini": _CONTENTS % '{"functionDeclarations":[{"name":"f","parametersJsonSchema":%s}]}',
    "bedrock": _TEXT % '{"toolSpec":{"name":"f","inputSchema":{"json":%s}}}',
    "camel": '{"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f","parameters":%s}]}',
    "flat": _CHAT % _FUNCTION,
}
_TYPED = (
    '{"type":"object","properties":{"z":{"type":"number","enum":[1.50,1e3]},'
    '"a":{"type":"number","enum":[1.0,-0.0,123456789012345678901234567890,0.10]}}}'
)


@pytest.mark.requirement("S003-22")
@pytest.mark.parametrize("source", list(_BODIES))
@pytest.mark.parametrize("form", [str, str.encode])
def test_a_schema_in_json_text_is_sent_on_as_it_is_spelled(source: str, form: Any) -> None:
    for target in [name for name in _BODIES if name != "flat"]:
        written = il.convert(form(_BODIES[source] % _TYPED), source, target, model="m")
        assert _TYPED.encode() in written.json(), target
        assert msgspec.json.decode(written.json()) == written.wire
        assert msgspec.json.encode(written.wire), "parsed JSON has no types of ours"


def test_an_edited_wire_is_written_as_it_is() -> None:
    written = il.convert(_BODIES["anthropic"] % SCHEMA, "anthropic", "openai-chat", model="m")
    del written.wire["tools"]
    assert written.json() == b'{"model":"m","messages":[{"role":"user","content":"q"}]}'


def test_odd_numbers_elsewhere_are_plain_floats() -> None:
    body = _BODIES["openai-chat"] % "{}"
    written = il.convert(body[:-1] + ',"temperature":0.70}', "openai-chat", "cohere", model="m")
    assert written.wire["temperature"] == 0.7
    for number in ("1E400", "1e999", "NaN"):
        with pytest.raises(ReadError):
            il.convert(_BODIES["anthropic"] % f'{{"a":{number}}}', "anthropic", "openai-chat")


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
