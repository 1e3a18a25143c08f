"""Values of the right JSON type, or an error that knows the place."""

from __future__ import annotations

from typing import Any, TypeVar

from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.base import Wire
from interlingua.errors import ReadError, found

V = TypeVar("V")


class ShapeError(Exception):
    """A wrong shape. The path grows on its way out, so that good input pays for none."""

    def __init__(self, path: str, expected: str, value: Any) -> None:
        self.path = path
        self.expected = expected
        self.found = found(value)

    def inside(self, path: str) -> ShapeError:
        self.path = path + self.path
        return self

    def error(self, what: str) -> ReadError:
        return ReadError(f"{NAME} {what}", "$" + self.path, self.expected, self.found)


_WORDS = {
    str: "a string",
    dict: "an object",
    list: "a list",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
}


def take(part: Wire, key: str, kind: type[V]) -> V:
    """A value that has to be there, of this type."""
    value = part.get(key)
    if type(value) is kind:
        return value
    raise ShapeError(f".{key}", _WORDS[kind], value)


def may_take(part: Wire, key: str, kind: type[V], spelled: Wire) -> V | None:
    """A value that may be missing; a null is remembered."""
    value = part.get(key)
    if type(value) is kind:
        return value
    if value is not None:
        raise ShapeError(f".{key}", _WORDS[kind], value)
    if key in part:
        spelled[key] = None
    return None
