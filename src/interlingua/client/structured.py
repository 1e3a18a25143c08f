"""Structured output: the schema to request, and the validation of the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.client.answer import Answer
from interlingua.client.errors import OutputError
from interlingua.model.exchange import ResponseFormat
from interlingua.model.metadata import StopReason

Problems = list[tuple[str, str]]
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_AT = re.compile(r"^(.*?)(?: - at `(.*)`)?$", re.DOTALL)
_WRAPPED = "value"
"""Providers want an object; other shapes are put into one under this key."""
_MOST = 10


class Shape(msgspec.Struct, frozen=True, eq=False):
    """`format` is the response format to request; `convert` turns text into a value, or raises
    `_Misfit`."""

    format: ResponseFormat
    convert: Callable[[str], Any]

    def read(self, answer: Answer) -> Any:
        """The value that an answer holds."""
        text = answer.text
        fenced = _FENCE.fullmatch(text)
        try:
            return self.convert(fenced[1] if fenced else text)
        except _Misfit as error:
            problems = error.problems
        raise OutputError([*_ending(answer), *problems], answer)


class _Misfit(Exception):  # noqa: N818 - it never leaves this module
    def __init__(self, problems: Problems) -> None:
        super().__init__()
        self.problems = problems[:_MOST]


def shape_of(schema: Any) -> Shape:
    """The shape for a JSON Schema, or for a type. `TypeError` where it is neither."""
    if isinstance(schema, dict):
        name = _name(schema.get("title"))
        return _shape(name, schema, _by_schema(schema))
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        return _shape(
            _name(schema.__name__), _closed(schema.model_json_schema()), _by_pydantic(schema)
        )
    try:
        made = _closed(msgspec.json.schema(schema))
    except TypeError as error:
        taken = "a JSON Schema (a dict), or a pydantic, msgspec, dataclass or typing type"
        raise TypeError(f"the shape of an answer is {taken}; found {schema!r}: {error}") from None
    return _shape(_name(getattr(schema, "__name__", None)), made, _by_type(schema))


def _shape(name: str, schema: dict[str, Any], convert: Callable[[str], Any]) -> Shape:
    if schema.get("type", "object") != "object":
        inner = convert
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        item = {key: value for key, value in schema.items() if key != "$defs"}
        schema = {
            "type": "object",
            "properties": {_WRAPPED: item},
            "required": [_WRAPPED],
            "additionalProperties": False,
            **definitions,
        }

        def convert(text: str) -> Any:
            value = _json(text)
            if isinstance(value, dict) and value.keys() == {_WRAPPED}:
                return inner(msgspec.json.encode(value[_WRAPPED]).decode())
            raise _Misfit([("$", f"expected an object with the key {_WRAPPED!r}")])

    strict = True if _is_strict(schema) else None
    return Shape(ResponseFormat("json_schema", name, schema, strict), convert)


def _by_schema(schema: dict[str, Any]) -> Callable[[str], Any]:
    from interlingua.tools.registry import build_validator
    from interlingua.tools.schema import json_path

    validator = build_validator("structured output", schema)

    def convert(text: str) -> Any:
        value = _json(text)
        misfits = [
            (json_path(*each.instance_path), each.message[:300])
            for _, each in zip(range(_MOST), validator.iter_errors(value), strict=False)
        ]
        if misfits:
            raise _Misfit(misfits)
        return value

    return convert


def _by_type(kind: Any) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError as error:
            problem, place = _AT.fullmatch(str(error)).groups()  # type: ignore[union-attr]  # it fits all
            misfit = _Misfit([(place or "$", problem)])
        except (msgspec.DecodeError, RecursionError):
            misfit = _Misfit([("$", "expected JSON")])
        raise misfit

    return convert


def _by_pydantic(model: Any) -> Callable[[str], Any]:
    from pydantic import ValidationError

    def convert(text: str) -> Any:
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False, include_context=False)
            misfit = _Misfit([(_place(each["loc"]), each["msg"]) for each in found])
        raise misfit

    return convert


def _place(parts: tuple[int | str, ...]) -> str:
    return "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise _Misfit([("$", "expected JSON")]) from None


def _ending(answer: Answer) -> Problems:
    """Why the text may be no whole value."""
    match answer.stop_reason:
        case StopReason.MAX_TOKENS:
            return [("$", "the answer was cut at the limit of tokens")]
        case StopReason.REFUSAL | StopReason.CONTENT_FILTER:
            return [("$", "the model refused to answer")]
    return [("$", "the answer has no text")] if not answer.text else []


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of a type as providers take it: its root in its place, its objects closed."""
    root = schema.get("$ref", "")
    definitions = {name: _close(each) for name, each in schema.get("$defs", {}).items()}
    if root.startswith("#/$defs/"):
        name = root.removeprefix("#/$defs/")
        used = definitions.get(name, {})
        rest = {key: each for key, each in definitions.items() if key != name}
        if f'"#/$defs/{name}"' in msgspec.json.encode([used, rest]).decode():
            rest = definitions  # it refers to itself further in
        return {**used, "$defs": rest} if rest else used
    made = _close({key: value for key, value in schema.items() if key != "$defs"})
    return {**made, "$defs": definitions} if definitions else made


def _close(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key == "default" else _close(value) for key, value in schema.items()}
    if made.get("type") == "object" and isinstance(made.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes it: every object closed, every property required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or not isinstance(properties, dict):
            return False
        if set(schema.get("required", ())) != set(properties):
            return False
    return "default" not in schema and all(map(_is_strict, schema.values()))


def _name(text: Any) -> str:
    return _NAME.sub("_", text)[:64] if isinstance(text, str) and text else "answer"
