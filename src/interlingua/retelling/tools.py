"""Tools, as far as the target takes them."""

from __future__ import annotations

from interlingua.dialects.base import Dialect, Scribe
from interlingua.model.tools import ToolDefinition
from interlingua.schemas import narrow

OWN_KINDS = frozenset({"function", "custom"})
"""Kinds of tools that mean the same to every vendor."""


def tools_for(
    tools: tuple[ToolDefinition, ...], target: Dialect, scribe: Scribe, at_home: bool = False
) -> tuple[ToolDefinition, ...]:
    """The tools that the target can take, with schemas that it reads."""
    if at_home:
        return tools
    out = [new for tool in tools if (new := _tool(tool, target, scribe)) is not None]
    same = len(out) == len(tools) and all(a is b for a, b in zip(out, tools, strict=True))
    return tools if same else tuple(out)


def _tool(tool: ToolDefinition, target: Dialect, scribe: Scribe) -> ToolDefinition | None:
    if (tool.kind not in OWN_KINDS or tool.executor == "provider") and not (
        _is_of(tool, target.name)
    ):
        reason = "tools that a vendor defines do not cross vendors"
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
    scribe.also_known(new, tool)
    return new


def _is_of(tool: ToolDefinition, dialect: str) -> bool:
    """Whether a tool is this dialect's own: it was read there, or its kind says so."""
    if tool.raw is not None and dialect in tool.raw:
        return True
    return tool.kind.startswith(f"{dialect}:")
