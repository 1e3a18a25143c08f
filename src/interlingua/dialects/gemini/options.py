"""Options: `generationConfig`, `toolConfig`, and what stands beside them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.tools import google_schemas
from interlingua.dialects.google import write_labels
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import (
    QUIET,
    Attrs,
    Field,
    Reading,
    Table,
    inside,
    plain,
    strings,
    together,
)
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.base import Raw, same
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice


def _tell_near(wanted: Any, said: Any, names: tuple[str, ...], recorder: LossRecorder) -> None:
    """Report every field of a value that reads as another one."""
    for name in names:
        if not same(getattr(wanted, name), getattr(said, name)):
            reason = "only something near it can be said"
            recorder.lost(wanted, name, reason, kind="approximated")


# -- generationConfig -----------------------------------------------------------------------------


def _read_logprobs(given: Wire) -> Reading:
    """Only where they are asked for; anything else stays as it is."""
    if given.get("responseLogprobs") is not True:
        return {}
    return {"logprobs": want(given.get("logprobs", 0), int, ".logprobs")}


def _write_logprobs(options: Any, recorder: LossRecorder) -> Wire:
    asked: Wire = {"responseLogprobs": True}
    return {**asked, "logprobs": options.logprobs} if options.logprobs else asked


def _read_modalities(given: Any) -> Reading:
    for index, word in enumerate(want(given, list)):
        want(word, str, f"[{index}]")
    return {"modalities": tuple([word.lower() for word in given])}


def _write_modalities(options: Any, recorder: LossRecorder) -> list[str]:
    words = [word.upper() for word in options.modalities]
    if tuple([word.lower() for word in words]) != options.modalities:
        recorder.lost(options, "modalities", "one style of writing them", kind="approximated")
    return words


_FORMAT = ("responseMimeType", "responseJsonSchema")


def _read_format(given: Wire) -> Reading:
    mime = want(given.get("responseMimeType", ""), str, ".responseMimeType")
    schema = given.get("responseJsonSchema")
    if schema is not None:
        schema = want(schema, dict, ".responseJsonSchema")
        return {"response_format": ResponseFormat("json_schema", schema=schema)}
    return {"response_format": ResponseFormat(tables.FORMATS.read(mime) or "text")}  # type: ignore[arg-type]  # a table's


def _write_format(options: Any, recorder: LossRecorder) -> Wire:
    wanted = options.response_format
    recorder.unwritten(wanted, frozenset({"kind", "schema"}))
    is_json = wanted.kind != "text"
    out: Wire = {"responseMimeType": tables.FORMATS.write("json" if is_json else "text")}
    if wanted.schema is not None and is_json:
        out["responseJsonSchema"] = wanted.schema
    back: Any = _read_format(out)
    _tell_near(wanted, back["response_format"], ("kind", "schema"), recorder)
    return out


_THINKING = ("thinkingLevel", "thinkingBudget", "includeThoughts")


def _read_reasoning(given: Wire) -> Reading:
    """Budget 0 is thinking switched off; -1 leaves it to the model."""
    level, budget, mode = given.get("thinkingLevel"), given.get("thinkingBudget"), None
    effort = None
    if level is not None:
        effort = tables.EFFORTS.read(want(level, str, ".thinkingLevel").upper())
    if budget is not None:
        budget = want(budget, int, ".thinkingBudget")
        mode = tables.THINKING_MODES.read(budget) if level is None else None
        budget = None if mode is not None or budget < 0 else budget
    visible = given.get("includeThoughts")
    if visible is not None:
        want(visible, bool, ".includeThoughts")
    said = Reasoning(effort, budget, visible, mode)
    return {} if said == Reasoning() else {"reasoning": said}


def _write_reasoning(options: Any, recorder: LossRecorder) -> Wire:
    wanted = options.reasoning
    if wanted == Reasoning():
        wanted = Reasoning(mode="adaptive")  # it is wanted, and nothing is said about how much
    out = _thinking(wanted)
    if recorder is not QUIET:
        back: Any = _read_reasoning(out)
        said = back.get("reasoning", Reasoning())
        _tell_near(wanted, said, Reasoning.__struct_fields__, recorder)
    return out


def _thinking(wanted: Reasoning) -> Wire:
    thinking: Wire = {}
    if wanted.mode == "off":
        thinking["thinkingBudget"] = tables.THINKING_MODES.write("off")
    else:
        if wanted.effort is not None:
            thinking["thinkingLevel"] = tables.EFFORTS.write(wanted.effort) or tables.HIGHEST
        if wanted.budget_tokens is not None:
            thinking["thinkingBudget"] = wanted.budget_tokens
        if wanted.mode is not None and not thinking:
            thinking["thinkingBudget"] = tables.THINKING_MODES.write("adaptive")
    if wanted.visible is not None:
        thinking["includeThoughts"] = wanted.visible
    return thinking


# -- toolConfig -----------------------------------------------------------------------------------


_CHOICE = ("mode", "allowedFunctionNames")


def _read_choice(given: Wire) -> Reading:
    listed, path = given.get("allowedFunctionNames", []), ".allowedFunctionNames"
    names = tuple(each(listed, path, lambda name: want(name, str)))
    word = given.get("mode")
    mode: Any = tables.MODES.read(word.upper()) if type(word) is str else None
    if mode is None:
        return {"tool_choice": ToolChoice("auto", names)} if names else {}
    return {"tool_choice": ToolChoice(mode, names)}


def _write_choice(options: Any, recorder: LossRecorder) -> Wire:
    choice = options.tool_choice
    narrowed = choice.names and choice.mode == "auto"
    out: Wire = {"mode": tables.NARROWED if narrowed else tables.MODES.write(choice.mode)}
    if choice.names:
        out["allowedFunctionNames"] = list(choice.names)
    return out


# -- all of them ----------------------------------------------------------------------------------


def _read_tier(given: Any) -> Reading:
    tier = want(given, str).lower()
    return {"service_tier": tier if tier in tables.SERVICE_TIERS else given}


def _write_tier(options: Any, recorder: LossRecorder) -> str | None:
    tier = options.service_tier
    word = tables.SERVICE_TIERS.get(tier)
    if word is None:
        recorder.lost(options, "service_tier")
    elif word != tier:
        recorder.lost(options, "service_tier", "the nearest tier", kind="approximated")
    return word


OPTIONS = Table(
    Options,
    inside(
        "generationConfig",
        *[plain(key, attr, float) for key, attr in tables.NUMBERS.items()],
        *[plain(key, attr, int) for key, attr in tables.WHOLE_NUMBERS.items()],
        strings("stopSequences", "stop"),
        Field("responseModalities", ("modalities",), _read_modalities, _write_modalities),
        together(("responseLogprobs", "logprobs"), ("logprobs",), _read_logprobs, _write_logprobs),
        together(_FORMAT, ("response_format",), _read_format, _write_format)._replace(
            more=lambda given: type(given) is str and given not in tables.FORMATS.words
        ),
        inside(
            "thinkingConfig", together(_THINKING, ("reasoning",), _read_reasoning, _write_reasoning)
        ),
        through=google_schemas({"responseJsonSchema": "responseSchema"}),
    ),
    inside(
        "toolConfig",
        # Calls that must fit their schemas are more than a spelling of auto.
        inside(
            "functionCallingConfig",
            together(_CHOICE, ("tool_choice",), _read_choice, _write_choice)._replace(
                more=lambda given: given == tables.NARROWED
            ),
        ),
    ),
    Field("serviceTier", ("service_tier",), _read_tier, _write_tier),
    beside=("systemInstruction", "contents", "tools", "continuationToken", "model", "labels"),
    silent=("metadata", "stream"),
    also_named=snake_case,
)
"""All keys of a body; those beside are no options, but for labels."""


def read_options(body: Wire, kept: Kept) -> Attrs:
    """The attributes of the options; `body` has the usual names."""
    attrs = OPTIONS.read(body, kept)
    labels = kept.may_take(body, "labels", dict)
    if labels is not None:
        attrs["metadata"] = {key: want(item, str, f".labels.{key}") for key, item in labels.items()}
        kept.form["labels"] = True  # which need not fit the grammar of labels
    return attrs


def write_options(
    options: Options, out: Wire, mine: Wire, raw: Raw | None, recorder: LossRecorder
) -> None:
    """`mine` is what `raw` has of this API; labels are those of the other one as well."""
    OPTIONS.write(options, out, mine, recorder)
    if options.metadata is not None:
        write_labels(options, raw, out, recorder)
