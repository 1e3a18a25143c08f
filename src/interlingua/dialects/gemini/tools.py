"""Tools: function declarations, which come several to an entry, and tools that are built in.

How entries were spelled is kept with the tools:

    apart    a new entry began here, though the tool before is a function too
    with     this tool stood in one entry with the one before
    entry    the spelling of the entry itself, with its first tool
    schema   the schema was in `parameters`, which has Google's own schema language
    output   the same for the result's schema, in `response`
    google, google_output   those schemas, where JSON Schema spells them otherwise
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.schemas import read_schema, write_schema
from interlingua.dialects.gemini.spelling import (
    Place,
    Taking,
    WrongShapeError,
    account,
    mine,
    spell,
)
from interlingua.dialects.gemini.tables import BUILT_IN, CLIENT_KINDS, FREE_TEXT, NAME
from interlingua.model.tools import ToolDefinition

FUNCTIONS = "functionDeclarations"
_SAID = frozenset({"name", "description", "input_schema", "output_schema", "kind"})
_SAID_BUILT_IN = frozenset({"name", "kind", "executor"})

# -- reading --------------------------------------------------------------------------------------


def read_tools(entries: list[Any], place: Place) -> tuple[tuple[ToolDefinition, ...], Wire]:
    """The tools, and the entries without any by their position."""
    tools: list[ToolDefinition] = []
    hollow: Wire = {}
    for index, entry in enumerate(entries):
        taking = Taking(entry, (place, index))
        found = _read_entry(taking)
        if not found:
            hollow[str(index)] = entry
        elif tools and tools[-1].kind == "function" and found[0].kind == "function":
            found[0] = _noted(found[0], "apart", True)
        tools += found
    return tuple(tools), hollow


def _read_entry(entry: Taking) -> list[ToolDefinition]:
    found: list[ToolDefinition] = []
    functions = entry.take(FUNCTIONS, list)
    for index, each in enumerate(functions or ()):
        found.append(_read_function(Taking(each, ((entry.place, FUNCTIONS), index))))
    if functions is not None and not functions:
        entry.form["void"] = True
    for key in list(entry.left):
        if (tool := _read_built_in(entry, key)) is not None:
            found.append(_noted(tool, "with", True) if found else tool)
    if found and entry.form:
        found[0] = _noted(found[0], "entry", entry.form)
    return found


def _read_built_in(entry: Taking, key: str) -> ToolDefinition | None:
    """A tool by its key; a null is none."""
    kind = _camel(key)
    value = entry.left.pop(key)
    if kind != key:
        entry.note("snake", kind)
    if value is None:
        entry.note("null", kind)
        return None
    if type(value) not in (dict, list):
        raise WrongShapeError((entry.place, key), "an object", value)
    executor = "client" if kind in CLIENT_KINDS else "provider"
    return ToolDefinition(kind, executor=executor, kind=kind, raw={NAME: {kind: value}})  # type: ignore[arg-type]  # one of two words


def _camel(key: str) -> str:
    """A built-in tool's key in our own style; a key that is known in neither stays as it is."""
    head, *tail = key.split("_")
    camel = head + "".join(word.capitalize() for word in tail)
    return camel if camel in BUILT_IN else key


def _noted(tool: ToolDefinition, name: str, note: Any) -> ToolDefinition:
    rest, form = mine(tool.raw)
    return tool.replace(raw={NAME: {**rest, "$form": {**form, name: note}}})


def _read_function(wire: Taking) -> ToolDefinition:
    name = wire.take("name", str, due=True) or ""
    description = wire.take("description", str)
    schema = wire.take("parametersJsonSchema", dict)
    if schema is None and (schema := wire.take("parameters", dict)) is not None:
        wire.form["schema"] = "parameters"
        schema = read_schema(schema, wire.form, "google")
    output = wire.take("responseJsonSchema", dict)
    if output is None and (output := wire.take("response", dict)) is not None:
        wire.form["output"] = "response"
        output = read_schema(output, wire.form, "google_output")
    return ToolDefinition(name, description, schema, output_schema=output, raw=wire.raw())


# -- writing --------------------------------------------------------------------------------------


def write_tools(tools: tuple[ToolDefinition, ...], hollow: Wire, scribe: Scribe) -> list[Wire]:
    entries: list[tuple[Wire, Wire]] = []
    functions: list[Wire] | None = None
    for tool in tools:
        form = mine(tool.raw)[1]
        if tool.kind in ("function", "custom"):
            if functions is None or "apart" in form:
                functions = []
                _enter(entries, FUNCTIONS, functions, form)
            functions.append(_write_function(tool, form, scribe))
        elif (value := _write_built_in(tool, scribe)) is not None:
            _enter(entries, tool.kind, value, form)
            functions = None
    written = [_finish(entry, form) for entry, form in entries]
    for index, entry in hollow.items():
        written.insert(int(index), entry)
    return written


def _enter(entries: list[tuple[Wire, Wire]], key: str, value: Any, form: Wire) -> None:
    """A tool in the last entry, if it stood there, else in one of its own."""
    if entries and "with" in form and key not in entries[-1][0]:
        entries[-1][0][key] = value
    else:
        entries.append(({key: value}, form.get("entry") or {}))


def _finish(entry: Wire, form: Wire) -> Wire:
    if form.get("void"):
        entry.setdefault(FUNCTIONS, [])
    return spell(entry, form)


def _write_function(tool: ToolDefinition, form: Wire, scribe: Scribe) -> Wire:
    out: Wire = {**mine(tool.raw)[0], "name": tool.name}
    if tool.description is not None:
        out["description"] = tool.description
    schema = tool.input_schema
    if tool.kind == "custom":
        reason = "free text is sent as the one argument of a function"
        scribe.lost(tool, "kind", reason, kind="downgraded")
        schema = schema or FREE_TEXT
    if schema is not None:
        out[form.get("schema") or "parametersJsonSchema"] = write_schema(schema, form, "google")
    if tool.output_schema is not None:
        output = write_schema(tool.output_schema, form, "google_output")
        out[form.get("output") or "responseJsonSchema"] = output
    _account(tool, scribe)
    return spell(out, form)


def _account(tool: ToolDefinition, scribe: Scribe) -> None:
    if (
        tool.side_effects is not None
        or not tool.requires_workspace
        or tool.executor != "client"
        or tool.strict is not None
        or tool.deferred is not None
        or tool.grammar is not None
    ):
        scribe.unsaid(tool, _SAID)
    else:
        account(tool, _SAID, scribe)


def _write_built_in(tool: ToolDefinition, scribe: Scribe) -> Any:
    """The settings of a built-in tool; None for one that is not known here."""
    settings = mine(tool.raw)[0].get(tool.kind, {} if tool.kind in BUILT_IN else None)
    if type(settings) not in (dict, list):
        scribe.lost(tool, None, "a tool that another provider defines", severity="error")
        return None
    scribe.unsaid(tool, _SAID_BUILT_IN)
    if tool.name != tool.kind:
        reason = "a built-in tool has no name of its own"
        scribe.lost(tool, None, reason, kind="approximated")
    if tool.executor != ("client" if tool.kind in CLIENT_KINDS else "provider"):
        scribe.lost(tool, "executor", "who runs it is settled by its kind", kind="approximated")
    return settings
