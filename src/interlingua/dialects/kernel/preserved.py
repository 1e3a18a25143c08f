"""Raw data: members that only the sender understands, in a `raw` under the name of its dialect.

    raw[name] = {<content that no field holds>, "$form": <spelling>}

Content keeps its keys, in objects inside too, and elsewhere it is a loss. Spelling never is one:

    spelled   {key: value}   keys without meaning: null, empty, a default that is spelled out
    absent    [key, ...]     keys that the writer fills in, and the wire did without
    as        {key: value}   values that the writer would spell otherwise
    named     {key: name}    keys that the wire calls by another name
    part      [key, ...]     content under these keys completes a field, and goes with it
    whole     [key, ...]     objects under these keys are no part of the value of a field
    inside    {key: form}    the same words for objects inside
    $keys     {key: value}   the wire itself has keys with names of ours (`ASIDE`)

Dialects need no words of their own for it: `fields.Table` writes and reads all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from interlingua.dialects.kernel.errors import require, scalar
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw, Value
from interlingua.model.blocks import UnknownBlock
from interlingua.model.reasons import because

T = TypeVar("T")

NOTHING: Wire = {}
"""For look-ups: it is never changed."""
FORM = "$form"
ASIDE = frozenset({FORM, "$asides", "$beside", "$cachePoint", "$cachePoints", "$changes", "$item"})
"""Keys of a `raw` that are not members of its object: the spelling, and data around the object."""


def keep(dialect: str, rest: Wire | None, spelling: Wire | None = None) -> Raw | None:
    """Data that only this dialect understands, as a `raw`: `rest` is content, `form` is
    spelling."""
    if spelling:
        return {dialect: {**(rest or {}), FORM: spelling}}
    return {dialect: rest} if rest else None


def content_of(dialect: str, raw: Raw | None) -> Wire:
    """The content in the raw data of this dialect."""
    own_raw = raw_of(dialect, raw)
    if FORM in own_raw:
        return {key: value for key, value in own_raw.items() if key != FORM}
    return own_raw


def raw_of(dialect: str, raw: Raw | None) -> Wire:
    """The raw data of a dialect, spelling included."""
    own_raw = raw.get(dialect) if raw is not None else None
    return own_raw if type(own_raw) is dict else NOTHING


def spelling_in(own_raw: Wire) -> Wire:
    spelling = own_raw.get(FORM)
    return spelling if type(spelling) is dict else NOTHING


def spelling_of(dialect: str, raw: Raw | None) -> Wire:
    """The spelling in the raw data of this dialect."""
    own_raw = raw.get(dialect) if raw is not None else None
    spelling = own_raw.get(FORM) if type(own_raw) is dict else None
    return spelling if type(spelling) is dict else NOTHING


def raw_inside(own_raw: Wire, key: str) -> Wire:
    """The raw data of an object inside."""
    if not own_raw:
        return own_raw
    rest, spelling = own_raw.get(key), spelling_in(own_raw).get("inside", NOTHING).get(key)
    inner = rest if type(rest) is dict else NOTHING
    return inner if spelling is None else {**inner, FORM: spelling}


def was_absent(own_raw: Wire, key: str) -> bool:
    """Whether the wire had no such key, or an empty one."""
    if not own_raw:
        return False
    spelling = spelling_in(own_raw)
    return key in spelling.get("absent", ()) or key in spelling.get("spelled", ())


class Preserved(msgspec.Struct):
    """Collects the members that no field holds, while an object is read."""

    rest: Wire = {}
    spelling: Wire = {}

    def take(self, wire: Wire, key: str, kind: type[T]) -> T | None:
        """The value of a key that no table has; None where it is null, empty or absent."""
        value = wire.get(key)
        if value is not None and type(value) is not kind:
            value = require(value, kind, f".{key}")
        if not value:
            if key in wire:
                self.keep_spelling(key, value)
            else:
                self.mark_absent(key)
        return value or None

    def may_take(self, wire: Wire, key: str, kind: type[T], filled: bool = False) -> T | None:
        """The same for a value that has a meaning even if it is empty; `filled` is the writer's
        default."""
        value = wire.get(key)
        if type(value) is kind:
            return value
        if value is not None:
            return require(value, kind, f".{key}")
        if key in wire:
            self.keep_spelling(key, None)
        elif filled:
            self.mark_absent(key)
        return None

    def scalar(self, wire: Wire, key: str) -> Any:
        """The same for a value of any type but list and object."""
        value = scalar(wire, key)
        if value is None and key in wire:
            self.keep_spelling(key, None)
        return value

    def add(self, key: str, value: Any) -> None:
        """A key that no field has: content, unless it is null."""
        if value is None:
            self.keep_spelling(key, None)
        elif key in ASIDE:
            self.spelling.setdefault("$keys", {})[key] = value
        else:
            self.rest[key] = value

    def hold(self, key: str, value: Any) -> None:
        """A value that no field can hold."""
        self.rest[key] = value
        if type(value) is dict:
            self.spelling.setdefault("whole", []).append(key)

    def add_others(self, wire: Wire, taken: Collection[str], known: Collection[str] = ()) -> None:
        """Every key but those taken; an empty known one is spelling."""
        for key, value in wire.items():
            if key not in taken:
                if key in known and (value == "" or value == [] or value == {}):
                    self.keep_spelling(key, value)
                else:
                    self.add(key, value)

    def add_inside(self, wire: Wire, key: str, taken: Collection[str]) -> None:
        """The same for a nested object whose keys are all known."""
        inside = wire[key]
        if len(inside) > len(taken):
            inner = Preserved()
            inner.add_others(inside, taken, inside)
            self.absorb(key, inner)

    def keep_spelling(self, key: str, value: Any) -> None:
        """Preserve a key without content."""
        self.spelling.setdefault("spelled", {})[key] = value

    def keep_respelled(self, key: str, value: Any) -> None:
        """A key that the writer would spell otherwise."""
        self.spelling.setdefault("as", {})[key] = value

    def mark_absent(self, key: str) -> None:
        """A key that the writer fills in."""
        self.spelling.setdefault("absent", []).append(key)

    def mark_any_absent(self, wire: Wire, keys: Iterable[str]) -> None:
        """Marks missing keys that the writer would fill in."""
        for key in keys:
            if key not in wire:
                self.mark_absent(key)

    def complete(self, key: str, content: Wire, blank: Wire) -> None:
        """Preserve the members of an object that its field does not cover."""
        if content:
            self.rest[key] = content
        if blank:
            self.keep_spelling(key, blank)
        self.spelling.setdefault("part", []).append(key)

    def absorb(self, key: str, inner: Preserved) -> None:
        """Add the raw data of an object inside."""
        if inner.rest:
            self.rest[key] = inner.rest
        if inner.spelling:
            self.spelling.setdefault("inside", {})[key] = inner.spelling

    def raw(self, dialect: str) -> Raw | None:
        if self.spelling:
            return {dialect: {**self.rest, FORM: self.spelling}}
        return {dialect: self.rest} if self.rest else None


def fill(out: Wire, own_raw: Wire, fillers: Mapping[str, Any]) -> Wire:
    """Add required members, or the wire's own values for them, except keys that were absent."""
    spelling = spelling_in(own_raw)
    gone, spelled = spelling.get("absent", ()), spelling.get("spelled", NOTHING)
    for key, value in fillers.items():
        if key not in out and key not in gone:
            out[key] = own_raw[key] if key in own_raw else spelled.get(key, value)
    return out


def restore(out: Wire, own_raw: Wire, fillers: Mapping[str, Any] = NOTHING) -> Wire:
    """Adds preserved members to a written object wherever a key is free: fields win. Then
    `fillers`, as `fill` does."""
    spelling = own_raw.get(FORM)
    if type(spelling) is not dict:
        spelling = NOTHING
    elif len(own_raw) == 1 and not fillers and _MORE.isdisjoint(spelling):
        return _spell(out, spelling["spelled"], ()) if "spelled" in spelling else out
    parts, inside = spelling.get("part", ()), spelling.get("inside", NOTHING)
    for key, item in own_raw.items():
        if key in ASIDE:
            continue
        if key in inside and "part" in inside[key]:
            item = _merged_at(item, out.get(key), inside[key]["part"])
            if not item:
                continue
        if key not in out:
            if key not in parts:
                out[key] = item
        elif type(item) is dict and key not in spelling.get("whole", ()):
            _complete(out, key, item)
    _spell(out, spelling.get("spelled", NOTHING), parts)
    for key, item in fillers.items():
        if key not in out and key not in spelling.get("absent", ()):
            out[key] = item
    if inside:
        _restore_inside(out, inside, spelling.get("spelled", NOTHING))
    if type(named := spelling.get("named")) is dict:  # stored values of Responses have it as a flag
        for key, name in named.items():
            if key in out:
                out[name] = out.pop(key)
    if "$keys" in spelling:
        out |= spelling["$keys"]
    return out


_MORE = frozenset({"part", "inside", "named", "$keys"})
"""Spelling keys other than those of absent members."""


def _spell(out: Wire, spelled: Wire, parts: Collection[str]) -> Wire:
    for key, item in spelled.items():
        if key not in out:
            if key not in parts:
                out[key] = item
        elif type(item) is dict:
            _complete(out, key, item)
    return out


def _restore_inside(out: Wire, inside: Wire, spelled: Wire) -> None:
    for key, inner in inside.items():
        written = out.get(key)
        if written is None or type(written) is dict:
            out[key] = restore(dict(written or NOTHING), {FORM: inner})
            if not out[key] and key not in spelled:
                del out[key]


def _complete(out: Wire, key: str, item: Wire) -> None:
    if type(out[key]) is dict:
        out[key] = merge(item, out[key])


def _merged_at(preserved: Any, written: Any, parts: list[str]) -> Any:
    """The raw data of an object inside, without members that completed keys which are not written
    now."""
    if type(preserved) is not dict:
        return preserved
    there = written if type(written) is dict else NOTHING
    return {key: item for key, item in preserved.items() if key not in parts or key in there}


def merge(preserved: Wire, written: Wire) -> Wire:
    """Two objects as one; written members win."""
    out = dict(preserved)
    for key, item in written.items():
        other = out.get(key)
        if type(item) is dict and type(other) is dict:
            item = merge(other, item)
        out[key] = item
    return out


def restore_raw(
    out: Wire, value: Value, raw: Raw | None, recorder: LossRecorder, field: str = "raw"
) -> Wire:
    """A written object with its dialect's raw data; raw data of others is a loss."""
    if raw is None:
        return out
    own_raw = raw.get(recorder.dialect)
    if type(own_raw) is dict:
        restore(out, own_raw)
    if own_raw is None or len(raw) > 1:
        recorder.unwritten_raw(value, raw, field)
    return out


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Wire | None:
    """Writes back an unknown block of this dialect; one of another dialect is lost."""
    wire = block.raw.get(recorder.dialect)
    if type(wire) is not dict:
        recorder.dropped(block, because("unknown_block"))
        return None
    if block.cache is not None or len(block.raw) > 1:
        recorder.unwritten(block, frozenset())
    return wire
