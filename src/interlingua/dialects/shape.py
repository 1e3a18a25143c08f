"""Taking wire objects apart and putting them together again, for dialects of any name.

Reading, every key ends in a field, in the rest (content that only one wire understands) or in the
form, which is spelling: `Notes` packs both into a `raw`, and adds them to the fields again. What
has the wrong shape is a `ShapeError`, made a `ReadError` by the reader of the whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from interlingua import arguments
from interlingua.dialects.base import WORDS, Scribe, Wire
from interlingua.errors import ReadError, found
from interlingua.model.base import Raw, Value
from interlingua.model.blocks import ToolUseBlock

T = TypeVar("T")

EXACT = 1 << 53
"""Up to here a float holds every integer exactly."""
_NOTHING: Wire = {}


class ShapeError(Exception):
    """Wire of the wrong shape. The path grows on its way out, so that good input pays for none."""

    def __init__(self, path: str, expected: str, value: Any) -> None:
        self.path = path
        self.expected = expected
        self.found = found(value)

    def inside(self, outer: str) -> ShapeError:
        self.path = outer + self.path
        return self

    def error(self, what: str) -> ReadError:
        return ReadError(what, f"${self.path}", self.expected, self.found)


# -- arguments ------------------------------------------------------------------------------------


def tell_recovered(block: ToolUseBlock, scribe: Scribe) -> None:
    """Where arguments are an object, a text that had to be repaired is said as it was understood.
    Of one that was no JSON at all nothing is left, so that the call says something else."""
    understood, mode = arguments.recover(block.raw_arguments)
    if mode == "strict" and arguments.same(understood, block.input):
        return
    if mode == "invalid" and not block.input:
        reason = "they are no JSON; an empty object stands for them"
        scribe.lost(block, "raw_arguments", reason, severity="error")
    elif mode == "closed":
        scribe.lost(block, "raw_arguments", "said as far as they came")
    else:
        scribe.lost(block, "raw_arguments", "said as they were understood", severity="info")


# -- values of the right JSON type ----------------------------------------------------------------


def want(value: Any, kind: type[T], path: str = "") -> T:
    """`value` if it is of this JSON type; whole floats are integers, and integers numbers."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int and -EXACT < value < EXACT:
        return value  # type: ignore[return-value]  # an integer is a number
    if kind is int and type(value) is float and value.is_integer():
        return int(value)  # type: ignore[return-value]  # 1.0 is the same JSON number as 1
    raise ShapeError(path, WORDS[kind], value)


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
        raise ShapeError(path, "a list", items)
    try:
        for item in items:
            out.append(read(item))
    except ShapeError as odd:
        raise odd.inside(f"{path}[{len(out)}]") from None
    return out


# -- what no field holds --------------------------------------------------------------------------


class Kept(NamedTuple):
    """What no field of a body holds, while it is being read."""

    rest: Wire
    form: Wire
    spelled: Wire


class Notes:
    """The `raw` of one dialect: `name` is its key in it, `reserved` are keys of the `raw` that are
    no keys of the object. In the form, `spelled` are keys that say nothing."""

    __slots__ = ("_name", "_reserved")

    def __init__(self, name: str, reserved: frozenset[str] = frozenset({"$form"})) -> None:
        self._name = name
        self._reserved = reserved

    def spare(
        self,
        wire: Wire,
        known: Collection[str],
        spelled: Wire,
        form: Wire,
        inner: Wire | None = None,
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
        return self.pack(rest, spelled, form)

    def pack(self, rest: Wire, spelled: Wire, form: Wire) -> Raw | None:
        if spelled:
            form["spelled"] = spelled
        if form:
            rest["$form"] = form
        return {self._name: rest} if rest else None

    def mine_of(self, raw: Raw | None) -> Wire:
        """Our part of a `raw`, spelling included."""
        if raw is None:
            return _NOTHING
        mine = raw.get(self._name)
        return mine if type(mine) is dict else _NOTHING

    def form_of(self, raw: Raw | None) -> Wire:
        """The spelling alone."""
        if raw is None:
            return _NOTHING
        form = self.mine_of(raw).get("$form")
        return form if type(form) is dict else _NOTHING

    def put_back(
        self, out: Wire, value: Value, scribe: Scribe, raw: Raw, field: str = "raw"
    ) -> Wire:
        """Add what was kept to a written object; fields win. What others kept is a loss."""
        mine = raw.get(self._name)
        if type(mine) is dict:
            for key, item in mine.items():
                if key not in self._reserved and key not in out:
                    out[key] = item
            respell(out, self.form_of(raw))
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


def merge(kept: Wire, said: Wire) -> Wire:
    """Two objects as one; what is said wins."""
    out = dict(kept)
    for key, item in said.items():
        other = out.get(key)
        if type(item) is dict and type(other) is dict:
            item = merge(other, item)
        out[key] = item
    return out
