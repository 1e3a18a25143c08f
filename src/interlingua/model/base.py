"""The base of all canonical values: immutable, equal by content, the same digest in every process.

`raw` (and a message's `provider_raw`) holds what only one dialect understands; it is no part of
equality and digest.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum, EnumType
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec

from interlingua.errors import WriteError

E = TypeVar("E", bound=type[Enum])
T = TypeVar("T")


def plain_members(cls: E) -> E:
    """Members as ordinary class attributes, as Python 3.12 has them: before that, looking one up
    runs through a descriptor and costs as much as making a small value."""
    for member in cls:
        type.__setattr__(cls, member.name, member)
    return cls


def check_words(value: msgspec.Struct) -> None:
    """Convert the words in enum fields to members; raise ValueError for a word outside its set.

    For `__post_init__`: msgspec checks types when it decodes, but not in constructors."""
    for name, words in _closed_fields(type(value)):
        found = getattr(value, name)
        try:
            member: Any = words[found]
        except (KeyError, TypeError):
            field = f"{type(value).__name__}.{name}"
            choices = ", ".join([str(word) for word in words if word is not None])
            raise ValueError(f"{field} is one of {choices}; found {found!r}") from None
        if member is not found:
            msgspec.structs.force_setattr(value, name, member)


_CLOSED_FIELDS: dict[type, tuple[tuple[str, dict[Any, Any]], ...]] = {}


def _closed_fields(cls: type[msgspec.Struct]) -> tuple[tuple[str, dict[Any, Any]], ...]:
    """The fields of a class that take one of a fixed set of words, with those words."""
    known = _CLOSED_FIELDS.get(cls)
    if known is None:
        words = [(field.name, _words_of(field.type)) for field in msgspec.structs.fields(cls)]
        known = _CLOSED_FIELDS[cls] = tuple([each for each in words if each[1].keys() - {None}])
    return known


def _words_of(type: Any) -> dict[Any, Any]:
    """Word to member for an enum, a Literal, or either of them with None; empty for other types."""
    if isinstance(type, EnumType):
        members: list[Enum] = list(type)
        return {member.value: member for member in members}
    if get_origin(type) is Literal:
        return {word: word for word in get_args(type)}
    if type is NoneType:
        return {None: None}
    if get_origin(type) in (Union, UnionType):
        arms = [_words_of(arm) for arm in get_args(type)]
        if all(arms):
            return {word: member for arm in arms for word, member in arm.items()}
    return {}


if TYPE_CHECKING:  # the class itself defines what its constructor takes
    Guarded = msgspec.StructMeta
else:

    class Guarded(msgspec.StructMeta):
        """Of values that programs make by hand: their fields are checked when they are made. What
        readers make is checked already, and made by `unchecked`."""

        def __call__(cls, *values: Any, **fields: Any) -> Any:  # noqa: N805  # a metaclass
            if not values and not fields:
                return unchecked(cls)
            found = _by_name(cls, values, fields)
            return unchecked(cls, **{name: cls.taken(name, found[name]) for name in found})


class _Maker(Protocol):
    def __call__(self, cls: type[T], /, *values: Any, **fields: Any) -> T: ...


unchecked: _Maker = msgspec.StructMeta.__call__
"""`unchecked(Options, **fields)` makes a guarded value of fields that are known to be right."""


def _by_name(cls: Any, values: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor under the names of fields."""
    names = cls.__struct_fields__
    if len(values) > len(names):
        raise TypeError(f"{cls.__name__} takes at most {len(names)} values; found {len(values)}")
    found = dict(zip(names, values, strict=False))
    for word, value in fields.items():
        name = cls.other_names.get(word, word)
        if name not in names:
            near = get_close_matches(word, [*names, *cls.other_names], 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"
            raise TypeError(f"{cls.__name__} has no field {word!r}{hint}")
        if name in found:
            raise TypeError(f"{cls.__name__}.{name} is passed twice")
        found[name] = value
    return found


_TYPES: dict[type, dict[str, Any]] = {}


def require_type(cls: type[msgspec.Struct], name: str, value: Any) -> None:
    """Raise TypeError for a value that is not of the type of this field."""
    types = _TYPES.get(cls)
    if types is None:
        types = _TYPES[cls] = {each.name: each.type for each in msgspec.structs.fields(cls)}
    try:
        msgspec.convert(value, types[name])
    except msgspec.ValidationError as error:
        raise TypeError(
            f"{cls.__name__}.{name}: {str(error)[:1].lower()}{str(error)[1:]}"
        ) from None


JsonObject = dict[str, Any]
Raw = dict[str, Any]
"""Keyed by dialect; only that dialect reads its key."""

_ASIDE = frozenset({"raw", "provider_raw"})
"""Fields that equality and digest leave out."""


class Value(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
    eq=False,
    gc=False,
):
    """Base of the canonical types. `gc=False`: immutable values make no reference cycles."""

    _aside: ClassVar[frozenset[str]] = _ASIDE
    other_names: ClassVar[Mapping[str, str]] = {}
    """Other names for fields that the constructor of a `Guarded` class accepts."""

    @classmethod
    def taken(cls, name: str, value: Any) -> Any:
        """The value of a field for one that a program passed; TypeError if it takes none such."""
        if all(name != closed for closed, _ in _closed_fields(cls)):  # `check_words` has those
            require_type(cls, name, value)
        return value

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
            item, default = getattr(value, name), defaults[name]
            if item is not default and name not in value._aside and not same(item, default):
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


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """The first difference: its pointer and both sides, cut short; None when they are equal."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            place = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key not in a or key not in b:
                return _sides(place, a.get(key, "(absent)"), b.get(key, "(absent)"))
            if found := difference(a[key], b[key], place):
                return found
        return None
    if isinstance(a, list) and isinstance(b, list):
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            if found := difference(x, y, f"{path}/{index}"):
                return found
        return None if len(a) == len(b) else f"{path or '/'}: {len(a)} items / {len(b)} items"
    return None if same(a, b) else _sides(path or "/", a, b)


def _sides(place: str, a: Any, b: Any) -> str:
    return f"{place}: {str(a)[:80]} / {str(b)[:80]}"
