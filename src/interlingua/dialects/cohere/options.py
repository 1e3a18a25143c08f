"""Options and tools. Only functions are tools, and `strict_tools` holds for all of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import (
    FORMATS,
    NAME,
    NUMBERS,
    TEXT_FORMAT,
    THINKING,
    TOOL_CHOICES,
    TOOL_FORMAT,
)
from interlingua.dialects.kernel.calls import is_function, read_function, write_function
from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    Table,
    constant,
    inside,
    plain,
    strings,
)
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

_WORDS = {mode: word for word, mode in TOOL_CHOICES.items()}


def _whole(number: float) -> bool:
    return number == round(number)


# -- tools ----------------------------------------------------------------------------------------


def _read_choice(value: Any) -> Reading:
    mode = TOOL_CHOICES.get(require(value, str))
    return NOT_OURS if mode is None else {"tool_choice": ToolChoice(mode)}  # type: ignore[arg-type]  # a word of the table


def _write_choice(options: Any, recorder: LossRecorder) -> str | None:
    choice: ToolChoice = options.tool_choice
    if choice.names:
        recorder.lost(options, "tool_choice.names", because("tool_choice_unnamed"))
    word = _WORDS.get(choice.mode)
    if word is None:
        recorder.lost(options, "tool_choice")
    return word


# -- format ---------------------------------------------------------------------------------------


def _format(schema_key: str) -> Field:
    """The format of an answer; the versions call its schema differently."""

    def read(value: Any) -> Reading:
        kind, schema = require(value, dict).get("type"), value.get(schema_key)
        if type(kind) is not str or kind not in FORMATS:
            return NOT_OURS
        if kind == "json_object" and schema is not None:
            shape = require(schema, dict, f".{schema_key}")
            return {"response_format": ResponseFormat("json_schema", schema=shape)}
        return {"response_format": ResponseFormat(FORMATS[kind])}  # type: ignore[arg-type]  # a word of the table

    def write(options: Any, recorder: LossRecorder) -> Wire | None:
        response_format: ResponseFormat = options.response_format
        if response_format.kind not in ("text", "json", "json_schema"):
            recorder.lost(options, "response_format")
            return None
        if response_format.kind == "json_schema" and response_format.schema is not None:
            recorder.unwritten(response_format, frozenset({"kind", "schema"}))
            return {"type": "json_object", schema_key: response_format.schema}
        if response_format.kind == "json_schema":
            recorder.lost(
                options, "response_format.kind", because("json_without_schema"), kind="approximated"
            )
        recorder.unwritten(response_format, frozenset({"kind"}))
        return {"type": "text" if response_format.kind == "text" else "json_object"}

    return Field("response_format", ("response_format",), read, write)


# -- thinking -------------------------------------------------------------------------------------


def _read_thinking(value: Any) -> Reading:
    mode = THINKING.read(require(require(value, dict).get("type"), str, ".type"))
    if mode is None:
        return NOT_OURS
    budget = value.get("token_budget")
    tokens = None if budget is None else require(budget, int, ".token_budget")
    return {"reasoning": Reasoning(mode=mode, budget_tokens=tokens)}


def _write_thinking(options: Any, recorder: LossRecorder) -> Wire:
    reasoning: Reasoning = options.reasoning
    is_off = reasoning.mode == "off" or (reasoning.mode is None and reasoning.effort == "none")
    if reasoning.effort is not None and not (is_off and reasoning.mode is None):
        recorder.lost(options, "reasoning.effort", because("effort_unsupported_budget"))
    if reasoning.mode not in (None, "on", "off"):
        reason = because("thinking_on_or_off")
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    if reasoning.visible is False:
        recorder.lost(options, "reasoning.visible", because("thinking_not_hidden"))
    elif reasoning.visible is not None:
        reason = because("thinking_shown")
        recorder.lost(options, "reasoning.visible", reason)
    out: Wire = {"type": "disabled" if is_off else "enabled"}
    if reasoning.budget_tokens is not None:
        out["token_budget"] = reasoning.budget_tokens
    return out


# -- logprobs -------------------------------------------------------------------------------------


def _read_logprobs(value: Any) -> Reading:
    return {"logprobs": 0} if require(value, bool) else {}


def _write_logprobs(options: Any, recorder: LossRecorder) -> bool:
    if options.logprobs:
        reason = because("logprobs_chosen_only")
        recorder.lost(options, "logprobs", reason, kind="approximated")
    return True


def _number(key: str) -> Field:
    attr, kind = NUMBERS[key]
    return plain(key, attr, kind, fits=_whole if key == "k" else None)


_COMMON = (
    *[_number(key) for key in NUMBERS],
    strings("stop_sequences", "stop"),
    plain("stream", "stream", bool),
)
OPTIONS = Table(
    Options,
    *_COMMON,
    Field("tool_choice", ("tool_choice",), _read_choice, _write_choice, few=True),
    _format("json_schema"),
    Field("thinking", ("reasoning",), _read_thinking, _write_thinking),
    Field("logprobs", ("logprobs",), _read_logprobs, _write_logprobs),
    beside=("model", "messages", "tools", "documents", "strict_tools"),
)
V1_OPTIONS = Table(
    Options,
    *_COMMON,
    _format("schema"),
    beside=(
        *("model", "message", "chat_history", "preamble", "tools", "tool_results", "documents"),
        "conversation_id",
    ),
)


def _schema_of(tool: Any) -> Wire:
    return TEXT_FORMAT if tool.kind == "custom" else TOOL_FORMAT


TOOL = Table(
    ToolDefinition,
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        plain("description", "description", str),
        plain("parameters", "input_schema", dict, fill=_schema_of),
    ),
    silent=("executor", "kind", "strict"),
)


def read_tools(wire: Wire, preserved: Preserved) -> tuple[ToolDefinition, ...]:
    """The tools of a body; `strict_tools` is of each of them."""
    listed = preserved.take(wire, "tools", list) if "tools" in wire else None
    tools = read_each(listed, ".tools", _read_tool) if listed else []
    strict = wire.get("strict_tools")
    if "strict_tools" not in wire:
        return tuple(tools)
    if strict is None or not any(map(is_function, tools)):
        preserved.add("strict_tools", strict)
        return tuple(tools)
    is_strict = require(strict, bool, ".strict_tools")
    return tuple([each.replace(strict=is_strict) if is_function(each) else each for each in tools])


def _read_tool(wire: Any) -> ToolDefinition:
    return read_function(wire, TOOL, NAME)


def write_tools(tools: tuple[ToolDefinition, ...], out: Wire, recorder: LossRecorder) -> None:
    reason = because("no_hosted_tools")
    written = [write_function(tool, TOOL, recorder, reason) for tool in tools]
    if tools_written := [tool for tool in written if tool is not None]:
        out["tools"] = tools_written
    strict = [tool.strict for tool in tools if is_function(tool)]
    if strict and strict[0] is not None and all(word is strict[0] for word in strict):
        out["strict_tools"] = strict[0]
        return
    for tool in tools:
        if tool.strict and is_function(tool):
            recorder.lost(tool, "strict", because("strict_for_all"))
