"""Calls, results and tools of v1. Calls have no ids; a result repeats its call and returns objects.
The parameters of a tool have names of Python types."""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.cohere.media import (
    is_document,
    read_document,
    read_output,
    write_document,
    write_output,
)
from interlingua.dialects.cohere.tables import NAME, V1_TYPES
from interlingua.dialects.cohere.text import UNREAD, write_text
from interlingua.dialects.kernel import tools
from interlingua.dialects.kernel.calls import UNSIGNED, arguments_field
from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder, Quiet
from interlingua.dialects.kernel.tools import is_function, name_of
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import ERROR_MARK, take_mark, write_unknown
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.losses import Report
from interlingua.model.tools import ToolDefinition

_OUTPUT = "output"
"""An object with this key alone is a text. Cohere's integrations wrap texts so
(`langchain-cohere`'s recorded requests, read 2026-11-18)."""
QUIET = Quiet(NAME, None, Report(NAME))
"""For what is written again: its losses were told the first time."""
CALL = Table(
    ToolUseBlock,
    plain("name", "name", str),
    arguments_field("parameters", lambda value: {"input": require(value, dict)}),
    *UNSIGNED,
    silent=("id", "executor"),
)


# -- calls ----------------------------------------------------------------------------------------


def read_call(wire: Any, origin: Any, ordinal: int) -> ToolUseBlock | UnknownBlock:
    """`place` and `ordinal` make the id."""
    if type(require(wire, dict).get("name")) is not str:
        return UnknownBlock({NAME: {UNREAD: wire}})
    preserved = Preserved()
    attrs = CALL.read(wire, preserved)
    return ToolUseBlock(
        synthetic_tool_id(origin, ordinal, attrs["name"]), **attrs, raw=preserved.raw(NAME)
    )


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, "the service runs no tools")
        return None
    return CALL.write_value(call, recorder)


def names_call(wire: Any, call: ToolUseBlock) -> bool:
    """Whether a result names this call. One without parameters names any of its name."""
    if type(wire) is not dict or wire.get("name") != call.name:
        return False
    return "parameters" not in wire or wire["parameters"] == call.input


# -- results --------------------------------------------------------------------------------------


def read_result(wire: Wire, id: str, preserved: Preserved) -> ToolResultBlock:
    """A result of the call with this id."""
    content: list[Any] = read_each(
        preserved.take(wire, "outputs", list) or [], ".outputs", _read_output
    )
    preserved.add_others(wire, frozenset({"call", "outputs"}))
    failed = bool(content) and content[0].raw is None and take_mark(content)
    if failed:
        preserved.spelling["marked"] = True
    return ToolResultBlock(id, tuple(content), failed, raw=preserved.raw(NAME))


def _read_output(output: Any) -> Block:
    if type(output) is dict:
        if output.keys() == {_OUTPUT} and type(output[_OUTPUT]) is str:
            return TextBlock(output[_OUTPUT])
        if is_document(output):
            return read_document({"data": output})
    if type(output) in (dict, str):
        return read_output({"type": "document", "document": {"data": output}})
    return UnknownBlock({NAME: {_OUTPUT: output}})


def write_result(block: ToolResultBlock, call: ToolUseBlock | None, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, block.raw)
    out: Wire = {"call": _called(block, call, spelling_in(own_raw).get("call"))}
    if out["call"] is None:
        del out["call"]
    listed = [output for part in block.content for output in _write_output(part, recorder)]
    if block.is_error:
        _mark(listed)
        if "marked" not in spelling_in(own_raw):
            recorder.lost(block, "is_error", "said by a mark before the text", kind="downgraded")
    if block.tool_name is not None and block.tool_name != recorder.called(block):
        recorder.lost(block, "tool_name")
    if block.cache is not None:
        recorder.lost(block, "cache")
    if listed:
        out["outputs"] = listed
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


def _called(block: ToolResultBlock, call: ToolUseBlock | None, spelled: Any) -> Any:
    """The call that a result repeats: as it did while that is the call's name and input."""
    if call is None:
        return (
            spelled if spelled is not None or block.tool_name is None else {"name": block.tool_name}
        )
    if names_call(spelled, call):
        return spelled
    return CALL.write_value(call, QUIET)


def _write_output(part: Any, recorder: LossRecorder) -> list[Any]:
    """One output, or none for what has no place among them."""
    if type(part) is TextBlock:
        document = write_output(part, recorder)
        if document is None:
            return [{_OUTPUT: write_text(part, recorder)["text"]}]
        data = document["document"]["data"]
        was_text = spelling_in(raw_of(NAME, part.raw)).get("document") == "text"
        return [data if was_text or type(data) is dict else {_OUTPUT: data}]
    if type(part) is DocumentBlock:
        written = write_document(part, recorder)
        return [] if written is None else [written if type(written) is str else written["data"]]
    if type(part) is UnknownBlock:
        unknown = write_unknown(part, recorder)
        return [] if unknown is None else [unknown.get(_OUTPUT, unknown)]
    recorder.dropped(part)
    return []


def _mark(outputs: list[Any]) -> None:
    """Say that a result is a failure."""
    first = outputs[0] if outputs else None
    if type(first) is dict and first.keys() == {_OUTPUT}:
        outputs[0] = {_OUTPUT: ERROR_MARK + first[_OUTPUT]}
    else:
        outputs.insert(0, {_OUTPUT: ERROR_MARK})


_LIST = re.compile(r"(?:list|List)\[(\w+)\]")
_DEFINED = frozenset({"type", "description", "required"})

TOOL = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str),
    beside=("parameter_definitions",),
    silent=("input_schema", "executor", "kind"),
)


def read_tool(wire: Any) -> ToolDefinition:
    if type(require(wire, dict).get("name")) is not str:
        return ToolDefinition(name_of(wire), executor="provider", kind="unknown", raw={NAME: wire})
    preserved = Preserved()
    attrs = TOOL.read(wire, preserved)
    defined = wire.get("parameter_definitions")
    if defined is not None:
        attrs["input_schema"] = schema = _schema(require(defined, dict, ".parameter_definitions"))
        if encode(_definitions(schema)) != encode(defined):  # 0 is not False there
            preserved.spelling["defined"] = defined
    elif "parameter_definitions" in wire:
        preserved.keep_spelling("parameter_definitions", None)
    return ToolDefinition(**attrs, raw=preserved.raw(NAME))


def _schema(defined: Wire) -> Wire:
    schema: Wire = {"type": "object", "properties": {k: _property(v) for k, v in defined.items()}}
    required = [k for k, v in defined.items() if type(v) is dict and v.get("required") is True]
    return {**schema, "required": required} if required else schema


def _property(schema: Any) -> Wire:
    """The schema of one parameter; a type that is unknown is anything."""
    if type(schema) is not dict:
        return {}
    word = schema.get("type")
    out: Wire = {}
    if type(word) is str and (inner := _LIST.fullmatch(word)):
        out = {"type": "array"}
        if kind := V1_TYPES.get(inner[1]):
            out["items"] = {"type": kind}
    elif type(word) is str and word in V1_TYPES:
        out = {"type": V1_TYPES[word]}
    if type(schema.get("description")) is str:
        out["description"] = schema["description"]
    return out


_WORDS = {kind: word for word, kind in reversed(V1_TYPES.items())}


def _definitions(schema: Wire) -> Wire:
    """The parameters that a schema has, as far as they can be told."""
    required = schema.get("required")
    names = required if type(required) is list else []
    out = {}
    for name, property in (schema.get("properties") or {}).items():
        word = _word(property) if type(property) is dict else "object"
        out[name] = {"type": word, "required": name in names}
        if type(property) is dict and type(property.get("description")) is str:
            out[name] = {"description": property["description"], **out[name]}
    return out


def _word(schema: Wire) -> str:
    kind, items = schema.get("type"), schema.get("items")
    inner = items.get("type") if type(items) is dict else None
    if kind == "array" and type(inner) is str and inner in _WORDS:
        return f"List[{_WORDS[inner]}]"
    return _WORDS.get(kind, "object") if type(kind) is str else "object"


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    own_raw = raw_of(NAME, tool.raw)
    if not is_function(tool):
        return tools.write_unknown(tool, recorder, "the service runs no tools")
    if tool.kind == "custom":
        recorder.lost(tool, "kind", "takes an object with the text", kind="downgraded")
    out: Wire = {}
    TOOL.write(tool, out, own_raw, recorder)
    if tool.input_schema is not None:
        out["parameter_definitions"] = _write_schema(
            tool, spelling_in(own_raw).get("defined"), recorder
        )
    return out if tool.raw is None else restore_raw(out, tool, tool.raw, recorder)


def _write_schema(tool: ToolDefinition, spelled: Any, recorder: LossRecorder) -> Wire:
    schema = tool.input_schema or {}
    if type(spelled) is dict and _schema(spelled) == schema:
        return spelled
    defined = _definitions(schema)
    if _schema(defined) != schema:
        reason = "parameters have a type of Python's and a description"
        recorder.lost(tool, "input_schema", reason, kind="approximated")
    return defined
