"""One table per wire object, read both ways. A dialect lists the keys; what every key needs (types,
nulls, unknown keys, odd spellings, keys that the wire requires, losses) is done here, once.

    OPTIONS = Table(
        Options,
        plain("max_tokens", "max_output_tokens", int, fill=lambda options: 4096),
        inside("sampling", plain("temperature", "temperature", float), strings("stop", "stop")),
        word("service_tier", "service_tier", SERVICE_TIERS),
        Field("thinking", ("reasoning",), read_thinking, write_thinking),
        lost("seed", "this wire has no dice", severity="info"),
    )

    options = OPTIONS.read_value(Options, wire, NAME)
    out = OPTIONS.write_value(options, recorder)

`read` and `write` do the same for a part of a value, whose `raw` the caller makes and restores.

**A spelling is preserved only if writing the value that was read gives another one, and used only
while reading it again gives the attributes beside it.** So edits win, and a dialect needs no word
for any spelling. The price is one writing of each key that is not `plain`, when it is read.

The kinds of keys:

    the wire has                         reading gives                     it is written back as
    -----------------------------------  --------------------------------  ------------------
    a value that the field reads         attributes                        what `write` says
    the same, spelled otherwise          attributes, and `$form.as`        spelled so
    the same, in a more specific word     attributes and content            that word
    an object with more keys than that   attributes, content, `.part`      the sum of both
    a value no field can hold: NOT_OURS  content                           content
    null; what reads as no attributes    `$form.spelled`                   null, or that
    no such key, though one is filled    `missing`, and `$form.absent`     no such key
    an unknown key                       content                           content
    the wrong type                       `ShapeError` with its place

A value is any struct with the attributes: a canonical one, or a small one of the dialect's own
for an object that is no value by itself (a message of the wire, between blocks and keys)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import compress
from operator import is_not
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import astuple

from interlingua.dialects.kernel.errors import EXACT, ShapeError, require
from interlingua.dialects.kernel.preserved import (
    ASIDE,
    NOTHING,
    Preserved,
    raw_inside,
    raw_of,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder, Quiet
from interlingua.dialects.kernel.wire import WORDS, Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.base import REQUIRED, _defaults, same
from interlingua.model.losses import LossKind, Report, Severity
from interlingua.model.reasons import Reason, because

T = TypeVar("T")

Attrs = dict[str, Any]
"""Attributes of a value, by name."""


class _NotOurs:
    def __repr__(self) -> str:
        return "NOT_OURS"


NOT_OURS: Final = _NotOurs()
"""The result of `read` for a value that no field can hold: it stays in `raw`."""
Reading = Attrs | _NotOurs
"""The attributes that a key sets."""
QUIET: Final = Quiet("fields", None, Report("fields"))
_ASIDE = frozenset({"raw", "provider_raw"})
_WORDS = frozenset({str, bool})
_HOLLOW = frozenset({list, dict})
_MOST_WORDS = 256
_HERE: Final[tuple[str, ...]] = ()
"""The way to an object itself."""
_SILENT: Final = object()
"""The default of an attribute that another function accounts for."""


class Field(NamedTuple):
    """One key of a wire object, and the attributes it stands for. `plain`, `word`, `together`
    and the others below create the usual ones."""

    key: str
    attrs: tuple[str, ...]
    read: Callable[[Any], Reading]
    """Reads the wire's value, which is never null, into attributes; none where it has no
    meaning. Raises `ShapeError` for a wrong type, with a path below this key."""
    write: Callable[[Any, LossRecorder], Any]
    """Writes the wire's value for an object with the attributes, None for no value. Called if
    one of the attributes is set; reports to the recorder what the wire cannot express."""
    fill: Callable[[Any], Any] | None = None
    """The required value if the attributes have none; None leaves the key out after all."""
    missing: Attrs | None = None
    """The attributes that the key's absence, and null, mean."""
    few: bool = False
    """Whether its values are few strings and booleans: the reading of each is cached."""
    kind: type | None = None
    """Attribute and wire are the same, of this JSON type: neither `read` nor `write` is called."""
    fits: Callable[[Any], bool] | None = None
    """With a `kind`: whether the attribute can hold this value."""
    keys: tuple[str, ...] = ()
    """Keys that belong together: `read` and `write` use an object of those that are present."""
    table: Table | None = None
    """For an object inside: its own table."""
    more: Callable[[Any], bool] | None = None
    """Whether an unusual spelling means more than the attributes: it is content then, and
    written back while they are unchanged."""


# -- the usual fields -----------------------------------------------------------------------------


def plain(
    key: str,
    attr: str,
    kind: type,
    *,
    blank: bool = False,
    lenient: bool = False,
    fits: Callable[[Any], bool] | None = None,
    fill: Callable[[Any], Any] | None = None,
    missing: Any = None,
) -> Field:
    """A value that is the same on both sides. An empty one means nothing where it is `blank`.
    One that does not fit is content; where a field has it, it is written all the same, and
    reported. One of another type is content where the field is `lenient`. `missing` is the
    attribute's value if the key is absent."""

    def read(wire_value: Any) -> Reading:
        if lenient and type(wire_value) not in _kinds(kind):
            return NOT_OURS
        found: Any = require(wire_value, kind)
        if fits is not None and not fits(found):
            return NOT_OURS
        return {} if blank and not found else {attr: found}

    def write(value: Any, recorder: LossRecorder) -> Any:
        item = getattr(value, attr)
        if fits is not None and not fits(item):
            recorder.lost(value, attr, because("out_of_range"), kind="approximated")
        return item

    test = fits or (bool if blank else _is_exact if kind is float else None)
    absent = None if missing is None else {attr: missing}
    return Field(key, (attr,), read, write, fill, absent, kind=kind, fits=test)


def _is_exact(number: float) -> bool:
    return -EXACT < number < EXACT


def word(
    key: str,
    attr: str,
    table: TwoWay[str, Any],
    *,
    near: Mapping[Any, str] = NOTHING,
    reason: str | None = None,
) -> Field:
    """A word of a table. One without an entry is content, or `otherwise` if the table has that.
    A value without a word is written as its neighbour in `near` (`approximated`), or lost."""

    def read(wire_value: Any) -> Reading:
        meant = table.read(require(wire_value, str))
        return NOT_OURS if meant is None else {attr: meant}

    def write(value: Any, recorder: LossRecorder) -> str | None:
        meant = getattr(value, attr)
        wire_word = table.write(meant)
        if wire_word is None:
            wire_word = near.get(meant)
            kind: LossKind = "dropped" if wire_word is None else "approximated"
            recorder.lost(
                value,
                attr,
                reason or (wire_word and because("sent_as", value=wire_word)),
                kind=kind,
            )
        return wire_word

    return Field(key, (attr,), read, write, few=True)


def one_of(
    key: str, attr: str, words: Collection[Any], kind: type = str, *, lenient: bool = False
) -> Field:
    """An enumerated value, which may be empty; an unknown one is written only where it was read."""

    def write(value: Any, recorder: LossRecorder) -> Any:
        item = getattr(value, attr)
        if item in words:
            return item
        recorder.lost(value, attr, because("value_unsupported") if words else None)
        return None

    return plain(key, attr, kind, lenient=lenient)._replace(write=write, kind=None, few=True)


def strings(key: str, attr: str, *, alone: bool = False) -> Field:
    """A list of strings. With `alone` the wire may have a single one in place of a list."""

    def read(wire_value: Any) -> Attrs:
        if alone and type(wire_value) is str:
            return {attr: (wire_value,)}
        for index, item in enumerate(require(wire_value, list)):
            require(item, str, f"[{index}]")
        return {attr: tuple(wire_value)}

    return Field(key, (attr,), read, lambda value, _: list(getattr(value, attr)))


def constant(key: str, value: Any, kind: type | None = None) -> Field:
    """A key with a constant value. Another value, of this type if there is one, is spelling:
    there is no field for it."""

    def read(wire_value: Any) -> Attrs:
        if kind is not None:
            require(wire_value, kind)
        return {}

    return Field(key, (), read, lambda _, __: value, fill=lambda _: value)


def usual(key: str, value: Any, *, filled: bool = False) -> Field:
    """A key that is a default with this value, which is `filled` in where the wire requires it.
    Any other value is content."""
    fill = (lambda _: value) if filled else None
    return Field(
        key,
        (),
        lambda wire_value: {} if wire_value == value else NOT_OURS,
        lambda _, __: None,
        fill=fill,
    )


def spelling(key: str) -> Field:
    """A key without canonical content, which is no loss anywhere."""
    return Field(key, (), lambda _: {}, lambda _, __: None)


def content(key: str, fill: Callable[[Any], Any]) -> Field:
    """A required key that no field holds: `fill` has its value."""
    return Field(key, (), lambda _: NOT_OURS, lambda _, __: None, fill=fill)


Through = tuple[Callable[[Wire, Preserved], Wire], Callable[[Wire, Wire], None]]
"""Steps for an object before it is read; and after it is written, with its preserved data."""


def inside(key: str, *fields: Field, through: Through | None = None) -> Field:
    """An object inside this one, whose fields are attributes of the same value."""
    table = Table(None, *fields, through=through)
    return Field(key, table.attrs, lambda _: NOT_OURS, lambda _, __: None, table=table)


def together(
    keys: tuple[str, ...],
    attrs: tuple[str, ...],
    read: Callable[[Wire], Reading],
    write: Callable[[Any, LossRecorder], Wire],
) -> Field:
    """Keys that make sense only together, as an object of those that are present and not null. A
    key that writing does not reproduce is content if the others mean the same without it; false,
    0 and empty ones are spelling. One that only writing produces is left out again as long as
    the others mean the same."""
    return Field(keys[0], attrs, read, write, keys=keys)


def lost(
    attr: str,
    reason: Reason | None = None,
    *,
    kind: LossKind = "dropped",
    severity: Severity | None = None,
) -> Field:
    """An attribute without a key in the wire, if its loss needs a reason of its own."""

    def write(value: Any, recorder: LossRecorder) -> None:
        recorder.lost(value, attr, reason, kind=kind, severity=severity)

    return Field("", (attr,), lambda _: {}, write)


# -- the table ------------------------------------------------------------------------------------


class _Slot(NamedTuple):
    """The key of one attribute, for writing."""

    name: str
    default: Any
    key: str | None
    """If the attribute itself is the wire's value."""
    fits: Callable[[Any], bool] | None
    field: Field | None
    outers: tuple[str, ...]
    """The nested objects, from the outermost on; the last one has the key."""
    table: Table


class Table:
    """The keys of a wire object and the attributes of a value. `beside` are keys of the object
    that other code reads and writes; `silent` are attributes that other code accounts for.
    `also_named` gives the other name of a key, where the wire takes two, in objects inside too.
    In a `blank` one an empty list or object under an unknown key is spelling, as null is
    everywhere. What concerns several keys goes `through` two functions."""

    def __init__(
        self,
        cls: type[msgspec.Struct] | None,
        *fields: Field,
        beside: Collection[str] = (),
        silent: Collection[str] = (),
        also_named: Callable[[str], str] | None = None,
        blank: bool = False,
        through: Through | None = None,
    ) -> None:
        named = [field for field in fields if field.key]
        self.fields = fields
        self.attrs = tuple([attr for field in fields for attr in field.attrs])
        self.keys = frozenset([key for field in named for key in field.keys or (field.key,)])
        self._fields = {field.key: field for field in named if not field.keys}
        self._groups = [(frozenset(field.keys), field) for field in fields if field.keys]
        self._beside = frozenset(beside).union(*[keys for keys, _ in self._groups])
        self._plain = {f.key: (_kinds(f.kind), f.attrs[0], f.fits) for f in named if f.kind}
        self._due = [(f.key, f.missing) for f in named if f.missing is not None or f.fill]
        self._filled = [(f, f.fill, f.missing) for f in named if f.fill]
        self._inside = [(field.key, field.table) for field in fields if field.table]
        self._other_names: dict[str, str] = {}
        self._known = self._fields.keys() - self._beside
        self._words: dict[tuple[str, Any], Attrs] = {}
        self._hollow = _HOLLOW if blank else frozenset()
        self._through = through
        for _, table in self._all():
            table._hollow = self._hollow
            if also_named:
                others = {also_named(key): key for key in table.keys | table._beside}
                table._other_names = {name: key for name, key in others.items() if name != key}
        self._values: Attrs = dict.fromkeys(self.attrs)
        self._needed: list[tuple[str, str, type]] = []
        if cls is not None:
            self._lay_out(cls, frozenset({*silent, *_ASIDE}))

    def _all(self, outers: tuple[str, ...] = _HERE) -> Iterator[tuple[tuple[str, ...], Table]]:
        """This table and those of all objects inside, each with the way to it."""
        yield outers, self
        for key, table in self._inside:
            yield from table._all((*outers, key))

    def _lay_out(self, cls: type[Any], silent: frozenset[str]) -> None:
        """For writing: the field of each attribute, in the order of the struct's fields."""
        positions = [*self._all()]
        by_attr = {
            attr: (field, outers, table)
            for outers, table in positions
            for field in table.fields
            for attr in field.attrs
        }
        defaults = _defaults(cls)
        for _, table in positions:
            table._values |= {n: v for n, v in defaults.items() if v is not REQUIRED}
        self._slots: list[_Slot] = []
        for name, default in defaults.items():
            field, outers, table = by_attr.get(name, (None, _HERE, self))
            direct = field.key if field and field.kind else None
            fits = field.fits if field else None
            skipped = _SILENT if field is None and name in silent else default
            self._slots.append(_Slot(name, skipped, direct, fits, field, outers, table))
            if default is REQUIRED and field and field.kind and not outers:
                self._needed.append((name, field.key, field.kind))
        self._defaults = list(defaults.values())
        self._numbers = range(len(defaults))

    # -- reading ----------------------------------------------------------------------------------

    def read(self, wire: Wire, preserved: Preserved) -> Attrs:
        """The attributes of an object; members that no field holds go into `kept`."""
        attrs: Attrs = {}
        if self._other_names:
            wire = self.usual(wire, preserved)
        if self._through is not None:
            wire = self._through[0](wire, preserved)
        plain, known, beside, rest = self._plain, self._known, self._beside, preserved.rest
        for key, wire_value in wire.items():
            direct = plain.get(key)
            if direct is not None and type(wire_value) in direct[0]:
                fits = direct[2]
                if fits is None or fits(wire_value):
                    attrs[direct[1]] = wire_value
                    continue
            if key in known:
                self._read_key(key, wire_value, attrs, preserved)
            elif key not in beside:
                if wire_value is None or key in ASIDE:
                    preserved.add(key, wire_value)
                elif not wire_value and type(wire_value) in self._hollow:
                    preserved.keep_spelling(key, wire_value)
                else:
                    rest[key] = wire_value
        for keys, field in self._groups:
            if not keys.isdisjoint(wire):
                self._read_together(field, wire, attrs, preserved)
        for key, missing in self._due:
            if wire.get(key) is None:
                if missing is not None:
                    attrs.update(missing)
                if key not in wire:
                    preserved.mark_absent(key)
        return attrs

    def read_value(
        self,
        cls: Callable[..., T],
        wire: Wire,
        dialect: str,
        preserved: Preserved | None = None,
        **more: Any,
    ) -> T:
        """Reads an object into a value, with the members that only its sender understands.
        `more` are attributes that no field reads; a required one that is missing is an error."""
        preserved = Preserved() if preserved is None else preserved
        attrs = self.read(wire, preserved)
        for attr, key, kind in self._needed:
            if attr not in attrs and attr not in more:
                raise ShapeError(f".{key}", WORDS[kind], wire.get(key))
        return cls(**attrs, **more, raw=preserved.raw(dialect))

    def usual(self, wire: Wire, preserved: Preserved) -> Wire:
        """An object with the usual names of its keys, for code that reads other keys. If both names
        are present, the other one is not renamed."""
        others = self._other_names
        if others.keys().isdisjoint(wire):
            return wire
        out: Wire = {}
        named = preserved.spelling.setdefault("named", {})
        for key, item in wire.items():
            name = others.get(key, key)
            if name != key and name in wire:
                name = key
            elif name != key:
                named[name] = key
            out[name] = item
        if not named:
            del preserved.spelling["named"]
        return out

    def _read_key(self, key: str, wire_value: Any, attrs: Attrs, preserved: Preserved) -> None:
        field = self._fields.get(key)
        if field is not None and field.few and type(wire_value) in _WORDS:
            known = self._words.get((key, wire_value))
            if known is not None:
                attrs.update(known)
                return
        if field is None or wire_value is None:
            preserved.add(key, wire_value)
            return
        try:
            if field.table is not None:
                field.table.read_inside(key, wire_value, attrs, preserved)
                return
            found = field.read(wire_value)
        except ShapeError as error:
            raise error.inside(f".{key}") from None
        if found is NOT_OURS:
            preserved.hold(key, wire_value)
            return
        attrs.update(found)  # type: ignore[arg-type]  # attributes
        if found:
            rewritten = field.write(self._stand_in(found), QUIET)
            if same(wire_value, rewritten):
                if field.few and type(wire_value) in _WORDS and len(self._words) < _MOST_WORDS:
                    self._words[key, wire_value] = found  # type: ignore[assignment]  # attributes
            else:
                _compare(key, wire_value, rewritten, preserved, field.more)
        elif field.attrs or field.fill is None or not same(wire_value, field.fill(None)):
            preserved.keep_spelling(key, wire_value)

    def read_inside(self, key: str, wire_value: Any, attrs: Attrs, preserved: Preserved) -> None:
        """The same for an object inside another, which has the attributes."""
        inner = Preserved()
        attrs.update(self.read(require(wire_value, dict), inner))
        if not wire_value:
            preserved.keep_spelling(key, wire_value)
        preserved.absorb(key, inner)

    def _read_together(self, field: Field, wire: Wire, attrs: Attrs, preserved: Preserved) -> None:
        part = {key: wire[key] for key in field.keys if key in wire}
        present = {key: item for key, item in part.items() if item is not None}
        for key in part:  # in its order, which is the same in every process
            if key not in present:
                preserved.keep_spelling(key, None)
        found = field.read(present)
        if found is NOT_OURS:
            for key, item in present.items():
                preserved.hold(key, item)
            return
        attrs.update(found)  # type: ignore[arg-type]  # attributes
        rewritten = field.write(self._stand_in(found), QUIET) if found else {}
        for key, item in present.items():
            if key in rewritten:
                _compare(key, item, rewritten[key], preserved, field.more)
            elif _is_blank(item):
                preserved.keep_spelling(key, item)
            elif field.read({other: present[other] for other in present if other != key}) == found:
                preserved.rest[key] = item
            else:
                preserved.keep_respelled(key, item)
        for key in rewritten:
            if key not in part:
                preserved.mark_absent(key)

    def _stand_in(self, attrs: Any) -> Any:
        """A value with these attributes, and no others."""
        return _StandIn({**self._values, **attrs})

    # -- writing ----------------------------------------------------------------------------------

    def write(self, value: Any, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
        """Writes a value into an object, in its preserved spelling (`preserved.restore` then
        adds the rest), and reports what the wire cannot express."""
        spelled = inner = _Spelled(own_raw) if own_raw else _AS_WE_DO
        position, target = _HERE, out
        written: list[str] = []
        values = astuple(value)
        for number in compress(self._numbers, map(is_not, values, self._defaults)):
            item = values[number]
            if item is None:
                continue
            name, default, key, fits, field, outers, table = self._slots[number]
            if field is None:
                if default is not _SILENT and not same(item, default):
                    recorder.lost(value, name)
                continue
            if outers is not position:
                position, target, inner = outers, out, spelled
                for outer in outers:
                    target = target.setdefault(outer, {})
                    inner = inner.inside(outer)
            if key is not None and key not in inner.odd and (fits is None or fits(item)):
                target[key] = item
            elif field.attrs[0] not in written:  # its other attributes are written with the first
                written.append(field.attrs[0])
                table._write_field(field, value, target, inner, recorder)
        self._fill(value, out, spelled)

    def write_value(self, value: Any, recorder: LossRecorder, out: Wire | None = None) -> Wire:
        """The object for a value, with everything that was preserved of it; `out` has what is
        written already."""
        out = {} if out is None else out
        raw = value.raw
        self.write(value, out, raw_of(recorder.dialect, raw), recorder)
        return out if raw is None else restore_raw(out, value, raw, recorder)

    def _write_field(
        self, field: Field, value: Any, out: Wire, spelled: _Spelled, recorder: LossRecorder
    ) -> None:
        key = field.key
        if not key:
            field.write(value, recorder)
        elif field.missing is not None and key in spelled.gone and _has_attrs(value, field.missing):
            return
        elif field.keys:
            out.update(self._write_together(field, value, spelled, recorder))
        elif (old := spelled.spelling(field, key)) is not None and self._still_means(
            field, old, value
        ):
            out[key] = old
        elif (wire_value := field.write(value, recorder)) is not None:
            out[key] = wire_value

    def _write_together(
        self, field: Field, value: Any, spelled: _Spelled, recorder: LossRecorder
    ) -> Wire:
        preserved = [(key, spelled.spelling(field, key)) for key in field.keys]
        old = {key: item for key, item in preserved if item is not None}
        gone = spelled.left_out(field.keys)
        if old or gone:
            usual: Wire = field.write(value, QUIET)
            respelled = {key: item for key, item in usual.items() if key not in gone} | old
            if self._still_means(field, respelled, value):
                return respelled
        written: Wire = field.write(value, recorder)
        return written

    def _still_means(self, field: Field, old: Any, value: Any) -> bool:
        """Whether a spelling still means the value."""
        try:
            found = field.read(old)
        except ShapeError:
            return False
        if isinstance(found, _NotOurs):
            return False
        return _has_attrs(
            value, {attr: found.get(attr, self._values[attr]) for attr in field.attrs}
        )

    def _fill(self, value: Any, out: Wire, spelled: _Spelled) -> None:
        """Adds the keys that the wire requires, in objects inside as well; an object that stays
        empty is removed."""
        for outer, table in self._inside:
            if outer in out:
                table._fill(value, out[outer], spelled.inside(outer))
                if not out[outer]:
                    del out[outer]
        for field, fill, missing in self._filled:
            key = field.key
            if key in out:
                continue
            old = None if spelled is _AS_WE_DO else spelled.spelling(field, key)
            if old is not None and self._still_means(
                field, {key: old} if field.keys else old, value
            ):
                out[key] = old
            elif field.more is not None and old is not None:
                out[key] = fill(value)
            elif key not in spelled.gone or not (missing is None or _has_attrs(value, missing)):
                filled = fill(value)
                if filled is not None:
                    out[key] = filled
        if self._through is not None and spelled is not _AS_WE_DO:
            self._through[1](out, spelled.own_raw)


class _StandIn:
    """Attributes without a type."""

    def __init__(self, attrs: Attrs) -> None:
        self.__dict__ = attrs


class _Spelled:
    """The spelling of an object, for writing it again."""

    __slots__ = ("_inside", "_spelling", "gone", "odd", "old", "own_raw")

    def __init__(self, own_raw: Wire) -> None:
        self.own_raw = own_raw
        self._inside: dict[str, _Spelled] | None = None
        self._spelling = spelling = spelling_in(own_raw)
        self.old: Wire = spelling.get("as", NOTHING)
        """Spellings that differ from the writer's."""
        self.gone: Collection[str] = own_raw
        """Keys that need no value: they were absent, or their value is preserved."""
        if "absent" in spelling or "spelled" in spelling:
            self.gone = {*own_raw, *spelling.get("absent", ()), *spelling.get("spelled", ())}
        self.odd = {*self.gone, *self.old} if self.old else self.gone
        """Keys that need a second look before they are written."""

    def spelling(self, field: Field, key: str) -> Any:
        """The spelling of a key, if it is unusual."""
        old = self.old.get(key)
        if old is None and field.more is not None:
            word = self.own_raw.get(key)
            return word if word is not None and field.more(word) else None
        return old

    def left_out(self, keys: tuple[str, ...]) -> list[str]:
        """The keys that the wire did not have, or had with an empty value."""
        spelling, parts = self._spelling, self._spelling.get("part", ())
        nothing, absent = spelling.get("spelled", NOTHING), spelling.get("absent", ())
        return [key for key in keys if key in absent or (key in nothing and key not in parts)]

    def inside(self, key: str) -> _Spelled:
        """The same for an object inside."""
        if not self.gone:
            return self
        if self._inside is None:
            self._inside = {}
        found = self._inside.get(key)
        if found is None:
            found = self._inside[key] = _Spelled(raw_inside(self.own_raw, key))
        return found


_AS_WE_DO: Final = _Spelled(NOTHING)


def _kinds(kind: type | None) -> frozenset[type | None]:
    """The types of Python that are of a JSON type without further ado."""
    return frozenset({float, int}) if kind is float else frozenset({kind})


def _is_blank(item: Any) -> bool:
    """Whether a value is empty, with all objects inside."""
    if type(item) is dict:
        return all(
            each is None or (type(each) is dict and _is_blank(each)) for each in item.values()
        )
    return not item


def _has_attrs(value: Any, attrs: Attrs) -> bool:
    return all(same(getattr(value, attr), item) for attr, item in attrs.items())


def _compare(
    key: str,
    original: Any,
    rewritten: Any,
    preserved: Preserved,
    more: Callable[[Any], bool] | None = None,
) -> None:
    """Preserves the spelling of a key, or the part of its meaning that the writer would not
    write."""
    if same(original, rewritten):
        return
    if more is not None and more(original):
        preserved.rest[key] = original
        preserved.spelling.setdefault("part", []).append(key)
        return
    beyond = None
    if type(original) is dict and type(rewritten) is dict:
        beyond = _beyond(original, rewritten)
    if beyond is None:
        preserved.keep_respelled(key, original)
    else:
        preserved.complete(key, *beyond)


def _beyond(original: Wire, rewritten: Wire) -> tuple[Wire, Wire] | None:
    """The members of an object beyond another's, content and nulls; None if they contradict."""
    content: Wire = {}
    blank: Wire = {}
    if not rewritten.keys() <= original.keys():
        return None
    for key, item in original.items():
        other = rewritten.get(key)
        if key not in rewritten:
            (blank if item is None else content)[key] = item
        elif type(item) is dict and type(other) is dict:
            inner = _beyond(item, other)
            if inner is None:
                return None
            content |= {key: inner[0]} if inner[0] else {}
            blank |= {key: inner[1]} if inner[1] else {}
        elif not same(item, other):
            return None
    return content, blank
