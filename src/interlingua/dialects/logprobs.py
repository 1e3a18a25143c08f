"""How probable each token of an answer was. Three wires spell a token alike, in other places."""

from __future__ import annotations

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
    said_by = metadata.protocol
    if said_by == name or (said_by is not None and said_by not in _SPELLED_BY):
        return list(metadata.logprobs)
    return [_whole(token) for token in metadata.logprobs]


def _whole(token: JsonObject) -> Wire:
    others = token.get("top_logprobs")
    listed = others if type(others) is list else []
    tops = [_with_bytes(each) for each in listed if type(each) is dict]
    return {**_with_bytes(token), "top_logprobs": tops}


def _with_bytes(token: JsonObject) -> Wire:
    if token.get("bytes") is not None or type(token.get("token")) is not str:
        return dict(token)
    return {**token, "bytes": list(token["token"].encode())}
