"""A body while it is read, and how what was kept of it is put back."""

from __future__ import annotations

from collections.abc import Collection

from interlingua.dialects.base import Wire
from interlingua.dialects.shape import merge
from interlingua.model.exchange import Options

NO_OPTIONS = Options()


class Reading:
    """What becomes of a body: option fields, other content, spelling."""

    def __init__(self) -> None:
        self.fields: Wire = {}
        self.rest: Wire = {}
        self.form: Wire = {}
        self.spelled: Wire = {}

    def keep(self, key: str, wire: Wire, known: Collection[str], read: bool = False) -> None:
        """What an object says beyond the known keys. Nulls alone are only spelling; `read` tells
        that fields hold something of it even if no key is known."""
        extra = {name: item for name, item in wire.items() if name not in known}
        if _says_something(extra):
            self.rest[key] = extra
        elif not known and not read:
            self.spelled[key] = wire
        elif extra:
            self.form.setdefault("extra", {})[key] = extra

    def options(self) -> Options:
        return Options(**self.fields) if self.fields else NO_OPTIONS


def _says_something(wire: Wire) -> bool:
    return any(
        _says_something(item) if type(item) is dict else item is not None for item in wire.values()
    )


def put_extra(out: Wire, rest: Wire, form: Wire) -> None:
    """Kept content beside what the fields say. Objects that need a type are not written for their
    extras alone."""
    for key, item in rest.items():
        if key == "$form":
            continue
        said = out.get(key)
        if type(said) is dict and type(item) is dict:
            out[key] = merge(item, said)
        elif key not in out and (key not in _TYPED or type(item) is not dict or "type" in item):
            out[key] = item
    extra = form.get("extra")
    for key, item in extra.items() if type(extra) is dict else ():
        if type(out.get(key)) is dict:
            out[key] = merge(item, out[key])


_TYPED = frozenset({"thinking", "tool_choice", "thread"})
