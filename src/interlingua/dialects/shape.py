"""Where dialects that are not on the kernel's tables yet look for what takes objects apart and puts
them together again.

Reading, every key ends in a field, in the rest (content that only one wire understands) or in the
form, which is spelling: `Notes` packs both into a `raw`, and adds them to the fields again."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from interlingua.dialects.kernel.calls import tell_recovered as tell_recovered
from interlingua.dialects.kernel.errors import EXACT as EXACT
from interlingua.dialects.kernel.errors import ShapeError as ShapeError
from interlingua.dialects.kernel.errors import each as each
from interlingua.dialects.kernel.errors import may_take as may_take
from interlingua.dialects.kernel.errors import take as take
from interlingua.dialects.kernel.errors import want as want
from interlingua.dialects.kernel.kept import merge as merge
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw, Value

_NOTHING: Wire = {}


class Kept(NamedTuple):
    """What no field of a body holds, while it is being read."""

    rest: Wire
    form: Wire
    spelled: Wire


class Notes:
    """The `raw` of one dialect: `name` is its key in it, `reserved` are keys of the `raw` that are
    no keys of the object. In the form, `spelled` are keys that say nothing."""

    __slots__ = ("_name", "_reserved")

    def __init__(self, name: str, reserved: frozenset[str] = frozenset({"$form"})) -> None:
        self._name = name
        self._reserved = reserved

    def spare(
        self,
        wire: Wire,
        known: Collection[str],
        spelled: Wire,
        form: Wire,
        inner: Wire | None = None,
    ) -> Raw | None:
        """The `raw` for what no field holds of an object; `inner` is what is left of known keys."""
        rest: Wire = dict(inner) if inner else {}
        for key, value in wire.items():
            if key in known:
                continue
            if key == "$form":
                form["$form"] = value
            elif value is None:
                spelled[key] = None
            else:
                rest[key] = value
        return self.pack(rest, spelled, form)

    def pack(self, rest: Wire, spelled: Wire, form: Wire) -> Raw | None:
        if spelled:
            form["spelled"] = spelled
        if form:
            rest["$form"] = form
        return {self._name: rest} if rest else None

    def mine_of(self, raw: Raw | None) -> Wire:
        """Our part of a `raw`, spelling included."""
        if raw is None:
            return _NOTHING
        mine = raw.get(self._name)
        return mine if type(mine) is dict else _NOTHING

    def form_of(self, raw: Raw | None) -> Wire:
        """The spelling alone."""
        if raw is None:
            return _NOTHING
        form = self.mine_of(raw).get("$form")
        return form if type(form) is dict else _NOTHING

    def put_back(
        self, out: Wire, value: Value, recorder: LossRecorder, raw: Raw, field: str = "raw"
    ) -> Wire:
        """Add what was kept to a written object; fields win. What others kept is a loss."""
        mine = raw.get(self._name)
        if type(mine) is dict:
            for key, item in mine.items():
                if key not in self._reserved and key not in out:
                    out[key] = item
            respell(out, self.form_of(raw))
        if mine is None or len(raw) > 1:
            recorder.unsaid_raw(value, raw, field)
        return out


def respell(out: Wire, form: Wire) -> None:
    spelled = form.get("spelled")
    if type(spelled) is dict:
        for key, item in spelled.items():
            out.setdefault(key, item)
    if "$form" in form:
        out["$form"] = form["$form"]
