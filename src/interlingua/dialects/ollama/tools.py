"""Tools: functions only."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Table, constant, inside, plain
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.tables import DEFAULT_SCHEMA, NAME, TEXT_SCHEMA
from interlingua.model.tools import ToolDefinition


def _schema_of(tool: Any) -> Wire:
    return TEXT_SCHEMA if tool.kind == "custom" else DEFAULT_SCHEMA


TOOL = Table(
    ToolDefinition,
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        plain("description", "description", str),
        plain("parameters", "input_schema", dict, fill=_schema_of),
    ),
    silent=("executor", "kind"),
)
UNKNOWN = Table(ToolDefinition, silent=("name", "executor", "kind"))
"""A tool that is no function."""


def read_tool(wire: Any) -> ToolDefinition:
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        name = _name_of(wire)
        return ToolDefinition(name, executor="provider", kind="unknown", raw={NAME: wire})
    kept = Kept()
    return ToolDefinition(**TOOL.read(wire, kept), raw=kept.raw(NAME))


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    if tool.kind not in ("function", "custom") or tool.executor != "client":
        return _write_unknown(tool, recorder)
    if tool.kind == "custom":
        recorder.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    out: Wire = {}
    TOOL.write(tool, out, mine_of(NAME, tool.raw), recorder)
    return out if tool.raw is None else put_back(out, tool, tool.raw, recorder)


def _write_unknown(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    """A tool that is no function goes home as it came, and nowhere else."""
    mine = tool.raw.get(NAME) if tool.raw is not None else None
    if tool.kind != "unknown" or type(mine) is not dict:
        recorder.lost(tool, None, "the server runs no tools")
        return None
    if tool.name != _name_of(mine):
        recorder.lost(tool, "name")
    UNKNOWN.write(tool, {}, mine, recorder)
    return mine


def _name_of(wire: Wire) -> str:
    kind = wire.get("type")
    return kind if type(kind) is str else ""
