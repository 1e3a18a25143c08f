"""Tools of a wire that knows functions only: anything else goes home as it came, and nowhere
else."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.tools import ToolDefinition

DEFAULT_SCHEMA: Wire = {"type": "object", "properties": {}}
"""Of a tool that has none, where the wire demands one."""
TEXT_SCHEMA: Wire = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""Of a tool that takes free text, where tools take objects alone."""

_UNKNOWN = Table(ToolDefinition, silent=("name", "executor", "kind"))


def is_function(tool: ToolDefinition) -> bool:
    return tool.kind in ("function", "custom") and tool.executor == "client"


def schema_of(tool: ToolDefinition) -> Wire:
    """What a tool without a schema takes."""
    return TEXT_SCHEMA if tool.kind == "custom" else DEFAULT_SCHEMA


def read_function(wire: Any, table: Table, dialect: str) -> ToolDefinition:
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        name = _name_of(wire)
        return ToolDefinition(name, executor="provider", kind="unknown", raw={dialect: wire})
    kept = Kept()
    return ToolDefinition(**table.read(wire, kept), raw=kept.raw(dialect))


def write_function(
    tool: ToolDefinition, table: Table, recorder: LossRecorder, reason: str
) -> Wire | None:
    """`reason` is why tools of others that are no functions cannot be said."""
    if not is_function(tool):
        return _write_unknown(tool, recorder, reason)
    if tool.kind == "custom":
        recorder.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    out: Wire = {}
    table.write(tool, out, mine_of(recorder.dialect, tool.raw), recorder)
    return out if tool.raw is None else put_back(out, tool, tool.raw, recorder)


def _write_unknown(tool: ToolDefinition, recorder: LossRecorder, reason: str) -> Wire | None:
    mine = tool.raw.get(recorder.dialect) if tool.raw is not None else None
    if tool.kind != "unknown" or type(mine) is not dict:
        recorder.lost(tool, None, reason)
        return None
    if tool.name != _name_of(mine):
        recorder.lost(tool, "name")
    _UNKNOWN.write(tool, {}, mine, recorder)
    return mine


def _name_of(wire: Wire) -> str:
    kind = wire.get("type")
    return kind if type(kind) is str else ""
