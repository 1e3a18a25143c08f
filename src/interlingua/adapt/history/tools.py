"""Tools, as far as the target takes them."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.fit.schemas import narrow, rewrite
from interlingua.adapt.history.tool_mapping import is_foreign
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect
from interlingua.model.base import JsonObject
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request, ToolChoice
from interlingua.model.tools import ToolDefinition

_ORDER = "propertyOrdering"


def tools_for(
    tools: tuple[ToolDefinition, ...], target: Dialect, recorder: LossRecorder
) -> tuple[ToolDefinition, ...]:
    """The tools that the target accepts, with schemas that it reads."""
    out = [new for tool in tools if (new := _tool(tool, target, recorder)) is not None]
    same = len(out) == len(tools) and all(a is b for a, b in zip(out, tools, strict=True))
    return tools if same else tuple(out)


def _tool(tool: ToolDefinition, target: Dialect, recorder: LossRecorder) -> ToolDefinition | None:
    if is_foreign(tool, target.name):
        reason = "a tool that another vendor defines, and that the model is not known to have"
        recorder.lost(tool, None, reason, severity="error")
        return None
    keywords = target.traits.schema_keywords
    if keywords is None or tool.input_schema is None:
        return tool
    schema, dropped = narrow(tool.input_schema, keywords)
    for path in dropped:
        reason = f"{target.name} ignores this keyword"
        recorder.lost(tool, f"input_schema{path}", reason)
    if not dropped:
        return tool
    new = tool.replace(input_schema=schema)
    recorder.alias(new, tool)
    return new


def without_order(request: Request, recorder: LossRecorder) -> Request:
    """A request of Gemini's without the order of properties in its schemas: it validates nothing,
    and other services may refuse the keyword."""
    changes: dict[str, Any] = {}
    tools = tuple([_unordered(tool, "input_schema", recorder) for tool in request.tools])
    if any(new is not old for new, old in zip(tools, request.tools, strict=True)):
        changes["tools"] = tools
    wanted = request.options.response_format
    if wanted is not None and (new := _unordered(wanted, "schema", recorder)) is not wanted:
        changes["options"] = request.options.replace(response_format=new)
        recorder.alias(changes["options"], request.options)
    return request.replace(**changes) if changes else request


def _unordered(value: Any, field: str, recorder: LossRecorder) -> Any:
    is_found = False

    def step(schema: JsonObject, _: str) -> JsonObject:
        nonlocal is_found
        if type(schema.get(_ORDER)) is not list:
            return schema
        is_found = True
        return {word: inner for word, inner in schema.items() if word != _ORDER}

    schema = rewrite(getattr(value, field), step)
    if not is_found:
        return value
    reason = f"without {_ORDER}, a keyword of Gemini's that validates nothing"
    recorder.lost(value, field, reason, "approximated", "info")
    new = value.replace(**{field: schema})
    recorder.alias(new, value)
    return new


def with_allowed_tools(request: Request, target: Dialect, recorder: LossRecorder) -> Request:
    """The request without the tools that its choice forbids, if the target has no such choice."""
    choice, tools = request.options.tool_choice, request.tools
    if choice is None or not tools or not (choice.names or choice.mode == "none"):
        return request
    kind = "none" if choice.mode == "none" else "one" if _is_forced(choice) else "some"
    allowed = [tool for tool in tools if choice.mode != "none" and tool.name in choice.names]
    if kind in target.traits.choices or not (allowed or kind == "none"):
        return request
    if not allowed and target.traits.defines_called and _has_calls(request):
        return request
    for tool in tools:
        if tool not in allowed:
            reason = "left out, since it may not be called and the target cannot say so"
            recorder.lost(tool, None, reason)
    place = "tool_choice" if kind == "none" else "tool_choice.names"
    reason = "said by leaving out the tools that may not be called"
    recorder.lost(request.options, place, reason, "moved", "info")
    new = None if kind == "none" else ToolChoice(choice.mode)
    options = request.options.replace(tool_choice=new)
    recorder.alias(options, request.options)
    return request.replace(tools=tuple(allowed), options=options)


def _is_forced(choice: ToolChoice) -> bool:
    return choice.mode == "any" and len(choice.names) == 1


def _has_calls(request: Request) -> bool:
    return any(
        type(block) is ToolUseBlock or type(block) is ToolResultBlock
        for message in request.messages
        for block in message.content
    )
