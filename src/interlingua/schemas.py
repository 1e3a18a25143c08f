"""JSON Schemas of tools, made to fit a target that knows fewer keywords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from interlingua.model.base import JsonObject

_OF_SCHEMAS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
"""Keywords whose value maps names to schemas: the names are no keywords."""
_OF_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_OF_LIST = ("anyOf", "oneOf", "allOf", "prefixItems")


def narrow(schema: JsonObject, keywords: frozenset[str]) -> tuple[JsonObject, list[str]]:
    """The schema with these keywords only, and the paths of what was taken out.

    A property that is called like a keyword is a property."""
    dropped: list[str] = []
    return _narrow(schema, keywords, "", dropped), dropped


def _narrow(schema: Any, keywords: frozenset[str], path: str, dropped: list[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for word, value in schema.items():
        place = f"{path}.{word}"
        if word not in keywords:
            dropped.append(place)
        elif word in _OF_SCHEMAS and isinstance(value, dict):
            out[word] = {
                name: _narrow(inner, keywords, f"{place}.{name}", dropped)
                for name, inner in value.items()
            }
        elif word in _OF_SCHEMA:
            out[word] = _narrow(value, keywords, place, dropped)
        elif word in _OF_LIST and isinstance(value, list):
            out[word] = [
                _narrow(inner, keywords, f"{place}[{index}]", dropped)
                for index, inner in enumerate(value)
            ]
        else:
            out[word] = value
    return out


def rewrite(schema: Any, step: Callable[[JsonObject, str], JsonObject], path: str = "") -> Any:
    """Every schema inside a schema, innermost first, as `step(schema, path)` gives it; what is
    given is not changed."""
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for word, value in schema.items():
        place = f"{path}.{word}"
        if word in _OF_SCHEMAS and isinstance(value, dict):
            out[word] = {
                name: rewrite(inner, step, f"{place}.{name}") for name, inner in value.items()
            }
        elif word in _OF_SCHEMA:
            out[word] = rewrite(value, step, place)
        elif word in _OF_LIST and isinstance(value, list):
            out[word] = [
                rewrite(inner, step, f"{place}[{index}]") for index, inner in enumerate(value)
            ]
        else:
            out[word] = value
    return step(out, path)


def inside(schema: Any) -> Iterator[JsonObject]:
    """A schema and all that are inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word, value in schema.items():
        if word in _OF_SCHEMAS and isinstance(value, dict):
            for inner in value.values():
                yield from inside(inner)
        elif word in _OF_SCHEMA:
            yield from inside(value)
        elif word in _OF_LIST and isinstance(value, list):
            for inner in value:
                yield from inside(inner)


def is_object(schema: JsonObject) -> bool:
    """Whether this is the schema of an object."""
    kind = schema.get("type")
    return kind == "object" or "properties" in schema or (type(kind) is list and "object" in kind)


def optional_in(schema: JsonObject) -> int:
    """How many properties need not be there."""
    return sum(
        len(set(each.get("properties") or ()) - set(each.get("required") or ()))
        for each in inside(schema)
    )


def unions_in(schema: JsonObject) -> int:
    """How many values may be of several types."""
    return sum(
        "anyOf" in each or "oneOf" in each or type(each.get("type")) is list
        for each in inside(schema)
    )


def is_closed(schema: JsonObject, optional: bool = False) -> bool:
    """Whether every object in it takes its own properties alone, and needs them all, unless some
    may be `optional`."""
    return all(
        each.get("additionalProperties") is False
        and (optional or set(each.get("properties") or ()) == set(each.get("required") or ()))
        for each in inside(schema)
        if is_object(each)
    )
