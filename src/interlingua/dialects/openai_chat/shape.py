"""Taking wire objects apart and putting them together again.

Reading, each key ends in a field or in a `Note`: the rest is content that only this dialect
understands, the form is spelling. Writing, `put_back` adds both to what the fields say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from interlingua.dialects import shape
from interlingua.dialects.kernel.errors import EXACT
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw

T = TypeVar("T")

NOTHING: dict[str, Any] = {}


def want(value: Any, kind: type[T], path: str) -> T:
    """`value` if it is of this JSON type; here integers become floats where a number is wanted."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int and -EXACT < value < EXACT:
        return float(value)  # type: ignore[return-value]  # 1 is the same JSON number as 1.0
    return shape.want(value, kind, path)


def maybe(wire: Wire, key: str, kind: type[T], path: str = "") -> T | None:
    """The value of a key that may be absent or null."""
    value = wire.get(key)
    return None if value is None else want(value, kind, f"{path}.{key}")


def nothing(value: Any) -> bool:
    """Null, or an empty string, list or object."""
    return value is None or value == "" or value == [] or value == {}


class Note(msgspec.Struct):
    """What an object said beyond its fields."""

    rest: Wire = {}
    form: Wire = {}

    def leave(self, wire: Wire, taken: Collection[str], known: Collection[str]) -> None:
        """Keep all keys but those `taken`; known ones that hold nothing are spelling."""
        for key, value in wire.items():
            if key in taken:
                continue
            if key == "$form":  # nobody sends this, but whatever was sent goes home
                self.form["own"] = value
            elif key in known and nothing(value):
                self.form.setdefault("empty", {})[key] = value
            else:
                self.rest[key] = value

    def leave_inner(self, wire: Wire, key: str, taken: Collection[str]) -> None:
        """The same for the object at `key`, every key of which is known."""
        inner = wire[key]
        if len(inner) == len(taken):
            return
        for name, value in inner.items():
            if name in taken:
                continue
            kept = self.form.setdefault("empty", {}) if nothing(value) else self.rest
            kept.setdefault(key, {})[name] = value

    def absent(self, wire: Wire, keys: Collection[str]) -> None:
        """Note which of the keys that the writer would fill in are absent."""
        absent = [key for key in keys if key not in wire]
        if absent:
            self.form["absent"] = absent

    def raw(self, name: str) -> Raw | None:
        if self.form:
            return {name: {**self.rest, "$form": self.form}}
        return {name: self.rest} if self.rest else None


def put_back(wire: Wire, mine: Wire | None, fillers: Mapping[str, Any] = NOTHING) -> Wire:
    """`wire`, made of fields, with the rest and the form that a note kept (`raw[name]`).

    `fillers` are values that the writer gives to keys without being asked: the note may say that
    such a key was absent, or held something else."""
    if not mine:
        return wire
    form = mine.get("$form", NOTHING)
    for kept in (mine, form.get("empty", NOTHING)):
        for key, value in kept.items():
            if key != "$form":
                _put(wire, key, value, fillers)
    for key in form.get("absent", ()):
        if key in wire and key in fillers and wire[key] == fillers[key]:
            del wire[key]
    if "own" in form:
        wire["$form"] = form["own"]
    return wire


def _put(wire: Wire, key: str, value: Any, fillers: Mapping[str, Any]) -> None:
    """Fields win: only what is free is set, inside objects too."""
    if key not in wire or (key in fillers and wire[key] == fillers[key]):
        wire[key] = value
    elif type(value) is dict and type(wire[key]) is dict:
        inner = dict(wire[key])
        for name, item in value.items():
            _put(inner, name, item, NOTHING)
        wire[key] = inner


def keep_whole(name: str, wire: Wire, form: Wire) -> Raw:
    """An object that no field took anything of, as a `raw`."""
    if "$form" in wire:
        form = {**form, "own": wire["$form"]}
    return {name: {**wire, "$form": form}} if form else {name: wire}


def whole(mine: Wire) -> Wire:
    """The object that `keep_whole` kept."""
    form = mine.get("$form")
    if form is None:
        return mine
    wire = {key: value for key, value in mine.items() if key != "$form"}
    return {**wire, "$form": form["own"]} if "own" in form else wire


def mine_of(name: str, raw: Raw | None) -> Wire:
    """All that this dialect kept in a `raw`, rest and form."""
    return raw.get(name, NOTHING) if raw else NOTHING


def form_in(mine: Wire) -> Wire:
    form: Wire = mine.get("$form", NOTHING)
    return form
