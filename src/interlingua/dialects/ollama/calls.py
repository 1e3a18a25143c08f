"""Tool calls, and which call a result without an id answers."""

from __future__ import annotations

from typing import Any

from interlingua import arguments
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.ollama.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.ollama.tables import NAME
from interlingua.dialects.shape import tell_recovered, want
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import ToolUseBlock, UnknownBlock
from interlingua.model.metadata import Diagnostic


class OpenCalls:
    """The calls that no result has answered yet, in order."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []

    def add(self, id: str, name: str) -> None:
        self._open.append((id, name))

    def first(self, name: str | None) -> str | None:
        """The first open call of this name, or of any name where a result says none."""
        for id, called in self._open:
            if name is None or called == name:
                return id
        return None

    def name_of(self, id: str) -> str | None:
        """What an open call is called."""
        return next((called for each, called in reversed(self._open) if each == id), None)

    def close(self, id: str) -> None:
        """A result answers the nearest earlier call with its id."""
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == id:
                del self._open[index]
                return


# -- reading --------------------------------------------------------------------------------------

_CALL = frozenset({"id", "function", "type"})
_FUNCTION = frozenset({"name", "arguments", "index"})


def read_call(wire: Any, place: Any, ordinal: int, odd: list[Diagnostic]) -> Any:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        return UnknownBlock({NAME: wire})
    form: Wire = {}
    spelled: Wire = {}
    name, given, id = function["name"], function.get("arguments"), wire.get("id")
    plain = len(wire) == 2 and len(function) == 2 and type(id) is str and id
    if plain and type(given) is dict and not id.startswith("il_"):
        return ToolUseBlock(id, name, given)  # the hot path
    if not id:
        if "id" in wire:
            spelled["id"] = id
        id = synthetic_tool_id(place, ordinal, name)
    elif is_synthetic_tool_id(want(id, str, ".id")):
        form["id"] = True
    if "index" in function:
        form["index"] = function["index"]
    if "type" in wire:
        form["type"] = wire["type"]
    given, text = _read_arguments(function, form)
    if text is not None and (mode := arguments.recover(text).mode) != "strict":
        details = {"mode": mode, "tool_use_id": id}
        odd.append(Diagnostic("tool_arguments_recovered", details=details))
    left = {key: item for key, item in function.items() if key not in _FUNCTION}
    raw = spare(wire, _CALL, spelled, form, {"function": left} if left else None)
    return ToolUseBlock(id, name, given, raw_arguments=text, raw=raw)


def _read_arguments(function: Wire, form: Wire) -> tuple[Wire, str | None]:
    """An object; or JSON in a text, as other vendors have it."""
    given = function.get("arguments")
    if type(given) is str:
        form["arguments"] = "text"
        return arguments.recover(given).input, given
    if given is None:
        form["arguments"] = "null" if "arguments" in function else "absent"
        return {}, None
    return want(given, dict, ".function.arguments"), None


# -- writing --------------------------------------------------------------------------------------


def write_call(block: ToolUseBlock, scribe: Scribe) -> Wire:
    form = form_of(block.raw)
    function: Wire = {"name": block.name, "arguments": block.input}
    out: Wire = {"function": function}
    if form.get("id") or not is_synthetic_tool_id(block.id):
        out["id"] = block.id
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no call here")
    if block.call_type is not None:
        scribe.lost(block, "call_type", "an object with the text", kind="downgraded")
    if block.cache is not None:
        scribe.lost(block, "cache")
    _put_arguments(function, block, form, scribe)
    if block.raw is None:
        return out
    left = mine_of(block.raw).get("function")
    if type(left) is dict:
        function.update({key: item for key, item in left.items() if key not in function})
    if "index" in form:
        function["index"] = form["index"]
    if "type" in form:
        out["type"] = form["type"]
    return put_back(out, block, scribe, block.raw)


def _put_arguments(function: Wire, block: ToolUseBlock, form: Wire, scribe: Scribe) -> None:
    spelling, text = form.get("arguments"), block.raw_arguments
    if spelling == "text" and _says(text, block.input):
        function["arguments"] = text
        return
    if spelling == "null" and not block.input:
        function["arguments"] = None
    if spelling == "absent" and not block.input:
        del function["arguments"]
    if text is not None:
        tell_recovered(block, scribe)


def _says(text: str | None, input: Wire) -> bool:
    return text is not None and arguments.same(arguments.recover(text).input, input)
