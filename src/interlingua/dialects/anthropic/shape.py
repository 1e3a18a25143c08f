"""Values of the right JSON type, or an error that knows the place. Numbers are not converted here:
a whole float is no integer."""

from __future__ import annotations

from typing import TypeVar

from interlingua.dialects.base import WORDS, Wire
from interlingua.dialects.shape import ShapeError

V = TypeVar("V")


def take(part: Wire, key: str, kind: type[V]) -> V:
    """A value that has to be there, of this type."""
    value = part.get(key)
    if type(value) is kind:
        return value
    raise ShapeError(f".{key}", WORDS[kind], value)


def may_take(part: Wire, key: str, kind: type[V], spelled: Wire) -> V | None:
    """A value that may be missing; a null is remembered."""
    value = part.get(key)
    if type(value) is kind:
        return value
    if value is not None:
        raise ShapeError(f".{key}", WORDS[kind], value)
    if key in part:
        spelled[key] = None
    return None
