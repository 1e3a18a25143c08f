"""Wire JSON: its types by name, bytes to values and back."""

from __future__ import annotations

import sys
from base64 import b64decode
from collections.abc import Container
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


class SpelledTexts:
    """Long texts of a request that was read from bytes, with their JSON: where one is written
    unchanged, these bytes are used again."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        """The texts. They stay alive here, and so their identities do."""
        self.known: dict[int, msgspec.Raw] = {}
        """Their JSON, by their identities."""
        self.parts: list[Wire] = []
        """Parts of the wire whose `text` may be one of them."""

    def encode(self, wire: Any) -> bytes:
        """The wire as JSON. Texts that are still in their parts are not encoded again: meanwhile
        their JSON is in the parts."""
        known = self.known
        parts = [part for part in self.parts if id(part.get("text")) in known]
        texts = [part["text"] for part in parts]
        try:
            for part in parts:
                part["text"] = known[id(part["text"])]
            return encode_quickly(wire)
        finally:
            for part, text in zip(parts, texts, strict=True):
                part["text"] = text

    def __repr__(self) -> str:
        return "<SpelledTexts>"

    def __eq__(self, _: object) -> bool:
        return True  # the spelling of a body is not part of its value

    __hash__ = None  # type: ignore[assignment]  # values with an `__eq__` of their own have none


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


def sdk_arguments(wire: Wire, dialect: str, model: str | None) -> dict[str, Any]:
    """The keyword arguments with which the vendor's own SDK sends a request."""
    name = "modelId" if dialect == "bedrock" else "model"
    found: dict[str, Any] = {} if model is None or "model" in wire else {name: model}
    if dialect == "bedrock":
        return {**found, **_with_bytes(wire)}
    if dialect == "gemini":
        config = {key: item for key, item in wire.items() if key != "contents"}
        config |= config.pop("generationConfig", {})
        return found | {"contents": wire["contents"]} | ({"config": config} if config else {})
    known = _parameters(dialect)
    extra = {key: item for key, item in wire.items() if known is not None and key not in known}
    found |= {key: item for key, item in wire.items() if key not in extra}
    return found | ({"extra_body": extra} if extra else {})


_CREATE = {
    "anthropic": ("anthropic.resources.messages.messages", "Messages"),
    "openai-chat": ("openai.resources.chat.completions.completions", "Completions"),
    "openai-responses": ("openai.resources.responses.responses", "Responses"),
}
"""The classes whose `create` sends a request; other keys than its own go into `extra_body`."""


def _parameters(dialect: str) -> Container[str] | None:
    """The keys that the SDK takes, in the version that the program has loaded; None without it."""
    from inspect import signature

    module, cls = _CREATE.get(dialect, ("", ""))
    create = getattr(getattr(sys.modules.get(module), cls, None), "create", None)
    return signature(create).parameters if create is not None else None


_OPEN = ("input", "json", "toolConfig", "additionalModelRequestFields")
"""Objects in which a key called `bytes` is the caller's own."""


def _with_bytes(wire: Any) -> Any:
    """A request as botocore takes it, which has the content of files as bytes."""
    if isinstance(wire, list):
        return [_with_bytes(each) for each in wire]
    if not isinstance(wire, dict):
        return wire
    return {
        key: b64decode(item)
        if key in ("bytes", "redactedContent") and isinstance(item, str)
        else item
        if key in _OPEN
        else _with_bytes(item)
        for key, item in wire.items()
    }


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
