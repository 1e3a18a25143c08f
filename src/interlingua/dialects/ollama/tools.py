"""Tools: functions only."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.ollama.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.ollama.tables import DEFAULT_SCHEMA, NAME, SAID_TOOL, TEXT_SCHEMA
from interlingua.dialects.shape import Kept, ShapeError, each, may_take, want
from interlingua.model.tools import ToolDefinition

_FUNCTION = frozenset({"name", "description", "parameters"})


def read_tools(wire: Wire, kept: Kept) -> tuple[ToolDefinition, ...]:
    listed = may_take(wire, "tools", list, kept.spelled)
    if not listed:
        kept.spelled["tools"] = listed
        return ()
    return tuple(each(listed, ".tools", _read_tool))


def _read_tool(wire: Any) -> ToolDefinition:
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        kind = wire.get("type")
        name = kind if type(kind) is str else ""
        return ToolDefinition(name, executor="provider", kind="unknown", raw={NAME: wire})
    form: Wire = {}
    spelled: Wire = {}
    if wire.get("type") != "function":
        form["type"] = wire.get("type", "$absent")
    try:
        description = may_take(function, "description", str, spelled)
        schema = may_take(function, "parameters", dict, spelled)
    except ShapeError as odd:
        raise odd.inside(".function") from None
    if "parameters" not in function:
        form["absent"] = ["parameters"]
    if spelled:
        form["function"] = spelled
    left = {key: item for key, item in function.items() if key not in _FUNCTION}
    known = ("type", "function")
    raw = spare(wire, known, {}, form, {"function": left} if left else None)
    return ToolDefinition(function["name"], description, schema, raw=raw)


def write_tools(tools: tuple[ToolDefinition, ...], scribe: Scribe) -> list[Wire]:
    written = [_write_tool(tool, scribe) for tool in tools]
    return [tool for tool in written if tool is not None]


def _write_tool(tool: ToolDefinition, scribe: Scribe) -> Wire | None:
    mine, form = mine_of(tool.raw), form_of(tool.raw)
    if tool.kind not in ("function", "custom") or tool.executor != "client":
        return _write_unknown(tool, scribe)
    function: Wire = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    blank = form.get("function", {})
    if tool.input_schema is not None:
        function["parameters"] = tool.input_schema
    elif "parameters" not in form.get("absent", ()) and "parameters" not in blank:
        function["parameters"] = TEXT_SCHEMA if tool.kind == "custom" else DEFAULT_SCHEMA
    if tool.kind == "custom":
        scribe.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    scribe.unsaid(tool, SAID_TOOL)
    for kept in (mine.get("function"), blank):
        if type(kept) is dict:
            for key, item in kept.items():
                function.setdefault(key, item)
    out: Wire = {"type": "function", "function": function}
    if "type" in form:
        out["type"] = form["type"]
        if out["type"] == "$absent":
            del out["type"]
    return out if tool.raw is None else put_back(out, tool, scribe, tool.raw)


def _write_unknown(tool: ToolDefinition, scribe: Scribe) -> Wire | None:
    """A tool that is no function goes home as it came, and nowhere else."""
    mine = tool.raw.get(NAME) if tool.raw is not None else None
    if tool.kind != "unknown" or type(mine) is not dict:
        scribe.lost(tool, None, "the server runs no tools")
        return None
    kind = mine.get("type")
    if tool.name != (kind if type(kind) is str else ""):
        scribe.lost(tool, "name")
    scribe.unsaid(tool, SAID_TOOL)
    return mine
