"""Schemas in one normal form, so that two wires' ways to spell one schema are the same."""

from __future__ import annotations

from typing import Any

INSIDE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
NUMBERS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
GOOGLES = {
    "any_of": "anyOf",
    "property_ordering": "propertyOrdering",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "defs": "$defs",
    "ref": "$ref",
}
"""The other spellings of the keys of Google's own schema type."""


def normal(schema: Any) -> Any:
    """Lists whose order says nothing are sorted; a type alone is no list."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, item in schema.items():
        if key in INSIDE and isinstance(item, dict):
            out[key] = normal(item)
        elif (key in INSIDE and isinstance(item, list)) or (
            key in LISTS and isinstance(item, list)
        ):
            out[key] = [normal(each) for each in item]
        elif key in NAMED and isinstance(item, dict):
            out[key] = {name: normal(each) for name, each in item.items()}
        elif key == "const":
            out["enum"] = [item]  # one word for it, where there are two
        elif key in ("enum", "required") and isinstance(item, list):
            out[key] = sorted(item, key=repr)
        else:
            out[key] = item
    kind = out.get("type")
    if isinstance(kind, list):
        out["type"] = kind[0] if len(kind) == 1 else sorted(kind, key=repr)
    return out


def from_google(schema: Any) -> Any:
    """Google's own schema type as JSON Schema: types in small letters, `nullable` as a type."""
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for spelled, item in schema.items():
        key = GOOGLES.get(spelled, spelled)
        if key in NAMED and isinstance(item, dict):
            out[key] = {name: from_google(each) for name, each in item.items()}
        elif key in INSIDE:
            out[key] = from_google(item)
        elif key in LISTS and isinstance(item, list):
            out[key] = [from_google(each) for each in item]
        elif key == "type" and isinstance(item, str):
            if item != "TYPE_UNSPECIFIED":
                out[key] = item.lower()
        elif key in NUMBERS and isinstance(item, str) and item.isdigit():
            out[key] = int(item)
        else:
            out[key] = item
    nullable = out.pop("nullable", None)
    if nullable:
        _nulled(out)
    return out


def _nulled(out: dict[str, Any]) -> None:
    """Null as well: as a type, in the list of values, or as one more of the choices."""
    kind = out.get("type")
    if isinstance(kind, str) and kind != "null":
        out["type"] = [kind, "null"]
    elif kind is None and "anyOf" in out:
        out["anyOf"] = [*out["anyOf"], {"type": "null"}]
    if isinstance(out.get("enum"), list) and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]


def google_words(schema: Any) -> list[str]:
    """Google's words that no JSON Schema has, wherever they stand but as a property's name."""
    if not isinstance(schema, dict):
        return []
    found = [key for key in schema if key in GOOGLES or key == "nullable"]
    kind = schema.get("type")
    if isinstance(kind, str) and kind.isupper():
        found.append(kind)
    for key, item in schema.items():
        if key in NAMED and isinstance(item, dict):
            inner = list(item.values())
        elif key in INSIDE or key in LISTS or key in GOOGLES:
            inner = item if isinstance(item, list) else [item]
        else:
            inner = []
        found += [word for each in inner for word in google_words(each)]
    return found
