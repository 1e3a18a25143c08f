"""What the views share: what a writer gives, and the memory of how a wire spelled things.

A view keeps what it does not know under its own name in `raw`, and how the wire spelled things in
`$form` there, so that what came from a view goes back to it unchanged.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from interlingua.losses import Report
from interlingua.model import codec
from interlingua.model.base import JsonObject, Raw

FORM = "$form"
"""The key of a view's `raw` for spelling; all other keys are content."""
ISSUER = "issuer"
"""In `$form`: the dialect whose provider the wire names as the maker of a block's signature."""


class Written(NamedTuple):
    """What a view made of canonical values, and what it could not say."""

    wire: Any
    report: Report

    def json(self) -> bytes:
        """The wire as bytes; `WriteError` where JSON cannot hold it."""
        return codec.dumps(self.wire)


def own_raw(view: str, raw: Raw | None) -> JsonObject:
    """What a view kept of its own."""
    own = (raw or {}).get(view)
    return own if isinstance(own, dict) else {}


def form_of(view: str, raw: Raw | None) -> JsonObject:
    """How a view remembers to have spelled something."""
    form = own_raw(view, raw).get(FORM)
    return form if isinstance(form, dict) else {}


def with_rest(view: str, raw: Raw | None, out: JsonObject) -> JsonObject:
    """What is written, and what the view kept; where both say something, what is written wins."""
    own = own_raw(view, raw)
    rest = {name: item for name, item in own.items() if name != FORM}
    return _blanked(_filled(out, rest), form_of(view, raw))


def _filled(out: JsonObject, rest: JsonObject) -> JsonObject:
    filled = dict(out)
    for name, item in rest.items():
        if name not in out:
            filled[name] = item
        elif isinstance(item, dict) and isinstance(out[name], dict):
            filled[name] = _filled(out[name], item)
    return filled


def _blanked(out: JsonObject, form: JsonObject) -> JsonObject:
    blank, inside = form.get("blank"), form.get("inside")
    if isinstance(inside, dict):
        for name, deeper in inside.items():
            if isinstance(out.get(name), dict) and isinstance(deeper, dict):
                out = {**out, name: _blanked(out[name], deeper)}
    return _filled(out, blank) if isinstance(blank, dict) else out


def was_blank(form: JsonObject, name: str) -> bool:
    """Whether the wire had the field, with nothing in it."""
    blank = form.get("blank")
    return isinstance(blank, dict) and name in blank


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
