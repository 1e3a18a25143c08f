"""The types of Cohere's own package as judges. They keep keys that they do not know, so that those
are looked for. Where the package is not installed, nothing is judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    try:
        from cohere import types
        from cohere.v2.types import V2ChatResponse, V2ChatStreamResponse
    except ImportError:
        return {}
    return {
        "message": TypeAdapter(types.ChatMessageV2),
        "tool": TypeAdapter(types.ToolV2),
        "document": TypeAdapter(str | types.Document),
        "response_format": TypeAdapter(types.ResponseFormatV2),
        "thinking": TypeAdapter(types.Thinking),
        "response": TypeAdapter(V2ChatResponse),
        "frame": TypeAdapter(V2ChatStreamResponse),
    }


def are_there() -> bool:
    return bool(_adapters())


def problems(kind: str, wire: Any, path: str) -> list[str]:
    """What a type has against this."""
    adapter = _adapters().get(kind)
    if adapter is None:
        return []
    try:
        value = adapter.validate_python(wire)
    except ValidationError as error:
        return [f"{path}: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}"]
    return [f"{path}{each}: no such key" for each in _extra(value, "")]


def _extra(value: Any, path: str) -> Iterator[str]:
    """The keys that no type has."""
    if isinstance(value, BaseModel):
        yield from [f"{path}/{key}" for key in value.model_extra or ()]
        for name in type(value).model_fields:
            yield from _extra(getattr(value, name), f"{path}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _extra(item, f"{path}/{index}")


def request_problems(wire: Any) -> list[str]:
    found: list[str] = []
    for key, kind in (("messages", "message"), ("tools", "tool"), ("documents", "document")):
        for index, item in enumerate(wire.get(key) or ()):
            found += problems(kind, item, f"/{key}/{index}")
    for key in ("response_format", "thinking"):
        if key in wire:
            found += problems(key, wire[key], f"/{key}")
    return found


def response_problems(wire: Any) -> list[str]:
    return [each for each in problems("response", wire, "") if "/usage/tokens/" not in each]


def frame_problems(wire: Any) -> list[str]:
    return problems("frame", wire, f"/{wire.get('type')}")
