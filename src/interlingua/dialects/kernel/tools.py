"""Tools of a wire that knows functions only: anything else goes home as it came, and nowhere
else."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw
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
    function = require(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        name = name_of(wire)
        return ToolDefinition(name, executor="provider", kind="unknown", raw={dialect: wire})
    preserved = Preserved()
    return ToolDefinition(**table.read(wire, preserved), raw=preserved.raw(dialect))


def write_function(
    tool: ToolDefinition, table: Table, recorder: LossRecorder, reason: str
) -> Wire | None:
    """`reason` is why tools of others that are no functions cannot be said."""
    if not is_function(tool):
        return write_unknown(tool, recorder, reason)
    if tool.kind == "custom":
        recorder.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    out: Wire = {}
    table.write(tool, out, raw_of(recorder.dialect, tool.raw), recorder)
    return out if tool.raw is None else restore_raw(out, tool, tool.raw, recorder)


def write_unknown(tool: ToolDefinition, recorder: LossRecorder, reason: str) -> Wire | None:
    """A tool that nobody knows, as it came."""
    own_raw = tool.raw.get(recorder.dialect) if tool.raw is not None else None
    if tool.kind != "unknown" or type(own_raw) is not dict:
        recorder.lost(tool, None, reason)
        return None
    if tool.name != name_of(own_raw):
        recorder.lost(tool, "name")
    _UNKNOWN.write(tool, {}, own_raw, recorder)
    return own_raw


def name_of(wire: Wire) -> str:
    """What a tool that nobody knows is called."""
    kind = wire.get("type")
    return kind if type(kind) is str else ""
