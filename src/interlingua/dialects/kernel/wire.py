"""Wire JSON: its types by name, bytes to values and back."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.errors import WriteError
from interlingua.model import codec
from interlingua.model.spelled_numbers import spelled

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
"""Without a word about what is wrong; `encode` and `parse` say it."""


def encode(wire: Any) -> bytes:
    """Wire JSON as bytes. NaN never gets here: readers refuse it."""
    try:
        return encode_quickly(wire)
    except (UnicodeEncodeError, RecursionError, TypeError, OverflowError) as error:
        raise WriteError("wire JSON", "$", str(error)) from None


def parse(wire: Any, what: str) -> Any:
    """Wire JSON from bytes or text; JSON that is parsed already is only looked over."""
    if type(wire) is bytes or type(wire) is str:
        try:
            return decode_quickly(wire)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return codec.parse(wire, what)
    codec.require_json(wire, what)
    return wire
