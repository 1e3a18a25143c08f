"""What the views share: what a writer gives, and the memory of how a wire spelled things.

A view keeps what it does not know under its own name in `raw`, and how the wire spelled things in
`$form` there, in the words of the dialects' kernel, so that what came from a view goes back to it
unchanged.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from interlingua.dialects.kernel.kept import FORM, form_in, form_of, restore
from interlingua.dialects.kernel.kept import mine_of as own_raw
from interlingua.losses import Report
from interlingua.model import codec
from interlingua.model.base import JsonObject, Raw

__all__ = [
    "FORM",
    "ISSUER",
    "Written",
    "form_of",
    "own_raw",
    "present",
    "step",
    "was_blank",
    "with_form",
    "with_rest",
]

ISSUER = "issuer"
"""In `$form`: the dialect whose provider the wire names as the maker of a block's signature."""


class Written(NamedTuple):
    """What a view made of canonical values, and what it could not say."""

    wire: Any
    report: Report

    def json(self) -> bytes:
        """The wire as bytes; `WriteError` where JSON cannot hold it."""
        return codec.dumps(self.wire)


def with_rest(view: str, raw: Raw | None, out: JsonObject) -> JsonObject:
    """What is written, and what the view kept; where both say something, what is written wins."""
    if not (mine := own_raw(view, raw)):
        return out
    filled = restore(dict(out), {name: item for name, item in mine.items() if name != FORM})
    return restore(filled, {FORM: _usable(form_in(mine), filled)})


def _usable(form: JsonObject, out: JsonObject) -> JsonObject:
    """Spelling of what is there: memories may be old, or of objects that are gone."""
    spelled, inside = form.get("spelled"), form.get("inside")
    usable: JsonObject = {"spelled": spelled} if isinstance(spelled, dict) else {}
    if isinstance(inside, dict):
        usable["inside"] = {
            name: _usable(deeper, out[name])
            for name, deeper in inside.items()
            if isinstance(deeper, dict) and isinstance(out.get(name), dict)
        }
    return usable


def was_blank(form: JsonObject, name: str) -> bool:
    """Whether the wire had the field, with nothing in it."""
    spelled = form.get("spelled")
    return isinstance(spelled, dict) and name in spelled


def with_form(view: str, raw: Raw | None, **form: Any) -> Raw:
    """The same memory, and this beside it."""
    own = own_raw(view, raw)
    return {**(raw or {}), view: {**own, FORM: {**form_of(view, raw), **form}}}


def present(**fields: Any) -> JsonObject:
    """The fields that are not None."""
    return {name: item for name, item in fields.items() if item is not None}


def step(path: str, key: str) -> str:
    """The path of a key inside an object."""
    return f"{path}.{key}" if re.fullmatch(r"[\w$-]+", key) else f"{path}[{key!r}]"
