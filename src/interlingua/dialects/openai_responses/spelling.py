"""What goes home beside the fields: content in `raw`, spelling in its `$form`.

`$form.spelled` (of a part, tool or body) and `$form.item` (of an item) hold keys that say nothing
canonical: ids and statuses of items, nulls, empty lists. They are put back where the writer has not
said the key itself, so that fields win. `$item` is content of an item, kept at its first block.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.shape import Notes
from interlingua.errors import ReadError
from interlingua.ids import synthetic_tool_id
from interlingua.model.base import Raw

RESERVED = frozenset({"$form", "$item", "$asides"})
_NOTHING: Wire = {}

_NOTES = Notes(NAME, RESERVED)
own, form = _NOTES.mine_of, _NOTES.form_of
"""What this dialect kept in a `raw`, and the spelling in it."""


def says_nothing(value: Any) -> bool:
    return value is None or ((type(value) is list or type(value) is dict) and not value)


def spare(wire: Wire, known: Collection[str]) -> tuple[Wire, Wire]:
    """Keys beside the known ones: those with content, and those that say nothing."""
    rest: Wire = {}
    spelled: Wire = {}
    for key, value in wire.items():
        if key not in known:
            (spelled if says_nothing(value) else rest)[key] = value
    return rest, spelled


def put_back(wire: Wire, raw: Raw | None, level: str = "spelled") -> Wire:
    """The wire with what `raw` kept of it; keys that were said already win."""
    if raw is not None:
        mine = own(raw)
        for key, value in mine.items():
            if key not in RESERVED:
                wire.setdefault(key, value)
        for key, value in (form(raw).get(level) or _NOTHING).items():
            wire.setdefault(key, value)
    return wire


def raw_of(rest: Wire | None, spelling: Wire | None, item: Wire | None = None) -> Raw | None:
    """A `raw` of content, spelling, and content of the item that the block begins."""
    mine = dict(rest) if rest else {}
    if item:
        mine["$item"] = item
    if spelling:
        mine["$form"] = spelling
    return {NAME: mine} if mine else None


def begin(block: Any, item: Wire, rest: Wire | None = None, more: Wire | None = None) -> Any:
    """The block as the first of an item with these keys; `more` is the item's other spelling."""
    mine = own(block.raw)
    spelling = {**mine.get("$form", {}), "item": item}
    for key, value in (more or {}).items():
        spelling[f"item_{key}"] = value
    kept = {key: value for key, value in mine.items() if key != "$form"}
    return block.replace(raw=raw_of(kept, spelling, rest))


def absent(spelling: Wire, key: str) -> bool:
    """Whether a key that we would write stood not on the wire."""
    return key in spelling.get("absent", ())


def is_kept(raw: Raw | None, key: str) -> bool:
    """Whether `raw` knows what the wire had for a key, which may be nothing at all."""
    if raw is None:
        return False
    spelling = form(raw)
    if key in own(raw) or key in spelling.get("absent", ()):
        return True
    return key in (spelling.get("spelled") or ()) or key in (spelling.get("item") or ())


def is_ours(raw: Raw | None) -> bool:
    """Whether no other dialect put anything into a `raw`."""
    return raw is None or (len(raw) == 1 and NAME in raw)


def inside(odd: ReadError, place: str) -> ReadError:
    """An error of a part, as one of the whole: `place` is where the part stands."""
    return ReadError(odd.what, place + odd.path[1:], odd.expected, odd.found)


def about(odd: ReadError, what: str) -> ReadError:
    return ReadError(what, odd.path, odd.expected, odd.found)


def made_id(prefix: str, *parts: object) -> str:
    """An id for an item that has to have one; the same for the same parts."""
    return prefix + synthetic_tool_id(*parts)[2:]
