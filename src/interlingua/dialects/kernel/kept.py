"""What only the sender understands, kept in a `raw` under the name of its dialect.

    raw[name] = {<content that no field holds>, "$form": <spelling>}

Content keeps its keys, in objects inside too, and elsewhere it is a loss. Spelling never is one:

    spelled   {key: value}   keys that say nothing: null, empty, a default that is spelled out
    absent    [key, ...]     keys that the writer fills in, and the wire did without
    as        {key: value}   what the writer would spell otherwise
    named     {key: name}    keys that the wire calls by another name
    part      [key, ...]     content under these keys completes what a field says, and goes with it
    whole     [key, ...]     objects under these keys are no part of what a field says there
    inside    {key: form}    the same words for objects inside
    $keys     {key: value}   the wire itself has keys with names of ours (`ASIDE`)

Dialects need no words of their own for it: `fields.Table` writes and reads all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from interlingua.dialects.kernel.errors import scalar, want
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw, Value
from interlingua.model.blocks import UnknownBlock

T = TypeVar("T")

NOTHING: Wire = {}
"""For look-ups: it is never changed."""
FORM = "$form"
ASIDE = frozenset({FORM, "$asides", "$beside", "$cachePoint", "$cachePoints", "$changes", "$item"})
"""Keys of a `raw` that are none of its object: the spelling, and what stands around the object."""


def keep(dialect: str, rest: Wire | None, form: Wire | None = None) -> Raw | None:
    """What only this dialect understands, as a `raw`: `rest` is content, `form` is spelling."""
    if form:
        return {dialect: {**(rest or {}), FORM: form}}
    return {dialect: rest} if rest else None


def kept(dialect: str, raw: Raw | None) -> Wire:
    """The content that `keep` kept for this dialect."""
    mine = mine_of(dialect, raw)
    return {key: value for key, value in mine.items() if key != FORM} if FORM in mine else mine


def mine_of(dialect: str, raw: Raw | None) -> Wire:
    """What a dialect kept in a `raw`, spelling included."""
    mine = raw.get(dialect) if raw is not None else None
    return mine if type(mine) is dict else NOTHING


def form_in(mine: Wire) -> Wire:
    form = mine.get(FORM)
    return form if type(form) is dict else NOTHING


def form_of(dialect: str, raw: Raw | None) -> Wire:
    """The spelling that `keep` kept for this dialect."""
    mine = raw.get(dialect) if raw is not None else None
    form = mine.get(FORM) if type(mine) is dict else None
    return form if type(form) is dict else NOTHING


def mine_inside(mine: Wire, key: str) -> Wire:
    """What was kept of an object inside."""
    if not mine:
        return mine
    rest, form = mine.get(key), form_in(mine).get("inside", NOTHING).get(key)
    inner = rest if type(rest) is dict else NOTHING
    return inner if form is None else {**inner, FORM: form}


def did_without(mine: Wire, key: str) -> bool:
    """Whether the wire had no such key, or one that said nothing."""
    if not mine:
        return False
    form = form_in(mine)
    return key in form.get("absent", ()) or key in form.get("spelled", ())


class Kept(msgspec.Struct):
    """What no field holds of one object, while it is being read."""

    rest: Wire = {}
    form: Wire = {}

    def take(self, wire: Wire, key: str, kind: type[T]) -> T | None:
        """The value of a key that no table has; None where it is null, empty or absent."""
        value = wire.get(key)
        if value is not None and type(value) is not kind:
            value = want(value, kind, f".{key}")
        if not value:
            if key in wire:
                self.spell(key, value)
            else:
                self.miss(key)
        return value or None

    def may_take(self, wire: Wire, key: str, kind: type[T], filled: bool = False) -> T | None:
        """The same where an empty value says something; `filled` is what the writer fills in."""
        value = wire.get(key)
        if type(value) is kind:
            return value
        if value is not None:
            return want(value, kind, f".{key}")
        if key in wire:
            self.spell(key, None)
        elif filled:
            self.miss(key)
        return None

    def scalar(self, wire: Wire, key: str) -> Any:
        """The same for a word that may be of any type but a list or an object."""
        value = scalar(wire, key)
        if value is None and key in wire:
            self.spell(key, None)
        return value

    def add(self, key: str, value: Any) -> None:
        """A key that no field has: content, unless it is null."""
        if value is None:
            self.spell(key, None)
        elif key in ASIDE:
            self.form.setdefault("$keys", {})[key] = value
        else:
            self.rest[key] = value

    def hold(self, key: str, value: Any) -> None:
        """A value that no field can hold."""
        self.rest[key] = value
        if type(value) is dict:
            self.form.setdefault("whole", []).append(key)

    def add_others(self, wire: Wire, taken: Collection[str], known: Collection[str] = ()) -> None:
        """Every key but those taken; a known one that is empty says nothing."""
        for key, value in wire.items():
            if key not in taken:
                if key in known and (value == "" or value == [] or value == {}):
                    self.spell(key, value)
                else:
                    self.add(key, value)

    def add_inside(self, wire: Wire, key: str, taken: Collection[str]) -> None:
        """The same for an object inside, every key of which is known."""
        inside = wire[key]
        if len(inside) > len(taken):
            inner = Kept()
            inner.add_others(inside, taken, inside)
            self.absorb(key, inner)

    def spell(self, key: str, value: Any) -> None:
        """A key that says nothing."""
        self.form.setdefault("spelled", {})[key] = value

    def respell(self, key: str, value: Any) -> None:
        """A key that the writer would spell otherwise."""
        self.form.setdefault("as", {})[key] = value

    def miss(self, key: str) -> None:
        """A key that the writer fills in."""
        self.form.setdefault("absent", []).append(key)

    def miss_any(self, wire: Wire, keys: Iterable[str]) -> None:
        """Those of the keys that are not there, all of which the writer fills in."""
        for key in keys:
            if key not in wire:
                self.miss(key)

    def complete(self, key: str, content: Wire, blank: Wire) -> None:
        """What an object says beyond what a field says of it."""
        if content:
            self.rest[key] = content
        if blank:
            self.spell(key, blank)
        self.form.setdefault("part", []).append(key)

    def absorb(self, key: str, inner: Kept) -> None:
        """What was kept of an object inside."""
        if inner.rest:
            self.rest[key] = inner.rest
        if inner.form:
            self.form.setdefault("inside", {})[key] = inner.form

    def raw(self, dialect: str) -> Raw | None:
        if self.form:
            return {dialect: {**self.rest, FORM: self.form}}
        return {dialect: self.rest} if self.rest else None


def fill(out: Wire, mine: Wire, fillers: Mapping[str, Any]) -> Wire:
    """Add what the wire demands, or what it had there itself, but for keys that it did without."""
    form = form_in(mine)
    gone, spelled = form.get("absent", ()), form.get("spelled", NOTHING)
    for key, value in fillers.items():
        if key not in out and key not in gone:
            out[key] = mine[key] if key in mine else spelled.get(key, value)
    return out


def restore(out: Wire, mine: Wire, fillers: Mapping[str, Any] = NOTHING) -> Wire:
    """Add what was kept to a written object wherever a place is free: fields win. Then `fillers`,
    as `fill` does."""
    form = mine.get(FORM)
    if type(form) is not dict:
        form = NOTHING
    elif len(mine) == 1 and not fillers and _MORE.isdisjoint(form):
        return _spell(out, form["spelled"], ()) if "spelled" in form else out
    parts, inside = form.get("part", ()), form.get("inside", NOTHING)
    for key, item in mine.items():
        if key in ASIDE:
            continue
        if key in inside and "part" in inside[key]:
            item = _said_with(item, out.get(key), inside[key]["part"])
            if not item:
                continue
        if key not in out:
            if key not in parts:
                out[key] = item
        elif type(item) is dict and key not in form.get("whole", ()):
            _complete(out, key, item)
    _spell(out, form.get("spelled", NOTHING), parts)
    for key, item in fillers.items():
        if key not in out and key not in form.get("absent", ()):
            out[key] = item
    if inside:
        _restore_inside(out, inside, form.get("spelled", NOTHING))
    if type(named := form.get("named")) is dict:  # stored values of Responses have it as a flag
        for key, name in named.items():
            if key in out:
                out[name] = out.pop(key)
    if "$keys" in form:
        out |= form["$keys"]
    return out


_MORE = frozenset({"part", "inside", "named", "$keys"})
"""Words that say more than which keys say nothing."""


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
        said = out.get(key)
        if said is None or type(said) is dict:
            out[key] = restore(dict(said or NOTHING), {FORM: inner})
            if not out[key] and key not in spelled:
                del out[key]


def _complete(out: Wire, key: str, item: Wire) -> None:
    if type(out[key]) is dict:
        out[key] = merge(item, out[key])


def _said_with(kept: Any, said: Any, parts: list[str]) -> Any:
    """What was kept of an object inside, without what completed keys that are not said now."""
    if type(kept) is not dict:
        return kept
    there = said if type(said) is dict else NOTHING
    return {key: item for key, item in kept.items() if key not in parts or key in there}


def merge(kept: Wire, said: Wire) -> Wire:
    """Two objects as one; what is said wins."""
    out = dict(kept)
    for key, item in said.items():
        other = out.get(key)
        if type(item) is dict and type(other) is dict:
            item = merge(other, item)
        out[key] = item
    return out


def put_back(
    out: Wire, value: Value, raw: Raw | None, recorder: LossRecorder, field: str = "raw"
) -> Wire:
    """A written object with what its dialect kept of it; what others kept is a loss."""
    if raw is None:
        return out
    mine = raw.get(recorder.dialect)
    if type(mine) is dict:
        restore(out, mine)
    if mine is None or len(raw) > 1:
        recorder.unwritten_raw(value, raw, field)
    return out


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Wire | None:
    """What this dialect did not know goes home unchanged; what others did not has no place."""
    wire = block.raw.get(recorder.dialect)
    if type(wire) is not dict:
        recorder.dropped(block, "another dialect's")
        return None
    if block.cache is not None or len(block.raw) > 1:
        recorder.unwritten(block, frozenset())
    return wire
