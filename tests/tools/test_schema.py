"""The schema subset: what is in it, what is not, and that no schema makes the check stumble."""

from __future__ import annotations

import copy
import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.tools.registry import build_validator
from interlingua.tools.schema import (
    MAX_LEVELS,
    MAX_PATTERN,
    MAX_PROBLEMS,
    MAX_SIZE,
    REFUSED,
    TYPES,
    check_schema,
    json_path,
    json_problems,
)

EVERYTHING: dict[str, Any] = {
    "type": "object",
    "title": "Search",
    "description": "Look for files.",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 80, "pattern": "^[a-z ]+$"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50.5, "default": 10},
        "ratio": {"type": "number", "examples": [0.5, 1]},
        "exact": {"type": "boolean"},
        "nothing": {"type": "null"},
        "when": {"type": ["string", "null"], "format": "date-time"},
        "kind": {"enum": ["file", "folder", None, 3]},
        "version": {"const": {"major": [1]}},
        "filters": {
            "type": "array",
            "minItems": 0,
            "maxItems": 9.0,
            "items": {
                "type": "object",
                "properties": {"by": {"type": "string"}},
                "required": ["by"],
                "additionalProperties": True,
            },
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


def holding(schema: object) -> dict[str, Any]:
    """An object schema with one property `a`."""
    return {"type": "object", "properties": {"a": schema}}


def nested(levels: int, keyword: str) -> dict[str, Any]:
    """Schemas inside each other, the outermost included."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels - 1):
        inner = {"a": schema} if keyword == "properties" else schema
        schema = {"type": "object", keyword: inner}
    return schema


@pytest.mark.requirement("S002-61")
def test_the_whole_subset_is_accepted_and_left_untouched() -> None:
    before = copy.deepcopy(EVERYTHING)
    assert check_schema(EVERYTHING) == []
    assert before == EVERYTHING
    build_validator("search", EVERYTHING)


@pytest.mark.requirement("S002-61")
@pytest.mark.parametrize("name", TYPES)
def test_each_of_the_seven_types_is_accepted_alone_and_in_a_list(name: str) -> None:
    assert check_schema(holding({"type": name})) == []
    assert check_schema(holding({"type": [name]})) == []


@pytest.mark.requirement("S002-62", "S002-63")
@pytest.mark.parametrize("keyword", sorted(REFUSED))
@pytest.mark.parametrize("value", [{}, [{"type": "string"}], "#/x"])
def test_a_refused_keyword_is_named_with_the_place_of_its_schema(
    keyword: str, value: object
) -> None:
    deep = holding({"type": "array", "items": {"type": "string", keyword: value}})
    [(path, problem)] = check_schema(deep)
    assert path == "$.properties.a.items"
    assert problem.startswith(f"{keyword} is not allowed in a tool's schema: ")
    [(path, _)] = check_schema({"type": "object", keyword: value})
    assert path == "$"


@pytest.mark.requirement("S002-62")
def test_additional_properties_may_be_a_boolean_and_no_schema() -> None:
    assert check_schema({"type": "object", "additionalProperties": True}) == []
    assert check_schema({"type": "object", "additionalProperties": False}) == []
    problem = "additionalProperties as a schema is not allowed: use true or false"
    for schema in ({}, {"type": "string"}):
        found = check_schema({"type": "object", "additionalProperties": schema})
        assert found == [("$.additionalProperties", problem)]


@pytest.mark.requirement("S002-63")
@pytest.mark.parametrize("keyword", ["$schema", "$defs", "prefixItems", "nullable", "Type", ""])
def test_an_unknown_keyword_is_reported_with_its_path(keyword: str) -> None:
    schema = holding({"type": "array", "items": {keyword: 1}})
    assert check_schema(schema) == [("$.properties.a.items", f'unknown keyword "{keyword}"')]


@pytest.mark.requirement("S002-62")
def test_property_names_are_never_mistaken_for_keywords() -> None:
    names = [*REFUSED, "properties", "items", "type", "required", "$defs", "made_up", ""]
    schema: dict[str, Any] = {name: {"type": "string"} for name in names}
    assert check_schema({"type": "object", "properties": schema, "required": names}) == []
    assert check_schema(holding({"type": "object", "properties": schema})) == []


@pytest.mark.requirement("S002-62")
def test_values_are_never_mistaken_for_schemas() -> None:
    value = {"$ref": "file:///x", "anyOf": []}
    held = {"const": value, "default": value, "enum": [value], "examples": [value]}
    assert check_schema(holding(held)) == []


def test_a_schema_under_a_refused_property_name_is_still_checked() -> None:
    schema = {"type": "object", "properties": {"$ref": {"$ref": "#"}, "a b": {"not": {}}}}
    assert [path for path, _ in check_schema(schema)] == [
        '$.properties["$ref"]',
        '$.properties["a b"]',
    ]


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({}, "$"),
        ({"properties": {}}, "$"),
        ({"type": "string"}, "$.type"),
        ({"type": ["object", "null"]}, "$.type"),
        ({"type": ["object"]}, "$.type"),
        ({"type": "thing"}, "$.type"),
        (None, "$"),
        (True, "$"),
        ([], "$"),
        ("object", "$"),
    ],
)
def test_the_outermost_schema_is_an_object(schema: object, path: str) -> None:
    [(found, _)] = check_schema(schema)
    assert found == path


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("type", None),
        ("type", 3),
        ("type", []),
        ("type", "String"),
        ("type", ["string", "string"]),
        ("type", ["string", None]),
        ("type", ["string", []]),
        ("type", {"string": 1}),
        ("properties", []),
        ("properties", None),
        ("properties", "a"),
        ("items", []),
        ("items", [{"type": "string"}]),
        ("items", True),
        ("items", None),
        ("required", "a"),
        ("required", True),
        ("required", [1]),
        ("required", ["a", "a"]),
        ("required", {"a": 1}),
        ("enum", []),
        ("enum", "a"),
        ("enum", {"a": 1}),
        ("examples", "a"),
        ("description", 1),
        ("description", None),
        ("title", ["a"]),
        ("format", 1),
        ("minimum", "1"),
        ("minimum", True),
        ("maximum", None),
        ("minLength", -1),
        ("maxLength", 1.5),
        ("minItems", True),
        ("maxItems", "3"),
        ("pattern", 1),
        ("pattern", ["a"]),
        ("additionalProperties", "no"),
        ("additionalProperties", None),
    ],
)
def test_a_value_of_the_wrong_shape_is_reported_at_its_own_path(
    keyword: str, value: object
) -> None:
    [(path, problem)] = check_schema(holding({keyword: value}))
    assert path == f"$.properties.a.{keyword}"
    assert problem


def test_a_property_that_is_no_schema_is_reported() -> None:
    for value in (True, None, "string", ["string"], 10**5000):
        [(path, problem)] = check_schema(holding(value))
        assert path == "$.properties.a"
        assert problem.startswith("expected a schema (an object), found ")


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        {1},
        b"x",
        object(),
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        pytest.param(10**5000, id="long"),
        [[math.nan]],
    ],
)
def test_a_value_that_is_no_json_is_reported(value: object) -> None:
    for keyword in ("const", "default", "enum", "examples"):
        held = [value] if keyword in ("enum", "examples") else value
        [(path, _)] = check_schema(holding({keyword: held}))
        assert path.startswith(f"$.properties.a.{keyword}")


@pytest.mark.parametrize("key", [1, None, "\ud800", pytest.param(10**5000, id="long")])
def test_a_key_that_is_no_json_is_reported(key: object) -> None:
    assert [path for path, _ in check_schema({"type": "object", key: 1})] == ["$"]
    properties = {"type": "object", "properties": {key: {}}}
    assert [path for path, _ in check_schema(properties)] == ["$.properties"]


@pytest.mark.parametrize("keyword", ["properties", "items"])
def test_sixty_four_levels_are_accepted_and_one_more_is_a_problem(keyword: str) -> None:
    deepest = nested(MAX_LEVELS, keyword)
    assert check_schema(deepest) == []
    build_validator("deep", deepest)
    [(path, problem)] = check_schema(nested(MAX_LEVELS + 1, keyword))
    assert path.count(f".{keyword}") == MAX_LEVELS
    assert problem == f"nested deeper than {MAX_LEVELS} levels"


def test_the_deepest_schema_may_hold_the_deepest_value() -> None:
    value: Any = 1
    for _ in range(MAX_LEVELS):
        value = [value]
    schema = nested(MAX_LEVELS, "properties")
    innermost = schema
    while "properties" in innermost:
        innermost = innermost["properties"]["a"]
    innermost["const"] = value
    assert check_schema(schema) == []
    build_validator("deep", schema)
    innermost["const"] = [value]
    assert [problem for _, problem in check_schema(schema)] == ["nested too deep"]


@pytest.mark.parametrize("keyword", ["properties", "items"])
def test_a_schema_of_endless_depth_is_a_problem_and_no_crash(keyword: str) -> None:
    [(path, _)] = check_schema(nested(20_000, keyword))
    assert len(path) < 2000
    assert check_schema(nested(200_000, keyword)) != []


def test_a_schema_inside_itself_is_a_problem_and_no_crash() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"] = {"a": schema, "b": schema}
    assert check_schema(schema) != []
    value: list[Any] = []
    value.extend([value, value])
    assert check_schema(holding({"const": value})) != []
    assert next(json_problems(value))


def test_a_schema_larger_than_the_limit_is_one_problem() -> None:
    [(path, problem)] = check_schema(holding({"description": "x" * MAX_SIZE}))
    assert (path, problem) == ("$", f"larger than {MAX_SIZE} values and characters")
    assert len(check_schema(holding({"enum": list(range(MAX_SIZE))}))) == 1
    assert check_schema(holding({"description": "x" * (MAX_SIZE - 100)})) == []


def test_a_long_pattern_is_a_problem() -> None:
    assert check_schema(holding({"pattern": "x" * MAX_PATTERN})) == []
    [(path, _)] = check_schema(holding({"pattern": "x" * (MAX_PATTERN + 1)}))
    assert path == "$.properties.a.pattern"


@pytest.mark.parametrize(
    "pattern", ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", r"\\(?=a)"]
)
def test_a_pattern_that_needs_backtracking_is_a_problem(pattern: str) -> None:
    [(path, problem)] = check_schema(holding({"pattern": pattern}))
    assert path == "$.properties.a.pattern"
    assert "linear time" in problem


@pytest.mark.parametrize(
    "pattern",
    ["[(?=a)]", r"\(?=a", r"[\](?!]", r"\\1", "(?:a)", "(?<n>a)", r"^\d+(\.\d+)?$", "a?!"],
)
def test_a_pattern_that_only_looks_like_backtracking_is_accepted(pattern: str) -> None:
    assert check_schema(holding({"pattern": pattern})) == []


def test_all_problems_come_at_once_in_the_order_of_the_schema() -> None:
    schema = {
        "type": "object",
        "oneOf": [],
        "properties": {"a": {"type": "strin"}, "b": {"items": {"$ref": "x"}}},
        "required": "a",
    }
    assert [path for path, _ in check_schema(schema)] == [
        "$",
        "$.properties.a.type",
        "$.properties.b.items",
        "$.required",
    ]


def test_very_many_problems_are_listed_in_part() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"not": {}} for n in range(1000)}}
    problems = check_schema(schema)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1][1].startswith("and more")


def test_names_in_paths_and_messages_are_short_and_printable() -> None:
    name = "\x1b[31m\n" + "x" * 10_000
    schema = {"type": "object", "properties": {name: {name: 1}}}
    [(path, problem)] = check_schema(schema)
    assert len(path) < 200
    assert len(problem) < 200
    assert (path + problem).isprintable()


def test_a_path_quotes_what_is_no_word() -> None:
    assert json_path() == "$"
    assert json_path("properties", "a_1", 0) == "$.properties.a_1[0]"
    assert json_path("a.b", 'c"d', "é", "") == '$["a.b"]["c\\"d"]["\\u00e9"][""]'


@pytest.mark.requirement("S002-62")
def test_references_of_every_scheme_and_place_are_refused() -> None:
    keywords = ["$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "$anchor", "$vocabulary"]
    schemes = ["http", "https", "file", "ftp", "gopher", "data", "urn", "jar", "HTTP", "ldap"]
    rests = ["//127.0.0.1/x", "///etc/hosts", "x", "//[::1]:1/x#/a", "//user@host:1", "..", "#"]
    targets = [f"{scheme}:{rest}" for scheme, rest in product(schemes, rests)]
    targets += ["#", "#/properties/a", "x.json", "/x", "//host/x", ""]
    checked = 0
    for keyword, target in product(keywords, targets):
        reference = {keyword: target}
        for schema in (
            {"type": "object", **reference},
            holding(reference),
            holding({"type": "array", "items": reference}),
            holding(holding({"type": "string", **reference})),
        ):
            assert len(check_schema(schema)) == 1
            checked += 1
    assert checked >= 2000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
words = st.sampled_from([*TYPES, "a", "b", ""])
sound_values: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), unique=True, min_size=1),
    "enum": st.lists(json_values, min_size=1, max_size=4),
    "const": json_values,
    "required": st.lists(words, unique=True),
    "description": st.text(),
    "format": st.sampled_from(["date", "email", "regex", "uri", "made-up"]),
    "examples": st.lists(json_values, max_size=3),
    "minimum": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "maxLength": st.integers(0),
    "additionalProperties": st.booleans(),
}
keywords = st.sampled_from([*sound_values, *REFUSED, "properties", "items", "pattern", "x"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            **sound_values,
            "properties": st.dictionaries(words, inner, max_size=3),
            "items": inner,
        },
    )


sound_schemas = st.recursive(st.just({"type": "string"}), schemas, max_leaves=6)
wild_schemas = st.recursive(
    json_values,
    lambda inner: st.dictionaries(keywords, inner | st.dictionaries(words, inner), max_size=5),
    max_leaves=12,
)


@given(wild_schemas)
def test_no_value_makes_the_check_stumble(schema: object) -> None:
    for path, problem in check_schema(schema):
        assert path.startswith("$")
        assert problem


@pytest.mark.requirement("S002-61")
@given(st.dictionaries(words, sound_schemas, max_size=4))
def test_what_passes_the_check_compiles(properties: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties}
    problems = check_schema(schema)
    assert all("no JSON form" in problem for _, problem in problems)
    if not problems:
        build_validator("made_up", schema)
