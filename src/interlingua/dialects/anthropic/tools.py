"""Tool definitions: the client's own, those Anthropic defines and the client runs, and those the
service runs itself."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from interlingua.dialects.anthropic.kept import finish, form_of, mine_of, read_cache, spare
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.tables import (
    CLIENT_TOOLS,
    DEFAULT_SCHEMA,
    HOSTED_TOOLS,
    SAID_TOOL,
    TEXT_SCHEMA,
)
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.tools import ToolDefinition

_CUSTOM = frozenset(
    {"type", "name", "description", "input_schema", "strict", "defer_loading", "cache_control"}
)
_OWN = _CUSTOM - {"input_schema", "description"}


def read_tools(tools: list[Any]) -> tuple[ToolDefinition, ...]:
    read: list[ToolDefinition] = []
    try:
        for tool in tools:
            read.append(_read_tool(tool))
    except ShapeError as odd:
        raise odd.inside(f".tools[{len(read)}]") from None
    return tuple(read)


def _read_tool(wire: Any) -> ToolDefinition:
    if type(wire) is not dict:
        raise ShapeError("", "an object", wire)
    kind = wire.get("type")
    if kind is None or kind == "custom":
        return _read_custom(wire, kind)
    if type(kind) is not str:
        raise ShapeError(".type", "a string", kind)
    return _read_own(wire, kind)


def _read_custom(wire: Wire, kind: str | None) -> ToolDefinition:
    form: Wire = {}
    spelled: Wire = {}
    name = take(wire, "name", str)
    description = may_take(wire, "description", str, spelled)
    schema = wire.get("input_schema")
    if "type" in wire:
        spelled["type"] = kind
    known = _CUSTOM
    if type(schema) is not dict:
        form["schemaless"] = True
        schema, known = None, _CUSTOM - {"input_schema"}
    strict = may_take(wire, "strict", bool, spelled)
    deferred = may_take(wire, "defer_loading", bool, spelled)
    cache = read_cache(wire, spelled, form)
    raw = spare(wire, known, spelled, form)
    return ToolDefinition(
        name, description, schema, strict=strict, deferred=deferred, cache=cache, raw=raw
    )


def _read_own(wire: Wire, kind: str) -> ToolDefinition:
    form: Wire = {"own": True}  # so that it is known for ours wherever it goes
    spelled: Wire = {}
    key = _name_key(kind)
    name = may_take(wire, key, str, spelled)
    if name is None:
        form["nameless"] = True
    client = CLIENT_TOOLS.fullmatch(kind) is not None
    strict = may_take(wire, "strict", bool, spelled)
    deferred = may_take(wire, "defer_loading", bool, spelled)
    cache = read_cache(wire, spelled, form)
    return ToolDefinition(
        kind if name is None else name,
        executor="client" if client else "provider",
        kind=kind,
        strict=strict,
        deferred=deferred,
        cache=cache,
        raw=spare(wire, _OWN - {"name"} | {key}, spelled, form),
    )


def _name_key(kind: str) -> str:
    return "mcp_server_name" if kind == "mcp_toolset" else "name"


def write_tools(tools: tuple[ToolDefinition, ...], scribe: Scribe) -> list[Wire]:
    written = [_write_tool(tool, scribe) for tool in tools]
    return [wire for wire in written if wire is not None]


def _write_tool(tool: ToolDefinition, scribe: Scribe) -> Wire | None:
    if tool.kind == "function" and tool.executor == "client":
        out = _write_function(tool, tool.input_schema)
    elif tool.kind == "custom" and tool.executor == "client":
        scribe.lost(tool, "kind", "takes an object that holds the text", kind="downgraded")
        out = _write_function(tool, tool.input_schema or deepcopy(TEXT_SCHEMA))
    elif tool.executor in ("client", "provider") and _is_ours(tool):
        out = _write_own(tool, scribe)
    else:
        scribe.lost(tool, None, "a tool of another service")
        return None
    if tool.strict is not None:
        out["strict"] = tool.strict
    if tool.deferred is not None:
        out["defer_loading"] = tool.deferred
    if (
        tool.side_effects is not None
        or tool.output_schema is not None
        or tool.grammar is not None
        or not tool.requires_workspace
    ):
        scribe.unsaid(tool, SAID_TOOL)
    return finish(out, tool, scribe) if tool.raw is not None or tool.cache is not None else out


def _write_function(tool: ToolDefinition, schema: Wire | None) -> Wire:
    out: Wire = {"name": tool.name}
    if tool.description is not None:
        out["description"] = tool.description
    if schema is not None:
        out["input_schema"] = schema
    elif not form_of(tool.raw).get("schemaless"):
        out["input_schema"] = deepcopy(DEFAULT_SCHEMA)
    return out


def _is_ours(tool: ToolDefinition) -> bool:
    if tool.executor == "client":
        return CLIENT_TOOLS.fullmatch(tool.kind) is not None
    return HOSTED_TOOLS.fullmatch(tool.kind) is not None or (
        form_of(tool.raw).get("own") is True and CLIENT_TOOLS.fullmatch(tool.kind) is None
    )


def _write_own(tool: ToolDefinition, scribe: Scribe) -> Wire:
    out: Wire = {"type": tool.kind}
    if not (form_of(tool.raw).get("nameless") and tool.name == tool.kind):
        out[_name_key(tool.kind)] = tool.name
    for name in ("description", "input_schema"):
        if getattr(tool, name) is not None and name not in mine_of(tool.raw):
            scribe.lost(tool, name)
    return out
