"""How probable each token of an answer was. Three wires spell a token alike, in other places."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import JsonObject
from interlingua.model.metadata import MessageMetadata

_SPELLED_BY = frozenset({"openai-chat", "openrouter", "openai-responses", "ollama"})
"""Whose answers have tokens. Others that a message may be ascribed to spoke by one of these."""


def read_tokens(value: Any) -> tuple[JsonObject, ...]:
    """The tokens of a list of them; none for anything else."""
    if type(value) is not list or not all(type(each) is dict for each in value):
        return ()
    return tuple(value)


def write_tokens(metadata: MessageMetadata, name: str) -> list[Wire]:
    """The tokens for the wire of this name; others may have left out what it demands."""
    protocol = metadata.protocol
    if protocol == name or (protocol is not None and protocol not in _SPELLED_BY):
        return list(metadata.logprobs)
    return [_whole(token) for token in metadata.logprobs]


def _whole(token: JsonObject) -> Wire:
    others = token.get("top_logprobs")
    listed = others if type(others) is list else []
    tops = [_with_bytes(each) for each in listed if type(each) is dict]
    return {**_with_bytes(token), "top_logprobs": tops}


def _with_bytes(token: JsonObject) -> Wire:
    encoded, text = token.get("bytes"), token.get("token")
    if type(encoded) is str:  # Hugging Face sends base64 (recorded answers, read 2026-11)
        try:
            return {**token, "bytes": list(b64decode(encoded, validate=True))}
        except ValueError:
            encoded = None
    if encoded is not None or type(text) is not str:
        return dict(token)
    return {**token, "bytes": list(text.encode())}
