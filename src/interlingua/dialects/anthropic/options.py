"""How to generate: the keys of a body that are neither messages nor tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.text import CACHE
from interlingua.dialects.kernel.claude import effort_word, read_thinking, tell_unsaid, thinking_of
from interlingua.dialects.kernel.errors import below, want
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
from interlingua.dialects.kernel.kept import Kept, form_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import same
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice

_NOTHING = astuple(Options())[1:]
_EFFORTS = frozenset(tables.EFFORTS.values())
_NO_SCHEMA = "JSON only by a schema"


def _default_limit(options: Options) -> int:
    """The budget for thinking has to be less than the limit."""
    budget = options.reasoning.budget_tokens if options.reasoning is not None else None
    return tables.DEFAULT_MAX_TOKENS + (budget or 0)


def _read_tier(given: Any) -> Reading:
    return {"service_tier": tables.SERVICE_TIERS.read(want(given, str)) or given}


def _write_tier(options: Any, recorder: LossRecorder) -> str | None:
    word = tables.SERVICE_TIERS.write(options.service_tier)
    if word is None:
        recorder.lost(options, "service_tier")
    return word


# -- which tools may be called --------------------------------------------------------------------


def _read_choice(given: Any) -> Reading:
    kind, name = want(want(given, dict).get("type"), str, ".type"), given.get("name")
    if kind not in tables.TOOL_CHOICES or (kind == "tool" and type(name) is not str):
        return NOT_OURS
    alone = given.get("disable_parallel_tool_use")
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
        recorder.lost(choice, "names", "one tool or all")
    if parallel is not None:
        if wire["type"] == "none":
            recorder.lost(options, "parallel_tool_calls", "nothing is called", severity="info")
        else:
            wire["disable_parallel_tool_use"] = not parallel
    return wire


# -- how much to think, and in what shape to answer -----------------------------------------------


def _read_output(given: Wire) -> Reading:
    """`thinking` and `output_config` together, since effort and thinking are one option."""
    attrs: Attrs = {}
    fields: Attrs = {}
    if "thinking" in given:
        thinking = want(given["thinking"], dict, ".thinking")
        fields = below(".thinking", read_thinking, thinking)
    config = want(given.get("output_config", {}), dict, ".output_config")
    if type(config.get("effort")) is str and config["effort"] in _EFFORTS:
        fields["effort"] = config["effort"]
    if fields:
        attrs["reasoning"] = Reasoning(**fields)
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
    return {**out, "output_config": config} if config else out


def _write_format(options: Any, config: Wire, recorder: LossRecorder) -> None:
    wanted: ResponseFormat = options.response_format
    if same(wanted, ResponseFormat()):
        return  # text is what it gives anyway
    if wanted.kind != "json_schema":
        recorder.lost(options, "response_format", _NO_SCHEMA)
        return
    config["format"] = {"type": "json_schema"}
    if wanted.schema is not None:
        config["format"]["schema"] = wanted.schema
    tell_unsaid(wanted, ("name", "strict", "description"), recorder)


OPTIONS = Table(
    Options,
    plain("max_tokens", "max_output_tokens", int, fill=_default_limit),
    *[plain(name, name, float) for name in tables.REFUSED_OPTIONS],
    strings("stop_sequences", "stop"),
    Field("tool_choice", ("tool_choice", "parallel_tool_calls"), _read_choice, _write_choice),
    together(
        ("thinking", "output_config"),
        ("response_format", "reasoning"),
        _read_output,
        _write_output,
    ),
    Field("service_tier", ("service_tier",), _read_tier, _write_tier),
    inside("metadata", plain("user_id", "user", str)),
    plain("stream", "stream", bool),
    CACHE,
    spelling("anthropic_version"),  # hosts other than Anthropic want it in the body
    beside=("model", "messages", "system", "tools", "thread"),
)


def read_options(wire: Wire, kept: Kept) -> Attrs:
    if "output_format" in wire:
        wire = _with_config(wire, kept)
    attrs = OPTIONS.read(wire, kept)
    if sampling := [name for name in tables.REFUSED_OPTIONS if name in attrs]:
        kept.form["sampling"] = sampling
    if (wanted := attrs.get("response_format")) is not None and wanted.schema is None:
        kept.form["schemaless"] = True
    if attrs.get("reasoning") is not None and wire.get("thinking") is None:
        # Said without thinking, which is another thing here, and fitting cannot tell it otherwise.
        kept.form["effort"] = "alone"
    return attrs


def _with_config(wire: Wire, kept: Kept) -> Wire:
    """The body with the format where it belongs; as a beta it had a key of its own."""
    config = wire.get("output_config")
    is_free = config is None or (type(config) is dict and "format" not in config)
    if not is_free or not _is_format(wire["output_format"]):
        return wire
    kept.form["output_format"] = "alone" if config is None else "beside"
    moved = {**(config or {}), "format": wire["output_format"]}
    if config is None and "output_config" in wire:
        kept.spell("output_config", None)
    rest = {key: item for key, item in wire.items() if key != "output_format"}
    return {**rest, "output_config": moved}


def write_options(options: Options, out: Wire, mine: Wire, recorder: LossRecorder) -> None:
    """Beside the tools, which `out` has already."""
    if not mine and astuple(options)[1:] == _NOTHING:  # no more than a limit
        limit = options.max_output_tokens
        out["max_tokens"] = tables.DEFAULT_MAX_TOKENS if limit is None else limit
    else:
        _write_options(options, out, mine, recorder)


def _write_options(options: Options, out: Wire, mine: Wire, recorder: LossRecorder) -> None:
    form = form_in(mine)
    if options.parallel_tool_calls is not None and options.tool_choice is None:
        options = _without_tools(options, out, recorder)
    OPTIONS.write(options, out, mine, recorder)
    _leave_out_refused(options, out, form, recorder)
    if "stream" in form.get("url", ()):
        out.pop("stream", None)


def _without_tools(options: Options, out: Wire, recorder: LossRecorder) -> Options:
    """How tools are called is not said where there are none."""
    if "tools" in out:
        return options
    recorder.lost(options, "parallel_tool_calls", "no tool can be called", severity="info")
    new = options.replace(parallel_tool_calls=None)
    recorder.alias(new, options)
    return new


def _leave_out_refused(options: Options, out: Wire, form: Wire, recorder: LossRecorder) -> None:
    """What newer models refuse is written where the wire had it, or where fitting knows that the
    model takes it (`$form.sampling`). A format without a schema is refused by all."""
    for name in tables.REFUSED_OPTIONS:
        if name in out and name not in form.get("sampling", ()):
            del out[name]
            recorder.lost(options, name, "no model that is known to take it is asked")
    wanted = options.response_format
    if wanted is not None and wanted.schema is None and "schemaless" not in form:
        config = out.get("output_config", {})
        if config.pop("format", None) is not None:
            recorder.lost(options, "response_format", _NO_SCHEMA)
            if not config:
                del out["output_config"]


def finish_options(options: Options, out: Wire, form: Wire, recorder: LossRecorder) -> None:
    """What can be said only when all of a body is there: the format where the wire had it, and that
    a limit was said which nobody gave."""
    if "output_format" in form:
        _without_config(out, form["output_format"])
    limit = out.get("max_tokens")
    if options.max_output_tokens is None and limit is not None:
        reason = f"a limit has to be said; {limit} is, since the model's own is not known"
        recorder.lost(options, "max_output_tokens", reason, kind="approximated")


def _without_config(out: Wire, how: str) -> None:
    config = out.get("output_config")
    if type(config) is dict and "format" in config:
        config = out["output_config"] = dict(config)
        out["output_format"] = config.pop("format")
        if not config and how == "alone":
            del out["output_config"]
