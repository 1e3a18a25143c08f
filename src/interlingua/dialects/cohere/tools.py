"""Tools: functions only. Whether their schemas bind the model is said once for all of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import NAME, TEXT_FORMAT, TOOL_FORMAT
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import Table, constant, inside, plain
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.tools import is_function, read_function, write_function
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.tools import ToolDefinition


def _schema_of(tool: Any) -> Wire:
    return TEXT_FORMAT if tool.kind == "custom" else TOOL_FORMAT


TOOL = Table(
    ToolDefinition,
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        plain("description", "description", str),
        plain("parameters", "input_schema", dict, fill=_schema_of),
    ),
    silent=("executor", "kind", "strict"),
)


def read_tools(wire: Wire, kept: Kept) -> tuple[ToolDefinition, ...]:
    """The tools of a body; `strict_tools` is of each of them."""
    listed = kept.take(wire, "tools", list) if "tools" in wire else None
    tools = each(listed, ".tools", _read_tool) if listed else []
    strict = wire.get("strict_tools")
    if "strict_tools" not in wire:
        return tuple(tools)
    if strict is None or not any(map(is_function, tools)):
        kept.add("strict_tools", strict)
        return tuple(tools)
    wanted = want(strict, bool, ".strict_tools")
    return tuple([each.replace(strict=wanted) if is_function(each) else each for each in tools])


def _read_tool(wire: Any) -> ToolDefinition:
    return read_function(wire, TOOL, NAME)


def write_tools(tools: tuple[ToolDefinition, ...], out: Wire, recorder: LossRecorder) -> None:
    reason = "the service runs no tools"
    written = [write_function(tool, TOOL, recorder, reason) for tool in tools]
    if said := [tool for tool in written if tool is not None]:
        out["tools"] = said
    strict = [tool.strict for tool in tools if is_function(tool)]
    if strict and strict[0] is not None and all(word is strict[0] for word in strict):
        out["strict_tools"] = strict[0]
        return
    for tool in tools:
        if tool.strict and is_function(tool):
            recorder.lost(tool, "strict", "it holds for all tools, or for none")
