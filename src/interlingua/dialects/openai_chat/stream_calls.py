"""Calls in a stream's deltas. Their pieces may interleave; hosts that send a call whole, give every
call the same number, or none, or repeat its id and name with each piece are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.calls import CallReader
from interlingua.dialects.openai_chat.shape import want
from interlingua.dialects.openai_chat.stream_frames import hole
from interlingua.dialects.openai_chat.stream_parts import Part, Telling
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.blocks import Block
from interlingua.model.events import ToolUseInputDelta

if TYPE_CHECKING:
    from interlingua.dialects.openai_chat.stream_choice import Choice

_decode = msgspec.json.Decoder().decode
_NO_CALL = {"name": "", "arguments": ""}
_GIVEN = {"function": "arguments", "custom": "input", "legacy": "arguments"}


class Call:
    """A call, from its first piece on; its part begins when its name is known."""

    def __init__(self, index: Any, kind: str) -> None:
        self.index = index
        self.kind = kind
        self.id: str | None = None
        self.name: str | None = None
        self.wire: Wire = {}
        self.inner: Wire = {}
        self.given: Any = None
        """Arguments that came as an object; or an empty string, where any were spoken of."""
        self.early: list[str] = []
        """What came before the name did."""
        self.part: Part | None = None

    @property
    def text(self) -> str:
        return "".join(self.early) if self.part is None else self.part.text

    def merge(self, wire: Wire, inner: Wire) -> None:
        for key, value in wire.items():
            if key not in ("index", self.kind) and value is not None and value != "":
                self.wire.setdefault(key, value)
        given = _GIVEN[self.kind]
        for key, value in inner.items():
            if key == given and value is not None:
                self.given = self.given or ("" if type(value) is str else value)
            elif key not in ("name", given) and value is not None:
                self.inner[key] = value

    def whole(self) -> Wire:
        inner = {"name": self.name or "", **self.inner}
        if self.given is not None:
            inner[_GIVEN[self.kind]] = self.text or self.given
        if self.kind == "legacy":
            return inner
        wire = {**self.wire, self.kind: inner}
        if self.kind == "custom":
            wire.setdefault("type", "custom")
        return wire


class Calls:
    """The calls of one choice."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._calls: list[Call] = []
        self._legacy: Call | None = None
        self._parts: dict[int, Call] = {}
        """By the identity of their parts."""

    def goes_on(self, part: Part) -> bool:
        """Whether this is the part of a call that is not whole yet."""
        return id(part) in self._parts and not _is_whole(part.text)

    def read(self, delta: Wire, telling: Telling) -> None:
        each(delta["tool_calls"], ".tool_calls", lambda piece: self._read(piece, telling))

    def _read(self, piece: Any, telling: Telling) -> None:
        if type(piece) is not dict:
            raise ShapeError("", "an object", piece)
        is_custom = piece.get("type") == "custom" or type(piece.get("custom")) is dict
        kind = "custom" if is_custom else "function"
        inner = piece.get(kind)
        inner = {} if inner is None else want(inner, dict, f".{kind}")
        id, name = _word(piece, "id", ""), _word(inner, "name", f".{kind}")
        index = piece.get("index")
        call = self._find(index if type(index) is int else None, id, name)
        if call is None:
            call = Call(index, kind)
            self._calls.append(call)
        self._tell(call, piece, inner, id, name, telling)

    def read_legacy(self, delta: Wire, telling: Telling) -> None:
        wire = want(delta["function_call"], dict, ".function_call")
        if wire == _NO_CALL:  # how some servers spell that there is none
            return
        if self._legacy is None:
            self._legacy = Call(None, "legacy")
        name = _word(wire, "name", ".function_call")
        self._tell(self._legacy, {}, wire, None, name, telling)

    def _find(self, index: int | None, id: str | None, name: str | None) -> Call | None:
        """The call that a piece belongs to; None for a new one."""
        calls = [call for call in self._calls if index is None or call.index == index]
        if id is not None:
            for call in calls:
                if call.id == id:
                    return call
        if not calls:
            return None
        last = calls[-1]
        if name is None:
            return last
        if index is None or (id is not None and last.id is not None):
            return None
        if last.name is not None and id is None and _is_whole(last.text):
            return None
        return last

    def _tell(
        self, call: Call, wire: Wire, inner: Wire, id: str | None, name: str | None, t: Telling
    ) -> None:
        key = _GIVEN[call.kind]
        given = inner.get(key)
        if given is not None and type(given) is not str and type(given) is not dict:
            path = "function_call" if call.kind == "legacy" else call.kind
            raise ShapeError(f".{path}.{key}", "a string", given)
        call.merge(wire, inner)
        call.id, call.name = call.id or id, call.name or name
        if call.part is None and call.name is not None:
            number = self._start(call, t)
            if id is not None:
                wire["id"] = hole(number, "id")
            if name is not None:
                inner["name"] = hole(number, "name")
        if type(given) is not str or not given:
            return
        if call.part is None:
            call.early.append(given)
        elif call.part.is_open:
            t.say(call.part, given, (inner, key))
        else:  # after its end: only the whole has it
            call.part.pieces.append(given)

    def _start(self, call: Call, telling: Telling) -> int:
        start = self._block(call, is_start=True)
        part = self._choice.open(
            telling,
            "function_call" if call is self._legacy else "tool_calls",
            ToolUseInputDelta,
            start,
            lambda part: self._block(call),
        )
        self._parts[id(part)] = call
        number = len(telling.events) - 1
        early, call.part = call.early, part
        for text in early:
            telling.say(part, text)
        return number

    def _block(self, call: Call, is_start: bool = False) -> Block:
        """The call as a whole message has it, or as it begins."""
        wire = call.whole()
        if is_start:
            inner = wire if call.kind == "legacy" else wire[call.kind]
            inner[_GIVEN[call.kind]] = "{}"
        reader = CallReader(self._choice.t, self._choice.origin)
        if call is self._legacy:
            reader.count = len(self._calls)
            return reader.read_legacy(wire)
        reader.count = self._calls.index(call)
        return reader.read(wire)

    def start_all(self, telling: Telling) -> None:
        """The message ends: also what never got a name is a call."""
        for call in (*self._calls, *([self._legacy] if self._legacy else ())):
            if call.part is None:
                self._start(call, telling)

    def wire(self) -> Wire:
        """The keys of a whole message."""
        wire: Wire = {}
        if self._calls:
            wire["tool_calls"] = [call.whole() for call in self._calls]
        if self._legacy is not None:
            wire["function_call"] = self._legacy.whole()
        return wire


def _word(wire: Wire, key: str, path: str) -> str | None:
    """A name or an id; None for one that is not there, or is blank."""
    value = wire.get(key)
    return want(value, str, f"{path}.{key}") or None if value is not None else None


def _is_whole(text: str) -> bool:
    try:
        return type(_decode(text)) is dict
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
