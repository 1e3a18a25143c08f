"""The registry: what may be registered, what input fits, and that no schema reaches outside."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from time import perf_counter
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import MissingExtraError, SchemaError, ToolInputError
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.registry import MAX_INPUT_LEVELS, ToolRegistry, build_validator
from interlingua.tools.schema import MAX_PROBLEMS, REFUSED
from tests.loopback import Loopback, reply

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^[a-z/]+$"},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "mode": {"enum": ["text", "bytes"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def a_tool(name: str = "read_file", **changes: Any) -> ToolDefinition:
    fields: dict[str, Any] = {
        "description": "Read a file.",
        "input_schema": SCHEMA,
        "side_effects": SideEffects.READ,
    }
    return ToolDefinition(name, **{**fields, **changes})


def holding(tool: ToolDefinition) -> ToolRegistry:
    registry = ToolRegistry()
    registry.register(tool)
    return registry


def problems_of(tool: ToolDefinition) -> list[tuple[str, str]]:
    with pytest.raises(SchemaError) as caught:
        ToolRegistry().register(tool)
    return caught.value.problems


def misfits(registry: ToolRegistry, input: object, name: str = "read_file") -> list[str]:
    """The paths of what does not fit."""
    with pytest.raises(ToolInputError) as caught:
        registry.validate_input(name, input)
    return [path for path, _ in caught.value.problems]


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)


def test_tools_are_found_by_name_and_listed_in_order() -> None:
    registry = ToolRegistry()
    assert (len(registry), registry.names(), list(registry)) == (0, [], [])
    tools = [a_tool(name) for name in ("write_file", "read_file", "list_files")]
    for tool in tools:
        registry.register(tool)
    assert len(registry) == 3
    assert registry.names() == ["write_file", "read_file", "list_files"]
    assert list(registry) == tools
    assert registry.get("read_file") is tools[1]
    assert registry.get("nothing") is None
    assert "read_file" in registry
    assert "nothing" not in registry


def test_a_registered_tool_and_its_schema_are_the_very_same_objects() -> None:
    schema = copy.deepcopy(SCHEMA)
    tool = a_tool(input_schema=schema)
    registry = holding(tool)
    registry.validate_input("read_file", {"path": "a"})
    stored = registry.get("read_file")
    assert stored is tool
    assert stored.input_schema is schema
    assert schema == SCHEMA


@pytest.mark.requirement("S002-44")
@pytest.mark.parametrize(
    "name",
    [
        "a",
        "read_file",
        "a1_b2",
        "mcp__server__tool",
        "x" * 128,
        "_a",
        "getWeather",
        "Read",
        "a-b",
        "a.b",
        "1a",
        "-a",
        "openai:read",
    ],
)
def test_a_name_that_some_provider_takes_is_accepted(name: str) -> None:
    assert holding(a_tool(name)).names() == [name]


@pytest.mark.requirement("S002-44")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "read file",
        "openai/read",
        "lésen",
        "a\n",
        "x" * 129,
    ],
)
def test_another_name_is_refused(name: str) -> None:
    assert [path for path, _ in problems_of(a_tool(name))] == ["$.name"]


@pytest.mark.requirement("S002-44")
def test_a_name_is_registered_once() -> None:
    registry = holding(a_tool())
    first = registry.get("read_file")
    with pytest.raises(SchemaError, match="already registered"):
        registry.register(a_tool(description="Another."))
    assert registry.get("read_file") is first


@pytest.mark.requirement("S002-44")
@pytest.mark.parametrize("description", [None, "", " \n"])
def test_a_tool_without_description_is_refused(description: str | None) -> None:
    assert [path for path, _ in problems_of(a_tool(description=description))] == ["$.description"]


@pytest.mark.requirement("S002-45")
@pytest.mark.parametrize("word", ["none", "read", "write", "execute", "network"])
def test_each_degree_of_side_effects_can_be_declared(word: str) -> None:
    holding(a_tool(side_effects=SideEffects(word)))
    assert len(SideEffects) == 5


@pytest.mark.requirement("S002-45")
def test_a_tool_must_declare_its_side_effects() -> None:
    assert problems_of(a_tool(side_effects=None)) == [
        ("$.side_effects", "a tool declares one of: none, read, write, execute, network")
    ]


@pytest.mark.requirement("S002-45")
@pytest.mark.parametrize("side_effects", ["", "maybe", "NONE", False, 0])
def test_another_word_for_side_effects_is_refused_when_the_tool_is_made(side_effects: Any) -> None:
    with pytest.raises(ValueError, match="side_effects is one of none, read, write, execute"):
        a_tool(side_effects=side_effects)


@pytest.mark.requirement("S002-63", "S002-108")
@pytest.mark.parametrize("keyword", sorted(REFUSED))
def test_a_refused_construct_fails_loudly_at_registration(keyword: str) -> None:
    registry = ToolRegistry()
    schema = {"type": "object", "properties": {"a": {"type": "string", keyword: {}}}}
    with pytest.raises(SchemaError) as caught:
        registry.register(a_tool(input_schema=schema))
    assert caught.value.tool == "read_file"
    assert [path for path, _ in caught.value.problems] == ["$.input_schema.properties.a"]
    assert f"{keyword} is not allowed" in str(caught.value)
    assert len(registry) == 0


@pytest.mark.requirement("S002-63", "S002-108")
def test_all_problems_of_a_tool_are_reported_at_once() -> None:
    schema = {"type": "array", "items": {"$ref": "#"}, "anyOf": [], "widget": 1}
    tool = ToolDefinition("Bad Name", input_schema=schema)
    assert [path for path, _ in problems_of(tool)] == [
        "$.name",
        "$.description",
        "$.side_effects",
        "$.input_schema.items",
        "$.input_schema",
        "$.input_schema",
        "$.input_schema.type",
    ]


@pytest.mark.requirement("S002-63")
@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "(a{1000}){1000}"])
def test_a_pattern_that_does_not_compile_is_found_at_registration(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a b": {"pattern": pattern}}}
    [(path, _)] = problems_of(a_tool(input_schema=schema))
    assert path == '$.input_schema.properties["a b"].pattern'


def test_only_a_function_needs_a_schema() -> None:
    assert [path for path, _ in problems_of(a_tool(input_schema=None))] == ["$.input_schema"]
    holding(a_tool(input_schema=None, kind="custom"))
    holding(a_tool(input_schema=None, kind="web_search", executor="provider"))
    refused = a_tool(input_schema={"type": "string"}, kind="custom")
    assert [path for path, _ in problems_of(refused)] == ["$.input_schema.type"]


def test_free_text_input_is_an_object_with_the_text() -> None:
    registry = holding(a_tool(input_schema=None, kind="custom"))
    registry.validate_input("read_file", {"input": "anything"})
    assert misfits(registry, {}) == ["$"]
    assert misfits(registry, {"input": 1}) == ["$.input"]


def test_a_providers_own_tool_takes_any_object() -> None:
    registry = holding(a_tool(input_schema=None, kind="web_search", executor="provider"))
    registry.validate_input("read_file", {"query": ["x"]})
    assert misfits(registry, "query") == ["$"]


@pytest.mark.parametrize(
    "input",
    [{"path": "a/b"}, {"path": "a", "lines": []}, {"path": "a", "lines": [1, 2], "mode": "text"}],
)
def test_input_that_fits_passes(input: object) -> None:
    before = copy.deepcopy(input)
    holding(a_tool()).validate_input("read_file", input)
    assert input == before


@pytest.mark.parametrize(
    ("input", "paths"),
    [
        ({}, ["$"]),
        (None, ["$"]),
        ([], ["$"]),
        ("path", ["$"]),
        ({"path": 1}, ["$.path"]),
        ({"path": "A"}, ["$.path"]),
        ({"path": "a", "more": 1}, ["$"]),
        ({"path": "a", "lines": [1, 0, "x"]}, ["$.lines[1]", "$.lines[2]"]),
        ({"path": "a", "lines": [True]}, ["$.lines[0]"]),
        ({"path": None, "mode": "other"}, ["$.mode", "$.path"]),
    ],
)
def test_input_that_does_not_fit_is_an_error_with_every_path(
    input: object, paths: list[str]
) -> None:
    assert sorted(misfits(holding(a_tool()), input)) == paths


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$.path"),
        (math.inf, "$.path"),
        ("\ud800", "$.path"),
        (b"a", "$.path"),
        ({1: 2}, "$.path"),
        ([{"a b": {1}}], '$.path[0]["a b"]'),
        pytest.param(10**5000, "$.path", id="long"),
    ],
)
def test_input_that_is_no_json_is_an_error_with_its_path(value: object, path: str) -> None:
    registry = holding(a_tool(input_schema={"type": "object"}))
    assert misfits(registry, {"path": value}) == [path]


def test_long_integers_are_judged_rightly() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    registry = holding(a_tool(input_schema=schema))
    registry.validate_input("read_file", {"n": 10**4300 - 1})
    assert misfits(registry, {"n": 1 - 10**4300}) == ["$.n"]


def test_input_nested_too_deep_is_an_error_and_no_crash() -> None:
    registry = holding(a_tool(input_schema={"type": "object"}))

    def deep(levels: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(levels - 1):
            value = {"a": value}
        return value

    registry.validate_input("read_file", deep(MAX_INPUT_LEVELS))
    for levels in (MAX_INPUT_LEVELS + 1, 100_000):
        [path] = misfits(registry, deep(levels))
        assert path == "$" + ".a" * MAX_INPUT_LEVELS


def test_very_many_misfits_are_listed_in_part() -> None:
    input = {"path": "a", "lines": [0] * 10_000}
    assert len(misfits(holding(a_tool()), input)) == MAX_PROBLEMS + 1


def test_an_input_error_does_not_repeat_the_input() -> None:
    secret = "CANARY" * 1000
    registry = holding(a_tool())
    for input in (
        {"path": secret},
        {"path": "a", "mode": secret},
        {"path": "a", "lines": [secret]},
        {"path": "a", "lines": {"x": secret}},
        secret,
    ):
        with pytest.raises(ToolInputError) as caught:
            registry.validate_input("read_file", input)
        assert "CANARY" not in str(caught.value)


def test_an_unknown_tool_is_an_error_that_lists_the_known_ones() -> None:
    registry = holding(a_tool())
    registry.register(a_tool("write_file"))
    with pytest.raises(ToolInputError, match="there are: read_file, write_file") as caught:
        registry.validate_input("open_file", {})
    assert caught.value.tool == "open_file"
    with pytest.raises(ToolInputError, match="there are: none"):
        ToolRegistry().validate_input("open_file", {})


def test_a_schema_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = holding(a_tool())
    monkeypatch.setattr("interlingua.tools.registry.build_validator", None)
    for _ in range(3):
        registry.validate_input("read_file", {"path": "a"})


def test_a_pattern_takes_linear_time() -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    registry = holding(a_tool(input_schema=schema))
    begun = perf_counter()
    assert misfits(registry, {"a": "a" * 1_000_000 + "!"}) == ["$.a"]
    assert perf_counter() - begun < 5


def test_format_is_a_hint_and_no_rule() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}}
    holding(a_tool(input_schema=schema)).validate_input("read_file", {"a": "tomorrow"})


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_tools_are_registered_and_checked() -> None:
    registry = holding(a_tool())
    with pytest.raises(SchemaError):
        registry.register(a_tool("other", input_schema={"type": "object", "not": {}}))
    assert registry.names() == ["read_file"]


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_checking_input_names_it() -> None:
    registry = holding(a_tool())
    with pytest.raises(MissingExtraError, match=r"interlingua\[schema\]") as caught:
        registry.validate_input("read_file", {"path": "a"})
    assert caught.value.feature == "tool input validation"
    assert caught.value.extra == "schema"


def test_a_tool_registered_without_the_extra_is_compiled_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "jsonschema_rs", None)
        registry = holding(a_tool())
    assert misfits(registry, {}) == ["$"]


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=9))
def test_any_input_fits_or_is_an_input_error(value: object) -> None:
    registry = holding(a_tool())
    for input in (value, {"path": value}, {"path": "a", "lines": value}):
        with suppress(ToolInputError):
            registry.validate_input("read_file", input)


class Canary(BaseHTTPRequestHandler):
    """Serves a schema to whoever asks, and remembers that somebody did."""

    visits: list[str]

    def do_GET(self) -> None:
        self.visits.append(self.path)
        reply(self, b'{"type": "integer"}')


@contextmanager
def canary() -> Iterator[tuple[str, list[str]]]:
    """A loopback address, and the list of visits to it."""
    visits: list[str] = []
    with Loopback(type("Handler", (Canary,), {"visits": visits})) as server:
        yield f"{server.url}/schema.json", visits


def refusing(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        ToolRegistry().register(a_tool(input_schema=schema))
    with pytest.raises(SchemaError, match="references are not followed"):
        build_validator("read_file", schema)


def referring(target: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"$ref": target}}}


def test_an_http_reference_opens_no_socket() -> None:
    with canary() as (address, visits):
        control = jsonschema_rs.validator_for(referring(address))
        assert not control.is_valid({"a": "x"})
        assert len(visits) == 1
        refusing(referring(address))
        refusing({"type": "object", "$ref": address})
        refusing({"type": "object", "items": {"allOf": [{"$ref": f"{address}#/x"}]}})
        assert len(visits) == 1


def test_a_file_reference_reads_no_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "integer"}')
    control = jsonschema_rs.validator_for(referring(file.as_uri()))
    assert not control.is_valid({"a": "x"})
    refusing(referring(file.as_uri()))


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema"])
def test_no_keyword_that_refers_is_followed(keyword: str) -> None:
    with canary() as (address, visits):
        with suppress(SchemaError):
            build_validator("read_file", {"type": "object", keyword: address})
        assert visits == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_a_file_reference_does_not_even_open_the_file(tmp_path: Path) -> None:
    # Opening a pipe that nobody writes to waits for ever. The hook sees what Python itself opens.
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    code = """
import json, sys
from interlingua.errors import SchemaError
from interlingua.tools.registry import build_validator
build_validator("warm_up", {"type": "object"})
opened = []
watched = ("open", "socket.connect", "socket.getaddrinfo", "urllib.Request")
sys.addaudithook(lambda event, args: opened.append(event) if event in watched else None)
try:
    build_validator("read_file", {"type": "object", "$ref": sys.argv[1]})
except SchemaError as error:
    print(json.dumps([str(error), opened]))
"""
    answer = subprocess.run(
        [sys.executable, "-c", code, pipe.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    message, opened = json.loads(answer.stdout)
    assert "references are not followed" in message
    assert opened == []
