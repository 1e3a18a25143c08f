"""Tools: functions only. Whether their schemas bind the model is said once for all of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import NAME, TEXT_FORMAT, TOOL_FORMAT
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import Table, constant, inside, plain
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
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
UNKNOWN = Table(ToolDefinition, silent=("name", "executor", "kind"))
"""A tool that is no function."""


def read_tools(wire: Wire, kept: Kept) -> tuple[ToolDefinition, ...]:
    """The tools of a body; `strict_tools` is of each of them."""
    listed = kept.take(wire, "tools", list) if "tools" in wire else None
    tools = each(listed, ".tools", _read_tool) if listed else []
    strict = wire.get("strict_tools")
    if "strict_tools" not in wire:
        return tuple(tools)
    if strict is None or not any(map(_is_function, tools)):
        kept.add("strict_tools", strict)
        return tuple(tools)
    wanted = want(strict, bool, ".strict_tools")
    return tuple([each.replace(strict=wanted) if _is_function(each) else each for each in tools])


def _read_tool(wire: Any) -> ToolDefinition:
    function = want(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        name = _name_of(wire)
        return ToolDefinition(name, executor="provider", kind="unknown", raw={NAME: wire})
    kept = Kept()
    return ToolDefinition(**TOOL.read(wire, kept), raw=kept.raw(NAME))


def write_tools(tools: tuple[ToolDefinition, ...], out: Wire, recorder: LossRecorder) -> None:
    written = [_write_tool(tool, recorder) for tool in tools]
    if said := [tool for tool in written if tool is not None]:
        out["tools"] = said
    strict = [tool.strict for tool in tools if _is_function(tool)]
    if strict and strict[0] is not None and all(word is strict[0] for word in strict):
        out["strict_tools"] = strict[0]
        return
    for tool in tools:
        if tool.strict and _is_function(tool):
            recorder.lost(tool, "strict", "it holds for all tools, or for none")


def _is_function(tool: ToolDefinition) -> bool:
    return tool.kind in ("function", "custom") and tool.executor == "client"


def _write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    if not _is_function(tool):
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
        recorder.lost(tool, None, "the service runs no tools")
        return None
    if tool.name != _name_of(mine):
        recorder.lost(tool, "name")
    UNKNOWN.write(tool, {}, mine, recorder)
    return mine


def _name_of(wire: Wire) -> str:
    kind = wire.get("type")
    return kind if type(kind) is str else ""
