"""Tool definitions, the legacy `functions` among them."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.preserved import Preserved, spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import grammar_field
from interlingua.dialects.openai_chat.tables import MARKS, Tables, WriteContext
from interlingua.dialects.openai_chat.text import read_marks, write_cache
from interlingua.model.tools import ToolDefinition

_NAMED = (plain("name", "name", str), plain("description", "description", str))
_FUNCTION = (
    *_NAMED,
    plain("parameters", "input_schema", dict),
    plain("strict", "strict", bool),
)
_CUSTOM = (*_NAMED, grammar_field(inside=True))
_SILENT = ("kind", "executor", "cache")
_DEFERRED = plain("defer_loading", "deferred", bool)
LEGACY = Table(ToolDefinition, *_FUNCTION, fields.lost("cache"), silent=_SILENT)
SERVER = Table(ToolDefinition, beside=("type", *MARKS), silent=("name", *_SILENT))


@cache
def _table(kind: str, can_defer: bool) -> Table:
    deferred = _DEFERRED if can_defer else _DEFERRED._replace(write=_not_deferred, kind=None)
    inner = fields.inside(kind, *(_FUNCTION if kind == "function" else _CUSTOM))
    key = fields.constant("type", kind)
    return Table(ToolDefinition, key, inner, deferred, beside=MARKS, silent=_SILENT)


def _not_deferred(tool: Any, recorder: LossRecorder) -> None:
    recorder.lost(tool, "deferred")


# -- reading --------------------------------------------------------------------------------------


def read_tool(wire: Any, t: Tables) -> ToolDefinition:
    kind = require(wire, dict).get("type") or "function"
    inner = wire.get(kind) if kind == "function" or kind == "custom" else None
    if len(wire) == 2 and type(inner) is dict and wire.get("type") == "function":
        plain = _read_plainly(inner)
        if plain is not None:
            return plain
    if kind == "function" or kind == "custom":
        require(require(inner, dict, f".{kind}").get("name"), str, f".{kind}.name")
        return _read_function(wire, kind, t)
    return _read_server_tool(wire, require(kind, str, ".type"), t)


def _read_plainly(inner: Wire) -> ToolDefinition | None:
    """A function of which no more is said than of most; None for others."""
    name, text = inner.get("name"), inner.get("description")
    schema, strict = inner.get("parameters"), inner.get("strict")
    if len(inner) != 3 + (strict is not None) or type(name) is not str or type(text) is not str:
        return None
    if type(schema) is not dict or (strict is not None and type(strict) is not bool):
        return None
    return ToolDefinition(name, text, schema, strict=strict)


def _read_function(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    preserved = Preserved(
        spelling={"stood": True} if kind == "custom" and not t.custom_tools else {}
    )
    attrs = _table(kind, t.deferred_tools).read(wire, preserved)
    cache = read_marks(wire, t, "tool", preserved)
    return ToolDefinition(kind=kind, cache=cache, raw=preserved.raw(t.name), **attrs)


def read_legacy_tool(wire: Any, t: Tables) -> ToolDefinition:
    """One of `functions`."""
    require(require(wire, dict).get("name"), str, ".name")
    preserved = Preserved(spelling={"legacy": True})
    return ToolDefinition(**LEGACY.read(wire, preserved), raw=preserved.raw(t.name))


def _read_server_tool(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    """A tool that the service runs; all it says is the service's own."""
    stood = not (t.server_tools and kind.startswith(t.server_tools))
    preserved = Preserved(spelling={"stood": True} if stood else {})
    cache = read_marks(wire, t, "tool", preserved)
    SERVER.read(wire, preserved)
    return ToolDefinition(
        kind, executor="provider", kind=kind, cache=cache, raw=preserved.raw(t.name)
    )


# -- writing --------------------------------------------------------------------------------------


def write_tools(tools: tuple[ToolDefinition, ...], to: WriteContext) -> Wire:
    """`tools`, and `functions` for those that were read there."""
    wire: Wire = {}
    for tool in tools:
        written, key = _write_plainly(tool), "tools"
        if (
            written is None
            and tool.kind == "function"
            and spelling_of(to.t.name, tool.raw).get("legacy")
        ):
            written, key = LEGACY.write_value(tool, to.recorder), "functions"
        elif written is None:
            written = write_tool(tool, to)
        if written is not None:
            wire.setdefault(key, []).append(written)
    return wire


def _write_plainly(tool: ToolDefinition) -> Wire | None:
    """A function of which nothing but its name, its purpose and its schema is said."""
    if astuple(tool)[3:] != _NO_MORE or tool.input_schema is None or tool.description is None:
        return None
    inner = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": inner}


_NO_MORE = astuple(ToolDefinition("a"))[3:]


def write_tool(tool: ToolDefinition, to: WriteContext) -> Wire | None:
    if tool.executor == "provider" or tool.kind not in ("function", "custom"):
        return _write_server_tool(tool, to)
    t, is_custom = to.t, tool.kind == "custom"
    if is_custom and not (t.custom_tools or spelling_of(t.name, tool.raw).get("stood")):
        to.recorder.lost(tool, None, "there are no tools that take free text")
        return None
    wire = {"type": tool.kind} if tool.raw is None else {}
    return _written(_table(tool.kind, t.deferred_tools), wire, tool, to)


def _written(table: Table, wire: Wire, tool: ToolDefinition, to: WriteContext) -> Wire:
    write_cache(wire, tool, to, "tool", spelling_of(to.t.name, tool.raw))
    return table.write_value(tool, to.recorder, wire)


def _write_server_tool(tool: ToolDefinition, to: WriteContext) -> Wire | None:
    own = to.t.server_tools is not None and tool.kind.startswith(to.t.server_tools)
    if tool.executor != "provider" or not (own or spelling_of(to.t.name, tool.raw).get("stood")):
        to.recorder.lost(tool, None, "a tool that only its own service knows")
        return None
    if tool.name != tool.kind:
        to.recorder.lost(tool, "name")
    return _written(SERVER, {"type": tool.kind}, tool, to)
