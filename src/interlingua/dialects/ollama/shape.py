"""Taking wire objects apart and putting them together again.

Reading, every key ends in a field, in the rest (content that only this wire understands) or in the
form: `spelled` are keys that say nothing, `absent` those that the writer would fill in. Writing,
`put_back` adds it to the fields."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.ollama.tables import NAME
from interlingua.errors import ReadError, found
from interlingua.model.base import Raw, Value

T = TypeVar("T")


class Kept(NamedTuple):
    """What no field of a body holds, while it is being read."""

    rest: Wire
    form: Wire
    spelled: Wire


_WORDS: dict[type, str] = {
    str: "a string",
    dict: "an object",
    list: "a list",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
}
_NOTHING: Wire = {}
_LARGEST = 1 << 53
"""Up to here a float holds every integer exactly."""


class MisfitError(Exception):
    """Wire of the wrong shape. The path grows on its way out, so that good input pays for none."""

    def __init__(self, path: str, expected: str, value: Any) -> None:
        self.path = path
        self.expected = expected
        self.found = found(value)

    def inside(self, outer: str) -> MisfitError:
        self.path = outer + self.path
        return self

    def error(self, what: str) -> ReadError:
        return ReadError(f"{NAME} {what}", f"${self.path}", self.expected, self.found)


def want(value: Any, kind: type[T], path: str = "") -> T:
    """`value` if it is of this JSON type; whole floats are integers, and integers numbers."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int and -_LARGEST < value < _LARGEST:
        return value  # type: ignore[return-value]  # an integer is a number
    if kind is int and type(value) is float and value.is_integer():
        return int(value)  # type: ignore[return-value]  # 1.0 is the same JSON number as 1
    raise MisfitError(path, _WORDS[kind], value)


def take(wire: Wire, key: str, kind: type[T]) -> T:
    """A value that has to be there."""
    value = wire.get(key)
    return value if type(value) is kind else want(value, kind, f".{key}")


def may_take(wire: Wire, key: str, kind: type[T], spelled: Wire) -> T | None:
    """A value that may be missing; a null is remembered."""
    value = wire.get(key)
    if type(value) is kind:
        return value
    if value is not None:
        return want(value, kind, f".{key}")
    if key in wire:
        spelled[key] = None
    return None


def each(items: Any, path: str, read: Callable[[Any], T]) -> list[T]:
    """`read` of every item of a list; an error says which."""
    out: list[T] = []
    if type(items) is not list:
        raise MisfitError(path, "a list", items)
    try:
        for item in items:
            out.append(read(item))
    except MisfitError as odd:
        raise odd.inside(f"{path}[{len(out)}]") from None
    return out


def spare(
    wire: Wire, known: Collection[str], spelled: Wire, form: Wire, inner: Wire | None = None
) -> Raw | None:
    """The `raw` for what no field holds of an object; `inner` is what is left of known keys."""
    rest: Wire = dict(inner) if inner else {}
    for key, value in wire.items():
        if key in known:
            continue
        if key == "$form":
            form["$form"] = value
        elif value is None:
            spelled[key] = None
        else:
            rest[key] = value
    return pack(rest, spelled, form)


def pack(rest: Wire, spelled: Wire, form: Wire) -> Raw | None:
    if spelled:
        form["spelled"] = spelled
    if form:
        rest["$form"] = form
    return {NAME: rest} if rest else None


def mine_of(raw: Raw | None) -> Wire:
    """Our part of a `raw`, spelling included."""
    mine = raw.get(NAME) if raw is not None else None
    return mine if type(mine) is dict else _NOTHING


def form_of(raw: Raw | None) -> Wire:
    form = mine_of(raw).get("$form")
    return form if type(form) is dict else _NOTHING


def put_back(out: Wire, value: Value, scribe: Scribe, raw: Raw, field: str = "raw") -> Wire:
    """Add what was kept to a written object; fields win. What others kept is a loss."""
    mine = raw.get(NAME)
    if type(mine) is dict:
        for key, item in mine.items():
            if key != "$form" and key not in out:
                out[key] = item
        respell(out, form_of(raw))
    if mine is None or len(raw) > 1:
        scribe.unsaid_raw(value, raw, field)
    return out


def respell(out: Wire, form: Wire) -> None:
    spelled = form.get("spelled")
    if type(spelled) is dict:
        for key, item in spelled.items():
            out.setdefault(key, item)
    if "$form" in form:
        out["$form"] = form["$form"]
