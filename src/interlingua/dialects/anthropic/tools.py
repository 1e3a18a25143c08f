"""Tool definitions: the client's own, those Anthropic defines and the client runs, and those the
service runs itself; and changes of them by system turns in mid-conversation."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import CACHE
from interlingua.dialects.kernel.calls import callers_field, is_function, schema_of
from interlingua.dialects.kernel.claude import effort_word
from interlingua.dialects.kernel.errors import ShapeError, read_each, require
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, plain, spelling
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import report_changes
from interlingua.model.blocks import Block, UnknownBlock
from interlingua.model.message import Changes, Message
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- definitions ----------------------------------------------------------------------------------


_CALLERS = {"direct": "direct"}


def _default_schema(tool: ToolDefinition) -> Wire:
    return deepcopy(schema_of(tool))


_SETTINGS = (
    plain("strict", "strict", bool),
    plain("defer_loading", "deferred", bool),
    callers_field(
        lambda word: "program" if tables.PROGRAMS.fullmatch(word) else _CALLERS.get(word),
        {"direct": "direct", "program": tables.PROGRAM}.get,
    ),
    CACHE,
)
FUNCTION = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str),
    plain("input_schema", "input_schema", dict, lenient=True, fill=_default_schema),
    *_SETTINGS,
    spelling("type"),
    silent=("executor", "kind"),
)
_OTHERS = ("name", "description", "input_schema", "executor", "kind")
OWN, TOOLSET = (
    Table(ToolDefinition, *_SETTINGS, beside=("type", key), silent=_OTHERS)
    for key in ("name", "mcp_server_name")
)


def read_tools(tools: list[Any]) -> tuple[ToolDefinition, ...]:
    return tuple(read_each(tools, ".tools", _read_tool))


def _read_tool(wire: Any) -> ToolDefinition:
    kind = require(wire, dict).get("type")
    if kind is not None and kind != "custom":
        return _read_own(wire, require(kind, str, ".type"))
    return FUNCTION.read_value(ToolDefinition, wire, NAME)


def _own(kind: str) -> tuple[str, Table]:
    """The key that has the name of a tool of this kind, and the others."""
    return ("mcp_server_name", TOOLSET) if kind == "mcp_toolset" else ("name", OWN)


def _read_own(wire: Wire, kind: str) -> ToolDefinition:
    key, table = _own(kind)
    # other dialects recognise it by this as a tool that Anthropic defines
    preserved = Preserved(spelling={"own": True})
    name = preserved.may_take(wire, key, str)
    if name is None:
        preserved.mark_absent(key)
    is_clients = tables.CLIENT_TOOLS.fullmatch(kind) is not None
    more = {"executor": "client" if is_clients else "provider", "kind": kind}
    named = kind if name is None else name
    return table.read_value(ToolDefinition, wire, NAME, preserved, name=named, **more)


def write_tools(tools: tuple[ToolDefinition, ...], recorder: LossRecorder) -> list[Wire]:
    written = [_write_tool(tool, recorder) for tool in tools]
    return [wire for wire in written if wire is not None]


def _write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    out: Wire = {}
    own_raw = raw_of(NAME, tool.raw)
    if is_function(tool):
        if tool.kind == "custom":
            recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
        FUNCTION.write(tool, out, own_raw, recorder)
    elif tool.executor in ("client", "provider") and _is_ours(tool):
        _write_own(tool, out, own_raw, recorder)
    else:
        recorder.lost(tool, None, because("vendor_tool_unknown"))
        return None
    return restore_raw(out, tool, tool.raw, recorder)


def _is_ours(tool: ToolDefinition) -> bool:
    is_clients = tables.CLIENT_TOOLS.fullmatch(tool.kind) is not None
    if tool.executor == "client":
        return is_clients
    is_own = spelling_of(NAME, tool.raw).get("own") is True and not is_clients
    return is_own or tables.HOSTED_TOOLS.fullmatch(tool.kind) is not None


def _write_own(tool: ToolDefinition, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
    key, table = _own(tool.kind)
    out["type"] = tool.kind
    if not (was_absent(own_raw, key) and tool.name == tool.kind):
        out[key] = tool.name
    for name in ("description", "input_schema"):
        if getattr(tool, name) is not None and name not in own_raw:
            recorder.lost(tool, name)
    table.write(tool, out, own_raw, recorder)


# -- changes in mid-conversation ------------------------------------------------------------------

PARTS_KEY = "$changes"
"""The key of `provider_raw` for other members of the parts, by their number."""
_DEFINED = "tool_definition"
_PART = frozenset({"type", "tool"})
_WORDS = {field: word for word, field in tables.CHANGES.items()}
_NOTHING = Changes()
_EFFORTS = frozenset(tables.EFFORTS.values())


def _read_effort(value: Any) -> Reading:
    word = value["effort"] if type(value) is dict and value.keys() == {"effort"} else None
    return {"effort": word} if type(word) is str and word in _EFFORTS else NOT_OURS


def _write_effort(changes: Any, recorder: LossRecorder) -> Wire | None:
    word = effort_word(changes, "effort", changes.effort, recorder)
    return None if word is None else {"effort": word}


TURN = Table(
    Changes,
    Field("output_config", ("effort",), _read_effort, _write_effort),
    plain("clear_at", "clear_at", str, lenient=True),
    beside=("role", "content"),
    silent=("tools_added", "tools_removed", "response_format"),
)
"""Members of a system turn itself."""


class Changing:
    """The changes of one system turn, while it is read: tools by the names that `tools` knows,
    which is given those that the turn defines itself."""

    def __init__(self, turn: Wire, preserved: Preserved, tools: list[ToolDefinition]) -> None:
        self.turn = turn
        self.preserved = preserved
        self.tools = tools
        self._names: dict[str, list[str]] = {field: [] for field in _WORDS}
        self._parts: list[list[Any]] = []

    def read(self, blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], Changes | None]:
        left = tuple([b for number, b in enumerate(blocks) if not self._takes(b, number)])
        if self._parts:
            self.preserved.spelling["changes"] = self._parts  # where they stood among the blocks
        added, removed = tuple(self._names["tools_added"]), tuple(self._names["tools_removed"])
        changes = Changes(added, removed, **TURN.read(self.turn, self.preserved))
        return left, None if changes == _NOTHING else changes

    def _takes(self, block: Block, number: int) -> bool:
        part = block.raw.get(NAME) if type(block) is UnknownBlock else None
        if type(part) is not dict or type(part.get("tool")) is not dict:
            return False
        tool, word = part["tool"], part.get("type")
        field = tables.CHANGES.get(word) if type(word) is str else None
        kind: Any = tool.get("type")
        if kind == _DEFINED and field == "tools_added" and len(tool) == 2:
            name = self._define(tool.get("definition"))
        elif type(kind) is str and kind in tables.REFERENCES and len(tool) == 2:
            name = tool.get(tables.REFERENCES[kind])
        else:
            return False
        if name is None or field is None or all(tool.name != name for tool in self.tools):
            return False  # only the service knows the type of this tool
        if rest := {key: item for key, item in part.items() if key not in _PART}:
            self.preserved.rest.setdefault(PARTS_KEY, {})[str(len(self._parts))] = rest
        self._names[field].append(name)
        self._parts.append([number - len(self._parts), field, name, kind])
        return True

    def _define(self, definition: Any) -> str | None:
        if type(definition) is not dict:
            return None
        try:
            (tool,) = read_tools([definition])
        except ShapeError:
            return None
        spelling = {**spelling_of(NAME, tool.raw), "inline": True}
        self.tools.append(tool.replace(raw={NAME: {**raw_of(NAME, tool.raw), "$form": spelling}}))
        return tool.name


class Writing(msgspec.Struct):
    """Puts changes into system turns; `tools` are those of the request."""

    tools: tuple[ToolDefinition, ...]
    recorder: LossRecorder
    defined: set[int] = msgspec.field(default_factory=set)
    """Identities of the tools that a turn has defined."""

    def parts(self, message: Message, parts: list[Wire]) -> list[Wire]:
        """The parts of a message and those of its changes, where the wire had them."""
        changes, raw = message.changes, message.metadata.provider_raw
        report_changes(message, self.recorder, tables.TRAITS.changes)
        rests = raw_of(NAME, raw).get(PARTS_KEY, {})
        left = {field: list(getattr(changes, field)) for field in _WORDS}
        out: list[Wire] = []
        done = 0
        for number, (at, field, name, kind) in enumerate(spelling_of(NAME, raw).get("changes", ())):
            if name not in left[field]:
                continue
            left[field].remove(name)
            out += parts[done:at]
            done = max(done, at)
            part = self._part(message, field, name, kind)
            if part is not None:
                out.append({**part, **rests.get(str(number), {})})
        out += parts[done:]
        for field, names in left.items():
            more = [self._part(message, field, name, None) for name in names]
            out += [part for part in more if part is not None]
        return out

    def _part(self, message: Message, field: str, name: str, kind: str | None) -> Wire | None:
        known = [tool for tool in self.tools if tool.name == name]
        word = _WORDS[field]
        if not known:
            self.recorder.lost(message, f"changes.{field}", because("tool_undeclared", name=name))
            return None
        if kind == _DEFINED:
            definition = self._definition(known)
            if definition is not None:
                return {"type": word, "tool": {"type": _DEFINED, "definition": definition}}
            kind = None
        if kind is None:
            toolset = any(tool.kind == "mcp_toolset" for tool in known)
            kind = "mcp_toolset_reference" if toolset else "tool_reference"
        return {"type": word, "tool": {"type": kind, tables.REFERENCES[kind]: name}}

    def _definition(self, known: list[ToolDefinition]) -> Wire | None:
        """The definition in the turn itself of the first of these tools that has one."""
        for tool in known:
            inline = tool.raw is not None and spelling_of(NAME, tool.raw).get("inline") is True
            if inline and id(tool) not in self.defined:
                self.defined.add(id(tool))
                return next(iter(write_tools((tool,), self.recorder)), None)
        return None

    def others(self) -> tuple[ToolDefinition, ...]:
        """The tools that no turn has defined."""
        if not self.defined:
            return self.tools
        return tuple([tool for tool in self.tools if id(tool) not in self.defined])

    def keys(self, message: Message) -> Wire:
        """The turn's own members for changes."""
        keys: Wire = {}
        own_raw = raw_of(NAME, message.metadata.provider_raw)
        TURN.write(message.changes or _NOTHING, keys, own_raw, self.recorder)
        return keys
