"""Requests: wire to canonical and back, and the betas that a body needs."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.messages import (
    breakpoint_in,
    read_messages,
    read_more,
    write_messages,
    write_question,
)
from interlingua.dialects.anthropic.tables import BETAS, CHANGES, NAME
from interlingua.dialects.anthropic.text import CACHE, is_silent
from interlingua.dialects.anthropic.tools import Writing, read_tools, write_tools
from interlingua.dialects.kernel.claude import (
    effort_word,
    read_thinking,
    report_fields,
    thinking_of,
)
from interlingua.dialects.kernel.errors import at_path, read_whole, require, require_key
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Attrs,
    Field,
    Reading,
    Table,
    inside,
    plain,
    spelling,
    strings,
    together,
)
from interlingua.dialects.kernel.preserved import (
    NOTHING,
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import same, unchecked
from interlingua.model.exchange import (
    NO_OPTIONS,
    Compaction,
    Continues,
    Options,
    Reasoning,
    Request,
    ResponseFormat,
    TaskBudget,
    ToolChoice,
    is_limit_alone,
)
from interlingua.model.reasons import because

_NOTHING = astuple(Options())[1:]
_EFFORTS = frozenset(tables.EFFORTS.values())
_NO_SCHEMA = because("json_needs_schema")


def _default_limit(options: Options) -> int:
    """The budget for thinking has to be less than the limit."""
    budget = options.reasoning.budget_tokens if options.reasoning is not None else None
    return tables.DEFAULT_MAX_TOKENS + (budget or 0)


def _read_tier(value: Any) -> Reading:
    return {"service_tier": tables.SERVICE_TIERS.read(require(value, str)) or value}


def _write_tier(options: Any, recorder: LossRecorder) -> str | None:
    word = tables.SERVICE_TIERS.write(options.service_tier)
    if word is None:
        recorder.lost(options, "service_tier")
    return word


# -- which tools may be called --------------------------------------------------------------------


def _read_choice(value: Any) -> Reading:
    kind, name = require(require(value, dict).get("type"), str, ".type"), value.get("name")
    if kind not in tables.TOOL_CHOICES or (kind == "tool" and type(name) is not str):
        return NOT_OURS
    alone = value.get("disable_parallel_tool_use")
    choice = ToolChoice(tables.TOOL_CHOICES[kind], (name,) if kind == "tool" else ())
    if type(alone) is bool and kind != "none":
        return {"tool_choice": choice, "parallel_tool_calls": not alone}
    return {"tool_choice": choice}


def _write_choice(options: Any, recorder: LossRecorder) -> Wire:
    choice, parallel = options.tool_choice or ToolChoice(), options.parallel_tool_calls
    one = choice.mode == "any" and len(choice.names) == 1
    wire: Wire = {"type": "tool", "name": choice.names[0]} if one else {"type": choice.mode}
    if choice.mode not in tables.TOOL_CHOICES:
        recorder.lost(choice, "mode")
        wire["type"] = "auto"
    if choice.names and not one:
        recorder.lost(choice, "names", because("one_tool_or_all"))
    if parallel is not None:
        if wire["type"] == "none":
            recorder.lost(options, "parallel_tool_calls", because("no_tools_called"))
        else:
            wire["disable_parallel_tool_use"] = not parallel
    return wire


# -- how much to think, and in what shape to answer -----------------------------------------------


def _read_output(wire: Wire) -> Reading:
    """`thinking` and `output_config` together, since effort and thinking are one option."""
    attrs: Attrs = {}
    fields: Attrs = {}
    if "thinking" in wire:
        thinking = require(wire["thinking"], dict, ".thinking")
        fields = at_path(".thinking", read_thinking, thinking)
    config = require(wire.get("output_config", {}), dict, ".output_config")
    if type(config.get("effort")) is str and config["effort"] in _EFFORTS:
        fields["effort"] = config["effort"]
    if fields:
        attrs["reasoning"] = Reasoning(**fields)
    match config.get("task_budget"):
        case {"type": "tokens", "total": int(total), "remaining": int(left), **more} if not more:
            attrs["task_budget"] = TaskBudget(total, left)
        case {"type": "tokens", "total": int(total), **more} if not more:
            attrs["task_budget"] = TaskBudget(total)
    if _is_format(config.get("format")):
        schema = config["format"].get("schema")
        schema = schema if type(schema) is dict else None
        attrs["response_format"] = ResponseFormat("json_schema", schema=schema)
    return attrs


def _is_format(wire: Any) -> bool:
    return type(wire) is dict and wire.get("type") == "json_schema"


def _write_output(options: Any, recorder: LossRecorder) -> Wire:
    config: Wire = {}
    out: Wire = {}
    reasoning: Reasoning | None = options.reasoning
    if reasoning is not None:
        if reasoning.effort is not None:
            word = effort_word(reasoning, "effort", reasoning.effort, recorder)
            config |= {} if word is None else {"effort": word}
        # Without a budget only hosts that imitate this API take `enabled`, and another dialect's
        # `on` has none.
        thinking = thinking_of(reasoning, recorder)
        out |= {} if thinking is None else {"thinking": thinking}
    if options.response_format is not None:
        _write_format(options, config, recorder)
    if (budget := options.task_budget) is not None:
        left = {} if budget.remaining is None else {"remaining": budget.remaining}
        config["task_budget"] = {"type": "tokens", "total": budget.total, **left}
    return {**out, "output_config": config} if config else out


def _write_format(options: Any, config: Wire, recorder: LossRecorder) -> None:
    response_format: ResponseFormat = options.response_format
    if same(response_format, ResponseFormat()):
        return  # text is the default
    if response_format.kind != "json_schema":
        recorder.lost(options, "response_format", _NO_SCHEMA)
        return
    config["format"] = {"type": "json_schema"}
    if response_format.schema is not None:
        config["format"]["schema"] = response_format.schema
    report_fields(response_format, ("name", "strict", "description"), recorder)


# -- when the service sums the conversation up ----------------------------------------------------


def _read_management(value: Any) -> Reading:
    """Reads the edit that compacts. Other edits, and unknown keys of this one, are preserved."""
    edits = value.get("edits") if type(value) is dict else None
    found = [e for e in edits if _compacts(e)] if type(edits) is list else []
    if len(found) != 1:
        return NOT_OURS
    trigger = found[0].get("trigger")
    threshold = trigger.get("value") if type(trigger) is dict else None
    usual = trigger is None or trigger == {"type": "input_tokens", "value": threshold}
    if not usual or type(threshold) not in (int, type(None)):
        return NOT_OURS
    instructions, pause = found[0].get("instructions"), found[0].get("pause_after_compaction")
    compaction = Compaction(
        threshold,
        instructions if type(instructions) is str else None,
        pause if type(pause) is bool else None,
    )
    return {"compaction": compaction}


def _compacts(edit: Any) -> bool:
    return type(edit) is dict and edit.get("type") == tables.COMPACT_EDIT


def _write_management(options: Any, recorder: LossRecorder) -> Wire:
    compaction: Compaction = options.compaction
    edit: Wire = {"type": tables.COMPACT_EDIT}
    if compaction.threshold is not None:
        edit["trigger"] = {"type": "input_tokens", "value": compaction.threshold}
    if compaction.pause is not None:
        edit["pause_after_compaction"] = compaction.pause
    if compaction.instructions is not None:
        edit["instructions"] = compaction.instructions
    return {"edits": [edit]}


OPTIONS = Table(
    Options,
    Field(
        "context_management",
        ("compaction",),
        _read_management,
        _write_management,
        more=lambda value: len(value["edits"]) > 1 or len(value) > 1,
    ),
    plain("max_tokens", "max_output_tokens", int, fill=_default_limit),
    *[plain(name, name, float) for name in tables.REFUSED_OPTIONS],
    strings("stop_sequences", "stop"),
    Field("tool_choice", ("tool_choice", "parallel_tool_calls"), _read_choice, _write_choice),
    together(
        ("thinking", "output_config"),
        ("response_format", "reasoning", "task_budget"),
        _read_output,
        _write_output,
    ),
    Field("service_tier", ("service_tier",), _read_tier, _write_tier),
    inside("metadata", plain("user_id", "user", str)),
    inside("diagnostics", plain("previous_message_id", "cache_comparison", str)),
    plain("stream", "stream", bool),
    CACHE,
    spelling("anthropic_version"),  # hosts other than Anthropic want it in the body
    beside=("model", "messages", "system", "tools", "thread"),
)


def read_options(wire: Wire, preserved: Preserved) -> Attrs:
    if "output_format" in wire:
        wire = _with_config(wire, preserved)
    attrs = OPTIONS.read(wire, preserved)
    if sampling := [name for name in tables.REFUSED_OPTIONS if name in attrs]:
        preserved.spelling["sampling"] = sampling
    if (
        response_format := attrs.get("response_format")
    ) is not None and response_format.schema is None:
        preserved.spelling["schemaless"] = True
    if attrs.get("reasoning") is not None and wire.get("thinking") is None:
        # An effort without thinking differs from one with it here, and `fit` could not tell the two
        # apart.
        preserved.spelling["effort"] = "alone"
    return attrs


def _with_config(wire: Wire, preserved: Preserved) -> Wire:
    """The body with the format where it belongs; as a beta it had a key of its own."""
    config = wire.get("output_config")
    is_free = config is None or (type(config) is dict and "format" not in config)
    if not is_free or not _is_format(wire["output_format"]):
        return wire
    preserved.spelling["output_format"] = "alone" if config is None else "beside"
    moved = {**(config or {}), "format": wire["output_format"]}
    if config is None and "output_config" in wire:
        preserved.keep_spelling("output_config", None)
    rest = {key: item for key, item in wire.items() if key != "output_format"}
    return {**rest, "output_config": moved}


def write_options(options: Options, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
    """Beside the tools, which `out` has already."""
    if not own_raw and (is_limit_alone(options) or astuple(options)[1:] == _NOTHING):
        limit = options.max_output_tokens
        out["max_tokens"] = tables.DEFAULT_MAX_TOKENS if limit is None else limit
    else:
        _write_options(options, out, own_raw, recorder)


def _write_options(options: Options, out: Wire, own_raw: Wire, recorder: LossRecorder) -> None:
    spelling = spelling_in(own_raw)
    if options.parallel_tool_calls is not None and options.tool_choice is None:
        options = _without_tools(options, out, recorder)
    OPTIONS.write(options, out, own_raw, recorder)
    _leave_out_refused(options, out, spelling, recorder)
    if "stream" in spelling.get("url", ()):
        out.pop("stream", None)


def _without_tools(options: Options, out: Wire, recorder: LossRecorder) -> Options:
    """Without tools, the tool choice is left out."""
    if "tools" in out:
        return options
    recorder.lost(options, "parallel_tool_calls", because("no_tools_called"))
    new = options.replace(parallel_tool_calls=None)
    recorder.alias(new, options)
    return new


def _leave_out_refused(options: Options, out: Wire, spelling: Wire, recorder: LossRecorder) -> None:
    """What newer models refuse is written where the wire had it, or where fitting knows that the
    model takes it (`$form.sampling`). A format without a schema is refused by all."""
    for name in tables.REFUSED_OPTIONS:
        if name in out and name not in spelling.get("sampling", ()):
            del out[name]
            recorder.lost(options, name, because("model_unknown_for_option"))
    response_format = options.response_format
    if (
        response_format is not None
        and response_format.schema is None
        and "schemaless" not in spelling
    ):
        config = out.get("output_config", {})
        if config.pop("format", None) is not None:
            recorder.lost(options, "response_format", _NO_SCHEMA)
            if not config:
                del out["output_config"]


def finish_options(options: Options, out: Wire, spelling: Wire, recorder: LossRecorder) -> None:
    """Finishes what needs the whole body: puts the format where the wire had it, and notes a
    limit that was filled in."""
    if "output_format" in spelling:
        _without_config(out, spelling["output_format"])
    limit = out.get("max_tokens")
    if options.max_output_tokens is None and limit is not None:
        reason = because("max_tokens_guessed", limit=limit)
        recorder.lost(options, "max_output_tokens", reason, kind="approximated")


def _without_config(out: Wire, how: str) -> None:
    config = out.get("output_config")
    if type(config) is dict and "format" in config:
        config = out["output_config"] = dict(config)
        out["output_format"] = config.pop("format")
        if not config and how == "alone":
            del out["output_config"]


__all__ = ["betas_of", "breakpoint_in", "read_more", "read_request", "write_request"]


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(f"{NAME} request", _read, wire, model, stream)


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    preserved = Preserved()
    listed = wire.get("tools")
    tools = list(read_tools(require(listed, list, ".tools"))) if listed is not None else []
    if not tools and "tools" in wire:
        preserved.keep_spelling("tools", listed)
    messages = read_messages(wire, tools, preserved)
    continues = _read_thread(wire, preserved)
    attrs = read_options(wire, preserved)
    name = _read_model(wire, model, stream, attrs, preserved)
    options = unchecked(Options, **attrs) if attrs else NO_OPTIONS
    return unchecked(
        Request, tuple(messages), name, tuple(tools), options, continues, preserved.raw(NAME)
    )


def _read_model(
    wire: Wire, model: str | None, stream: bool | None, attrs: Wire, preserved: Preserved
) -> str | None:
    """Hosts other than Anthropic have model and streaming in the URL, and the version in the
    body. `$form.url` records that a body had no such members, so that none are written."""
    name, in_url = preserved.may_take(wire, "model", str), []
    if "model" not in wire and (model is not None or "anthropic_version" in wire):
        in_url.append("model")
    if stream is not None and "stream" not in wire:
        in_url.append("stream")
        attrs["stream"] = stream
    if in_url:
        preserved.spelling["url"] = in_url
    return model if name is None else name


def _read_thread(wire: Wire, preserved: Preserved) -> Continues | None:
    """Reads a conversation stored by the service, and the message from which it continues.
    `$form.thread` records that the message id belongs to this service."""
    thread = preserved.may_take(wire, "thread", dict)
    if thread is None:
        return None
    kind, before = (
        at_path(".thread", require_key, thread, "type", str),
        thread.get("previous_message_id"),
    )
    if kind != "continue" or type(before) is not str:
        preserved.hold("thread", thread)
        return None
    preserved.spelling["thread"] = True
    extra = {key: thread[key] for key in thread.keys() - {"type", "previous_message_id"}}
    preserved.complete("thread", extra, {})
    return Continues(response_id=before)


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    raw, options = request.raw, request.options
    own_raw = NOTHING if raw is None else raw_of(NAME, raw)
    spelling = spelling_in(own_raw) if own_raw else NOTHING
    out: Wire = {}
    if request.model is not None and "model" not in spelling.get("url", ()):
        out["model"] = request.model
    if request.tools or not write_question(request.messages, out):
        changes = Writing(request.tools, recorder)
        write_messages(request.messages, out, changes)
        if request.tools and (tools := write_tools(changes.others(), recorder)):
            out["tools"] = tools
    write_options(options, out, own_raw, recorder)
    if request.continues is not None:
        _put_thread(request.continues, request, out, spelling, recorder)
    if options.raw is not None:
        restore_raw(out, options, options.raw, recorder)
    if raw is not None and not is_silent(raw):
        restore_raw(out, request, raw, recorder)
    if spelling or options.max_output_tokens is None:
        finish_options(options, out, spelling, recorder)
    return out


def _put_thread(
    continues: Continues, request: Request, out: Wire, spelling: Wire, recorder: LossRecorder
) -> None:
    before = continues.response_id
    if not spelling.get("thread") or before is None:
        recorder.lost(request, "continues", severity="error")
        return
    out["thread"] = {"type": "continue", "previous_message_id": before}
    recorder.unwritten(continues, frozenset({"response_id"}))


# -- what the service takes only from those who ask for it in a header ----------------------------


def betas_of(wire: Wire) -> list[str]:
    """The names of the betas that a request needs, each once."""
    found: dict[str, None] = {}
    thinking = wire.get("thinking")
    if type(thinking) is dict and "block_binding" in thinking:
        found[BETAS["binding"]] = None
    config = wire.get("output_config")
    if type(config) is dict and "task_budget" in config:
        found[BETAS["task_budget"]] = None
    if _read_management(wire.get("context_management")) is not NOT_OURS:
        found[BETAS["compaction"]] = None
    for tool in wire.get("tools") or ():
        kind = tool.get("type") if type(tool) is dict else None
        if type(kind) is str and kind in BETAS:
            found[BETAS[kind]] = None
    for turn in wire.get("messages") or ():
        if type(turn) is dict and turn.get("role") != "user":
            found.update(dict.fromkeys(_betas(turn)))
    return list(found)


_USUAL_PARTS = ("text", "tool_use", "thinking", "tool_result")


def _betas(turn: Wire) -> list[str]:
    found = [BETAS[key] for key in ("output_config", "clear_at") if key in turn]
    content: Any = turn.get("content")
    for part in content if type(content) is list else ():
        if type(part) is dict and part.get("type") in _USUAL_PARTS:
            continue  # before all patterns: there are many of these
        match part:
            case {"type": "compaction"}:
                found.append(BETAS["signed" if "signature" in part else "compaction"])
            case {"type": str(kind)} if kind in CHANGES:
                found.append(BETAS["changes"])
                match part:
                    case {"tool": {"type": "tool_definition"}}:
                        found.append(BETAS["inline"])
    return found
