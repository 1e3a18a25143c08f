"""Chat requests: the body, options and tools."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.calls import read_function, schema_of, write_function
from interlingua.dialects.kernel.errors import read_each, read_whole, require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    Table,
    constant,
    inside,
    plain,
    strings,
    together,
)
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, was_absent
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.messages import read_messages, write_messages
from interlingua.dialects.ollama.tables import EFFORTS, MOST_LOGPROBS, NAME, NUMBERS
from interlingua.model.base import unchecked
from interlingua.model.exchange import Options, Reasoning, Request, ResponseFormat
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- numbers --------------------------------------------------------------------------------------


def _is_whole(number: float) -> bool:
    return number == round(number)


def _write_top_k(options: Any, recorder: LossRecorder) -> int:
    """The server takes whole numbers only."""
    number: float = options.top_k
    recorder.lost(options, "top_k", because("out_of_range"), kind="approximated")
    return round(number)


# -- format ---------------------------------------------------------------------------------------


def _read_format(value: Any) -> Reading:
    if type(value) is dict:
        return {"response_format": ResponseFormat("json_schema", schema=value)}
    if value == "json":
        return {"response_format": ResponseFormat("json")}
    return NOT_OURS if value else {}


def _write_format(options: Any, recorder: LossRecorder) -> Any:
    response_format: ResponseFormat = options.response_format
    if response_format.kind == "json_schema" and response_format.schema is not None:
        recorder.unwritten(response_format, frozenset({"kind", "schema"}))
        return response_format.schema
    if response_format.kind not in ("json", "text"):
        recorder.lost(
            options, "response_format.kind", because("json_without_schema"), kind="approximated"
        )
    recorder.unwritten(response_format, frozenset({"kind"}))
    return "json" if response_format.kind in ("json", "json_schema") else None


# -- think ----------------------------------------------------------------------------------------


def _read_think(value: Any) -> Reading:
    if value is True:
        return {"reasoning": Reasoning(visible=True, mode="on")}
    if value is False:
        return {"reasoning": Reasoning(mode="off")}
    if type(value) is str and EFFORTS.get(value) == value:
        return {"reasoning": Reasoning(effort=value)}  # type: ignore[arg-type]  # a word of the table
    return NOT_OURS


def _write_think(options: Any, recorder: LossRecorder) -> bool | str:
    reasoning: Reasoning = options.reasoning
    think = _think(options, reasoning, recorder)
    if reasoning.budget_tokens is not None:
        recorder.lost(options, "reasoning.budget_tokens", because("no_thinking_budget"))
    if reasoning.mode not in (None, "on", "off"):
        reason = because("thinking_on_or_off")
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    if reasoning.visible is not None and think is not True:
        reason = because("thinking_shown")
        recorder.lost(options, "reasoning.visible", reason)
    elif reasoning.visible is False:
        recorder.lost(options, "reasoning.visible", because("thinking_not_hidden"))
    return think


def _think(options: Options, reasoning: Reasoning, recorder: LossRecorder) -> bool | str:
    if reasoning.mode == "off":
        if reasoning.effort is not None:
            recorder.lost(options, "reasoning.effort", because("thinking_off"))
        return False
    if reasoning.effort is None:
        return True
    word = EFFORTS.get(reasoning.effort)
    if word is None:
        recorder.lost(options, "reasoning.effort")
        return True
    if word != reasoning.effort:
        recorder.lost(
            options, "reasoning.effort", because("sent_as", value=word), kind="approximated"
        )
    return word


# -- logprobs -------------------------------------------------------------------------------------


def _read_logprobs(wire: Wire) -> Reading:
    is_on = require(wire.get("logprobs", False), bool, ".logprobs")
    most = require(wire.get("top_logprobs", 0), int, ".top_logprobs")
    return {"logprobs": most} if is_on else {}


def _write_logprobs(options: Any, recorder: LossRecorder) -> Wire:
    most: int = options.logprobs
    if most > MOST_LOGPROBS:
        recorder.lost(
            options, "logprobs", because("sent_as", value=MOST_LOGPROBS), kind="approximated"
        )
        most = MOST_LOGPROBS
    return {"logprobs": True, "top_logprobs": most} if most else {"logprobs": True}


OPTIONS = Table(
    Options,
    inside(
        "options",
        # A negative number means that there is no limit, or only that of the context.
        plain("num_predict", "max_output_tokens", int, fits=lambda limit: limit >= 0),
        plain("top_k", "top_k", float, fits=_is_whole)._replace(write=_write_top_k),
        *[plain(key, attr, kind) for key, (attr, kind) in NUMBERS.items()],
        strings("stop", "stop", alone=True),
    ),
    Field("format", ("response_format",), _read_format, _write_format),
    Field("think", ("reasoning",), _read_think, _write_think, few=True),
    together(("logprobs", "top_logprobs"), ("logprobs",), _read_logprobs, _write_logprobs),
    # The server streams by default.
    plain("stream", "stream", bool, missing=True, fill=lambda _: False),
    beside=("model", "messages", "tools"),
)

TOOL = Table(
    ToolDefinition,
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        plain("description", "description", str),
        plain("parameters", "input_schema", dict, fill=schema_of),
    ),
    silent=("executor", "kind"),
)


def read_tool(wire: Any) -> ToolDefinition:
    return read_function(wire, TOOL, NAME)


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    return write_function(tool, TOOL, recorder, because("no_hosted_tools"))


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body contains model and stream; `model` is for a body without one."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    preserved = Preserved()
    named = preserved.take(wire, "model", str)
    messages = read_messages(preserved.take(wire, "messages", list) or [])
    listed = preserved.take(wire, "tools", list) if "tools" in wire else None
    tools = tuple(read_each(listed, ".tools", read_tool)) if listed else ()
    options = unchecked(Options, **OPTIONS.read(wire, preserved))
    return unchecked(Request, messages, named or model, tools, options, raw=preserved.raw(NAME))


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None and not was_absent(own_raw, "model"):
        out["model"] = request.model
    messages = write_messages(request.messages, recorder)
    if messages or not was_absent(own_raw, "messages"):
        out["messages"] = messages
    written = [write_tool(tool, recorder) for tool in request.tools]
    if tools := [tool for tool in written if tool is not None]:
        out["tools"] = tools
    OPTIONS.write(request.options, out, own_raw, recorder)
    restore_raw(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    return out if request.raw is None else restore_raw(out, request, request.raw, recorder)
