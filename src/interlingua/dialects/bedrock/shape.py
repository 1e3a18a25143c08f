"""What Converse has to take objects apart and put them together again, beside what all dialects
share.

In the form, `absent` are keys that the writer would fill in, and `odd` marks what the service
refuses and a wire had all the same."""

from __future__ import annotations

from interlingua.dialects.base import Wire
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.shape import Notes, may_take

OURS = frozenset({"$form", "$cachePoint", "$cachePoints", "$beside"})
"""Keys of a `raw` that are no keys of the object."""

_NOTES = Notes(NAME, OURS)
spare, pack, put_back = _NOTES.spare, _NOTES.pack, _NOTES.put_back
mine_of, form_of = _NOTES.mine_of, _NOTES.form_of


def section(wire: Wire, key: str, spelled: Wire) -> Wire | None:
    """An object inside the body; one that is null or empty is remembered."""
    inner = may_take(wire, key, dict, spelled)
    if inner == {}:
        spelled[key] = {}
        return None
    return inner


def put_section(out: Wire, key: str, said: Wire, mine: Wire, form: Wire) -> None:
    """Write an object inside the body: what the fields say, then what was kept of it."""
    for kept in (mine.get(key), form.get(key)):
        if type(kept) is dict:
            for name, item in kept.items():
                said.setdefault(name, item)
    if said:
        out[key] = said
