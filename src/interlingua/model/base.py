"""What every canonical value is: immutable, equal by content, the same digest in every process.

`raw` (and a message's `provider_raw`) holds what only one dialect understands; it is no part of
equality and digest.
"""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from interlingua.errors import WriteError

E = TypeVar("E", bound=type[Enum])


def plain_members(cls: E) -> E:
    """Members as ordinary class attributes, as Python 3.12 has them: before that, looking one up
    runs through a descriptor and costs as much as making a small value."""
    for member in cls:
        type.__setattr__(cls, member.name, member)
    return cls


JsonObject = dict[str, Any]
Raw = dict[str, Any]
"""Keyed by dialect; only that dialect reads its key."""

_ASIDE = frozenset({"raw", "provider_raw"})
"""Fields that equality and digest leave out."""


class Value(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, eq=False, gc=False
):
    """Base of the canonical types. `gc=False`: immutable values make no reference cycles."""

    _aside: ClassVar[frozenset[str]] = _ASIDE

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            same(getattr(self, name), getattr(other, name))
            for name in self.__struct_fields__
            if name not in self._aside
        )

    def __ne__(self, other: object) -> bool:
        # msgspec's own `!=` compares identity where `eq=False`.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.digest())

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def digest(self) -> str:
        """SHA-256 over the content in hex: equal values, equal digests, in every process."""
        try:
            plain = msgspec.json.encode(_plain(self), order="sorted")
        except (ValueError, RecursionError) as error:
            raise WriteError("digest", "$", f"it has no JSON form: {error}") from None
        return hashlib.sha256(plain).hexdigest()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from interlingua.model import interop

        return interop.core_schema(cls)


def same(a: Any, b: Any) -> bool:
    """JSON equality: key order apart, booleans are not numbers, 1 and 1.0 are the same."""
    if a is b:
        return True
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and a.keys() == b.keys()
            and all(same(item, b[key]) for key, item in a.items())
        )
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    return bool(a == b)


def _plain(value: Any) -> Any:
    """The content of a value as plain JSON, spelled in one way only."""
    if isinstance(value, Value):
        out: dict[str, Any] = {}
        tag = value.__struct_config__.tag
        if tag is not None:
            out["type"] = tag
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name not in value._aside and not same(item, defaults[name]):
                out[name] = _plain(item)
        return out
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise WriteError("digest", "$", f"{value} has no JSON form")
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def _plain_decimal(value: Decimal) -> str:
    """Equal numbers, equal texts, however many digits and zeros they were written with."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise WriteError("digest", "$", f"{value} has no JSON form")
    number = "".join(map(str, digits)).lstrip("0")
    short = number.rstrip("0")
    if not short:
        return "0"
    return f"{'-' if sign else ''}{short}e{exponent + len(number) - len(short)}"


REQUIRED = object()
"""The default of a field that has none."""
_DEFAULTS: dict[type, dict[str, Any]] = {}


def _defaults(cls: type[Value]) -> dict[str, Any]:
    """Field name to default value; required fields have one that equals nothing."""
    known = _DEFAULTS.get(cls)
    if known is None:
        known = {}
        for field in msgspec.structs.fields(cls):
            if field.default is not msgspec.NODEFAULT:
                known[field.name] = field.default
            elif field.default_factory is not msgspec.NODEFAULT:
                known[field.name] = field.default_factory()
            else:
                known[field.name] = REQUIRED
        _DEFAULTS[cls] = known
    return known
