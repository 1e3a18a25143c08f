"""Numbers of a tool's schema that go out as they were written: `1.50` stays `1.50`."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from interlingua.errors import ReadError
from interlingua.model.base import JsonObject


class SpelledFloat(float):
    """A float that remembers how it was written. To everybody but our own JSON it is a float."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


_decode = msgspec.json.Decoder(float_hook=SpelledFloat).decode


def schema_of(text: str | bytes) -> JsonObject:
    """A JSON Schema from its text, for `ToolDefinition.input_schema`. Every dialect sends it on
    with its keys in their order and its numbers as they are spelled here."""
    try:
        schema = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ReadError("tool schema", "$", "JSON", str(error)) from None
    if not isinstance(schema, dict):
        raise ReadError("tool schema", "$", "an object", type(schema).__name__)
    return schema


def spelled(value: Any) -> Any:
    """What an encoder writes for a value that msgspec does not know."""
    if type(value) is SpelledFloat:
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
