"""How to generate: the keys of a body that are no messages and no tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.anthropic.body import NO_OPTIONS, Reading
from interlingua.dialects.anthropic.kept import pack, put_cache, read_cache
from interlingua.dialects.anthropic.output import put_format, put_reasoning, read_output
from interlingua.dialects.anthropic.tables import (
    DEFAULT_MAX_TOKENS,
    REFUSED_OPTIONS,
    SAID_OPTIONS,
    SERVICE_TIERS,
)
from interlingua.dialects.base import Scribe, Wire, count
from interlingua.dialects.shape import ShapeError
from interlingua.model.exchange import Options, ToolChoice

_NOTHING = astuple(NO_OPTIONS)[1:]
"""All fields but the first, which is the limit of tokens: as a rule the only one."""
_GREATEST = 2**53
"""Up to here, a number is the same whether it is an integer or a float."""


# -- reading --------------------------------------------------------------------------------------


def _read_max_tokens(value: Any, reading: Reading) -> None:
    limit = count(value)
    if limit is None:
        raise ShapeError(".max_tokens", "an integer", value)
    reading.fields["max_output_tokens"] = limit


def _read_number(name: str) -> Callable[[Any, Reading], None]:
    def read(value: Any, reading: Reading) -> None:
        if type(value) is not float and (type(value) is not int or abs(value) > _GREATEST):
            raise ShapeError(f".{name}", "a number", value)
        reading.fields[name] = value

    return read


def _read_stream(value: Any, reading: Reading) -> None:
    if type(value) is not bool:
        raise ShapeError(".stream", "a boolean", value)
    reading.fields["stream"] = value


def _read_stop(value: Any, reading: Reading) -> None:
    if type(value) is not list or not all(type(each) is str for each in value):
        raise ShapeError(".stop_sequences", "a list of strings", value)
    reading.fields["stop"] = tuple(value)


def _read_service_tier(value: Any, reading: Reading) -> None:
    if type(value) is not str:
        raise ShapeError(".service_tier", "a string", value)
    known = SERVICE_TIERS.read(value)
    if known is None:
        reading.form["odd_tier"] = True
    reading.fields["service_tier"] = value if known is None else known


def _read_metadata(value: Any, reading: Reading) -> None:
    if type(value) is not dict:
        raise ShapeError(".metadata", "an object", value)
    user = value.get("user_id")
    if type(user) is not str and user is not None:
        raise ShapeError(".metadata.user_id", "a string", user)
    if user is not None:
        reading.fields["user"] = user
    reading.keep("metadata", value, () if user is None else ("user_id",))


_MODES = {"auto": "auto", "any": "any", "none": "none", "tool": "any"}


def _read_tool_choice(value: Any, reading: Reading) -> None:
    if type(value) is not dict:
        raise ShapeError(".tool_choice", "an object", value)
    kind, name = value.get("type"), value.get("name")
    alone = value.get("disable_parallel_tool_use")
    known = ["type"]
    if type(kind) is not str:
        raise ShapeError(".tool_choice.type", "a string", kind)
    if kind not in _MODES or (kind == "tool" and type(name) is not str):
        reading.rest["tool_choice"] = value
        return
    if kind == "tool":
        known.append("name")
    if type(alone) is bool and kind != "none":
        known.append("disable_parallel_tool_use")
        reading.fields["parallel_tool_calls"] = not alone
    names = (name,) if kind == "tool" else ()
    reading.fields["tool_choice"] = ToolChoice(_MODES[kind], names)  # type: ignore[arg-type]  # in the table
    reading.keep("tool_choice", value, tuple(known))


def _read_cache_control(value: Any, reading: Reading) -> None:
    form: Wire = {}
    reading.fields["cache"] = read_cache({"cache_control": value}, {}, form)
    raw = pack({}, {}, form)
    if raw is not None:
        reading.fields["raw"] = raw


OPTIONS: dict[str, Callable[[Any, Reading], None]] = {
    "max_tokens": _read_max_tokens,
    "temperature": _read_number("temperature"),
    "top_p": _read_number("top_p"),
    "top_k": _read_number("top_k"),
    "stream": _read_stream,
    "stop_sequences": _read_stop,
    "service_tier": _read_service_tier,
    "metadata": _read_metadata,
    "tool_choice": _read_tool_choice,
    "cache_control": _read_cache_control,
}


def read_options(wire: Wire, reading: Reading) -> None:
    """All options of a body, into `reading`."""
    for key, read in OPTIONS.items():
        if key in wire:
            value = wire[key]
            if value is None:
                reading.spelled[key] = None
            else:
                read(value, reading)
    if "max_tokens" not in wire:
        reading.form["without"] = ["max_tokens"]
    if "thinking" in wire or "output_config" in wire or "output_format" in wire:
        read_output(wire, reading)
    sampling = [name for name in REFUSED_OPTIONS if name in reading.fields]
    if sampling:
        reading.form["sampling"] = sampling


# -- writing --------------------------------------------------------------------------------------


def write_options(options: Options, out: Wire, form: Wire, mine: Wire, scribe: Scribe) -> None:
    if options.max_output_tokens is not None:
        out["max_tokens"] = options.max_output_tokens
    else:
        _put_max_tokens(options, out, form)
    if astuple(options)[1:] == _NOTHING:
        return
    if options.stop is not None:
        out["stop_sequences"] = list(options.stop)
    if options.stream is not None and "stream" not in form.get("url", ()):
        out["stream"] = options.stream
    if options.tool_choice is not None or options.parallel_tool_calls is not None:
        _put_tool_choice(options, out, scribe)
    if options.response_format is not None:
        put_format(options.response_format, options, out, form, scribe)
    if options.reasoning is not None:
        put_reasoning(options.reasoning, out, form, mine, scribe)
    _put_rare(options, out, form, scribe)
    _report(options, scribe)


def _put_max_tokens(options: Options, out: Wire, form: Wire) -> None:
    if "max_tokens" not in (*form.get("without", ()), *form.get("spelled", ())):
        reasoning = options.reasoning
        budget = reasoning.budget_tokens if reasoning is not None else None
        # The budget for thinking has to be less than the limit.
        out["max_tokens"] = DEFAULT_MAX_TOKENS + (budget or 0)


def tell_limit(options: Options, out: Wire, scribe: Scribe) -> None:
    """That a limit was said which nobody gave, told last."""
    if options.max_output_tokens is None and "max_tokens" in out:
        limit = out["max_tokens"]
        reason = f"a limit has to be said; {limit} is, since the model's own is not known"
        scribe.lost(options, "max_output_tokens", reason, kind="approximated")


def _put_tool_choice(options: Options, out: Wire, scribe: Scribe) -> None:
    choice = options.tool_choice or ToolChoice()
    one = choice.mode == "any" and len(choice.names) == 1
    wire: Wire = {"type": "tool", "name": choice.names[0]} if one else {"type": choice.mode}
    if choice.mode not in ("auto", "any", "none"):
        scribe.lost(choice, "mode")
        wire["type"] = "auto"
    if choice.names and not one:
        scribe.lost(choice, "names", "one tool or all")
    parallel = options.parallel_tool_calls
    if parallel is not None:
        if wire["type"] == "none":
            scribe.lost(options, "parallel_tool_calls", "nothing is called", severity="info")
        elif options.tool_choice is None and "tools" not in out:
            scribe.lost(options, "parallel_tool_calls", "no tool can be called", severity="info")
            return
        else:
            wire["disable_parallel_tool_use"] = not parallel
    out["tool_choice"] = wire


def _put_rare(options: Options, out: Wire, form: Wire, scribe: Scribe) -> None:
    if options.user is not None:
        out["metadata"] = {"user_id": options.user}
    if options.service_tier is not None:
        _put_service_tier(options, options.service_tier, out, form, scribe)
    for name in REFUSED_OPTIONS:
        value = getattr(options, name)
        if value is not None:
            if name in form.get("sampling", ()):
                out[name] = value
            else:
                scribe.lost(options, name, "no model that is known to take it is asked")
    if options.cache is not None:
        put_cache(out, options, scribe)


def _put_service_tier(options: Options, tier: str, out: Wire, form: Wire, scribe: Scribe) -> None:
    word = SERVICE_TIERS.write(tier)
    if word is not None:
        out["service_tier"] = word
    elif form.get("odd_tier"):
        out["service_tier"] = tier
    else:
        scribe.lost(options, "service_tier")


def _report(options: Options, scribe: Scribe) -> None:
    if (
        options.seed is not None
        or options.n is not None
        or options.frequency_penalty is not None
        or options.presence_penalty is not None
        or options.repetition_penalty is not None
        or options.min_p is not None
        or options.logit_bias is not None
        or options.logprobs is not None
        or options.verbosity is not None
        or options.modalities is not None
        or options.metadata is not None
    ):
        scribe.unsaid(options, SAID_OPTIONS)
    if options.raw is not None:
        scribe.unsaid_raw(options, options.raw)
