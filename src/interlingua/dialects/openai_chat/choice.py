"""`tool_choice`, and the legacy `function_call` of a request."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.model.exchange import Options, ToolChoice

_MODES: dict[Any, Any] = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
_WORDS = {"auto": "auto", "none": "none", "any": "required"}
_LEGACY = "function_call"
_SUBSET = "allowed_tools"


def read_choice(choice: Any, t: Tables, form: Wire) -> ToolChoice | None:
    """The choice; None for shapes that are not known."""
    if type(choice) is str:
        mode = _MODES.get(choice)
        if mode is not None and _WORDS[mode] != choice:
            form["tool_choice"] = choice
        return None if mode is None else ToolChoice(mode)
    if type(choice) is not dict or type(choice.get("type")) is not str:
        return None
    kind = choice["type"]
    if kind == _SUBSET and choice.keys() == {"type", kind}:
        return _read_subset(choice[kind], t, form)
    name = _read_reference(choice, t)
    if name is None:
        return None
    if kind == "custom":
        form["tool_choice"] = kind
    return ToolChoice("any", (name,))


def _read_subset(inner: Any, t: Tables, form: Wire) -> ToolChoice | None:
    if type(inner) is not dict or inner.keys() != {"mode", "tools"}:
        return None
    if inner["mode"] not in ("auto", "required") or type(inner["tools"]) is not list:
        return None
    names = [_read_reference(tool, t) for tool in inner["tools"]]
    known = tuple([name for name in names if name is not None])
    if not known or len(known) < len(names):
        return None
    form["tool_choice"] = _SUBSET
    custom = [tool["custom"]["name"] for tool in inner["tools"] if "custom" in tool]
    if custom:
        form["custom"] = custom
    return ToolChoice("auto" if inner["mode"] == "auto" else "any", known)


def _read_reference(tool: Any, t: Tables) -> str | None:
    """The name in `{"type": "function", "function": {"name": …}}`, if it is just that."""
    kind = tool.get("type") if type(tool) is dict else None
    if type(kind) is not str:
        return None
    if t.server_tools and kind.startswith(t.server_tools) and len(tool) == 1:
        return kind
    if kind not in ("function", "custom") or tool.keys() != {"type", kind}:
        return None
    inner = tool[kind]
    if type(inner) is not dict or inner.keys() != {"name"} or type(inner["name"]) is not str:
        return None
    name: str = inner["name"]
    return name


def read_legacy_choice(choice: Any, form: Wire) -> ToolChoice | None:
    found: ToolChoice | None = None
    if choice == "auto" or choice == "none":
        found = ToolChoice(_MODES[choice])
    elif type(choice) is dict and choice.keys() == {"name"} and type(choice["name"]) is str:
        found = ToolChoice("any", (choice["name"],))
    if found is not None:
        form["tool_choice"] = _LEGACY
    return found


def write_choice(
    options: Options, custom: frozenset[str], t: Tables, scribe: Scribe, form: Wire
) -> Wire:
    """`custom` are the names of the tools that take free text."""
    choice = options.tool_choice or ToolChoice()
    mode, names, spelled = choice.mode, choice.names, form.get("tool_choice")
    if names and (mode == "none" or not _is_sayable(choice, t, spelled)):
        scribe.lost(options, "tool_choice.names")
        names = ()
    if spelled == _LEGACY and (mode, len(names)) in _LEGACY_FORMS:
        return {_LEGACY: {"name": names[0]} if names else mode}
    if not names:
        return {"tool_choice": "any" if mode == spelled == "any" else _WORDS[mode]}
    free = custom.union(form.get("custom", ()), names if spelled == "custom" else ())
    tools = [_reference(name, name in free, t) for name in names]
    if len(names) == 1 and mode == "any" and spelled != _SUBSET:
        return {"tool_choice": tools[0]}
    subset = {"mode": "auto" if mode == "auto" else "required", "tools": tools}
    return {"tool_choice": {"type": _SUBSET, _SUBSET: subset}}


_LEGACY_FORMS = {("auto", 0), ("none", 0), ("any", 1)}


def _is_sayable(choice: ToolChoice, t: Tables, spelled: str | None) -> bool:
    alone = len(choice.names) == 1 and choice.mode == "any"
    return alone or t.subset_choice or spelled == _SUBSET


def _reference(name: str, free: bool, t: Tables) -> Wire:
    if t.server_tools and name.startswith(t.server_tools):
        return {"type": name}
    kind = "custom" if free and t.custom_tools else "function"
    return {"type": kind, kind: {"name": name}}
