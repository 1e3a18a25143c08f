"""Tools: functions only."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.fields import Table, constant, inside, plain
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.tools import read_function, schema_of, write_function
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.tables import NAME
from interlingua.model.tools import ToolDefinition

TOOL = Table(
    ToolDefinition,
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        plain("description", "description", str),
        plain("parameters", "input_schema", dict, fill=schema_of),
    ),
    silent=("executor", "kind"),
)


def read_tool(wire: Any) -> ToolDefinition:
    return read_function(wire, TOOL, NAME)


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    return write_function(tool, TOOL, recorder, "the server runs no tools")
