"""`toolConfig`: which tools there are, and which of them shall be called; the parts by which a turn
adds and removes some; and cache points, which follow tools and blocks alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import kind_of
from interlingua.dialects.kernel.calls import DEFAULT_SCHEMA, schema_of
from interlingua.dialects.kernel.claude import time_to_live
from interlingua.dialects.kernel.errors import ShapeError, at_path, require
from interlingua.dialects.kernel.fields import Table, inside, plain
from interlingua.dialects.kernel.preserved import Preserved, raw_inside, raw_of, was_absent
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import report_changes
from interlingua.model.blocks import Block, Cache, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Options, Request, ToolChoice
from interlingua.model.message import Changes, Message
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

CONFIG = "toolConfig"
POINTS = "$cachePoints"


# -- one tool -------------------------------------------------------------------------------------


def _write_description(tool: Any, recorder: LossRecorder) -> str | None:
    """An empty one is refused."""
    if not tool.description:
        recorder.lost(tool, "description", because("empty"))
    return tool.description or None


TOOL = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str)._replace(write=_write_description, fits=bool),
    inside("inputSchema", plain("json", "input_schema", dict)),
    plain("strict", "strict", bool),
    silent=("executor", "kind", "cache"),
)
HOSTED = Table(ToolDefinition, plain("name", "name", str), silent=("executor", "kind", "cache"))
"""A tool that the service runs."""


def _read_tool(wire: Wire) -> ToolDefinition:
    key, inner = next(iter(wire.items()), ("", None))
    if len(wire) == 1 and key == "toolSpec":
        return at_path(".toolSpec", _read_spec, inner)
    if len(wire) == 1 and type(inner) is dict and type(inner.get("name")) is str:
        # `systemTool`, and what may come after it: tools that the service runs.
        more = {"executor": "provider", "kind": key}
        return HOSTED.read_value(
            ToolDefinition, inner, NAME, Preserved(spelling={"kind": key}), **more
        )
    return ToolDefinition(key, executor="provider", kind="unknown", raw={NAME: {"part": wire}})


def _read_spec(spec: Any) -> ToolDefinition:
    preserved = Preserved()
    if "inputSchema" not in require(spec, dict):
        preserved.mark_absent("inputSchema")
    return TOOL.read_value(ToolDefinition, spec, NAME, preserved)


def _write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    if tool.kind not in ("function", "custom") or tool.executor == "provider":
        return _write_hosted(tool, recorder)
    if tool.kind == "custom":
        recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
    executor: str = tool.executor
    if executor != "client":
        recorder.lost(tool, "executor")
    spec = TOOL.write_value(tool, recorder)
    if "inputSchema" not in spec and not was_absent(raw_of(NAME, tool.raw), "inputSchema"):
        spec["inputSchema"] = {"json": schema_of(tool)}
    return {"toolSpec": spec}


def _write_hosted(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    part = raw_of(NAME, tool.raw).get("part")
    if tool.kind == "unknown" and type(part) is dict:
        if tool.name != next(iter(part), ""):
            recorder.lost(tool, "name")
        return part
    if kind_of(tool) != tool.kind and tool.kind != "systemTool":
        recorder.lost(tool, None, because("vendor_tool_unknown"))
        return None
    if tool.executor != "provider":
        recorder.lost(tool, "executor")
    return {tool.kind: HOSTED.write_value(tool, recorder)}


# -- all of them ----------------------------------------------------------------------------------


def read_tools(
    wire: Wire, preserved: Preserved
) -> tuple[tuple[ToolDefinition, ...], ToolChoice | None]:
    config = preserved.take(wire, CONFIG, dict)
    if config is None:
        return (), None
    inner = Preserved()
    listed = at_path(f".{CONFIG}", inner.take, config, "tools", list) or []
    tools = at_path(f".{CONFIG}", _read_list, listed, preserved)
    choice = at_path(f".{CONFIG}", _read_choice, config, inner)
    inner.add_others(config, frozenset({"tools", "toolChoice"}))
    preserved.absorb(CONFIG, inner)
    return tools, choice


def _read_list(listed: list[Any], preserved: Preserved) -> tuple[ToolDefinition, ...]:
    tools: list[ToolDefinition] = []
    for index, wire in enumerate(listed):
        try:
            point = require(wire, dict).get("cachePoint")
            if len(wire) != 1 or type(point) is not dict:
                tools.append(_read_tool(wire))
            elif tools:
                tools[-1] = with_cache(tools[-1], point)
            else:
                preserved.rest.setdefault(POINTS, []).append(point)
        except ShapeError as error:
            raise error.inside(f".tools[{index}]") from None
    return tuple(tools)


def _read_choice(config: Wire, inner: Preserved) -> ToolChoice | None:
    if "toolChoice" not in config:
        return None
    choice = config["toolChoice"]
    if choice is None:
        inner.keep_spelling("toolChoice", None)
        return None
    tool = require(choice, dict, ".toolChoice").get("tool")
    if choice in ({"auto": {}}, {"any": {}}):
        return ToolChoice(next(iter(choice)))
    if len(choice) == 1 and type(tool) is dict and tool.keys() == {"name"}:
        return ToolChoice("any", (require(tool["name"], str, ".toolChoice.tool.name"),))
    inner.hold("toolChoice", choice)
    return None


def write_tools(out: Wire, request: Request, own_raw: Wire, recorder: LossRecorder) -> None:
    tools = points_in(own_raw)
    for tool in request.tools:
        wire = _write_tool(tool, recorder)
        if wire is not None:
            tools.append(wire)
            if tool.cache is not None:
                put_cache(tools, tool, recorder)
    config = raw_inside(own_raw, CONFIG)
    if not tools and not (was_absent(own_raw, CONFIG) or was_absent(config, "tools")):
        tools = stand_ins(request.messages)
        if tools:
            reason = because("tools_declared")
            recorder.lost(request, "tools", reason, kind="approximated")
    tool_config: Wire = {"tools": tools} if tools else {}
    if request.options.tool_choice is not None:
        _put_choice(tool_config, request.options, request.options.tool_choice, config, recorder)
    if tool_config:
        out[CONFIG] = tool_config


def _put_choice(
    tool_config: Wire, options: Options, choice: ToolChoice, config: Wire, recorder: LossRecorder
) -> None:
    """`config` is the preserved data around it."""
    if not tool_config and not config:
        if choice.mode != "auto" or choice.names:
            recorder.lost(options, "tool_choice", because("no_tool_to_choose"))
    elif choice.mode == "any" and len(choice.names) == 1:
        tool_config["toolChoice"] = {"tool": {"name": choice.names[0]}}
    elif choice.mode in ("auto", "any"):
        tool_config["toolChoice"] = {choice.mode: {}}
        if choice.names:
            recorder.lost(options, "tool_choice.names", because("one_tool_or_all"))
    else:
        recorder.lost(options, "tool_choice")


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
        names[tables.DEFAULT_TOOL] = None
    schema = {"json": DEFAULT_SCHEMA}
    return [{"toolSpec": {"name": name, "inputSchema": schema}} for name in names]


# -- tools that a system turn adds and removes ----------------------------------------------------

_KEYS = frozenset({"name", "type"})
_WORDS = {field: word for word, field in tables.CHANGES.items()}


def read_changes(
    blocks: list[Block], spelling: Wire, tools: frozenset[str]
) -> tuple[list[Block], Changes | None]:
    """The blocks with content, and the changes of the others; their positions are spelling."""
    left: list[Block] = []
    names: dict[str, list[str]] = {field: [] for field in _WORDS}
    positions: list[list[Any]] = []
    for block in blocks:
        found = _change(block)
        if found is None or found[1]["name"] not in tools:
            left.append(block)
            continue
        field, tool = found
        names[field].append(tool["name"])
        positions.append([len(left), field, tool])
    if not positions:
        return blocks, None
    spelling["changes"] = positions
    return left, Changes(tuple(names["tools_added"]), tuple(names["tools_removed"]))


def _change(block: Block) -> tuple[str, Wire] | None:
    """The field of `Changes` that a part is for, and the tool it names."""
    part = block.raw.get(NAME) if type(block) is UnknownBlock and block.cache is None else None
    if type(part) is not dict or len(part) != 1:
        return None
    ((kind, inner),) = part.items()
    tool = inner.get("tool") if type(inner) is dict and len(inner) == 1 else None
    if kind not in tables.CHANGES or type(tool) is not dict or not _KEYS.issuperset(tool):
        return None
    return (tables.CHANGES[kind], tool) if type(tool.get("name")) is str else None


def write_changes(
    message: Message, spelling: Wire, tools: frozenset[str], recorder: LossRecorder
) -> list[tuple[int, Wire]]:
    """The parts for a message's changes, each with the number of blocks before it."""
    changes = message.changes
    assert changes is not None
    report_changes(message, recorder, frozenset(_WORDS))
    left = {field: [n for n in getattr(changes, field) if n in tools] for field in _WORDS}
    for field, names in left.items():
        if len(names) < len(getattr(changes, field)):
            recorder.lost(message, f"changes.{field}", because("tools_undeclared"))
    parts: list[tuple[int, Wire]] = []
    for at, field, tool in spelling.get("changes", ()):
        if tool["name"] in left[field]:
            left[field].remove(tool["name"])
            parts.append((at, {_WORDS[field]: {"tool": tool}}))
    end = len(message.content)
    more = [(word, name) for field, word in _WORDS.items() for name in left[field]]
    return [*parts, *[(end, {word: {"tool": {"name": name}}}) for word, name in more]]


# -- cache points ---------------------------------------------------------------------------------


def with_cache(value: Any, point: Wire) -> Any:
    """The block or tool with the cache point that follows it."""
    own_raw = dict(raw_of(NAME, value.raw))
    if value.cache is not None:
        own_raw[POINTS] = [*own_raw.get(POINTS, ()), point]
        return value.replace(raw={**(value.raw or {}), NAME: own_raw})
    ttl = point.get("ttl")
    if point == {"type": "default"} or (
        point == {"type": "default", "ttl": ttl} and type(ttl) is str and ttl in tables.TTLS
    ):
        return value.replace(cache=Cache(ttl))
    own_raw["$cachePoint"] = {k: v for k, v in point.items() if k != "ttl" or type(ttl) is not str}
    cache = Cache(ttl if type(ttl) is str else None)
    return value.replace(cache=cache, raw={**(value.raw or {}), NAME: own_raw})


def put_cache(out: list[Wire], value: Any, recorder: LossRecorder) -> None:
    """The cache points that follow a block or tool."""
    own_raw = raw_of(NAME, value.raw)
    own = own_raw.get("$cachePoint")
    point: Wire = dict(own) if type(own) is dict else {"type": "default"}
    ttl = value.cache.ttl if own is not None else time_to_live(value, recorder)
    if ttl is not None:
        point["ttl"] = ttl
    out.append({"cachePoint": point})
    out += points_in(own_raw)


def points_in(own_raw: Wire) -> list[Wire]:
    """The further cache points of a `raw`: behind a block, or before the first one."""
    return [{"cachePoint": point} for point in own_raw.get(POINTS, ())]
