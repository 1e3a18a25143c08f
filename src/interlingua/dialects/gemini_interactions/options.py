"""How to generate: the keys of a body that are neither input nor tools."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    EFFORTS,
    JSON_TYPE,
    MODALITIES,
    MODES,
    NEAR_EFFORTS,
    NEAR_TIERS,
    NUMBERS,
    PLAIN,
    SERVICE_TIERS,
    SUMMARIES,
    VALIDATED,
)
from interlingua.dialects.kernel.errors import want
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
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice

# -- thinking -------------------------------------------------------------------------------------


def _read_thinking(given: Wire) -> Reading:
    fields: Attrs = {}
    if "thinking_level" in given:
        effort = EFFORTS.read(want(given["thinking_level"], str, ".thinking_level"))
        fields |= {} if effort is None else {"effort": effort}
    if "thinking_summaries" in given:
        shown = SUMMARIES.read(want(given["thinking_summaries"], str, ".thinking_summaries"))
        fields |= {} if shown is None else {"visible": shown}
    return {"reasoning": Reasoning(**fields)} if fields else {}


def _write_thinking(options: Any, recorder: LossRecorder) -> Wire:
    wanted: Reasoning = options.reasoning
    out: Wire = {}
    level = _level(options, wanted, recorder)
    if level is not None:
        out["thinking_level"] = level
    if wanted.visible is not None:
        out["thinking_summaries"] = SUMMARIES.write(wanted.visible)
    if wanted.budget_tokens is not None:
        recorder.lost(options, "reasoning.budget_tokens", "thinking has no budget here")
    elif not out:
        recorder.lost(options, "reasoning", _UNASKED)
        return out
    if wanted.mode is not None:
        reason = _UNASKED if level is None else f"said as {level}"
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    return out


_UNASKED = "a model thinks as much as it has to"


def _level(options: Options, wanted: Reasoning, recorder: LossRecorder) -> str | None:
    """Thinking cannot be switched off; the least of it is nearest."""
    effort = wanted.effort
    if wanted.mode == "off":
        if effort is not None:
            recorder.lost(options, "reasoning.effort", "thinking is off")
        return NEAR_EFFORTS["none"]
    level = None if effort is None else EFFORTS.write(effort)
    if effort is not None and level is None:
        level = NEAR_EFFORTS[effort]
        recorder.lost(options, "reasoning.effort", f"said as {level}", kind="approximated")
    return level


# -- which tools may be called --------------------------------------------------------------------


def _read_choice(given: Any) -> Reading:
    if type(given) is str:
        mode = MODES.read(given) if given != VALIDATED else None
        return NOT_OURS if mode is None else {"tool_choice": ToolChoice(mode)}  # type: ignore[arg-type]  # a mode
    allowed = want(given, dict).get("allowed_tools")
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


def _read_format(given: Wire) -> Reading:
    """A schema may stand alone, with the type of the answer beside it, as it was in 2026-05."""
    form, beside = given.get("response_format"), given.get("response_mime_type")
    if beside is not None:
        want(beside, str, ".response_mime_type")
    if type(form) is list and len(form) == 1:
        form = form[0]
    if form is None:
        return _of_type(beside, None)
    if type(form) is not dict:
        return NOT_OURS
    kind, typed, schema = form.get("type"), form.get("mime_type"), form.get("schema")
    if kind != "text":
        bare = (type(kind) is not str or kind not in _FORMS) and bool(form)
        return {"response_format": ResponseFormat("json_schema", schema=form)} if bare else NOT_OURS
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
    wanted: ResponseFormat = options.response_format
    form: Wire = {"type": "text"}
    if wanted.kind != "text":
        form["mime_type"] = JSON_TYPE
    if wanted.kind == "json_schema" and wanted.schema is not None:
        form["schema"] = wanted.schema
    elif wanted.kind == "json_schema":
        recorder.lost(options, "response_format.kind", "it has no schema", kind="approximated")
    elif wanted.schema is not None:
        recorder.lost(wanted, "schema", "no schema is asked for")
    for name in ("name", "strict", "description"):
        if getattr(wanted, name) is not None:
            recorder.lost(wanted, name)
    return {"response_format": form}


def _read_modalities(given: Any) -> Reading:
    known = _are_strings(want(given, list)) and given and MODALITIES.issuperset(given)
    return {"modalities": tuple(given)} if known else NOT_OURS


def _write_modalities(options: Any, recorder: LossRecorder) -> list[str]:
    said = [each for each in options.modalities if each in MODALITIES]
    if len(said) < len(options.modalities):
        recorder.lost(options, "modalities", f"said as {said}", kind="approximated")
    return said


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
        ("response_format", "response_mime_type"),
        ("response_format",),
        _read_format,
        _write_format,
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


def read_labels(wire: Wire, kept: Kept) -> Attrs:
    """Words of the caller's own. Others say them otherwise, and where they were labels nothing but
    the wire tells (`$form.labels`)."""
    given = kept.take(wire, "labels", dict) if "labels" in wire else None
    if given is None:
        return {}
    if any(type(each) is not str for each in given.values()):
        kept.hold("labels", given)
        return {}
    kept.form["labels"] = True
    return {"metadata": given}
