"""One reason to answer with a 400, and what the checks share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Refusal(NamedTuple):
    rule: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.why}"


def at(wire: Any, *keys: str) -> Any:
    """What stands at a path of keys; None where there is nothing."""
    for key in keys:
        wire = wire.get(key) if isinstance(wire, dict) else None
    return wire


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and every schema inside it; names of properties are no keywords."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    if not isinstance(schema, dict):
        return
    yield schema
    for key, item in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"):
            for inner in (item or {}).values() if isinstance(item, dict) else ():
                yield from objects(inner)
        elif key not in ("enum", "const", "default", "examples", "example", "required"):
            yield from objects(item)


def is_open(schema: dict[str, Any]) -> bool:
    """Whether an object may have properties that nobody named."""
    return "properties" in schema and schema.get("additionalProperties") is not False


def count(wire: Any, key: str) -> int:
    """How often a key stands in a body, wherever; arguments and schemas are not looked into."""
    return sum(1 for _ in found(wire, key))


def found(wire: Any, key: str) -> Iterator[Any]:
    """What stands under a key, wherever that is."""
    if isinstance(wire, list):
        for each in wire:
            yield from found(each, key)
    if not isinstance(wire, dict):
        return
    for name, item in wire.items():
        if name not in ("input", "input_schema", "json", key):
            yield from found(item, key)
    if wire.get(key) is not None:
        yield wire[key]
