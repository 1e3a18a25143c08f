"""What all views use: objects of a wire read field by field, and the spelling they preserve.

A view preserves unknown fields under its own name in `raw`, and how the wire spelled things in
`$form` there, as the dialects' kernel does, so that what came from a view goes back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.preserved import FORM, Preserved, restore, spelling_in, spelling_of
from interlingua.dialects.kernel.preserved import raw_of as own_raw
from interlingua.dialects.kernel.wire import WORDS
from interlingua.errors import ReadError, WriteError, found
from interlingua.model import codec
from interlingua.model.arguments import recover, to_text
from interlingua.model.base import JsonObject, Raw, same
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.metadata import Diagnostic

__all__ = ["FORM", "own_raw", "spelling_of"]

T = TypeVar("T")

ISSUER = "issuer"
"""In `$form`: the dialect whose provider the wire names as the maker of a block's signature."""


class Written(NamedTuple):
    """The wire of a view, and a report of what it could not hold."""

    wire: Any
    report: Report

    def json(self) -> bytes:
        """The wire as bytes; `WriteError` where JSON cannot hold it."""
        return codec.dumps(self.wire)


def present(**fields: Any) -> JsonObject:
    """The fields that are not None."""
    return {name: item for name, item in fields.items() if item is not None}


def placed(blocks: Iterable[T], path: str) -> list[tuple[T, str]]:
    """The blocks of a content, each with its path."""
    return [(block, f"{path}.content[{number}]") for number, block in enumerate(blocks)]


def step(path: str, key: str) -> str:
    """The path of a key inside an object."""
    return f"{path}.{key}" if re.fullmatch(r"[\w$-]+", key) else f"{path}[{key!r}]"


# -- reading --------------------------------------------------------------------------------------


def item_list(view: str, plain: Any, path: str = "$") -> list[tuple[Any, str]]:
    """The items of a list, each with its path."""
    if not isinstance(plain, list):
        raise ReadError(f"{view} view", path, "a list", found(plain))
    return [(item, f"{path}[{number}]") for number, item in enumerate(plain)]


def one_or_more(view: str, plain: Any) -> Iterator[Fields]:
    """The objects of a list, or a single one."""
    items = [(plain, "$")] if isinstance(plain, dict) else item_list(view, plain)
    return (Fields(view, item, path) for item, path in items)


class Fields:
    """One object of the wire: fields are taken out of it, what is left over is preserved."""

    def __init__(self, view: str, plain: Any, path: str) -> None:
        self.view = view
        self.path = path
        if not isinstance(plain, dict):
            raise self.error("", "an object", found(plain))
        if FORM in plain:
            raise self.error(FORM, "no key of this name", found(plain[FORM]))
        self.left: JsonObject = dict(plain)
        self.blank: JsonObject = {}
        """Fields that the wire had empty: null, or an empty value."""
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
            return require(value, kind)
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
        """The value of a word in a table; a word that is not in it is an error."""
        return self.known(name, self.need(name, str), table)

    def known(self, name: str, word: str, table: Mapping[str, T]) -> T:
        if word not in table:
            what = repr(word) if len(word) <= 32 else found(word)
            raise self.error(name, f"one of {', '.join(table)}", what)
        return table[word]

    def items(self, name: str, optional: bool = False) -> list[tuple[Any, str]]:
        """The items of a list, each with its path."""
        items = self.filled(name, list) or [] if optional else self.need(name, list)
        return item_list(self.view, items, self.place(name))

    def objects(self, name: str, optional: bool = False) -> Iterator[Fields]:
        """The objects of a list."""
        return (Fields(self.view, item, path) for item, path in self.items(name, optional))

    def object(self, name: str) -> Fields | None:
        """The object in a field, which has a `raw` of its own."""
        plain = self.maybe(name, dict)
        return None if plain is None else Fields(self.view, plain, self.place(name))

    def within(self, name: str) -> Fields:
        """The object in a field; what is left over in it is preserved with the rest."""
        self.inside[name] = Fields(self.view, self.need(name, dict), self.place(name))
        return self.inside[name]

    def members(self, name: str) -> JsonObject:
        """The members of an object that may be missing; one that is taken out of it is read."""
        if not self.left.get(name):
            self.filled(name, dict)
            return {}
        return self.within(name).left

    def raw(self, **form: Any) -> Raw | None:
        """The `raw` to preserve: what is left over, and spelling that is not None."""
        preserved = self._preserved()
        preserved.spelling.update(present(**form))
        return preserved.raw(self.view)

    def _preserved(self) -> Preserved:
        preserved = Preserved()
        preserved.add_others(self.left, ())
        for name, item in self.blank.items():
            preserved.keep_spelling(name, item)
        for name, fields in self.inside.items():
            preserved.absorb(name, fields._preserved())
        return preserved


def take_text(members: JsonObject, name: str) -> str | None:
    """Takes a string out of an object; anything else stays there."""
    text = members.get(name)
    return members.pop(name) if isinstance(text, str) else None


# -- writing --------------------------------------------------------------------------------------


def with_rest(view: str, raw: Raw | None, out: JsonObject) -> JsonObject:
    """A written object with what the view preserved; written fields win."""
    if not (own := own_raw(view, raw)):
        return out
    filled = restore(dict(out), {name: item for name, item in own.items() if name != FORM})
    return restore(filled, {FORM: _usable(spelling_in(own), filled)})


def _usable(form: JsonObject, out: JsonObject) -> JsonObject:
    """Spelling of objects that are still there: what is preserved may be outdated."""
    spelled, inside = form.get("spelled"), form.get("inside")
    usable: JsonObject = {"spelled": spelled} if isinstance(spelled, dict) else {}
    if isinstance(inside, dict):
        usable["inside"] = {
            name: _usable(deeper, out[name])
            for name, deeper in inside.items()
            if isinstance(deeper, dict) and isinstance(out.get(name), dict)
        }
    return usable


def with_form(view: str, raw: Raw | None, **form: Any) -> Raw:
    """A `raw` with more spelling of this view."""
    own = own_raw(view, raw)
    return {**(raw or {}), view: {**own, FORM: {**spelling_of(view, raw), **form}}}


def as_string(content: list[Any], was_string: bool) -> Any:
    """Content as a string where it was one, and a string can hold it."""
    match content:
        case [] if was_string:
            return ""
        case [{"type": "text", "text": str(text), **rest}] if text and not rest and was_string:
            return text
    return content


def json_value(text: str) -> Any:
    """The value that a text is JSON of; the text itself where that is none, or a string."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, str) else value


# -- arguments of calls: text in some views, objects in others ------------------------------------

RECOVERED = "tool_arguments_recovered"
"""The diagnostic of arguments that were no JSON as they stood."""


def read_arguments(text: str, id: str) -> tuple[JsonObject, str | None, tuple[Diagnostic, ...]]:
    """Input, the text where the input alone would not give it back, and what had to be done."""
    recovered = recover(text)
    if recovered.mode == "strict":
        return recovered.input, None if to_text(recovered.input) == text else text, ()
    details = {"mode": recovered.mode, "call_id": id}
    return recovered.input, text, (Diagnostic(RECOVERED, details=details),)


def write_arguments(view: str, block: ToolUseBlock, path: str) -> str:
    """The call's own text while it still means the input, else the input as JSON."""
    text = block.raw_arguments
    if text is not None and same(recover(text).input, block.input):
        return text
    try:
        return to_text(block.input)
    except WriteError as error:
        place = f"{path}.input{error.path.removeprefix('$')}"
        raise WriteError(f"{view} view", place, error.problem) from None


def recovered_again(view: str, calls: Iterable[ToolUseBlock]) -> list[Diagnostic]:
    """The diagnostics that reading these calls from text will make."""
    made = [read_arguments(write_arguments(view, call, ""), call.id)[2] for call in calls]
    return [each for some in made for each in some]
