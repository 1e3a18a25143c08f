"""How objects of the wire are spelled: camelCase or snake_case, null, nothing at all.

The service takes both key styles, also mixed in one body. A reader takes an object apart with
`Taking`, which notes every spelling that the writer would not choose by itself; `spell` uses the
notes on the way home. The notes of one object:

    snake   these keys were in snake_case
    null    these were null
    absent  these the writer always writes, and the wire had none
    nil     these the writer always writes, and the wire had null
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from interlingua.dialects.base import WORDS, Scribe, Wire, keep
from interlingua.dialects.gemini.tables import NAME
from interlingua.errors import ReadError, found
from interlingua.model.base import Raw, Value, _defaults, same

V = TypeVar("V")
Place = tuple[Any, str | int] | None
"""Where an object stands: the place around it, and the last step. Written out only in an error."""

_MISSING = object()
NO_JSON = object()
_NOTHING: Wire = {}


class WrongShapeError(Exception):
    """A wrong shape at a place; the reader of the whole body makes an error of it."""

    def __init__(self, place: Place, expected: str, value: Any) -> None:
        self.place = place
        self.expected = expected
        self.found = found(value)

    def error(self, what: str) -> ReadError:
        return ReadError(f"{NAME} {what}", _path(self.place), self.expected, self.found)


def _path(place: Place) -> str:
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(f"[{step}]" if type(step) is int else f".{step}")
    return "$" + "".join(reversed(steps))


class _Snake(dict[str, str]):
    """Keys in snake_case, worked out once each."""

    def __missing__(self, name: str) -> str:
        snake = self[name] = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
        return snake


SNAKE = _Snake()


class Taking:
    """An object that is being taken apart: `left` is what nobody took, `form` its spelling."""

    __slots__ = ("form", "left", "place")

    def __init__(self, wire: Any, place: Place = None) -> None:
        if type(wire) is not dict:
            raise WrongShapeError(place, "an object", wire)
        self.left: Wire = wire.copy()
        self.form: Wire = {}
        self.place = place

    def take(self, name: str, kind: type[V], due: bool = False) -> V | None:
        """The value of a key in either style, None where there is none. `due` is what the writer
        writes in any case."""
        value = self.left.pop(name, _MISSING)
        if value is _MISSING:
            value = self.left.pop(SNAKE[name], _MISSING)
            if value is _MISSING:
                if due:
                    self.note("absent", name)
                return None
            self.note("snake", name)
        if type(value) is kind:
            return value
        if value is None:
            self.note("nil" if due else "null", name)
            return None
        if kind is float and type(value) is int:
            return value  # type: ignore[return-value]  # an integer is a number
        if kind is int and type(value) is float and value.is_integer():
            return int(value)  # type: ignore[return-value]  # JSON knows one kind of number
        raise WrongShapeError((self.place, name), WORDS[kind], value)

    def take_strings(self, name: str) -> tuple[str, ...] | None:
        """A list of strings."""
        items = self.take(name, list)
        if items is None:
            return None
        for index, item in enumerate(items):
            if type(item) is not str:
                raise WrongShapeError(((self.place, name), index), "a string", item)
        return tuple(items)

    def inside(self, name: str, due: bool = False) -> Taking | None:
        """An object inside this one."""
        value = self.take(name, dict, due)
        return None if value is None else Taking(value, (self.place, name))

    def has(self, name: str) -> bool:
        """Whether the key holds something, in either style."""
        value = self.left.get(name)
        return value is not None or self.left.get(SNAKE[name]) is not None

    def note(self, kind: str, name: str) -> None:
        self.form.setdefault(kind, []).append(name)

    def absorb(self, name: str, inner: Taking) -> None:
        """Keep what is left of an inner object, and its spelling, with this one."""
        if inner.left:
            self.left[name] = inner.left
        if inner.form:
            self.form[name] = inner.form

    def raw(self) -> Raw | None:
        return keep(NAME, self.left, self.form)


def spell(out: Wire, form: Wire) -> Wire:
    """A new object as the wire had it, where its values are still those that were read."""
    for name in form.get("absent", ()):
        if _is_blank(out.get(name)):
            out.pop(name, None)
    for name in form.get("nil", ()):
        if _is_blank(out.get(name)):
            out[name] = None
    for name in form.get("null", ()):
        out.setdefault(name, None)
    for name in form.get("snake", ()):
        if name in out:
            out[SNAKE[name]] = out.pop(name)
    return out


def _is_blank(value: Any) -> bool:
    return value is None or (not value and type(value) in (str, dict, list))


def mine(raw: Raw | None) -> tuple[Wire, Wire]:
    """What was kept for this dialect: content and spelling."""
    if raw is None:
        return _NOTHING, _NOTHING
    kept = raw.get(NAME)
    if type(kept) is not dict:
        return _NOTHING, _NOTHING
    form = kept.get("$form")
    if form is None:
        return kept, _NOTHING
    rest = {key: value for key, value in kept.items() if key != "$form"}
    return rest, form if type(form) is dict else _NOTHING


def dress(out: Wire, name: str, raw: Raw | None) -> Wire:
    """A new object, with what was kept beside its fields and beside those of the object `name`
    inside it, spelled as it was."""
    rest, form = mine(raw)
    inner = out.get(name)
    for key, value in rest.items():
        if key == name and type(value) is dict and type(inner) is dict:
            for each, item in value.items():
                inner.setdefault(each, item)
        else:
            out.setdefault(key, value)
    if form:
        if type(inner) is dict and name in form:
            spell(inner, form[name])
        if form.get("thought") is False:
            out.setdefault("thought", False)
        spell(out, form)
    return out


def account(value: Value, said: frozenset[str], scribe: Scribe) -> None:
    """Report what was not said of a block or tool; nothing to do in the plain case."""
    raw = value.raw  # type: ignore[attr-defined]  # all that are accounted for have one
    if raw is not None or value.cache is not None:  # type: ignore[attr-defined]  # the same
        scribe.unsaid(value, said)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def json_text(value: Any) -> str:
    return _encode(value).decode()


def json_value(text: str) -> Any:
    """What a text says in JSON; `NO_JSON` where it is none."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return NO_JSON


def settle(
    value: Value | None,
    said: frozenset[str] | None,
    wires: list[Wire],
    read: Callable[[Taking], Value | None],
    scribe: Scribe,
) -> Wire:
    """The first of several wires that reads as `value`; else the last, and what it cannot say is
    reported. `said` narrows the comparison to some fields."""
    for wire in wires:
        odd = _differing(value, read(Taking(wire)), said)
        if not odd:
            return wire
    for name in odd:
        if name:
            scribe.lost(value, name, "only something near it can be said", kind="approximated")
    return wires[-1]


def _differing(value: Value | None, back: Value | None, said: frozenset[str] | None) -> list[str]:
    if value is None or back is None:
        # One of them says nothing: that alone is no field to report.
        differing = [] if value is back else [""]
        if value is None:
            return differing
        defaults = _defaults(type(value))
        names = [n for n in value.__struct_fields__ if not same(getattr(value, n), defaults[n])]
        return [*differing, *names]
    return [
        name
        for name in value.__struct_fields__
        if (said is None or name in said) and not same(getattr(value, name), getattr(back, name))
    ]
