"""How to generate: the options of a request, and what the provider keeps of its history."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, one_of, plain
from interlingua.dialects.kernel.preserved import NOTHING, Preserved, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import FORMAT_KEYS, format_field
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.text import is_blank_value
from interlingua.model.exchange import EFFORTS, Continues, Options, Reasoning
from interlingua.model.losses import LossKind


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
        recorder.lost(reasoning, None, "thinking is asked for by an effort only")
        return None
    if reasoning.effort is not None and (off or "effort" not in out):
        recorder.lost(reasoning, "effort", "thinking is off" if off else None)
    if reasoning.budget_tokens is not None:
        recorder.lost(reasoning, "budget_tokens")
    if reasoning.mode is not None and not off:
        kind: LossKind = "dropped" if reasoning.effort is None else "approximated"
        recorder.lost(reasoning, "mode", "thinking is asked for by an effort only", kind=kind)
    return out


OPTIONS = fields.Table(
    Options,
    plain("max_output_tokens", "max_output_tokens", int),
    plain("temperature", "temperature", float),
    plain("top_p", "top_p", float),
    plain("parallel_tool_calls", "parallel_tool_calls", bool),
    plain("stream", "stream", bool),
    one_of("service_tier", "service_tier", tables.SERVICE_TIERS),
    fields.inside(
        "text",
        FORMAT,
        one_of("verbosity", "verbosity", tables.VERBOSITIES, lenient=True),
    ),
    Field("reasoning", ("reasoning",), _read_reasoning, _write_reasoning),
    fields.together(
        ("safety_identifier", "user"),
        ("user",),
        _read_user,
        lambda options, _: {"safety_identifier": options.user},
    ),
    Field("metadata", ("metadata",), _read_metadata, lambda options, _: options.metadata),
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
    """Of an object that is spelled otherwise as a whole, what no field says is content as well."""
    if key in spelled:
        more = {name: each for name, each in wire[key].items() if name not in known}
        if more := {name: each for name, each in more.items() if not is_blank_value(each)}:
            rest[key] = more


# -- log probabilities ----------------------------------------------------------------------------


def _read_logprobs(wire: Wire, attrs: Attrs, preserved: Preserved) -> None:
    """They are asked for by a word in a list of others, or by a number, or by both
    (`$form.logprobs_at` is where the word stood, None for nowhere)."""
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
    """Beside the choice of tools; `mine` is what the body kept."""
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
