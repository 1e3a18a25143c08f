"""Tools: functions, and those that Google defines, which go by their type."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    BUILT_IN,
    CLIENT_KINDS,
    NAME,
)
from interlingua.dialects.kernel.errors import take, want
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.kept import Kept, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.tools import TEXT_SCHEMA
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.tools import ToolDefinition

_MCP = "mcp_server"
TOOL = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str),
    plain(
        "parameters",
        "input_schema",
        dict,
        fill=lambda tool: TEXT_SCHEMA if tool.kind == "custom" else None,
    ),
    beside=("type",),
    silent=("executor", "kind"),
)
BUILT = Table(ToolDefinition, beside=("type",), silent=("executor", "kind", "name"))
SERVER = Table(
    ToolDefinition, plain("name", "name", str), beside=("type",), silent=("executor", "kind")
)
"""A server of tools has a name of its own."""


def read_tool(wire: Any) -> ToolDefinition:
    kind = want(wire, dict).get("type")
    kept = Kept()
    if kind == "function":
        take(wire, "name", str)
        return ToolDefinition(**TOOL.read(wire, kept), raw=kept.raw(NAME))
    if type(kind) is not str or kind not in BUILT_IN:
        name = kind if type(kind) is str else ""
        return ToolDefinition(name, executor="provider", kind="unknown", raw={NAME: wire})
    by = "client" if kind in CLIENT_KINDS else "provider"
    kept.form["own"] = True  # whose tool it is, where it says no more than its type
    attrs = SERVER.read(wire, kept) if kind == _MCP else BUILT.read(wire, kept)
    name = attrs.get("name", kind)
    if kind == _MCP and "name" not in attrs:
        kept.form["nameless"] = True
    return ToolDefinition(name, executor=by, kind=kind, raw=kept.raw(NAME))  # type: ignore[arg-type]  # one of two words


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    if tool.kind in ("function", "custom") and tool.executor == "client":
        return _write_function(tool, recorder)
    if tool.kind == "unknown":
        return _write_unknown(tool, recorder)
    if tool.kind not in BUILT_IN:
        recorder.lost(tool, None, "no tool of this service")
        return None
    out: Wire = {"type": tool.kind}
    if tool.kind == _MCP and not (form_of(NAME, tool.raw).get("nameless") and tool.name == _MCP):
        SERVER.write(tool, out, mine_of(NAME, tool.raw), recorder)
    else:
        BUILT.write(tool, out, mine_of(NAME, tool.raw), recorder)
        if tool.name != tool.kind:
            recorder.lost(tool, "name", "goes by its type", severity="info")
    if (tool.executor == "client") is not (tool.kind in CLIENT_KINDS):
        recorder.lost(tool, "executor")
    return out if tool.raw is None else put_back(out, tool, tool.raw, recorder)


def _write_function(tool: ToolDefinition, recorder: LossRecorder) -> Wire:
    if tool.kind == "custom":
        recorder.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    out: Wire = {"type": "function"}
    TOOL.write(tool, out, mine_of(NAME, tool.raw), recorder)
    return out if tool.raw is None else put_back(out, tool, tool.raw, recorder)


def _write_unknown(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    """A tool that we do not know goes home as it came, and nowhere else."""
    mine = tool.raw.get(NAME) if tool.raw is not None else None
    if type(mine) is not dict:
        recorder.lost(tool, None, "no tool of this service")
        return None
    if tool.name != (mine.get("type") if type(mine.get("type")) is str else ""):
        recorder.lost(tool, "name")
    BUILT.write(tool, {}, mine, recorder)
    return mine
