"""How to generate: `options`, `format`, `think` and `logprobs`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.ollama.shape import mine_of
from interlingua.dialects.ollama.tables import EFFORTS, MOST_LOGPROBS, OPTIONS, SAID_OPTIONS
from interlingua.dialects.shape import Kept, ShapeError, each, may_take, want
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

STREAMED, WHOLE = Options(stream=True), Options(stream=False)
"""What most requests say, and known again by identity."""


# -- reading --------------------------------------------------------------------------------------


def read_options(wire: Wire, kept: Kept) -> Options:
    fields: Wire = {}
    if "options" in wire:
        _read_map(wire, fields, kept)
    if "format" in wire:
        _read_format(wire["format"], fields, kept)
    if "think" in wire:
        _read_think(wire["think"], fields, kept)
    if "logprobs" in wire or "top_logprobs" in wire:
        _read_logprobs(wire, fields, kept)
    stream = may_take(wire, "stream", bool, kept.spelled)
    if stream is None:
        stream = True  # what the server does unless it is told otherwise
        kept.form["streams"] = True
    if not fields:
        return STREAMED if stream else WHOLE
    return Options(**fields, stream=stream)


def _read_map(wire: Wire, fields: Wire, kept: Kept) -> None:
    given = may_take(wire, "options", dict, kept.spelled)
    if not given:
        kept.spelled["options"] = given
        return
    blank: Wire = {}
    left: Wire = {}
    try:
        for key, value in given.items():
            if value is None:
                blank[key] = None
            elif key == "stop":
                fields["stop"] = _read_stop(value, kept)
            elif key in OPTIONS and not _is_special(key, value):
                name, kind = OPTIONS[key]
                fields[name] = want(value, kind, f".{key}")
            else:
                left[key] = value
    except ShapeError as odd:
        raise odd.inside(".options") from None
    if left:
        kept.rest["options"] = left
    if blank:
        kept.form["options"] = blank


def _is_special(key: str, value: Any) -> bool:
    """No limit, or no whole number where the server takes one."""
    if key == "num_predict":
        return type(value) in (int, float) and value < 0
    return key == "top_k" and type(value) is float and not value.is_integer()


def _read_stop(value: Any, kept: Kept) -> tuple[str, ...]:
    if type(value) is str:
        kept.form["stop"] = "string"
        return (value,)
    return tuple(each(value, ".stop", lambda item: want(item, str)))


def _read_format(given: Any, fields: Wire, kept: Kept) -> None:
    if type(given) is dict:
        fields["response_format"] = ResponseFormat("json_schema", schema=given)
    elif given == "json":
        fields["response_format"] = ResponseFormat("json")
    elif given:
        kept.rest["format"] = given
    else:
        kept.spelled["format"] = given


def _read_think(given: Any, fields: Wire, kept: Kept) -> None:
    if given is True:
        fields["reasoning"] = Reasoning(visible=True, mode="on")
    elif given is False:
        fields["reasoning"] = Reasoning(mode="off")
    elif type(given) is str and EFFORTS.get(given) == given:
        fields["reasoning"] = Reasoning(effort=given)  # type: ignore[arg-type]  # a word of the table
    elif given is None:
        kept.spelled["think"] = None
    else:
        kept.rest["think"] = given


def _read_logprobs(wire: Wire, fields: Wire, kept: Kept) -> None:
    wanted = may_take(wire, "logprobs", bool, kept.spelled)
    most = may_take(wire, "top_logprobs", int, kept.spelled)
    if wanted:
        fields["logprobs"] = most or 0
        if most == 0:
            kept.spelled["top_logprobs"] = 0
        if most is not None and most > MOST_LOGPROBS:
            kept.form["odd"] = True
        return
    if wanted is False:
        kept.spelled["logprobs"] = False
    if most is not None:
        kept.rest["top_logprobs"] = most


# -- writing --------------------------------------------------------------------------------------


def write_options(out: Wire, options: Options, mine: Wire, form: Wire, scribe: Scribe) -> None:
    said = _write_map(options, form, scribe)
    for kept in (mine.get("options"), form.get("options")):
        if type(kept) is dict:
            for name, item in kept.items():
                said.setdefault(name, item)
    if said:
        out["options"] = said
    if options.response_format is not None:
        _put_format(out, options, options.response_format, scribe)
    if options.reasoning is not None:
        _put_think(out, options, options.reasoning, scribe)
    if options.logprobs is not None:
        _put_logprobs(out, options, options.logprobs, form, scribe)
    choice = options.tool_choice
    if choice is not None and (choice.mode != "auto" or choice.names):
        scribe.lost(options, "tool_choice")
    if not (form.get("streams") and options.stream is True):
        out["stream"] = options.stream is True
    scribe.unsaid(options, SAID_OPTIONS)
    for name, item in mine_of(options.raw).items():
        if name != "$form":
            out.setdefault(name, item)


def _write_map(options: Options, form: Wire, scribe: Scribe) -> Wire:
    said: Wire = {}
    for key, (name, _) in OPTIONS.items():
        value = getattr(options, name)
        if value is None:
            continue
        if _is_special(key, value):
            scribe.lost(options, name, "out of range", kind="approximated")
        said[key] = round(value) if key == "top_k" else value
    if options.stop is not None:
        alone = form.get("stop") == "string" and len(options.stop) == 1
        said["stop"] = options.stop[0] if alone else list(options.stop)
    return said


def _put_format(out: Wire, options: Options, given: ResponseFormat, scribe: Scribe) -> None:
    kind: str = given.kind
    if kind == "json_schema" and given.schema is not None:
        out["format"] = given.schema
        scribe.unsaid(given, frozenset({"kind", "schema"}))
        return
    if kind in ("json", "json_schema"):
        out["format"] = "json"
    if kind not in ("json", "text"):
        scribe.lost(options, "response_format.kind", "it has no schema", kind="approximated")
    scribe.unsaid(given, frozenset({"kind"}))


def _put_think(out: Wire, options: Options, given: Reasoning, scribe: Scribe) -> None:
    out["think"] = think = _think(options, given, scribe)
    if given.budget_tokens is not None:
        scribe.lost(options, "reasoning.budget_tokens", "thinking has no budget here")
    if given.mode not in (None, "on", "off"):
        reason = "it thinks, or it does not"
        scribe.lost(options, "reasoning.mode", reason, kind="approximated")
    if given.visible is not None and think is not True:
        reason = "what a model thinks is shown whenever it does"
        scribe.lost(options, "reasoning.visible", reason, severity="info")
    elif given.visible is False:
        scribe.lost(options, "reasoning.visible", "thinking cannot be hidden")


def _think(options: Options, given: Reasoning, scribe: Scribe) -> bool | str:
    if given.mode == "off":
        if given.effort is not None:
            scribe.lost(options, "reasoning.effort", "thinking is off")
        return False
    if given.effort is None:
        return True
    word = EFFORTS.get(given.effort)
    if word is None:
        scribe.lost(options, "reasoning.effort")
        return True
    if word != given.effort:
        scribe.lost(options, "reasoning.effort", f"said as {word}", kind="approximated")
    return word


def _put_logprobs(out: Wire, options: Options, most: int, form: Wire, scribe: Scribe) -> None:
    out["logprobs"] = True
    if most > MOST_LOGPROBS and not form.get("odd"):
        scribe.lost(options, "logprobs", f"said as {MOST_LOGPROBS}", kind="approximated")
        most = MOST_LOGPROBS
    if most:
        out["top_logprobs"] = most
