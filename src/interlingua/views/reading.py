"""Objects of a wire, read field by field, each with its place in case it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from interlingua.dialects.kernel.errors import ShapeError, want
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.wire import WORDS
from interlingua.errors import ReadError, found
from interlingua.model.base import JsonObject, Raw
from interlingua.views.base import FORM, step

T = TypeVar("T")


def item_list(view: str, plain: Any, path: str = "$") -> list[tuple[Any, str]]:
    """The items of a list, each with its path."""
    if not isinstance(plain, list):
        raise ReadError(f"{view} view", path, "a list", found(plain))
    return [(item, f"{path}[{number}]") for number, item in enumerate(plain)]


class Fields:
    """One object of the wire: fields are taken out of it, what is left over is kept."""

    def __init__(self, view: str, plain: Any, path: str) -> None:
        self.view = view
        self.path = path
        if not isinstance(plain, dict):
            raise self.error("", "an object", found(plain))
        if FORM in plain:
            raise self.error(FORM, "no key of this name", found(plain[FORM]))
        self.left: JsonObject = dict(plain)
        self.blank: JsonObject = {}
        """How the wire said of a field that there is none: null, or an empty value."""
        self.inside: dict[str, Fields] = {}

    def error(self, name: str, expected: str, what: str) -> ReadError:
        return ReadError(f"{self.view} view", self.place(name), expected, what)

    def place(self, name: str) -> str:
        return step(self.path, name) if name else self.path

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """The field, or None where it is missing or null."""
        if name not in self.left:
            return None
        value = self.left.pop(name)
        if value is None:
            self.blank[name] = None
            return None
        try:
            return want(value, kind)
        except ShapeError as error:
            raise self.error(name, error.expected, error.found) from None

    def text_or_list(self, name: str) -> str | list[Any] | None:
        value = self.left.get(name)
        kind: type[str] | type[list[Any]] = list if isinstance(value, list) else str
        if value is not None and not isinstance(value, (str, list)):
            raise self.error(name, "a string or a list", found(value))
        return self.maybe(name, kind)

    def filled(self, name: str, kind: type[T]) -> T | None:
        """The field, or None also where it is empty."""
        value = self.maybe(name, kind)
        if value is not None and not value:
            self.blank[name] = value
            return None
        return value

    def need(self, name: str, kind: type[T]) -> T:
        value = self.maybe(name, kind)
        if value is None:
            raise self.error(name, WORDS[kind], "null" if name in self.blank else "nothing")
        return value

    def word(self, name: str, table: Mapping[str, T]) -> T:
        """What a table says about the word in a field; a word that is not in it is an error."""
        return self.known(name, self.need(name, str), table)

    def known(self, name: str, word: str, table: Mapping[str, T]) -> T:
        if word not in table:
            what = repr(word) if len(word) <= 32 else found(word)
            raise self.error(name, f"one of {', '.join(table)}", what)
        return table[word]

    def items(self, name: str) -> list[tuple[Any, str]]:
        return item_list(self.view, self.need(name, list), self.place(name))

    def within(self, name: str) -> Fields:
        """The object in a field; what is left over in it is kept with the rest."""
        self.inside[name] = Fields(self.view, self.need(name, dict), self.place(name))
        return self.inside[name]

    def raw(self, **form: Any) -> Raw | None:
        """What to keep: the rest, and of the spelling whatever is not None."""
        kept = self._kept()
        kept.form.update({name: item for name, item in form.items() if item is not None})
        return kept.raw(self.view)

    def _kept(self) -> Kept:
        kept = Kept()
        kept.add_others(self.left, ())
        for name, item in self.blank.items():
            kept.spell(name, item)
        for name, fields in self.inside.items():
            kept.absorb(name, fields._kept())
        return kept
