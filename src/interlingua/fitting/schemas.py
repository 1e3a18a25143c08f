"""Schemas for answers and tools as one model takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from interlingua.model.base import JsonObject
from interlingua.models.fields import OutputRules
from interlingua.schemas import is_object, rewrite


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
    return msgspec.json.encode(value).decode()


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
