"""Requests: the body, options and tools."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.messages import read_input, write_messages
from interlingua.dialects.gemini_interactions.tables import (
    BUILT_IN,
    CLIENT_KINDS,
    EFFORTS,
    JSON_TYPE,
    MODALITIES,
    MODES,
    NAME,
    NEAR_EFFORTS,
    NEAR_TIERS,
    NUMBERS,
    PLAIN,
    SERVICE_TIERS,
    SUMMARIES,
    VALIDATED,
)
from interlingua.dialects.google import write_labels
from interlingua.dialects.kernel.calls import TEXT_SCHEMA
from interlingua.dialects.kernel.errors import read_each, read_whole, require, require_key
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Attrs,
    Field,
    Reading,
    Table,
    inside,
    plain,
    strings,
    together,
    word,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import unchecked
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import (
    Continues,
    Options,
    Reasoning,
    Request,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- thinking -------------------------------------------------------------------------------------


def _read_thinking(wire: Wire) -> Reading:
    fields: Attrs = {}
    if "thinking_level" in wire:
        effort = EFFORTS.read(require(wire["thinking_level"], str, ".thinking_level"))
        fields |= {} if effort is None else {"effort": effort}
    if "thinking_summaries" in wire:
        shown = SUMMARIES.read(require(wire["thinking_summaries"], str, ".thinking_summaries"))
        fields |= {} if shown is None else {"visible": shown}
    return {"reasoning": Reasoning(**fields)} if fields else {}


def _write_thinking(options: Any, recorder: LossRecorder) -> Wire:
    reasoning: Reasoning = options.reasoning
    out: Wire = {}
    level = _level(options, reasoning, recorder)
    if level is not None:
        out["thinking_level"] = level
    if reasoning.visible is not None:
        out["thinking_summaries"] = SUMMARIES.write(reasoning.visible)
    if reasoning.budget_tokens is not None:
        recorder.lost(options, "reasoning.budget_tokens", because("no_thinking_budget"))
    elif not out:
        recorder.lost(options, "reasoning", _NO_LEVEL)
        return out
    if reasoning.mode is not None:
        reason = _NO_LEVEL if level is None else because("sent_as", value=level)
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    return out


_NO_LEVEL = because("thinking_level_default")


def _level(options: Options, reasoning: Reasoning, recorder: LossRecorder) -> str | None:
    """Thinking cannot be switched off; the least of it is nearest."""
    effort = reasoning.effort
    if reasoning.mode == "off":
        if effort is not None:
            recorder.lost(options, "reasoning.effort", because("thinking_off"))
        return NEAR_EFFORTS["none"]
    level = None if effort is None else EFFORTS.write(effort)
    if effort is not None and level is None:
        level = NEAR_EFFORTS.get(effort)
        if level is None:
            recorder.lost(options, "reasoning.effort")
        else:
            recorder.lost(
                options, "reasoning.effort", because("sent_as", value=level), kind="approximated"
            )
    return level


# -- which tools may be called --------------------------------------------------------------------


def _read_choice(value: Any) -> Reading:
    if type(value) is str:
        mode = MODES.read(value) if value != VALIDATED else None
        return NOT_OURS if mode is None else {"tool_choice": ToolChoice(mode)}  # type: ignore[arg-type]  # a mode
    allowed = require(value, dict).get("allowed_tools")
    if type(allowed) is not dict or type(allowed.get("mode", VALIDATED)) is not str:
        return NOT_OURS
    mode, names = MODES.read(allowed.get("mode", VALIDATED)), allowed.get("tools") or []
    if mode is None or not names or not _are_strings(names):
        return NOT_OURS
    return {"tool_choice": ToolChoice(mode, tuple(names))}  # type: ignore[arg-type]  # a mode


def _are_strings(listed: Any) -> bool:
    return type(listed) is list and all(type(each) is str for each in listed)


def _write_choice(options: Any, recorder: LossRecorder) -> Any:
    choice: ToolChoice = options.tool_choice
    if not choice.names:
        return choice.mode
    return {"allowed_tools": {"mode": choice.mode, "tools": list(choice.names)}}


# -- the form of the answer -----------------------------------------------------------------------

_FORMS = frozenset({"text", "audio", "image", "video"})


def _read_format(wire: Wire) -> Reading:
    """Reads the format of answers. A schema may be separate, with the type of the answer beside it,
    as in 2026-05."""
    spelling, beside = wire.get("response_format"), wire.get("response_mime_type")
    if beside is not None:
        require(beside, str, ".response_mime_type")
    if type(spelling) is list and len(spelling) == 1:
        spelling = spelling[0]
    if spelling is None:
        return _of_type(beside, None)
    if type(spelling) is not dict:
        return NOT_OURS
    kind, typed, schema = spelling.get("type"), spelling.get("mime_type"), spelling.get("schema")
    if kind != "text":
        bare = (type(kind) is not str or kind not in _FORMS) and bool(spelling)
        if bare:
            return {"response_format": ResponseFormat("json_schema", schema=spelling)}
        return NOT_OURS
    if schema is not None and type(schema) is not dict:
        return NOT_OURS
    return _of_type(typed if typed is not None else beside, schema)


def _of_type(typed: Any, schema: Wire | None) -> Reading:
    if schema is not None:
        return {"response_format": ResponseFormat("json_schema", schema=schema)}
    if typed == JSON_TYPE:
        return {"response_format": ResponseFormat("json")}
    return {"response_format": ResponseFormat()} if typed in (None, PLAIN) else NOT_OURS


def _write_format(options: Any, recorder: LossRecorder) -> Wire:
    response_format: ResponseFormat = options.response_format
    if response_format.kind not in ("text", "json", "json_schema"):
        recorder.lost(options, "response_format")
        return {}
    spelling: Wire = {"type": "text"}
    if response_format.kind != "text":
        spelling["mime_type"] = JSON_TYPE
    if response_format.kind == "json_schema" and response_format.schema is not None:
        spelling["schema"] = response_format.schema
    elif response_format.kind == "json_schema":
        recorder.lost(
            options, "response_format.kind", because("json_without_schema"), kind="approximated"
        )
    elif response_format.schema is not None:
        recorder.lost(response_format, "schema", because("no_schema_wanted"))
    for name in ("name", "strict", "description"):
        if getattr(response_format, name) is not None:
            recorder.lost(response_format, name)
    return {"response_format": spelling}


def _read_modalities(value: Any) -> Reading:
    known = _are_strings(require(value, list)) and value and MODALITIES.issuperset(value)
    return {"modalities": tuple(value)} if known else NOT_OURS


def _write_modalities(options: Any, recorder: LossRecorder) -> list[str]:
    words = [each for each in options.modalities if each in MODALITIES]
    if len(words) < len(options.modalities):
        recorder.lost(options, "modalities", because("sent_as", value=words), kind="approximated")
    return words


OPTIONS = Table(
    Options,
    inside(
        "generation_config",
        *[plain(key, attr, kind) for key, (attr, kind) in NUMBERS.items()],
        strings("stop_sequences", "stop"),
        together(
            ("thinking_level", "thinking_summaries"),
            ("reasoning",),
            _read_thinking,
            _write_thinking,
        ),
        Field("tool_choice", ("tool_choice",), _read_choice, _write_choice, few=True),
    ),
    together(
        ("response_format", "response_mime_type"), ("response_format",), _read_format, _write_format
    ),
    Field("response_modalities", ("modalities",), _read_modalities, _write_modalities),
    word("service_tier", "service_tier", SERVICE_TIERS, near=NEAR_TIERS),
    plain("stream", "stream", bool),
    beside=(
        *("model", "input", "system_instruction", "tools"),
        *("previous_interaction_id", "continuation_token", "labels"),
    ),
    silent=("metadata",),
)


# -- labels ---------------------------------------------------------------------------------------


def read_labels(wire: Wire, preserved: Preserved) -> Attrs:
    """Labels of the caller. `$form.labels` records that the wire had labels only, since other
    dialects call them otherwise."""
    labels = preserved.take(wire, "labels", dict) if "labels" in wire else None
    if labels is None:
        return {}
    if any(type(each) is not str for each in labels.values()):
        preserved.hold("labels", labels)
        return {}
    preserved.spelling["labels"] = True
    return {"metadata": labels}


_MCP = "mcp_server"
TOOL = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str),
    plain(
        "parameters",
        "input_schema",
        dict,
        fill=lambda tool: TEXT_SCHEMA if tool.kind == "custom" else None,
    ),
    beside=("type",),
    silent=("executor", "kind"),
)
BUILT = Table(ToolDefinition, beside=("type",), silent=("executor", "kind", "name"))
SERVER = Table(
    ToolDefinition, plain("name", "name", str), beside=("type",), silent=("executor", "kind")
)
"""A server of tools has a name of its own."""


def read_tool(wire: Any) -> ToolDefinition:
    kind = require(wire, dict).get("type")
    preserved = Preserved()
    if kind == "function":
        require_key(wire, "name", str)
        return unchecked(ToolDefinition, **TOOL.read(wire, preserved), raw=preserved.raw(NAME))
    if type(kind) is not str or kind not in BUILT_IN:
        name = kind if type(kind) is str else ""
        return ToolDefinition(name, executor="provider", kind="unknown", raw={NAME: wire})
    by = "client" if kind in CLIENT_KINDS else "provider"
    preserved.spelling["own"] = True  # marks a tool that has only its type as the vendor's own
    attrs = SERVER.read(wire, preserved) if kind == _MCP else BUILT.read(wire, preserved)
    name = attrs.get("name", kind)
    if kind == _MCP and "name" not in attrs:
        preserved.spelling["nameless"] = True
    return ToolDefinition(name, executor=by, kind=kind, raw=preserved.raw(NAME))  # type: ignore[arg-type]  # one of two words


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    if tool.kind in ("function", "custom") and tool.executor == "client":
        return _write_function(tool, recorder)
    if tool.kind == "unknown":
        return _write_unknown(tool, recorder)
    if tool.kind not in BUILT_IN:
        recorder.lost(tool, None, because("vendor_tool_unknown"))
        return None
    out: Wire = {"type": tool.kind}
    if tool.kind == _MCP and not (
        spelling_of(NAME, tool.raw).get("nameless") and tool.name == _MCP
    ):
        SERVER.write(tool, out, raw_of(NAME, tool.raw), recorder)
    else:
        BUILT.write(tool, out, raw_of(NAME, tool.raw), recorder)
        if tool.name != tool.kind:
            recorder.lost(tool, "name", because("tool_by_type"))
    if (tool.executor == "client") is not (tool.kind in CLIENT_KINDS):
        recorder.lost(tool, "executor")
    return out if tool.raw is None else restore_raw(out, tool, tool.raw, recorder)


def _write_function(tool: ToolDefinition, recorder: LossRecorder) -> Wire:
    if tool.kind == "custom":
        recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
    out: Wire = {"type": "function"}
    TOOL.write(tool, out, raw_of(NAME, tool.raw), recorder)
    return out if tool.raw is None else restore_raw(out, tool, tool.raw, recorder)


def _write_unknown(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    """An unknown tool is written back unchanged, and in no other dialect."""
    own_raw = tool.raw.get(NAME) if tool.raw is not None else None
    if type(own_raw) is not dict:
        recorder.lost(tool, None, because("vendor_tool_unknown"))
        return None
    if tool.name != (own_raw.get("type") if type(own_raw.get("type")) is str else ""):
        recorder.lost(tool, "name")
    BUILT.write(tool, {}, own_raw, recorder)
    return own_raw


_CONTINUES = {"previous_interaction_id": "response_id", "continuation_token": "token"}


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body contains model and stream; `model` is for a body without one."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    preserved = Preserved()
    named = preserved.take(wire, "model", str) if "model" in wire else None
    messages = _read_messages(wire, preserved)
    listed = preserved.take(wire, "tools", list) if "tools" in wire else None
    tools = tuple(read_each(listed, ".tools", read_tool)) if listed else ()
    fields: Wire = {}
    for key, attr in _CONTINUES.items():
        if key in wire and (item := preserved.take(wire, key, str)) is not None:
            fields[attr] = item
    continues = Continues(**fields) if fields else None
    options = unchecked(Options, **OPTIONS.read(wire, preserved), **read_labels(wire, preserved))
    if named is None and "model" not in wire and model is None:
        preserved.mark_absent("model")
    return unchecked(
        Request, messages, named or model, tools, options, continues, preserved.raw(NAME)
    )


def _read_messages(wire: Wire, preserved: Preserved) -> tuple[Message, ...]:
    leading: list[Message] = []
    if "system_instruction" in wire:
        text = preserved.take(wire, "system_instruction", str)
        leading = [Message(Role.SYSTEM, (TextBlock(text),))] if text else []
    if wire.get("input") is None:
        preserved.take(wire, "input", list)
        return tuple(leading)
    return (*leading, *read_input(wire["input"], preserved))


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None:
        out["model"] = request.model
    write_messages(request.messages, out, spelling_in(own_raw).get("input"), own_raw, recorder)
    written = [write_tool(tool, recorder) for tool in request.tools]
    if tools := [tool for tool in written if tool is not None]:
        out["tools"] = tools
    OPTIONS.write(request.options, out, own_raw, recorder)
    if request.options.metadata is not None:
        write_labels(request.options, request.raw, out, recorder)
    restore_raw(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        for key, attr in _CONTINUES.items():
            item = getattr(request.continues, attr)
            if item is not None:
                out[key] = item
        for name in ("conversation_id", "prompt", "items"):
            if getattr(request.continues, name):
                recorder.lost(request.continues, name, severity="error")
    return out if request.raw is None else restore_raw(out, request, request.raw, recorder)
