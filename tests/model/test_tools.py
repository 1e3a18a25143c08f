"""What a tool is to a model."""

from __future__ import annotations

import pytest

from interlingua.model.codec import dumps, loads
from interlingua.model.tools import SideEffects, ToolDefinition
from tests.model.values import fields, plain

requirement = pytest.mark.requirement


@requirement("S002-44")
def test_a_tool_definition_has_these_fields_and_no_overrides() -> None:
    tool = ToolDefinition("read_file", "Reads.", {"type": "object"}, SideEffects.READ)
    assert tool.requires_workspace is False  # docs/differences.md
    assert plain(tool) == {
        "name": "read_file",
        "description": "Reads.",
        "input_schema": {"type": "object"},
        "side_effects": "read",
    }
    assert "provider_overrides" not in fields(ToolDefinition)


@requirement("S002-45")
def test_there_are_five_degrees_of_side_effect() -> None:
    words = ["none", "read", "write", "execute", "network"]
    assert [effect.value for effect in SideEffects] == words


@requirement("S003-22")
def test_a_tools_schema_comes_back_byte_for_byte() -> None:
    schema = (
        b'{"z":1,"type":"object","$defs":{},"properties":{"b":{"const":1.0},"a":{"enum":[null,'
        b'9007199254740993,-0.0,""]}},"required":[],"x-odd":{"$ref":"#/nowhere"}}'
    )
    data = b'{"name":"t","input_schema":' + schema + b"}"
    assert dumps(loads(data, ToolDefinition, strict=True)) == data
