"""Names, schemas and settings of MCP servers, in our own words."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.errors import InterlinguaError, ReadError, SchemaError
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import McpError
from interlingua.tools.mcp import Offer
from interlingua.tools.mcp_link import Link, McpServer, read_servers
from interlingua.tools.mcp_schema import (
    MAX_PARTS,
    adapt_schema,
    definition_of,
    fitted_name,
    marked,
    shortened,
)
from interlingua.tools.registry import NAME, ToolRegistry
from interlingua.tools.schema import check_schema


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("read_file", "read_file"),
        ("getWeather", "get_weather"),
        ("get-weather.v2", "get_weather_v2"),
        ("admin/tools.list", "admin_tools_list"),
        ("HTTPGet", "httpget"),
        ("2fa", "tool_2fa"),
        ("__", "tool"),
        ("日本", "tool"),
    ],
)
def test_names_are_made_to_fit(theirs: str, ours: str) -> None:
    assert fitted_name(theirs) == ours


@given(st.text(max_size=200))
def test_every_name_fits_and_names_made_distinct_are(name: str) -> None:
    assert NAME.fullmatch(fitted_name(name))
    assert NAME.fullmatch(marked(fitted_name(name), name))
    assert marked("same", name) != marked("same", name + "x")


def test_names_that_are_too_long_keep_a_digest() -> None:
    one, two = "a" * 100 + "1", "a" * 100 + "2"
    assert len(shortened(one, one)) == 64
    assert shortened(one, one) != shortened(two, two)


def in_object(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


def adapted(schema: Any, **more: Any) -> Any:
    """How the schema of a property comes out."""
    return adapt_schema("t", in_object(schema, **more))[0]["properties"]["x"]


def test_a_schema_inside_the_subset_stays_as_it_is() -> None:
    schema = in_object({"type": "string", "pattern": "^a", "title": "X"}, required=["x"])
    assert adapt_schema("t", schema) == (schema, [])


@pytest.mark.parametrize(
    ("schema", "becomes"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": ["string", "integer"]}),
        (
            {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            {"type": ["array", "null"], "items": {"type": "string"}},
        ),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, {"enum": ["a", "b"]}),
        ({"anyOf": [{"const": 1}, {"const": True}]}, {"enum": [1, True]}),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, {"enum": ["a", None]}),
        (
            {"allOf": [{"type": "string"}], "description": "D"},
            {"type": "string", "description": "D"},
        ),
        ({"$ref": "#/$defs/P", "description": "D"}, {"type": "integer", "description": "D"}),
        ({"additionalProperties": {}}, {"additionalProperties": True}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (True, {}),
    ],
)
def test_what_can_be_said_otherwise_is_and_is_no_change(schema: Any, becomes: Any) -> None:
    whole = in_object(schema, **{"$defs": {"P": {"type": "integer"}}, "$schema": "x"})
    result, changes = adapt_schema("t", whole)
    assert result["properties"]["x"] == becomes
    assert changes == []


@pytest.mark.parametrize(
    ("schema", "becomes", "place"),
    [
        (
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "number"},
            "$.properties.x.exclusiveM",
        ),
        ({"type": "string", "pattern": "(?=a)"}, {"type": "string"}, "$.properties.x.pattern"),
        ({"type": "string", "pattern": "("}, {"type": "string"}, "$.properties.x.pattern"),
        ({"additionalProperties": {"type": "string"}}, {"additionalProperties": True}, "$.proper"),
        ({"items": [{"type": "string"}]}, {}, "$.properties.x.items"),
        ({"not": {"type": "string"}}, {}, "$.properties.x.not"),
        ({"required": True}, {}, "$.properties.x.required"),
        ({"$ref": "https://example.com/s.json"}, {}, "$.properties.x"),
        ({"$ref": "#/$defs/missing"}, {}, "$.properties.x"),
        (False, {}, "$.properties.x"),
    ],
)
def test_what_cannot_be_said_is_left_out_and_listed(schema: Any, becomes: Any, place: str) -> None:
    result, changes = adapt_schema("t", in_object(schema))
    assert result["properties"]["x"] == becomes
    assert len(changes) == 1
    assert changes[0].startswith(place)


def test_a_choice_without_a_place_is_told_in_words() -> None:
    choice = [{"type": "string", "minLength": 2}, {"type": "object", "properties": {}}]
    result = adapted({"anyOf": choice, "description": "Who."})
    assert result["description"].startswith('Who. One of: [{"type":"string","minLength":2}')


def test_a_schema_inside_itself_ends() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/T"}}}
    result, changes = adapt_schema("t", in_object({"$ref": "#/$defs/T"}, **{"$defs": {"T": tree}}))
    assert result["properties"]["x"]["properties"]["child"] == {}
    assert "inside itself" in changes[0]


def test_references_that_multiply_are_refused() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for n in range(1, 20):
        ref = {"$ref": f"#/$defs/d{n - 1}"}
        defs[f"d{n}"] = {"type": "object", "properties": {"a": ref, "b": ref}}
    assert MAX_PARTS < 2**19
    with pytest.raises(SchemaError, match="too large"):
        adapt_schema("t", in_object({"$ref": "#/$defs/d19"}, **{"$defs": defs}))


def test_a_root_that_is_no_object_is_refused_when_it_is_registered() -> None:
    schema, _ = adapt_schema("t", {"type": "array", "items": {"type": "string"}})
    with pytest.raises(SchemaError, match="outermost"):
        ToolRegistry().register(il.ToolDefinition("t", "T.", schema, il.SideEffects.READ))


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "ab"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=4,
)
TYPE = st.sampled_from(["string", "integer", "boolean", "null", "object", "array"])


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(TYPE, st.lists(TYPE, min_size=1, max_size=2, unique=True)),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "items": inner,
            "additionalProperties": st.one_of(st.booleans(), inner),
            "required": st.lists(st.sampled_from("abc"), max_size=1),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "minLength": st.integers(0, 2),
            "exclusiveMinimum": st.integers(-2, 2),
            "pattern": st.sampled_from(["^a", "b$"]),
            "$ref": st.sampled_from(["#/$defs/d", "#/properties/x", "#/$defs/none"]),
        },
    )


SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        TYPE.map(lambda name: {"type": name}),
        VALUES.map(lambda value: {"const": value}),
        st.lists(VALUES, min_size=1, max_size=2).map(lambda values: {"enum": values}),
    ),
    _larger,
    max_leaves=6,
)


@given(SCHEMAS, SCHEMAS, st.lists(VALUES, max_size=4))
def test_an_adapted_schema_is_in_the_subset_and_never_stricter(
    schema: Any, shared: Any, values: list[Any]
) -> None:
    whole = in_object(schema, **{"$defs": {"d": shared}})
    result, _ = adapt_schema("t", whole)
    assert check_schema(result) == []
    ours = jsonschema_rs.Draft202012Validator(result)
    try:
        theirs = jsonschema_rs.Draft202012Validator(whole)
        fits = [theirs.is_valid({"x": value}) for value in values]
    except ValueError:  # a reference that leads nowhere
        return
    for value, fit in zip(values, fits, strict=True):
        assert ours.is_valid({"x": value}) or not fit


def a_link(*tools: Any) -> Link:
    link = Link(McpServer(name="srv", command="x"), lambda link: None)
    link.tools, link.state = list(tools), "up"
    return link


def their_tool(name: str, schema: Any = None, **more: Any) -> Any:
    types = pytest.importorskip("mcp_types", reason="needs the extra mcp")
    return types.Tool(name=name, input_schema=schema or {"type": "object"}, **more)


async def nobody(link: Link, name: str, input: Any) -> str:
    return f"{link.server.name} {name} {input}"


def test_tools_that_would_have_one_name_get_two() -> None:
    registry = ToolRegistry()
    offer = Offer(a_link(their_tool("a-b"), their_tool("a.b"), their_tool("a_b")), nobody)
    assert offer.register(registry)
    tools = offer.status().tools
    assert sorted(tools.values()) == ["a-b", "a.b", "a_b"]
    assert list(tools)[:2] == ["a_b", "srv__a_b"]
    assert registry.names() == list(tools)
    assert not offer.register(registry)
    results = Dispatcher(registry, confirm=lambda question: True).run_sync(
        [il.ToolUseBlock(name, name, {}) for name in tools]
    )
    said = [block.text for r in results for block in r.content if isinstance(block, il.TextBlock)]
    assert said == [f"srv {theirs} {{}}" for theirs in tools.values()]


def test_tools_that_cannot_be_registered_are_listed_with_the_reason() -> None:
    registry = ToolRegistry()
    adapted = their_tool("loose", in_object({"not": {"type": "string"}}))
    offer = Offer(a_link(their_tool("bad", {"type": "array"}), adapted), nobody)
    offer.register(registry)
    status = offer.status()
    assert registry.names() == ["loose"]
    assert list(status.refused) == ["bad"]
    assert "outermost" in status.refused["bad"]
    assert status.adapted["loose"][0].startswith("$.properties.x.not")


def test_a_server_s_tools_follow_what_it_offers_and_keep_their_names() -> None:
    registry = ToolRegistry()
    link = a_link(their_tool("one"), their_tool("two"))
    offer = Offer(link, nobody)
    offer.register(registry)
    link.tools = [their_tool("two", description="New."), their_tool("three")]
    assert offer.register(registry)
    assert registry.names() == ["two", "three"]
    changed = registry.get("two")
    assert changed is not None
    assert changed.description == "New."
    offer.withdraw(registry)
    assert registry.names() == []


@pytest.mark.requirement("S002-46")
def test_a_server_s_claim_to_only_read_is_believed_or_not() -> None:
    types = pytest.importorskip("mcp_types", reason="needs the extra mcp")
    hint = their_tool("t", annotations=types.ToolAnnotations(read_only_hint=True))
    said = [
        definition_of(hint, "t", local=True, trust_hints=trust)[0].side_effects
        for trust in (True, False)
    ]
    assert said == ["read", "execute"]
    assert definition_of(their_tool("t"), "t", local=False, trust_hints=True)[0].side_effects == (
        "network"
    )


def test_servers_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    servers = {
        "files": {"command": "files-server", "args": ["--root", "."], "env": {"A": "b"}},
        "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}},
        "off": {"command": "x", "disabled": True},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    files, web = read_servers(file)
    assert (files.name, files.command, files.args) == ("files", "files-server", ("--root", "."))
    assert (web.url, dict(web.headers)) == ("https://example.com/mcp", {"X": "y"})


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ("[]", r"\$\.mcpServers"),
        ("{", r"\$\.mcpServers"),
        ('{"mcpServers": {"a": 1}}', r"\$\.mcpServers\.a"),
        ('{"mcpServers": {"a": {"command": 1}}}', r"\$\.mcpServers\.a\.command"),
        ('{"mcpServers": {"a": {"command": "x", "args": [1]}}}', r"a\.args"),
        ('{"mcpServers": {"a": {"command": "x", "shell": true}}}', r"a\.shell"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(
    tmp_path: Path, data: str, place: str
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(data)
    with pytest.raises(ReadError, match=place):
        read_servers(file)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "A", "command": "x"},
        {"name": "a__b", "command": "x"},
        {"name": "a"},
        {"name": "a", "command": "x", "url": "https://example.com"},
        {"name": "a", "url": "file:///etc/passwd"},
    ],
)
def test_servers_that_cannot_be_meant_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(McpError):
        McpServer(**fields)
    assert issubclass(McpError, InterlinguaError)


def test_a_server_is_shown_without_its_secrets() -> None:
    server = McpServer(name="a", command="x", args=("--token", "canary"), env={"TOKEN": "canary"})
    remote = McpServer(
        name="a", url="https://u:canary@example.com", headers={"Authorization": "canary"}
    )
    assert "canary" not in f"{server!r} {remote!r}"


def test_naming_tools_takes_time_in_proportion() -> None:
    """A server may offer tens of thousands."""

    def took(count: int) -> float:
        offer, registry = Offer(a_link(), nobody), ToolRegistry()
        began = time.process_time()
        names = {offer._name(f"tool-{number}", registry, set()) for number in range(count)}
        assert len(names) == count
        return time.process_time() - began

    took(100)
    short, long = min(took(500) for _ in range(3)), took(4000)
    assert long < 8 * short * 3 + 0.05, (short, long)
