"""Tools, as far as the target takes them."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect
from interlingua.model.tools import ToolDefinition
from interlingua.retelling.crossing import is_foreign
from interlingua.schemas import narrow


def tools_for(
    tools: tuple[ToolDefinition, ...], target: Dialect, scribe: LossRecorder, at_home: bool = False
) -> tuple[ToolDefinition, ...]:
    """The tools that the target can take, with schemas that it reads."""
    if at_home:
        return tools
    out = [new for tool in tools if (new := _tool(tool, target, scribe)) is not None]
    same = len(out) == len(tools) and all(a is b for a, b in zip(out, tools, strict=True))
    return tools if same else tuple(out)


def _tool(tool: ToolDefinition, target: Dialect, scribe: LossRecorder) -> ToolDefinition | None:
    if is_foreign(tool, target.name):
        reason = "a tool that another vendor defines, and that the model is not known to have"
        scribe.lost(tool, None, reason, severity="error")
        return None
    keywords = target.traits.schema_keywords
    if keywords is None or tool.input_schema is None:
        return tool
    schema, dropped = narrow(tool.input_schema, keywords)
    for path in dropped:
        reason = f"{target.name} ignores this keyword"
        scribe.lost(tool, f"input_schema{path}", reason)
    if not dropped:
        return tool
    new = tool.replace(input_schema=schema)
    scribe.alias(new, tool)
    return new
