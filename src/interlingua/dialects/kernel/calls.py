"""Tool calls: arguments that came as text, and which call a result answers; tools of a wire that
knows functions only: anything else is written back unchanged, and in no other dialect."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, Table, lost
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import arguments
from interlingua.model.base import JsonObject, unchecked
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.metadata import Diagnostic, StopReason
from interlingua.model.reasons import Reason, because
from interlingua.model.tools import ToolDefinition

# -- tools ----------------------------------------------------------------------------------------


DEFAULT_SCHEMA: Wire = {"type": "object", "properties": {}}
"""For a tool without one, if the wire requires one."""
TEXT_SCHEMA: Wire = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""For a tool that takes free text, if the wire's tools take objects alone."""

_UNKNOWN = Table(ToolDefinition, silent=("name", "executor", "kind"))


def is_function(tool: ToolDefinition) -> bool:
    return tool.kind in ("function", "custom") and tool.executor == "client"


def schema_of(tool: ToolDefinition) -> Wire:
    """The schema of a tool, or the default one."""
    return TEXT_SCHEMA if tool.kind == "custom" else DEFAULT_SCHEMA


def read_function(wire: Any, table: Table, dialect: str) -> ToolDefinition:
    function = require(wire, dict).get("function")
    if type(function) is not dict or type(function.get("name")) is not str:
        name = name_of(wire)
        return ToolDefinition(name, executor="provider", kind="unknown", raw={dialect: wire})
    preserved = Preserved()
    return unchecked(ToolDefinition, **table.read(wire, preserved), raw=preserved.raw(dialect))


def write_function(
    tool: ToolDefinition, table: Table, recorder: LossRecorder, reason: Reason
) -> Wire | None:
    """`reason` is why other vendors' tools that are not functions are dropped."""
    if not is_function(tool):
        return write_unknown(tool, recorder, reason)
    if tool.kind == "custom":
        recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
    return table.write_value(tool, recorder)


def write_unknown(tool: ToolDefinition, recorder: LossRecorder, reason: Reason) -> Wire | None:
    """An unknown tool, unchanged."""
    own_raw = tool.raw.get(recorder.dialect) if tool.raw is not None else None
    if tool.kind != "unknown" or type(own_raw) is not dict:
        recorder.lost(tool, None, reason)
        return None
    if tool.name != name_of(own_raw):
        recorder.lost(tool, "name")
    _UNKNOWN.write(tool, {}, own_raw, recorder)
    return own_raw


def name_of(wire: Wire) -> str:
    """The name of an unknown tool."""
    kind = wire.get("type")
    return kind if type(kind) is str else ""


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_BAD = (msgspec.DecodeError, ValueError, RecursionError)
_NO_BLANK_AFTER = frozenset("\\:,[{")
_LONG = 1024
_SHALLOW = 2 * arguments.MAX_DEPTH
"""So many brackets it takes to be too deep."""


def read_arguments(text: str) -> tuple[JsonObject, str | None, arguments.Mode]:
    """The input that argument text means, the text itself where the input alone does not give
    it, and how it was recovered."""
    try:
        value = _decode(text)
    except _BAD:
        value = None
    if type(value) is not dict or (len(text) > _SHALLOW and _may_be_deep(text, value)):
        found = arguments.recover(text)
        return found.input, text, found.mode
    blank = text.find('": ')  # a blank after a key is recognised without writing the value
    compact = blank <= 0 or text[blank - 1] in _NO_BLANK_AFTER
    return value, None if compact and _encode(value).decode() == text else text, "strict"


def _may_be_deep(text: str, value: JsonObject) -> bool:
    """Whether a long text of `value` has enough brackets for more than `MAX_DEPTH` levels."""
    size = len(text)
    for item in value.values():
        if type(item) is str and size - len(item) < _SHALLOW:
            return False  # the rest is too short to be deep
    return text.count("{") + text.count("[") > arguments.MAX_DEPTH


def write_arguments(block: ToolUseBlock) -> str:
    """The text that was read while it still means the input; else the input as compact JSON. For
    a short text, comparing the written JSON is quicker than comparing values; numbers that JSON
    cannot hold are written as null."""
    input, raw_text = block.input, block.raw_arguments
    if raw_text is not None and _means(raw_text, input):
        return raw_text
    try:
        data = _encode(input)
    except (TypeError, ValueError, RecursionError):
        return arguments.to_text(input)  # which raises with the reason
    text = data.decode()
    size = len(text)
    if size > _LONG or b"null" in data:
        return arguments.to_text(input)
    return arguments.to_text(input) if size > _SHALLOW and _may_be_deep(text, input) else text


def _means(text: str, input: JsonObject) -> bool:
    found = read_arguments(text)[0]
    try:
        return bool(_encode(found) == _encode(input)) or arguments.same(found, input)
    except (TypeError, ValueError, RecursionError):
        return arguments.same(found, input)


UNSIGNED = (
    lost("signature", because("call_signature")),
    lost("call_type", because("custom_call_as_function"), kind="downgraded"),
)
"""Fields of a call that a wire without signatures cannot express, if its arguments are an
object."""


def callers_field(read: Callable[[str], str | None], write: Callable[[str], str | None]) -> Field:
    """The callers of a tool, in the dialect's values."""

    def read_callers(value: Any) -> Reading:
        found = [read(each) if type(each) is str else None for each in require(value, list)]
        return NOT_OURS if None in found else {"callers": tuple(dict.fromkeys(found))}

    def write_callers(tool: Any, recorder: LossRecorder) -> list[str] | None:
        found = [write(each) for each in tool.callers]
        if None in found:
            recorder.lost(tool, "callers")
        return None if None in found else [each for each in found if each is not None]

    return Field("allowed_callers", ("callers",), read_callers, write_callers)


def arguments_as_object(call: Any, recorder: LossRecorder) -> Wire:
    """The arguments of a call, where the wire has no place for a text of them."""
    if call.raw_arguments is not None:
        report_recovered(call, recorder)
    input: Wire = call.input
    return input


def arguments_field(
    key: str,
    read: Callable[[Any], Reading],
    write: Callable[[Any, LossRecorder], Any] = arguments_as_object,
) -> Field:
    """The arguments of a call; without the key they are empty."""
    return Field(key, ("input", "raw_arguments"), read, write, missing={"input": {}})


def is_named(call: Wire) -> bool:
    """Whether this is a call of a known function."""
    function = call.get("function")
    return type(function) is dict and type(function.get("name")) is str


def read_named(
    wire: Wire, table: Table, preserved: Preserved, synthetic_id: str, found: list[Diagnostic]
) -> Attrs:
    """The fields of a call; `synthetic_id` is its id if it has none."""
    attrs = {"id": synthetic_id, **table.read(wire, preserved)}
    text = attrs.get("raw_arguments")
    if text is not None and (mode := arguments.recover(text).mode) != "strict":
        found.append(recovery(mode, attrs["id"]))
    return attrs


def recovery(mode: str, id: str) -> Diagnostic:
    """Records that the arguments of a call were not strict JSON, and how they were repaired."""
    details = {"mode": mode, "tool_use_id": id}
    return Diagnostic("tool_arguments_recovered", details=details)


def report_recovered(block: ToolUseBlock, recorder: LossRecorder) -> None:
    """Reports repaired arguments. If no JSON could be read, nothing of them is left, and the call
    has another meaning."""
    understood, mode = arguments.recover(block.raw_arguments)
    if mode == "strict" and arguments.same(understood, block.input):
        return
    if mode == "invalid" and not block.input:
        reason = because("arguments_invalid")
        recorder.lost(block, "raw_arguments", reason)
    elif mode == "closed":
        recorder.lost(block, "raw_arguments", because("arguments_cut"))
    else:
        recorder.lost(block, "raw_arguments", because("arguments_repaired"))


def stopped_for_calls(reason: StopReason | None, blocks: Collection[Block]) -> StopReason | None:
    """The stop reason on a wire with a single word for all normal ends: if there are calls for the
    client, it is tool use."""
    if reason is StopReason.END_TURN:
        for block in blocks:
            if type(block) is ToolUseBlock and block.executor == "client":
                return StopReason.TOOL_USE
    return reason


class OpenCalls:
    """The calls that no result has answered yet, in order."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []

    def add(self, id: str, name: str) -> None:
        self._open.append((id, name))

    def first(self, name: str | None) -> str | None:
        """The first open call of this name; of any name for a result without one."""
        for id, called in self._open:
            if name is None or called == name:
                return id
        return None

    def name_of(self, id: str) -> str | None:
        """The name of an open call."""
        return next((called for each, called in reversed(self._open) if each == id), None)

    def close(self, id: str) -> None:
        """A result answers the nearest earlier call with its id."""
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == id:
                del self._open[index]
                return
