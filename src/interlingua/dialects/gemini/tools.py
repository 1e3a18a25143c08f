"""Tools: function declarations, which come several to an entry, and tools that are built in.

How entries were spelled is kept with the tools. Words that reading again cannot tell:

    apart   a new entry began here, though the tool before is a function too
    with    this tool stood in one entry with the one before
    entry   the spelling of the entry itself, with its first tool
    google  schemas that were in Google's own language, an older OpenAPI's, by the key for JSON
            Schema; the schema itself where JSON Schema spells it otherwise

That language spells types in capitals, says `nullable` for a type that may be null, and counts as
strings. The schema that was read goes home as it was while it still says the same."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini.tables import BUILT_IN, CLIENT_KINDS, NAME
from interlingua.dialects.kernel.errors import ShapeError, read_each, require
from interlingua.dialects.kernel.fields import Table, Through, plain
from interlingua.dialects.kernel.preserved import (
    FORM,
    NOTHING,
    Preserved,
    content_of,
    raw_of,
    restore,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.tools import TEXT_SCHEMA
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.base import same
from interlingua.model.tools import ToolDefinition

FUNCTIONS = "functionDeclarations"
_BUILT_IN = frozenset({"name", "kind", "executor"})

# -- Google's schema language ---------------------------------------------------------------------

_TYPES = {
    word.upper(): word
    for word in ("string", "number", "integer", "boolean", "array", "object", "null")
}
_CAPITALS = {word: capitals for capitals, word in _TYPES.items()}
_COUNTS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_INNER = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "defs")
_WORDS = (*_COUNTS, *_LISTS, "additionalProperties", "propertyOrdering")
_SNAKE = {snake_case(word): word for word in _WORDS}


def google_schemas(keys: dict[str, str]) -> Through:
    """For a table that has schemas under these keys: where the wire has one in Google's language,
    under the key beside it, that is JSON Schema while it is ours."""

    def read(wire: Wire, preserved: Preserved) -> Wire:
        for usual, google in keys.items():
            wire = _from_google(wire, usual, google, preserved)
        return wire

    def write(out: Wire, own_raw: Wire) -> None:
        notes = spelling_in(own_raw).get("google", NOTHING)
        for usual, google in keys.items():
            if usual in notes and usual in out:
                out[google] = _to_google(out.pop(usual), notes[usual])

    return read, write


def _from_google(wire: Wire, usual: str, google: str, preserved: Preserved) -> Wire:
    key = google if wire.get(google) is not None else snake_case(google)
    schema = wire.get(key)
    if schema is None or wire.get(usual) is not None:
        return wire
    converted = _through(require(schema, dict, f".{google}"), _plain)
    notes = preserved.spelling.setdefault("google", {})
    notes[usual] = None if same(converted, schema) else schema
    if key != google:
        preserved.spelling.setdefault("named", {})[google] = key
    if usual in wire:
        preserved.keep_spelling(usual, None)
    return {name: item for name, item in wire.items() if name not in (usual, key)} | {
        usual: converted
    }


def _to_google(schema: Wire, old: Wire | None) -> Any:
    """The one that was read, if it still says this."""
    if old is None:
        return schema
    return old if same(_through(old, _plain), schema) else _through(schema, _google)


def _through(schema: Any, change: Any) -> Any:
    """The schema with every schema in it changed."""
    if type(schema) is not dict:
        return schema
    out = {_camel(key, schema): item for key, item in schema.items()}
    for key in _INNER:
        if key in out:
            out[key] = _through(out[key], change)
    for key in _LISTS:
        if type(out.get(key)) is list:
            out[key] = [_through(each, change) for each in out[key]]
    for key in _NAMED:
        if type(out.get(key)) is dict:
            out[key] = {name: _through(each, change) for name, each in out[key].items()}
    return change(out)


def _camel(key: str, schema: Wire) -> str:
    """The usual spelling of a keyword: the service takes two."""
    usual = _SNAKE.get(key, key)
    return key if usual in schema else usual


def _plain(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is str and word in _TYPES:
        out["type"] = word = _TYPES[word]
    for key in _COUNTS & out.keys():
        if type(out[key]) is str and out[key].isdecimal():
            out[key] = int(out[key])
    if out.get("nullable") is False:
        del out["nullable"]
    elif out.get("nullable") is True:
        _allow_null(out)
    return out


def _allow_null(out: Wire) -> None:
    """Say `nullable` as JSON Schema does, in every keyword that would forbid null."""
    words = out.get("enum")
    if type(out.get("type")) is str:
        out["type"] = [out["type"], "null"]
    elif type(out.get("anyOf")) is list:
        out["anyOf"] = [*out["anyOf"], {"type": "null"}]
    elif type(words) is not list:
        return
    if type(words) is list and None not in words:
        out["enum"] = [*words, None]
    del out["nullable"]


def _google(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is list and len(word) == 2 and "null" in word:
        out["nullable"] = True
        if type(out.get("enum")) is list:
            out["enum"] = [each for each in out["enum"] if each is not None]
        word = next(each for each in word if each != "null") if word != ["null", "null"] else "null"
    if type(word) is str and word in _CAPITALS:
        out["type"] = _CAPITALS[word]
    return out


# -- one function ---------------------------------------------------------------------------------

TOOL = Table(
    ToolDefinition,
    plain("name", "name", str, missing=""),
    plain("description", "description", str),
    plain("parametersJsonSchema", "input_schema", dict),
    plain("responseJsonSchema", "output_schema", dict),
    silent=("kind",),
    also_named=snake_case,
    through=google_schemas(
        {"parametersJsonSchema": "parameters", "responseJsonSchema": "response"}
    ),
)


def _read_function(wire: Any) -> ToolDefinition:
    return TOOL.read_value(ToolDefinition, require(wire, dict), NAME)


def _write_function(tool: ToolDefinition, recorder: LossRecorder) -> Wire:
    out = TOOL.write_value(tool, recorder)
    if tool.kind == "custom":
        reason = "free text is sent as the one argument of a function"
        recorder.lost(tool, "kind", reason, kind="downgraded")
        if not tool.input_schema:
            out["parametersJsonSchema"] = TEXT_SCHEMA
    return out


# -- all of them ----------------------------------------------------------------------------------

ENTRY = Table(None, beside=(FUNCTIONS, *BUILT_IN), also_named=snake_case)


def read_tools(entries: list[Any]) -> tuple[tuple[ToolDefinition, ...], Wire]:
    """The tools, and the entries without any by their position."""
    tools: list[ToolDefinition] = []
    hollow: Wire = {}
    for index, found in enumerate(read_each(entries, ".tools", _read_entry)):
        if not found:
            hollow[str(index)] = entries[index]
        elif tools and tools[-1].kind == "function" and found[0].kind == "function":
            found[0] = _noted(found[0], "apart", True)
        tools += found
    return tuple(tools), hollow


def _read_entry(entry: Any) -> list[ToolDefinition]:
    preserved = Preserved()
    functions: list[ToolDefinition] = []
    others: list[ToolDefinition] = []
    for kind, value in ENTRY.usual(require(entry, dict), preserved).items():
        if value is None or (kind == FUNCTIONS and value == []):
            preserved.keep_spelling(kind, value)
        elif kind == FUNCTIONS:
            functions = read_each(value, f".{FUNCTIONS}", _read_function)
        elif type(value) not in (dict, list) and kind not in BUILT_IN:
            preserved.rest[kind] = value
        elif type(value) not in (dict, list):
            raise ShapeError(f".{kind}", "an object", value)
        else:
            others.append(_built_in(kind, value))
    found = functions + others
    if not found:
        return [_built_in(kind, value) for kind, value in preserved.rest.items()]
    for index in range(max(len(functions), 1), len(found)):
        found[index] = _noted(found[index], "with", True)
    if preserved.spelling:
        found[0] = _noted(found[0], "entry", preserved.spelling)
    if preserved.rest:
        own_raw = raw_of(NAME, found[0].raw)
        found[0] = found[0].replace(raw={NAME: {**own_raw, _BESIDE: preserved.rest}})
    return found


def _built_in(kind: str, settings: Any) -> ToolDefinition:
    executor: Any = "client" if kind in CLIENT_KINDS else "provider"
    return ToolDefinition(kind, executor=executor, kind=kind, raw={NAME: {kind: settings}})


def _noted(tool: ToolDefinition, name: str, note: Any) -> ToolDefinition:
    own_raw = raw_of(NAME, tool.raw)
    return tool.replace(raw={NAME: {**own_raw, FORM: {**spelling_in(own_raw), name: note}}})


_BESIDE = "$beside"
"""Unknown keys of an entry that are no tools, with its first tool."""


def write_tools(
    tools: tuple[ToolDefinition, ...], hollow: Wire, recorder: LossRecorder
) -> list[Wire]:
    entries: list[tuple[Wire, Wire]] = []
    functions: list[Wire] | None = None
    for tool in tools:
        own_raw = raw_of(NAME, tool.raw)
        spelling = spelling_in(own_raw)
        if tool.kind in ("function", "custom"):
            if functions is None or "apart" in spelling:
                functions = []
                _enter(entries, FUNCTIONS, functions, own_raw)
            functions.append(_write_function(tool, recorder))
        elif (value := _write_built_in(tool, recorder)) is not None:
            _enter(entries, tool.kind, value, own_raw)
            functions = None
    written = [restore(entry, around) for entry, around in entries]
    for index, entry in hollow.items():
        written.insert(int(index), entry)
    return written


def _enter(entries: list[tuple[Wire, Wire]], key: str, value: Any, own_raw: Wire) -> None:
    """A tool in the last entry, if it stood there, else in one of its own."""
    spelling = spelling_in(own_raw)
    if entries and "with" in spelling and key not in entries[-1][0]:
        entries[-1][0][key] = value
    else:
        entries.append(
            ({key: value}, {**own_raw.get(_BESIDE, {}), FORM: spelling.get("entry") or {}})
        )


def _write_built_in(tool: ToolDefinition, recorder: LossRecorder) -> Any:
    """The settings of a built-in tool; None for one that is not known here."""
    settings = content_of(NAME, tool.raw).get(tool.kind, {} if tool.kind in BUILT_IN else None)
    if settings is None:
        recorder.lost(tool, None, "a tool that another provider defines", severity="error")
        return None
    recorder.unwritten(tool, _BUILT_IN)
    if tool.name != tool.kind:
        reason = "a built-in tool has no name of its own"
        recorder.lost(tool, None, reason, kind="approximated")
    if (tool.executor == "client") is not (tool.kind in CLIENT_KINDS):
        recorder.lost(tool, "executor", "who runs it is settled by its kind", kind="approximated")
    return settings
