"""Numbers of tool schemas that go out as they were written: `1.50` stays `1.50`."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from interlingua.errors import ReadError
from interlingua.model.base import JsonObject


class SpelledFloat(float):
    """A float that remembers its spelling. Only our own JSON writer uses it."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


class _UsualFloats(dict[str, float]):
    """Floats by their text, to look up frequent ones (`0.7`) without running Python."""

    def __missing__(self, text: str) -> float:
        number = float(text)
        if "e" in text or repr(number) != text:  # our encoder writes other exponents than Python
            raise ValueError("not as we would write it")
        if len(self) < _MOST:
            self[text] = number
        return number


_MOST = 1024

usual_float = _UsualFloats().__getitem__
"""A number from its text, for decoders; they raise for one that we would spell in another way."""
decode_usual = msgspec.json.Decoder(float_hook=usual_float).decode
"""JSON to values; `msgspec.DecodeError` for a number that we would spell in another way."""
decode_spelled = msgspec.json.Decoder(float_hook=SpelledFloat).decode
"""JSON to values whose floats remember their spelling."""


def schema_of(text: str | bytes) -> JsonObject:
    """A JSON Schema from its text, for `ToolDefinition.input_schema`. Every dialect sends it on
    with its keys in their order and its numbers as they are spelled here."""
    try:
        schema = decode_spelled(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ReadError("tool schema", "$", "JSON", str(error)) from None
    if not isinstance(schema, dict):
        raise ReadError("tool schema", "$", "an object", type(schema).__name__)
    return schema


def spelled(value: Any) -> Any:
    """Encodes a value that msgspec does not know."""
    if type(value) is SpelledFloat:
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
