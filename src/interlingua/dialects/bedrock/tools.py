"""`toolConfig`: which tools there are, and which of them shall be called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.parts import put_cache, with_cache
from interlingua.dialects.bedrock.shape import (
    form_of,
    mine_of,
    put_back,
    put_section,
    section,
    spare,
)
from interlingua.dialects.bedrock.tables import (
    DEFAULT_SCHEMA,
    DEFAULT_TOOL,
    NAME,
    SAID_TOOL,
    TEXT_SCHEMA,
)
from interlingua.dialects.shape import Kept, ShapeError, may_take, want
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

# -- reading --------------------------------------------------------------------------------------


def read_tools(wire: Wire, kept: Kept) -> tuple[tuple[ToolDefinition, ...], ToolChoice | None]:
    config = section(wire, "toolConfig", kept.spelled)
    if config is None:
        return (), None
    left: Wire = {}
    blank: Wire = {}
    try:
        listed = may_take(config, "tools", list, blank)
        if listed == []:
            blank["tools"] = []
        tools = _read_list(listed or [], left)
        choice = _read_choice(config, left, blank)
    except ShapeError as odd:
        raise odd.inside(".toolConfig") from None
    for key in config.keys() - {"tools", "toolChoice"}:
        left[key] = config[key]
    if left:
        kept.rest["toolConfig"] = left
    if blank or not tools:
        kept.form["toolConfig"] = blank
    return tools, choice


def _read_list(listed: list[Any], left: Wire) -> tuple[ToolDefinition, ...]:
    tools: list[ToolDefinition] = []
    for index, wire in enumerate(listed):
        try:
            point = want(wire, dict).get("cachePoint")
            if len(wire) != 1 or type(point) is not dict:
                tools.append(_read_tool(wire))
            elif tools:
                tools[-1] = with_cache(tools[-1], point)
            else:
                left.setdefault("$cachePoints", []).append(point)
        except ShapeError as odd:
            raise odd.inside(f".tools[{index}]") from None
    return tuple(tools)


def _read_tool(wire: Wire) -> ToolDefinition:
    key, inner = next(iter(wire.items()), ("", None))
    if len(wire) == 1 and key == "toolSpec":
        return _read_spec(want(inner, dict, ".toolSpec"))
    if len(wire) == 1 and type(inner) is dict and type(inner.get("name")) is str:
        # `systemTool`, and what may come after it: tools that the service runs.
        raw = spare(inner, ("name",), {}, {"part": key})
        return ToolDefinition(inner["name"], executor="provider", kind=key, raw=raw)
    return ToolDefinition(key, executor="provider", kind="unknown", raw={NAME: {"part": wire}})


_SPEC = frozenset({"name", "description", "inputSchema", "strict"})


def _read_spec(spec: Wire) -> ToolDefinition:
    form: Wire = {}
    spelled: Wire = {}
    left: Wire = {}
    name = want(spec.get("name"), str, ".toolSpec.name")
    try:
        description = may_take(spec, "description", str, spelled)
        strict = may_take(spec, "strict", bool, spelled)
        schema = _read_schema(spec, left, form, spelled)
    except ShapeError as odd:
        raise odd.inside(".toolSpec") from None
    if description == "":
        form["odd"] = True
    raw = spare(spec, _SPEC, spelled, form, left)
    return ToolDefinition(name, description, schema, strict=strict, raw=raw)


def _read_schema(spec: Wire, left: Wire, form: Wire, spelled: Wire) -> Wire | None:
    holder = may_take(spec, "inputSchema", dict, spelled)
    if holder is None:
        if "inputSchema" not in spec:
            form["absent"] = ["inputSchema"]
        return None
    more = {key: item for key, item in holder.items() if key != "json"}
    schema = holder.get("json")
    if schema is None:
        more = dict(holder)
        form["absent"] = ["json"]
    elif type(schema) is not dict:
        raise ShapeError(".inputSchema.json", "an object", schema)
    if more:
        left["inputSchema"] = more
    return schema


def _read_choice(config: Wire, left: Wire, blank: Wire) -> ToolChoice | None:
    choice = may_take(config, "toolChoice", dict, blank)
    if choice is None:
        return None
    if choice == {"auto": {}}:
        return ToolChoice("auto")
    if choice == {"any": {}}:
        return ToolChoice("any")
    tool = choice.get("tool")
    if len(choice) == 1 and type(tool) is dict and tool.keys() == {"name"}:
        return ToolChoice("any", (want(tool["name"], str, ".toolChoice.tool.name"),))
    left["toolChoice"] = choice
    return None


# -- writing --------------------------------------------------------------------------------------


def write_tools(out: Wire, request: Request, mine: Wire, form: Wire, scribe: Scribe) -> None:
    tools: list[Wire] = []
    ahead = mine.get("toolConfig")
    if type(ahead) is dict and "$cachePoints" in ahead:
        tools += [{"cachePoint": point} for point in ahead["$cachePoints"]]
        mine = {**mine, "toolConfig": {k: v for k, v in ahead.items() if k != "$cachePoints"}}
    for tool in request.tools:
        wire = _write_tool(tool, scribe)
        if wire is not None:
            tools.append(wire)
            if tool.cache is not None:
                put_cache(tools, tool, scribe)
    if not tools and not form.get("untooled"):
        tools = stand_ins(request.messages)
        if tools:
            reason = "history has calls, so their tools are named without a schema"
            scribe.lost(request, "tools", reason, kind="approximated", severity="info")
    said: Wire = {"tools": tools} if tools else {}
    _put_choice(said, request, "toolConfig" in form, scribe)
    put_section(out, "toolConfig", said, mine, form)


def _write_tool(tool: ToolDefinition, scribe: Scribe) -> Wire | None:
    mine, form = mine_of(tool.raw), form_of(tool.raw)
    if tool.kind not in ("function", "custom") or tool.executor == "provider":
        return _write_hosted(tool, mine, form, scribe)
    out: Wire = {"name": tool.name}
    if tool.description or (tool.description is not None and form.get("odd")):
        out["description"] = tool.description
    elif tool.description is not None:
        scribe.lost(tool, "description", "empty", severity="info")
    if tool.strict is not None:
        out["strict"] = tool.strict
    if tool.kind == "custom":
        scribe.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    executor: str = tool.executor
    if executor != "client":
        scribe.lost(tool, "executor")
    schema = _write_schema(tool, mine, form)
    if schema is not None:
        out["inputSchema"] = schema
    scribe.unsaid(tool, SAID_TOOL)
    return {"toolSpec": out if tool.raw is None else put_back(out, tool, scribe, tool.raw)}


def _write_schema(tool: ToolDefinition, mine: Wire, form: Wire) -> Wire | None:
    absent, more = form.get("absent", ()), mine.get("inputSchema")
    said: Wire = dict(more) if type(more) is dict else {}
    if tool.input_schema is not None:
        said["json"] = tool.input_schema
    elif "inputSchema" in absent or "inputSchema" in form.get("spelled", ()):
        return None
    elif "json" not in absent:
        said["json"] = TEXT_SCHEMA if tool.kind == "custom" else DEFAULT_SCHEMA
    return said


def _write_hosted(tool: ToolDefinition, mine: Wire, form: Wire, scribe: Scribe) -> Wire | None:
    part = mine.get("part")
    if tool.kind == "unknown" and type(part) is dict:
        if tool.name != next(iter(part), ""):
            scribe.lost(tool, "name")
        return part
    if form.get("part") != tool.kind and tool.kind != "systemTool":
        scribe.lost(tool, None, "the service runs no such tool")
        return None
    if tool.executor != "provider":
        scribe.lost(tool, "executor")
    scribe.unsaid(tool, frozenset({"name", "executor", "kind", "cache", "raw"}))
    out: Wire = {"name": tool.name}
    return {tool.kind: out if tool.raw is None else put_back(out, tool, scribe, tool.raw)}


def _put_choice(said: Wire, request: Request, config: bool, scribe: Scribe) -> None:
    options = request.options
    choice = options.tool_choice
    if choice is None:
        return
    if not said and not config:
        if choice.mode != "auto" or choice.names:
            scribe.lost(options, "tool_choice", "there is no tool to choose")
    elif choice.mode == "any" and len(choice.names) == 1:
        said["toolChoice"] = {"tool": {"name": choice.names[0]}}
    elif choice.mode in ("auto", "any"):
        said["toolChoice"] = {choice.mode: {}}
        if choice.names:
            scribe.lost(options, "tool_choice.names", "one tool or all of them")
    else:
        scribe.lost(options, "tool_choice")


def stand_ins(messages: Iterable[Message]) -> list[Wire]:
    """Tools by the names in history: a request that has calls and no tools is refused."""
    names: dict[str, None] = {}
    results = False
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock and block.executor == "client":
                names[block.name] = None
            elif type(block) is ToolResultBlock:
                results = True
                if block.tool_name is not None:
                    names[block.tool_name] = None
    if results and not names:
        names[DEFAULT_TOOL] = None
    schema = {"json": DEFAULT_SCHEMA}
    return [{"toolSpec": {"name": name, "inputSchema": schema}} for name in names]
