"""What readers and writers of parts carry along: ids and names of calls, and whose turn it is."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id


class Calls:
    """Hands out ids where the wire has none. `model` says whose parts are being read, `origin` is
    the content's position, or the id of the response."""

    __slots__ = ("_earlier", "_open", "_ordinal", "model", "origin")

    def __init__(self, origin: object = 0, model: bool = False) -> None:
        self.origin = origin
        self.model = model
        self._ordinal = 0
        self._open: dict[str, list[str]] = {}
        self._earlier: dict[str, list[str]] = {}

    def turn(self, origin: object, model: bool) -> None:
        """Another content begins. When the model speaks again, what is still open is of earlier
        turns, and later calls of the same name are answered first."""
        if model and not self.model and self._open:
            for name, ids in self._open.items():
                self._earlier.setdefault(name, []).extend(ids)
            self._open = {}
        self.origin, self.model, self._ordinal = origin, model, 0

    def called(self, given: str | None, name: str, form: Wire, hosted: bool = False) -> str:
        id = given or synthetic_tool_id(self.origin, self._ordinal, name)
        self._ordinal += 1
        _note_id(given, form)
        self._open.setdefault(f"\0{name}" if hosted else name, []).append(id)
        return id

    def answered(self, given: str | None, name: str, form: Wire, hosted: bool = False) -> str:
        key = f"\0{name}" if hosted else name
        _note_id(given, form)
        if given:
            for calls in (self._open, self._earlier):
                if given in calls.get(key, ()):
                    calls[key].remove(given)
                    break
            return given
        waiting = self._open.get(key) or self._earlier.get(key)
        if not waiting:
            self._ordinal += 1
            return synthetic_tool_id(self.origin, self._ordinal - 1, name)
        id = waiting.pop(0)
        if not is_synthetic_tool_id(id):
            form["paired"] = id
        return id


def _note_id(given: str | None, form: Wire) -> None:
    if given == "":
        form["id"] = ""
    elif given is not None and given[:3] == "il_" and is_synthetic_tool_id(given):
        form["id"] = True


class Turn:
    """What is being written: `names` are those of the calls so far, by id; `placed` the part of
    each block so far, -1 for one left out; `cites` says whether citations have a place."""

    __slots__ = ("cites", "model", "names", "placed", "scribe")

    def __init__(self, scribe: Scribe, model: bool = False, cites: bool = False) -> None:
        self.scribe = scribe
        self.model = model
        self.cites = cites
        self.names: dict[str, str] = {}
        self.placed: list[int] = []
