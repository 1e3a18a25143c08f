"""Tools, which of them the model may or must call, and changes of them and of other settings by
items in the middle of the input; the options of a request, and the provider's storage of
history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.calls import callers_field
from interlingua.dialects.kernel.errors import ShapeError, read_each, require, require_key
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    QUIET,
    Attrs,
    Field,
    Reading,
    Table,
    one_of,
    plain,
)
from interlingua.dialects.kernel.preserved import NOTHING, Preserved, fill, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import report_changes
from interlingua.dialects.openai import FORMAT_KEYS, cache_options, format_field, grammar_field
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.text import (
    is_blank_value,
    own,
    own_spelling,
    restore_own,
)
from interlingua.model.base import same, unchecked
from interlingua.model.blocks import Executor
from interlingua.model.exchange import Compaction, Continues, Options, Reasoning, ToolChoice
from interlingua.model.losses import LossKind
from interlingua.model.message import EFFORTS, Changes, Message
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- options --------------------------------------------------------------------------------------


def _read_metadata(value: Any) -> Reading:
    is_ours = type(value) is dict and all(type(each) is str for each in value.values())
    return {"metadata": value} if is_ours else NOT_OURS


def _read_user(wire: Wire) -> Reading:
    """`user` is the old name."""
    for key in wire:
        require(wire[key], str, f".{key}")
    found = wire.get("safety_identifier") or wire.get("user")
    return {"user": found} if found else {}


# -- `text` and `reasoning` -----------------------------------------------------------------------

FORMAT = format_field("format", inside=False, fillers=tables.FORMAT_FILLERS)


def _read_reasoning(value: Any) -> Reading:
    effort, visible = require(value, dict).get("effort"), None
    effort = effort if type(effort) is str and effort in EFFORTS else None
    summary = value.get("summary", "")
    if summary is None:
        visible = False
    elif type(summary) is str and summary in tables.SUMMARIES:
        visible = True
    if effort is None and visible is None:
        return NOT_OURS if any(not is_blank_value(each) for each in value.values()) else {}
    return {"reasoning": Reasoning(effort, None, visible)}


def _write_reasoning(options: Any, recorder: LossRecorder) -> Wire | None:
    reasoning: Reasoning = options.reasoning
    out: Wire = {}
    off = reasoning.mode == "off"
    if off:
        out["effort"] = "none"
    elif reasoning.effort in EFFORTS:
        out["effort"] = reasoning.effort
    if reasoning.visible is not None:
        out["summary"] = tables.SUMMARY if reasoning.visible else None
    if not out:
        recorder.lost(reasoning, None, because("thinking_by_effort"))
        return None
    if reasoning.effort is not None and (off or "effort" not in out):
        recorder.lost(reasoning, "effort", because("thinking_off") if off else None)
    if reasoning.budget_tokens is not None:
        recorder.lost(reasoning, "budget_tokens")
    if reasoning.mode is not None and not off:
        kind: LossKind = "dropped" if reasoning.effort is None else "approximated"
        recorder.lost(reasoning, "mode", because("thinking_by_effort"), kind=kind)
    return out


# -- when the service sums the conversation up ----------------------------------------------------


def _read_management(value: Any) -> Reading:
    entry = value[0] if type(value) is list and len(value) == 1 else None
    if type(entry) is not dict or entry.get("type") != "compaction":
        return NOT_OURS
    threshold = entry.get("compact_threshold")
    if (threshold is not None and type(threshold) is not int) or len(entry) > 2:
        return NOT_OURS
    return {"compaction": Compaction(threshold)}


def _write_management(options: Any, recorder: LossRecorder) -> list[Wire]:
    compaction: Compaction = options.compaction
    if compaction.instructions is not None:
        recorder.lost(compaction, "instructions")
    if compaction.pause is not None:
        recorder.lost(compaction, "pause", severity="warning" if compaction.pause else "info")
    entry: Wire = {"type": "compaction"}
    if compaction.threshold is not None:
        entry["compact_threshold"] = compaction.threshold
    return [entry]


OPTIONS = fields.Table(
    Options,
    Field("context_management", ("compaction",), _read_management, _write_management),
    plain("max_output_tokens", "max_output_tokens", int),
    plain("temperature", "temperature", float),
    plain("top_p", "top_p", float),
    plain("parallel_tool_calls", "parallel_tool_calls", bool),
    plain("stream", "stream", bool),
    one_of("service_tier", "service_tier", tables.SERVICE_TIERS),
    fields.inside(
        "text", FORMAT, one_of("verbosity", "verbosity", tables.VERBOSITIES, lenient=True)
    ),
    Field("reasoning", ("reasoning",), _read_reasoning, _write_reasoning),
    fields.together(
        ("safety_identifier", "user"),
        ("user",),
        _read_user,
        lambda options, _: {"safety_identifier": options.user},
    ),
    Field("metadata", ("metadata",), _read_metadata, lambda options, _: options.metadata),
    *cache_options(tables.CACHE_TTLS, reports=True),
    *[one_of(key, key, (), kind, lenient=True) for key, kind in tables.EXTENSIONS.items()],
    beside=(
        *("model", "input", "instructions", "tools", "tool_choice", "include", "top_logprobs"),
        *("previous_response_id", "conversation", "prompt"),
    ),
    silent=("tool_choice", "logprobs"),
    blank=True,
)


def read_options(wire: Wire, preserved: Preserved) -> Attrs:
    attrs = OPTIONS.read(wire, preserved)
    if "as" in preserved.spelling:
        _keep_more(
            wire, "reasoning", ("effort", "summary"), preserved.spelling["as"], preserved.rest
        )
    if "text" in preserved.spelling.get("inside", NOTHING):
        spelled = preserved.spelling["inside"]["text"].get("as", NOTHING)
        more: Wire = {}
        _keep_more(wire["text"], "format", ("type", *FORMAT_KEYS), spelled, more)
        if more:
            preserved.rest["text"] = {**preserved.rest.get("text", NOTHING), **more}
    if "include" in wire or "top_logprobs" in wire:
        _read_logprobs(wire, attrs, preserved)
    return attrs


def _keep_more(wire: Wire, key: str, known: tuple[str, ...], spelled: Wire, rest: Wire) -> None:
    """For an object with an unusual spelling, members without a field are content as well."""
    if key in spelled:
        more = {name: each for name, each in wire[key].items() if name not in known}
        if more := {name: each for name, each in more.items() if not is_blank_value(each)}:
            rest[key] = more


# -- log probabilities ----------------------------------------------------------------------------


def _read_logprobs(wire: Wire, attrs: Attrs, preserved: Preserved) -> None:
    """Log probabilities are requested by a value in a list, by a number, or by both
    (`$form.logprobs_at` is the position of the value, None if it is missing)."""
    include: Any = wire.get("include")
    number = wire.get("top_logprobs")
    asks = type(include) is list and include.count(tables.LOGPROBS) == 1
    if number is not None:
        attrs["logprobs"] = require(number, int, ".top_logprobs")
        if number == 0:
            preserved.spelling["top_logprobs"] = 0
    elif "top_logprobs" in wire:
        preserved.keep_spelling("top_logprobs", None)
    if asks:
        if include[-1] != tables.LOGPROBS:
            preserved.spelling["logprobs_at"] = include.index(tables.LOGPROBS)
        include = [each for each in include if each != tables.LOGPROBS]
        attrs.setdefault("logprobs", 0)
    elif "logprobs" in attrs:
        preserved.spelling["logprobs_at"] = None
    if include:
        preserved.rest["include"] = include
    elif "include" in wire and not asks:
        preserved.keep_spelling("include", include)


def _write_logprobs(logprobs: int, out: Wire, own_raw: Wire) -> None:
    spelling = spelling_in(own_raw)
    numbered = bool(logprobs) or "top_logprobs" in spelling
    if numbered:
        out["top_logprobs"] = logprobs
    at = spelling.get("logprobs_at", -1)
    if at is not None or not numbered:
        include = list(own_raw.get("include", ()))
        include.insert(len(include) if at is None or at < 0 else at, tables.LOGPROBS)
        out["include"] = include


def write_options(options: Options, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
    """The options besides the choice of tools; `mine` is the raw data of the body."""
    OPTIONS.write(options, out, own_raw, recorder)
    if options.logprobs is not None:
        _write_logprobs(options.logprobs, out, own_raw)


# -- what the provider keeps ----------------------------------------------------------------------


def _read_conversation(value: Any) -> Reading:
    id = value.get("id") if type(value) is dict else value
    if type(id) is not str:
        raise ShapeError("", "a string or an object with an id", value)
    return {"conversation_id": id}


CONTINUES = fields.Table(
    Continues,
    plain("previous_response_id", "response_id", str),
    Field(
        "conversation",
        ("conversation_id",),
        _read_conversation,
        lambda continues, _: continues.conversation_id,
    ),
    plain("prompt", "prompt", dict),
    silent=("items",),
)


def read_continues(wire: Wire, preserved: Preserved) -> Attrs:
    if CONTINUES.keys.isdisjoint(wire):
        return {}
    return CONTINUES.read({key: wire[key] for key in wire if key in CONTINUES.keys}, preserved)


# -- definitions ----------------------------------------------------------------------------------


def _table(kind: str, *keys: str) -> Table:
    """Only functions are looked at so closely that a wrong type is an error."""
    fields = [plain(key, *tables.TOOL_KEYS[key], lenient=kind != "function") for key in keys]
    if kind in tables.CALLED_BY:
        fields.append(callers_field(tables.CALLERS.read, tables.CALLERS.write))
    if kind == "custom":
        fields.append(grammar_field(inside=False))
    elif kind == "mcp":
        fields.append(plain("server_label", "name", str, lenient=True, missing=kind))
    silent = ("name", "executor", "kind")
    return Table(ToolDefinition, *fields, beside=("type",), silent=silent, blank=True)


_TABLES = {kind: _table(kind, *keys) for kind, keys in tables.TOOLS.items()}
_OTHER = _table("")
_DEMANDED: Wire = {"parameters": None, "strict": None}
"""Required members of a function, even if empty."""


def read_tools(value: Any, number: int | None = None) -> list[ToolDefinition]:
    """`number` is that of the item in the middle of the input that brings them (`$form.added`)."""
    tools = read_each(value, ".tools", _read_tool)
    return tools if number is None else [_brought(tool, number) for tool in tools]


def _read_tool(wire: Any) -> ToolDefinition:
    kind = require(require(wire, dict).get("type", "function"), str, ".type")
    keys = tables.TOOLS.get(kind, ())
    preserved = Preserved()
    if "type" not in wire:
        preserved.mark_absent("type")
    if "name" in keys:
        require_key(wire, "name", str)
    present = wire
    if kind == "function":
        preserved.mark_any_absent(wire, _DEMANDED)
        if None in wire.values():
            present = {
                k: each for k, each in wire.items() if each is not None or k not in _DEMANDED
            }
    attrs = {"name": kind, **_TABLES.get(kind, _OTHER).read(present, preserved)}
    if kind not in tables.KINDS:
        preserved.spelling["kind"] = kind
    raw = preserved.raw(NAME)
    if raw is None and kind not in ("function", "custom"):
        raw = {NAME: {}}  # marks the vendor's tool
    return unchecked(ToolDefinition, **attrs, executor=_executor(wire, kind), kind=kind, raw=raw)


def _executor(wire: Wire, kind: str) -> Executor:
    if kind in ("function", "custom") or kind in tables.CLIENT_TOOLS:
        return "client"
    if kind == "tool_search":
        return "client" if wire.get("execution") == "client" else "provider"
    if kind == "shell":
        where = wire.get("environment")
        local = type(where) is dict and where.get("type") == "local"
        return "client" if local else "provider"
    return "provider"


def write_tools(tools: Sequence[ToolDefinition], recorder: LossRecorder) -> list[Wire]:
    written = [_write_tool(tool, recorder) for tool in tools]
    return [wire for wire in written if wire is not None]


def _write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    """None for a tool that another vendor defined, which is reported."""
    kind, raw = tool.kind, tool.raw
    own_raw, spelling, keys = own(raw), own_spelling(raw), tables.TOOLS.get(kind, ())
    is_own = kind in tables.KINDS and raw is not None and NAME in raw
    if not (is_own or kind in tables.BARE_TOOLS or spelling.get("kind") == kind):
        reason = because("vendor_tool_foreign")
        recorder.lost(tool, None, reason)
        return None
    is_untyped = kind == "function" and "type" in spelling.get("absent", ())
    wire: Wire = {} if is_untyped else {"type": kind}
    _TABLES.get(kind, _OTHER).write(tool, wire, own_raw, recorder)
    if kind == "function":
        fill(wire, own_raw, _DEMANDED)
    elif "name" not in keys and kind not in ("mcp", tool.name):
        recorder.lost(tool, "name")
    if raw is not None:
        recorder.unwritten_raw(tool, raw)
        restore_own(wire, raw)
    if _executor(wire, kind) != tool.executor:
        if kind == "tool_search":
            wire["execution"] = "client" if tool.executor == "client" else "server"
        else:
            recorder.lost(tool, "executor")
    return wire


# -- choices --------------------------------------------------------------------------------------


def read_choice(wire: Any) -> ToolChoice | None:
    """None for a choice that only this dialect understands."""
    if type(wire) is str:
        mode: Any = tables.CHOICES.read(wire)
        return None if mode is None else ToolChoice(mode)
    if type(wire) is not dict:
        raise ShapeError(".tool_choice", "a string or an object", wire)
    if wire.get("type") == "allowed_tools":
        mode, tools = tables.CHOICES.read(wire.get("mode", "auto")), wire.get("tools")
        names = [_chosen(each) for each in tools] if type(tools) is list else [None]
        if mode is None or mode == "none" or None in names or not names:
            return None
        return ToolChoice(mode, tuple([str(name) for name in names]))
    name = _chosen(wire)
    return None if name is None else ToolChoice("any", (name,))


def _chosen(wire: Any) -> str | None:
    """The name of a tool that is chosen by an object."""
    if type(wire) is not dict:
        return None
    name = wire.get(_chosen_by(wire.get("type")))
    return name if type(name) is str else None


def _chosen_by(kind: Any) -> str:
    return "name" if kind in ("function", "custom") else "server_label" if kind == "mcp" else "type"


def has_unknown_keys(choice: Any) -> bool:
    """Whether a choice, or one of the tools in it, has keys that no field holds."""
    if type(choice) is not dict:
        return False
    is_list = choice.get("type") == "allowed_tools"
    known = ("type", "mode", "tools") if is_list else ("type", _chosen_by(choice.get("type")))
    if any(item is not None and key not in known for key, item in choice.items()):
        return True
    return is_list and any(has_unknown_keys(each) for each in choice["tools"])


def write_choice(
    choice: ToolChoice, tools: Sequence[ToolDefinition], spelled: Any, recorder: LossRecorder
) -> Any:
    """`spelled` is the original choice, which is written back if it still means the same."""
    if spelled is not None:
        again = read_choice(spelled)
        if again is not None and same(again.mode, choice.mode) and again.names == choice.names:
            return spelled
    return plain_choice(choice, tools, recorder)


def plain_choice(
    choice: ToolChoice, tools: Sequence[ToolDefinition], recorder: LossRecorder = QUIET
) -> Any:
    """A choice as we spell it."""
    mode = tables.CHOICES.write(choice.mode)
    if mode is None:
        recorder.lost(choice, "mode")
    if mode is None or mode == "none" or not choice.names:
        if choice.names:
            recorder.lost(choice, "names")
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


# -- changes in the middle of the input -----------------------------------------------------------

UPDATE = "configuration_update"
_SETTINGS = frozenset({"reasoning", "text", "type"})


def _brought(tool: ToolDefinition, number: int) -> ToolDefinition:
    own_raw = own(tool.raw)
    spelling = {**own_raw.get("$form", NOTHING), "added": number}
    return tool.replace(raw={NAME: {**own_raw, "$form": spelling}})


def added(tool: ToolDefinition) -> int | None:
    """The item in the middle of the input that added a tool."""
    number = own_spelling(tool.raw).get("added")
    return number if type(number) is int else None


def merged(before: Changes | None, more: Changes) -> Changes | None:
    """Both; None where one message cannot hold both."""
    if before is None:
        return more
    for name in ("effort", "response_format"):
        if getattr(before, name) is not None and getattr(more, name) is not None:
            return None
    return before.replace(
        tools_added=before.tools_added + more.tools_added,
        effort=before.effort or more.effort,
        response_format=before.response_format or more.response_format,
    )


def read_update(item: Wire) -> tuple[Changes, Wire] | None:
    """The settings of an item, and its other keys; None if fields cannot hold it."""
    reasoning, text = item.get("reasoning"), item.get("text")
    effort = reasoning.get("effort") if type(reasoning) is dict else None
    found = FORMAT.read(text.get("format")) if type(text) is dict else NOT_OURS
    attrs: Any = {} if found is NOT_OURS else found
    changes = Changes(effort=effort if effort in EFFORTS else None, **attrs)
    keys = {key: value for key, value in item.items() if key not in _SETTINGS}
    settings = _settings(changes)
    if not settings or not same({"type": UPDATE, **keys, **settings}, item):
        return None
    return changes, keys


def _settings(changes: Changes, recorder: LossRecorder = QUIET) -> Wire:
    settings: Wire = {}
    if changes.effort is not None:
        settings["reasoning"] = {"effort": changes.effort}
    response_format = changes.response_format
    if response_format is not None and response_format.kind in ("text", "json_schema"):
        settings["text"] = {"format": FORMAT.write(changes, recorder)}
    return settings


class Pending:
    """The changes of one message that are not written yet."""

    def __init__(
        self, message: Message, tools: Sequence[ToolDefinition], recorder: LossRecorder
    ) -> None:
        changes = message.changes
        assert changes is not None
        self.message, self.tools, self.recorder = message, tools, recorder
        self.names = list(changes.tools_added)
        self.settings = _settings(changes, recorder)
        report_changes(message, recorder, tables.TRAITS.changes)
        if changes.response_format is not None and "text" not in self.settings:
            recorder.lost(message, "changes.response_format")

    def take_tools(self, number: int) -> list[ToolDefinition]:
        """The tools that the item of this number brought, as far as they are still named."""
        found = [t for t in self.tools if added(t) == number and t.name in self.names]
        for tool in found:
            self.names.remove(tool.name)
        return found

    def take_settings(self) -> Wire:
        settings, self.settings = self.settings, {}
        return settings

    def rest(self, brought: set[int]) -> list[Wire]:
        """Items for changes that no item of the wire had."""
        items: list[Wire] = []
        found: list[ToolDefinition] = []
        for name in self.names:
            tool = next((t for t in self.tools if t.name == name and id(t) not in brought), None)
            if tool is None:
                self.recorder.lost(
                    self.message, "changes.tools_added", because("tool_undeclared", name=name)
                )
                continue
            brought.add(id(tool))
            found.append(tool)
        if tools := write_tools(found, self.recorder):
            items.append({"type": "additional_tools", "role": "developer", "tools": tools})
        if self.settings:
            items.append({"type": UPDATE, **self.settings})
        return items
