"""Tool definitions, the legacy `functions` among them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.shape import Note, form_in, maybe, mine_of, put_back, want
from interlingua.dialects.openai_chat.tables import MARKS, Tables
from interlingua.dialects.openai_chat.text import read_cache, write_cache
from interlingua.model.tools import Grammar, ToolDefinition

_FIELDS: dict[str, tuple[str, type]] = {
    "description": ("description", str),
    "parameters": ("input_schema", dict),
    "strict": ("strict", bool),
}
_KNOWN = frozenset({"type", "function", "custom", "defer_loading", *MARKS})
_FORMAT = "format"
_ANY_TEXT = {"type": "text"}
_FUNCTION_FILLERS = {"type": "function"}


# Definitions


def read_tool(wire: Any, t: Tables) -> ToolDefinition:
    want(wire, dict, "")
    kind = wire.get("type") or "function"
    if kind in ("function", "custom"):
        want(wire.get(kind), dict, f".{kind}")
        return _read_function(wire, kind, t)
    return _read_server_tool(wire, want(kind, str, ".type"), t)


def _read_function(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    note, taken = Note(), {kind}
    if wire.get("type") == kind:
        taken.add("type")
    inner = wire[kind]
    fields = _read_fields(inner, kind, f".{kind}")
    if kind == "custom":
        fields["taken"].update(_read_format(inner.get(_FORMAT), fields, note))
    note.leave_inner(wire, kind, fields.pop("taken"))
    fields["cache"] = read_cache(wire, t, "tool", note.form, taken)
    deferred = maybe(wire, "defer_loading", bool)
    if deferred is not None:
        taken.add("defer_loading")
        fields["deferred"] = deferred
        if not t.deferred_tools:
            note.form["deferred"] = True
    note.leave(wire, taken, _KNOWN)
    if kind == "function":
        note.absent(wire, ("type",))
    elif not t.custom_tools:
        note.form["stood"] = True
    return ToolDefinition(kind=kind, raw=note.raw(t.name), **fields)


def _read_fields(inner: Wire, kind: str, path: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": want(inner.get("name"), str, f"{path}.name")}
    taken = {"name"}
    for key, (field, type_) in _FIELDS.items():
        if inner.get(key) is not None and (kind == "function" or key == "description"):
            fields[field] = want(inner[key], type_, f"{path}.{key}")
            taken.add(key)
    return {**fields, "taken": taken}


def _read_format(wire: Any, fields: dict[str, Any], note: Note) -> set[str]:
    """What free text has to look like; the keys that this takes."""
    if wire == _ANY_TEXT:
        note.form[_FORMAT] = "text"
        return {_FORMAT}
    match wire:
        case {"type": "grammar", "grammar": {"syntax": str(syntax), "definition": str(text)} as of}:
            if len(wire) == len(of) == 2:
                fields["grammar"] = Grammar(syntax, text)
                return {_FORMAT}
    return set()


def read_legacy_tool(wire: Any, t: Tables) -> ToolDefinition:
    """One of `functions`."""
    note = Note()
    note.form["legacy"] = True
    fields = _read_fields(want(wire, dict, ""), "function", "")
    note.leave(wire, fields.pop("taken"), _FIELDS)
    return ToolDefinition(raw=note.raw(t.name), **fields)


def _read_server_tool(wire: Wire, kind: str, t: Tables) -> ToolDefinition:
    """A tool that the service runs; all it says is the service's own."""
    note, taken = Note(), {"type"}
    cache = read_cache(wire, t, "tool", note.form, taken)
    note.leave(wire, taken, ())
    if not (t.server_tools and kind.startswith(t.server_tools)):
        note.form["stood"] = True
    return ToolDefinition(kind, executor="provider", kind=kind, cache=cache, raw=note.raw(t.name))


def write_tools(tools: tuple[ToolDefinition, ...], t: Tables, recorder: LossRecorder) -> Wire:
    """`tools`, and `functions` for those that were read there."""
    wire: Wire = {}
    for tool in tools:
        form = form_in(mine_of(t.name, tool.raw))
        legacy = form.get("legacy") and tool.kind == "function"
        for said in (
            _write_legacy_tool(tool, t, recorder) if legacy else write_tool(tool, t, recorder)
        ):
            wire.setdefault("functions" if legacy else "tools", []).append(said)
    return wire


def write_tool(tool: ToolDefinition, t: Tables, recorder: LossRecorder) -> list[Wire]:
    mine = mine_of(t.name, tool.raw)
    form = form_in(mine)
    if tool.executor == "provider" or tool.kind not in ("function", "custom"):
        return _write_server_tool(tool, t, recorder, mine, form)
    if tool.kind == "custom" and not t.custom_tools and not form.get("stood"):
        recorder.lost(tool, None, "there are no tools that take free text")
        return []
    wire: Wire = {"type": tool.kind, tool.kind: _write_fields(tool)}
    if tool.kind == "custom":
        _write_format(wire[tool.kind], tool.grammar, form)
    said = _SAID if tool.kind == "function" else _SAID_CUSTOM
    if tool.deferred is not None and (t.deferred_tools or form.get("deferred")):
        wire["defer_loading"] = tool.deferred
        said = said | {"deferred"}
    write_cache(wire, tool, tool.cache, t, recorder, "tool", form)
    recorder.unwritten(tool, said)
    return [put_back(wire, mine, _FUNCTION_FILLERS)]


def _write_fields(tool: ToolDefinition) -> Wire:
    inner: Wire = {"name": tool.name}
    if tool.description is not None:
        inner["description"] = tool.description
    if tool.kind == "function" and tool.input_schema is not None:
        inner["parameters"] = tool.input_schema
    if tool.kind == "function" and tool.strict is not None:
        inner["strict"] = tool.strict
    return inner


def _write_format(inner: Wire, grammar: Grammar | None, form: Wire) -> None:
    if grammar is not None:
        said = {"syntax": grammar.syntax, "definition": grammar.definition}
        inner[_FORMAT] = {"type": "grammar", "grammar": said}
    elif form.get(_FORMAT) == "text":
        inner[_FORMAT] = dict(_ANY_TEXT)


def _write_legacy_tool(tool: ToolDefinition, t: Tables, recorder: LossRecorder) -> list[Wire]:
    if tool.cache is not None:
        recorder.lost(tool, "cache")
    recorder.unwritten(tool, _SAID)
    return [put_back(_write_fields(tool), mine_of(t.name, tool.raw))]


def _write_server_tool(
    tool: ToolDefinition, t: Tables, recorder: LossRecorder, mine: Wire, form: Wire
) -> list[Wire]:
    own = t.server_tools is not None and tool.kind.startswith(t.server_tools)
    if tool.executor != "provider" or not (own or form.get("stood")):
        recorder.lost(tool, None, "a tool that only its own service knows")
        return []
    wire: Wire = {"type": tool.kind}
    write_cache(wire, tool, tool.cache, t, recorder, "tool", form)
    named = {"name"} if tool.name == tool.kind else set()
    recorder.unwritten(tool, _SAID_SERVER | named)
    return [put_back(wire, mine)]


_SAID = frozenset({"name", "description", "input_schema", "strict", "kind", "executor", "cache"})
_SAID_CUSTOM = _SAID - {"input_schema", "strict"} | {"grammar"}
_SAID_SERVER = frozenset({"kind", "executor", "cache"})
