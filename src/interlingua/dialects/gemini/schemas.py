"""Google's own schema language, an older OpenAPI's, as JSON Schema and back.

It spells types in capitals, says `nullable` for a type that may be null, and counts as strings. The
schema that was read goes home as it was while it still says the same."""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.model.base import same

_TYPES = {
    word.upper(): word
    for word in ("string", "number", "integer", "boolean", "array", "object", "null")
}
_CAPITALS = {word: capitals for capitals, word in _TYPES.items()}
_COUNTS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_INNER = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "defs")
_WORDS = (*_COUNTS, *_LISTS, "additionalProperties", "propertyOrdering")
_SNAKE = {re.sub("[A-Z]", lambda big: f"_{big[0].lower()}", word): word for word in _WORDS}


def read_schema(schema: Wire, form: Wire, key: str) -> Wire:
    """A schema in Google's language as JSON Schema; `form[key]` keeps it where that differs."""
    plain: Wire = _through(schema, _plain)
    if not same(plain, schema):
        form[key] = schema
    return plain


def write_schema(schema: Wire, form: Wire, key: str) -> Wire:
    """A schema in Google's language: the one that was read, if it still says this."""
    kept = form.get(key)
    if type(kept) is not dict:
        return schema
    google: Wire = kept if same(_through(kept, _plain), schema) else _through(schema, _google)
    return google


def _through(schema: Any, change: Any) -> Any:
    """The schema with every schema in it changed."""
    if type(schema) is not dict:
        return schema
    out = {_camel(key, schema): item for key, item in schema.items()}
    for key in _INNER:
        if key in out:
            out[key] = _through(out[key], change)
    for key in _LISTS:
        if type(out.get(key)) is list:
            out[key] = [_through(each, change) for each in out[key]]
    for key in _NAMED:
        if type(out.get(key)) is dict:
            out[key] = {name: _through(each, change) for name, each in out[key].items()}
    return change(out)


def _camel(key: str, schema: Wire) -> str:
    """The usual spelling of a keyword: the service takes two."""
    usual = _SNAKE.get(key, key)
    return key if usual in schema else usual


def _plain(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is str and word in _TYPES:
        out["type"] = word = _TYPES[word]
    for key in _COUNTS & out.keys():
        if type(out[key]) is str and out[key].isdecimal():
            out[key] = int(out[key])
    if out.get("nullable") is False:
        del out["nullable"]
    elif out.get("nullable") is True:
        _allow_null(out)
    return out


def _allow_null(out: Wire) -> None:
    """Say `nullable` as JSON Schema does, in every keyword that would forbid null."""
    words = out.get("enum")
    if type(out.get("type")) is str:
        out["type"] = [out["type"], "null"]
    elif type(out.get("anyOf")) is list:
        out["anyOf"] = [*out["anyOf"], {"type": "null"}]
    elif type(words) is not list:
        return
    if type(words) is list and None not in words:
        out["enum"] = [*words, None]
    del out["nullable"]


def _google(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is list and len(word) == 2 and "null" in word:
        out["nullable"] = True
        if type(out.get("enum")) is list:
            out["enum"] = [each for each in out["enum"] if each is not None]
        word = next(each for each in word if each != "null") if word != ["null", "null"] else "null"
    if type(word) is str and word in _CAPITALS:
        out["type"] = _CAPITALS[word]
    return out
