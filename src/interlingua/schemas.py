"""JSON Schemas of tools, made to fit a target that knows fewer keywords."""

from __future__ import annotations

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
