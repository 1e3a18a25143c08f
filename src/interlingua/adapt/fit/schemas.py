"""Schemas for answers and tools as one model takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from interlingua.model.base import JsonObject
from interlingua.model.spelled_numbers import spelled
from interlingua.profiles.fields import OutputRules

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
    """Every schema inside a schema, innermost first, mapped by `step(schema, path)`; the input is
    not changed."""
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


class AdaptedSchema(NamedTuple):
    """A schema, and what was done to it: places of keywords that are told in words now, and of
    objects that were closed."""

    schema: JsonObject
    worded: list[str]
    closed: list[str]


def adapted(schema: JsonObject, rules: OutputRules) -> AdaptedSchema:
    """The schema without the keywords and formats that are refused, which its descriptions tell
    instead, and with its objects closed where they have to be."""
    without, formats = rules.without or (), rules.formats
    worded: list[str] = []
    closed: list[str] = []

    def step(each: JsonObject, path: str) -> JsonObject:
        if "oneOf" in without and "oneOf" in each and "anyOf" not in each:
            each = {("anyOf" if word == "oneOf" else word): each[word] for word in each}
        gone = {word: each[word] for word in each if word in without}
        if formats is not None and each.get("format", formats[0]) not in formats:
            gone["format"] = each["format"]
        if gone:
            worded.extend(f"{path}.{word}" for word in gone)
            each = {word: value for word, value in each.items() if word not in gone}
            each["description"] = _described(each.get("description"), gone)
        if rules.const_as_enum and "const" in each and "enum" not in each:
            each = {("enum" if w == "const" else w): each[w] for w in each}
            each["enum"] = [each["enum"]]
        if rules.closed and is_object(each) and each.get("additionalProperties") is not False:
            closed.append(path)
            each = {**each, "additionalProperties": False}
        return each

    return AdaptedSchema(rewrite(schema, step), worded, closed)


def _described(text: Any, gone: JsonObject) -> str:
    rules = ", ".join(f"{word}: {_json(value)}" for word, value in gone.items())
    return f"{text} ({rules})" if isinstance(text, str) and text else rules


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=spelled).decode()


def rooted(schema: JsonObject) -> JsonObject:
    """The schema with an object at its root. One that is a choice between objects takes all that
    they have; one that is no object's holds the value under `input`."""
    if schema.get("type") == "object":
        return {word: value for word, value in schema.items() if word not in _CHOICES}
    choices = [each for word in _CHOICES for each in schema.get(word) or () if type(each) is dict]
    rest = {word: value for word, value in schema.items() if word not in (*_CHOICES, "type")}
    if is_object(schema) or (not schema.get("type") and not choices):
        return {"type": "object", **rest}
    if choices and all(map(is_object, choices)):
        properties: JsonObject = {}
        for each in choices:
            properties.update(each.get("properties") or {})
        return {"type": "object", **rest, "properties": properties}
    return {"type": "object", "properties": {"input": schema}, "required": ["input"]}


_CHOICES = ("anyOf", "oneOf", "allOf")


def is_rooted(schema: JsonObject) -> bool:
    return schema.get("type") == "object" and not any(word in schema for word in _CHOICES)
