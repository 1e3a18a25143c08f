"""Tools, and which of them the model may or must call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire, expect
from interlingua.dialects.openai_responses.spelling import (
    absent,
    form,
    inside,
    is_kept,
    own,
    put_back,
    spare,
)
from interlingua.dialects.openai_responses.tables import (
    BARE_TOOLS,
    CHOICES,
    CLIENT_TOOLS,
    KINDS,
    NAME,
)
from interlingua.errors import ReadError, found
from interlingua.model.base import same
from interlingua.model.blocks import Executor
from interlingua.model.exchange import ToolChoice
from interlingua.model.tools import Grammar, ToolDefinition

_SAID = frozenset(
    {"name", "description", "input_schema", "executor", "kind", "strict", "deferred"}
    | {"output_schema"}
)
_FIELDS: dict[str, tuple[str, type]] = {
    "description": ("description", str),
    "parameters": ("input_schema", dict),
    "strict": ("strict", bool),
    "defer_loading": ("deferred", bool),
    "output_schema": ("output_schema", dict),
}
_KEYS_OF: dict[str, tuple[str, ...]] = {
    "function": tuple(_FIELDS),
    "custom": ("description", "defer_loading"),
    "namespace": ("description",),
    "tool_search": ("description", "parameters"),
    "mcp": ("defer_loading",),
}
"""Which of the fields each kind of tool has on the wire."""
_FORMAT = "format"
_DEMANDED = {"function": ("parameters", "strict")}
"""Keys that are written even where there is nothing to say."""


def read_tool(wire: Any) -> ToolDefinition:
    if type(wire) is not dict:
        raise ReadError(NAME, "$", "an object", found(wire))
    kind = wire.get("type", "function")
    expect(kind, str, NAME, "$.type")
    spelling: Wire = {} if "type" in wire else {"absent": ["type"]}
    known = {"type"}
    name = _name(wire, kind, known)
    fields: dict[str, Any] = {}
    for key in _KEYS_OF.get(kind, ()):
        field, json_type = _FIELDS[key]
        value = wire.get(key)
        if type(value) is json_type:
            fields[field] = value
            known.add(key)
        elif value is not None and kind == "function":
            expect(value, json_type, NAME, f"$.{key}")
        elif key in _DEMANDED.get(kind, ()):
            if key in wire:
                known.add(key)
            else:
                spelling.setdefault("absent", []).append(key)
    if kind == "custom":
        _read_format(wire.get(_FORMAT), fields, spelling, known)
    rest, spelled = spare(wire, known)
    if kind == "mcp" and "server_label" not in wire:
        spelling.setdefault("absent", []).append("server_label")
    if spelled:
        spelling["spelled"] = spelled
    if kind not in KINDS:
        spelling["kind"] = kind
    raw: Wire | None = None
    if rest or spelling or kind not in ("function", "custom"):
        raw = {NAME: {**rest, "$form": spelling} if spelling else rest}
    return ToolDefinition(name, executor=_executor(wire, kind), kind=kind, raw=raw, **fields)


def _read_format(wire: Any, fields: dict[str, Any], spelling: Wire, known: set[str]) -> None:
    """What free text has to look like."""
    match wire:
        case {"type": "text"} if len(wire) == 1:
            spelling[_FORMAT] = "text"
            known.add(_FORMAT)
        case {"type": "grammar", "syntax": str(syntax), "definition": str(text)} if len(wire) == 3:
            fields["grammar"] = Grammar(syntax, text)
            known.add(_FORMAT)


def _write_format(wire: Wire, grammar: Grammar | None, spelling: Wire) -> None:
    if grammar is not None:
        said = {"syntax": grammar.syntax, "definition": grammar.definition}
        wire[_FORMAT] = {"type": "grammar", **said}
    elif spelling.get(_FORMAT) == "text":
        wire[_FORMAT] = {"type": "text"}


def _name(wire: Wire, kind: str, known: set[str]) -> str:
    if kind in ("function", "custom", "namespace"):
        known.add("name")
        return expect(wire.get("name"), str, NAME, "$.name")
    if kind == "mcp" and type(wire.get("server_label")) is str:
        known.add("server_label")
        return str(wire["server_label"])
    return kind


def _executor(wire: Wire, kind: str) -> Executor:
    if kind in ("function", "custom") or kind in CLIENT_TOOLS:
        return "client"
    if kind == "tool_search":
        return "client" if wire.get("execution") == "client" else "provider"
    if kind == "shell":
        where = wire.get("environment")
        local = type(where) is dict and where.get("type") == "local"
        return "client" if local else "provider"
    return "provider"


def write_tool(tool: ToolDefinition, scribe: Scribe) -> Wire | None:
    """None for a tool that another vendor defined; the report says so."""
    kind = tool.kind
    raw = tool.raw
    spelling = form(raw)
    is_own = kind in KINDS and raw is not None and NAME in raw
    if not (is_own or kind in BARE_TOOLS or spelling.get("kind") == kind):
        reason = "tools that a vendor defines do not cross vendors"
        scribe.lost(tool, None, reason, severity="error")
        return None
    wire: Wire = {} if absent(spelling, "type") and kind == "function" else {"type": kind}
    _write_name(wire, tool, scribe)
    keys = _KEYS_OF.get(kind, ())
    for key in keys:
        value = getattr(tool, _FIELDS[key][0])
        if value is not None:
            wire[key] = value
        elif key in _DEMANDED.get(kind, ()) and not absent(spelling, key):
            wire[key] = None
    said = _SAID - {field for key, (field, _) in _FIELDS.items() if key not in keys}
    if kind == "custom":
        _write_format(wire, tool.grammar, spelling)
        said |= {"grammar"}
    scribe.unsaid(tool, said)
    put_back(wire, raw)
    if _executor(wire, kind) != tool.executor and kind == "tool_search":
        wire["execution"] = "client" if tool.executor == "client" else "server"
    if _executor(wire, kind) != tool.executor:
        scribe.lost(tool, "executor")
    return wire


def _write_name(wire: Wire, tool: ToolDefinition, scribe: Scribe) -> None:
    if tool.kind in ("function", "custom", "namespace"):
        wire["name"] = tool.name
    elif tool.kind == "mcp":
        if tool.name != "mcp" or not is_kept(tool.raw, "server_label"):
            wire["server_label"] = tool.name
    elif tool.name != tool.kind:
        scribe.lost(tool, "name")


# Choices -------------------------------------------------------------------------------------


def read_choice(wire: Any) -> ToolChoice | None:
    """None for a choice that only this dialect understands."""
    if type(wire) is str:
        mode = CHOICES.read(wire)
        return None if mode is None else ToolChoice(mode)  # type: ignore[arg-type]  # the table has modes only
    if type(wire) is not dict:
        raise ReadError(NAME, "$.tool_choice", "a string or an object", found(wire))
    if wire.get("type") == "allowed_tools":
        mode, tools = CHOICES.read(wire.get("mode", "auto")), wire.get("tools")
        names = [_chosen(each) for each in tools] if type(tools) is list else [None]
        if mode is None or mode == "none" or None in names or not names:
            return None
        return ToolChoice(mode, tuple([str(name) for name in names]))  # type: ignore[arg-type]  # the table has modes only
    name = _chosen(wire)
    return None if name is None else ToolChoice("any", (name,))


def _chosen(wire: Any) -> str | None:
    """The name of a tool that is chosen by an object."""
    if type(wire) is not dict:
        return None
    kind = wire.get("type")
    key = "name" if kind in ("function", "custom") else "server_label" if kind == "mcp" else "type"
    name = wire.get(key)
    return name if type(name) is str else None


def write_choice(
    choice: ToolChoice, tools: Sequence[ToolDefinition], spelled: Any, scribe: Scribe
) -> Any:
    """`spelled` is the wire that it was read from, and goes home while it says the same."""
    if spelled is not None:
        again = read_choice(spelled)
        if again is not None and same(again.mode, choice.mode) and again.names == choice.names:
            return spelled
    return plain_choice(choice, tools, scribe)


def plain_choice(
    choice: ToolChoice, tools: Sequence[ToolDefinition], scribe: Scribe | None = None
) -> Any:
    """A choice as we spell it."""
    mode = CHOICES.write(choice.mode)
    if mode is None and scribe is not None:
        scribe.lost(choice, "mode")
    if mode is None or mode == "none" or not choice.names:
        if choice.names and scribe is not None:
            scribe.lost(choice, "names")
        return mode or "auto"
    kinds = {tool.name: tool.kind for tool in tools}
    named = [_choose(name, kinds.get(name, "function")) for name in choice.names]
    if len(named) == 1 and choice.mode == "any":
        return named[0]
    return {"type": "allowed_tools", "mode": mode, "tools": named}


def _choose(name: str, kind: str) -> Wire:
    if kind in ("function", "custom"):
        return {"type": kind, "name": name}
    return {"type": kind, "server_label": name} if kind == "mcp" else {"type": kind}


def read_tools(given: list[Any], place: str, number: int | None = None) -> list[ToolDefinition]:
    """`number` is that of the item in the middle of the input that brings them."""
    tools: list[ToolDefinition] = []
    for index, each in enumerate(given):
        try:
            tools.append(read_tool(each))
        except ReadError as odd:
            raise inside(odd, f"{place}[{index}]") from None
    return tools if number is None else [_brought(tool, number) for tool in tools]


def _brought(tool: ToolDefinition, number: int) -> ToolDefinition:
    mine = own(tool.raw)
    return tool.replace(raw={NAME: {**mine, "$form": {**mine.get("$form", {}), "added": number}}})


def added(tool: ToolDefinition) -> int | None:
    """Which item in the middle of the input brought a tool."""
    number = form(tool.raw).get("added")
    return number if type(number) is int else None
