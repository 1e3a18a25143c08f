"""The subset of JSON Schema for a tool's input, and problems of schemas outside it.

The subset is what every provider understands. References are outside it, so nothing is ever fetched
for a schema. Checking input against a schema is the registry's business.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from interlingua.errors import found

Problem = tuple[str, str]
"""The place, as a JSON path, and the problem."""

TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")

REFUSED = {
    "$ref": "write the referenced schema in its place",
    "oneOf": "describe one shape (`type` may be a list of types)",
    "anyOf": "describe one shape (`type` may be a list of types)",
    "allOf": "write the schemas as one",
    "not": "say what is allowed",
    "if": "describe one shape, and the condition in words",
    "then": "describe one shape, and the condition in words",
    "else": "describe one shape, and the condition in words",
    "patternProperties": "name each property",
}
"""Keywords outside the subset that people do use, with what to do instead."""

MAX_LEVELS = 64
"""Schemas inside schemas, the outermost included; also how deep a `const` or `default` may nest."""
MAX_SIZE = 256 * 1024
"""Values and characters in one schema, taken together."""
MAX_PATTERN = 1000
"""Characters of a `pattern`."""
MAX_PROBLEMS = 100
"""Problems listed before the rest are left out."""

_MAX_NAME = 80
# Python writes integers of up to 4,300 digits; the validator misjudges longer ones in silence.
_TOO_LONG = 10**4300


def check_schema(schema: object) -> list[Problem]:
    """The problems of a schema as a tool's input schema; empty if it has none.

    `type` may be one type or a list of different ones, except at the root, which is an object. The
    path of a refused or unknown keyword is that of the schema it stands in; the path of a value of
    the wrong shape is its own.
    """
    if _is_larger(schema, MAX_SIZE):
        return [("$", f"larger than {MAX_SIZE} values and characters")]
    return first_problems(_root(schema))


def first_problems(problems: Iterator[Problem]) -> list[Problem]:
    """The problems as a list of bearable length."""
    listed = list(islice(problems, MAX_PROBLEMS))
    if next(problems, None) is not None:
        listed.append(("$", f"and more: only the first {MAX_PROBLEMS} problems are listed"))
    return listed


def json_problems(value: object, path: str = "$", levels: int = MAX_LEVELS) -> Iterator[Problem]:
    """The places at which a value is not JSON: other types, keys that are not strings, NaN, lone
    surrogates.

    Containers may nest `levels` deep, which also ends the walk through a value inside itself.
    """
    if not isinstance(value, (dict, list, tuple)):
        problem = _leaf_problem(value)
        if problem:
            yield path, problem
        return
    if levels == 0:
        yield path, "nested too deep"
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        problem = _key_problem(key) if isinstance(value, dict) else None
        if problem:
            yield path, problem
        elif isinstance(item, (dict, list, tuple)) or _leaf_problem(item):
            yield from json_problems(item, json_path(key, start=path), levels - 1)


def keyword_problem(keyword: str, value: Any) -> str | None:
    """Why a keyword that holds no schema is refused; None if it is accepted."""
    problem = _keyword_problem(keyword)
    if problem is None and keyword in _SHAPES:
        problem = next((text for _, text in _plain_keyword(keyword, value, "$")), None)
    return problem


def json_path(*parts: str | int, start: str = "$") -> str:
    """A path such as `$.properties.a[0]`; names that are not words are quoted, long ones cut."""
    path = start
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isascii() and part.isidentifier() and len(part) <= _MAX_NAME:
            path += f".{part}"
        else:
            path += f"[{_quoted(part)}]"
    return path


def _root(schema: object) -> Iterator[Problem]:
    yield from _schema(schema, "$", 1)
    if isinstance(schema, dict) and schema.get("type") != "object":
        if "type" not in schema:
            yield "$", 'the outermost schema needs "type": "object"'
        elif not isinstance(schema["type"], str) or schema["type"] in TYPES:
            yield "$.type", 'the type of the outermost schema must be "object"'


def _schema(schema: object, path: str, level: int) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        yield path, f"expected a schema (an object), found {_found(schema)}"
        return
    if level > MAX_LEVELS:
        yield path, f"nested deeper than {MAX_LEVELS} levels"
        return
    for keyword, value in schema.items():
        problem = _key_problem(keyword) or _keyword_problem(keyword)
        if problem:
            yield path, problem
        elif keyword == "properties":
            yield from _properties(value, f"{path}.properties", level)
        elif keyword == "items":
            yield from _schema(value, f"{path}.items", level + 1)
        else:
            yield from _plain_keyword(keyword, value, f"{path}.{keyword}")


def _properties(value: object, path: str, level: int) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"expected an object, found {_found(value)}"
        return
    for name, schema in value.items():
        problem = _key_problem(name)
        if problem:
            yield path, problem
        else:
            yield from _schema(schema, json_path(name, start=path), level + 1)


def _plain_keyword(keyword: str, value: Any, path: str) -> Iterator[Problem]:
    """Problems of a keyword that holds no schema: the value is not JSON, or not the right kind."""
    sound = True
    for problem in json_problems(value, path):
        sound = False
        yield problem
    wrong = _SHAPES[keyword](value) if sound else None
    if wrong:
        yield path, wrong


def _keyword_problem(keyword: str) -> str | None:
    if keyword in REFUSED:
        return f"{keyword} is not allowed in a tool's schema: {REFUSED[keyword]}"
    if keyword not in _SHAPES and keyword not in ("properties", "items"):
        return f"unknown keyword {_quoted(keyword)}"
    return None


def _type(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value in TYPES else f"{_quoted(value)} is not one of {', '.join(TYPES)}"
    if not isinstance(value, (list, tuple)) or not value:
        return f"expected a type or a list of types, found {_found(value)}"
    wrong = [item for item in value if item not in TYPES]
    if wrong:
        name = _quoted(wrong[0]) if isinstance(wrong[0], str) else _found(wrong[0])
        return f"{name} is not one of {', '.join(TYPES)}"
    return None if len(set(value)) == len(value) else "a type is listed twice"


def _required(value: Any) -> str | None:
    if not isinstance(value, (list, tuple)):
        return f"expected a list of property names, found {_found(value)}"
    wrong = [item for item in value if not isinstance(item, str)]
    if wrong:
        return f"expected a list of property names, found {_found(wrong[0])} in it"
    return None if len(set(value)) == len(value) else "a property name is listed twice"


def _enum(value: Any) -> str | None:
    return _list(value) or (None if value else "expected at least one value, found none")


def _list(value: Any) -> str | None:
    return None if isinstance(value, (list, tuple)) else f"expected a list, found {_found(value)}"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else f"expected a string, found {_found(value)}"


def _number(value: Any) -> str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None
    return f"expected a number, found {_found(value)}"


def _count(value: Any) -> str | None:
    whole = _number(value) is None and value >= 0 and value == int(value)
    return None if whole else f"expected a whole number from 0 up, found {_found(value)}"


def _additional(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, dict):
        return "additionalProperties as a schema is not allowed: use true or false"
    return f"expected true or false, found {_found(value)}"


def _pattern(value: Any) -> str | None:
    if not isinstance(value, str):
        return _text(value)
    if len(value) > MAX_PATTERN:
        return f"a pattern may have {MAX_PATTERN} characters, found {len(value)}"
    if any(_BACKTRACKING.fullmatch(token) for token in _TOKENS.findall(value)):
        return "look-around and back-references are not allowed: matching must take linear time"
    return None


def _anything(value: Any) -> str | None:
    return None


_SHAPES: dict[str, Callable[[Any], str | None]] = {
    "type": _type,
    "enum": _enum,
    "const": _anything,
    "required": _required,
    "description": _text,
    "title": _text,
    "format": _text,
    "default": _anything,
    "examples": _list,
    "minimum": _number,
    "maximum": _number,
    "minLength": _count,
    "maxLength": _count,
    "minItems": _count,
    "maxItems": _count,
    "pattern": _pattern,
    "additionalProperties": _additional,
}
"""The keywords of the subset that hold no schema, with their checks."""

_TOKENS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", re.DOTALL)
_BACKTRACKING = re.compile(r"\\[1-9k]|\(\?<?[=!]")


def _is_larger(value: object, limit: int) -> bool:
    """Whether a value has more values and characters than `limit`; ends on endless ones too."""
    size = 0
    waiting = [value]
    while waiting and size <= limit:
        item = waiting.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            size += sum(len(key) for key in item if isinstance(key, str))
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
    return size > limit


def _leaf_problem(value: object) -> str | None:
    match value:
        case None | bool():
            return None
        case str():
            return None if _is_unicode(value) else "a string has a lone surrogate"
        case float():
            return None if math.isfinite(value) else f"{value} has no JSON form"
        case int():
            return None if abs(value) < _TOO_LONG else _found(value)
        case _:
            return f"{_found(value)} has no JSON form"


def _key_problem(key: object) -> str | None:
    if not isinstance(key, str):
        return f"a key must be a string, found {_found(key)}"
    return None if _is_unicode(key) else "a key has a lone surrogate"


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _found(value: object) -> str:
    """As `found`, for integers that are too long to print as well."""
    if isinstance(value, int) and abs(value) >= _TOO_LONG:
        return "an integer that is too long"
    return found(value)


def _quoted(text: str) -> str:
    return json.dumps(text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + "…")
