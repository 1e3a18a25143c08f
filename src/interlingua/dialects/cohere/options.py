"""How to generate: the keys of a body that are neither messages, tools nor documents."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import FORMATS, NUMBERS, THINKING, TOOL_CHOICES
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, plain, strings
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice

_WORDS = {mode: word for word, mode in TOOL_CHOICES.items()}


def _whole(number: float) -> bool:
    return number == round(number)


# -- tools ----------------------------------------------------------------------------------------


def _read_choice(given: Any) -> Reading:
    mode = TOOL_CHOICES.get(want(given, str))
    return NOT_OURS if mode is None else {"tool_choice": ToolChoice(mode)}  # type: ignore[arg-type]  # a word of the table


def _write_choice(options: Any, recorder: LossRecorder) -> str | None:
    choice: ToolChoice = options.tool_choice
    if choice.names:
        recorder.lost(options, "tool_choice.names", "no tool can be named")
    return _WORDS.get(choice.mode)


# -- format ---------------------------------------------------------------------------------------


def _read_format(given: Any) -> Reading:
    kind, schema = want(given, dict).get("type"), given.get("json_schema")
    if type(kind) is not str or kind not in FORMATS:
        return NOT_OURS
    if kind == "json_object" and schema is not None:
        shape = want(schema, dict, ".json_schema")
        return {"response_format": ResponseFormat("json_schema", schema=shape)}
    return {"response_format": ResponseFormat(FORMATS[kind])}  # type: ignore[arg-type]  # a word of the table


def _write_format(options: Any, recorder: LossRecorder) -> Wire:
    wanted: ResponseFormat = options.response_format
    if wanted.kind == "json_schema" and wanted.schema is not None:
        recorder.unwritten(wanted, frozenset({"kind", "schema"}))
        return {"type": "json_object", "json_schema": wanted.schema}
    if wanted.kind == "json_schema":
        recorder.lost(options, "response_format.kind", "it has no schema", kind="approximated")
    recorder.unwritten(wanted, frozenset({"kind"}))
    return {"type": "text" if wanted.kind == "text" else "json_object"}


# -- thinking -------------------------------------------------------------------------------------


def _read_thinking(given: Any) -> Reading:
    mode = THINKING.read(want(want(given, dict).get("type"), str, ".type"))
    if mode is None:
        return NOT_OURS
    budget = given.get("token_budget")
    tokens = None if budget is None else want(budget, int, ".token_budget")
    return {"reasoning": Reasoning(mode=mode, budget_tokens=tokens)}


def _write_thinking(options: Any, recorder: LossRecorder) -> Wire:
    wanted: Reasoning = options.reasoning
    is_off = wanted.mode == "off" or (wanted.mode is None and wanted.effort == "none")
    if wanted.effort is not None and not (is_off and wanted.mode is None):
        recorder.lost(options, "reasoning.effort", "thinking has a budget in place of an effort")
    if wanted.mode not in (None, "on", "off"):
        reason = "it thinks, or it does not"
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    if wanted.visible is False:
        recorder.lost(options, "reasoning.visible", "thinking cannot be hidden")
    elif wanted.visible is not None:
        reason = "what a model thinks is shown whenever it does"
        recorder.lost(options, "reasoning.visible", reason, severity="info")
    out: Wire = {"type": "disabled" if is_off else "enabled"}
    if wanted.budget_tokens is not None:
        out["token_budget"] = wanted.budget_tokens
    return out


# -- logprobs -------------------------------------------------------------------------------------


def _read_logprobs(given: Any) -> Reading:
    return {"logprobs": 0} if want(given, bool) else {}


def _write_logprobs(options: Any, recorder: LossRecorder) -> bool:
    if options.logprobs:
        reason = "of each token its own alone"
        recorder.lost(options, "logprobs", reason, kind="approximated")
    return True


def _number(key: str) -> Field:
    attr, kind = NUMBERS[key]
    return plain(key, attr, kind, fits=_whole if key == "k" else None)


OPTIONS = Table(
    Options,
    *[_number(key) for key in NUMBERS],
    strings("stop_sequences", "stop"),
    Field("tool_choice", ("tool_choice",), _read_choice, _write_choice, few=True),
    Field("response_format", ("response_format",), _read_format, _write_format),
    Field("thinking", ("reasoning",), _read_thinking, _write_thinking),
    Field("logprobs", ("logprobs",), _read_logprobs, _write_logprobs),
    plain("stream", "stream", bool),
    beside=("model", "messages", "tools", "documents", "strict_tools"),
)
