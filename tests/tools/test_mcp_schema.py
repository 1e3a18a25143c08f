"""Names and input schemas of MCP servers, made to fit ours."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.errors import SchemaError
from interlingua.tools.mcp_schema import MAX_PARTS, adapt_schema, fitted_name, marked, shortened
from interlingua.tools.registry import NAME, ToolRegistry
from interlingua.tools.schema import check_schema
from tests.tools.mcp_offers import adapted, in_object


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


def test_a_choice_without_a_place_is_written_in_words() -> None:
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
