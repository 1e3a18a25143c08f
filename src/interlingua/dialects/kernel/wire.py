"""Wire JSON: its types by name, bytes to values and back."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.errors import ReadError, WriteError
from interlingua.model import codec
from interlingua.model.interop import dumped
from interlingua.model.spelled_numbers import decode_spelled, decode_usual, spelled

Wire = dict[str, Any]

WORDS: dict[type, str] = {
    str: "a string",
    dict: "an object",
    list: "a list",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
}
"""The JSON types, as errors call them."""

encode_quickly = msgspec.json.Encoder(enc_hook=spelled).encode
decode_quickly = msgspec.json.Decoder().decode
"""Without a description of errors; `encode` and `parse` have it."""


def encode(wire: Any) -> bytes:
    """Wire JSON as bytes. NaN never gets here: readers refuse it."""
    try:
        return encode_quickly(wire)
    except (UnicodeEncodeError, RecursionError, TypeError, OverflowError) as error:
        raise WriteError("wire JSON", "$", str(error)) from None


def parse(wire: Any, what: str) -> Any:
    """Wire JSON from bytes or text; parsed JSON is only checked. Objects of an SDK are converted
    to their wire form."""
    if type(wire) is bytes or type(wire) is str:
        try:
            return decode_quickly(wire)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return codec.parse(wire, what)
    try:
        codec.require_json(wire, what)
    except ReadError:
        plain = dumped(wire)
        if plain is wire:
            raise
        codec.require_json(plain, what)
        return plain
    return wire


_TOOLS = ("tools", "toolConfig")


def parse_spelled(wire: Any) -> Wire | None:
    """A request in JSON text, with tools that remember how their numbers are spelled; None if it
    has no tools, or the writer would spell them so anyway."""
    if type(wire) is not bytes and type(wire) is not str:
        return None
    try:
        decode_usual(wire)
        return None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        body, spelled_body = decode_quickly(wire), decode_spelled(wire)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # `parse` raises with the reason
    if type(body) is not dict or not any(key in body for key in _TOOLS):
        return None
    return body | {key: spelled_body[key] for key in _TOOLS if key in body}
