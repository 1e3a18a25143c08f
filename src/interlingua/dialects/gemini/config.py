"""`generationConfig`, to options and back."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.schemas import read_schema, write_schema
from interlingua.dialects.gemini.spelling import Taking, settle, spell
from interlingua.dialects.gemini.tables import EFFORTS, FORMATS, HIGHEST, NUMBERS, THINKING_MODES
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

_SAID_FORMAT = frozenset({"kind", "schema"})

# -- reading --------------------------------------------------------------------------------------


def read_config(config: Taking, given: dict[str, Any]) -> None:
    """Fill in the options; what is none stays in `config`."""
    if not config.left:
        config.form["void"] = True
    for key, (field, kind) in NUMBERS.items():
        if (number := config.take(key, kind)) is not None:
            given[field] = number
    given["stop"] = config.take_strings("stopSequences")
    given["logprobs"] = _read_logprobs(config)
    given["modalities"] = _read_modalities(config)
    given["response_format"] = _read_format(config)
    if (thinking := config.inside("thinkingConfig")) is not None:
        given["reasoning"] = _read_reasoning(thinking)
        config.absorb("thinkingConfig", thinking)


def _read_logprobs(config: Taking) -> int | None:
    """Only where they are asked for; anything else stays as it is."""
    key = "responseLogprobs" if "responseLogprobs" in config.left else "response_logprobs"
    if config.left.get(key) is not True:
        return None
    config.take("responseLogprobs", bool)
    count = config.take("logprobs", int)
    if count == 0:
        config.form["zero"] = True
    return count or 0


def _read_modalities(config: Taking) -> tuple[str, ...] | None:
    words = config.take_strings("responseModalities")
    if words is None:
        return None
    modalities = tuple([word.lower() for word in words])
    if [word.upper() for word in modalities] != list(words):
        config.form["modalities"] = list(words)
    return modalities


def _read_format(config: Taking) -> ResponseFormat | None:
    mime = config.take("responseMimeType", str)
    schema = config.take("responseJsonSchema", dict)
    if schema is None and (schema := config.take("responseSchema", dict)) is not None:
        config.form["schema"] = "responseSchema"
        schema = read_schema(schema, config.form, "google")
    if mime is None:
        if schema is None:
            return None
        config.form["typeless"] = True
    elif mime not in FORMATS.words or (schema is not None and mime != FORMATS.write("json")):
        config.left["responseMimeType"] = mime
    if schema is not None:
        return ResponseFormat("json_schema", schema=schema)
    return ResponseFormat(FORMATS.read(mime or "") or "text")  # type: ignore[arg-type]  # a table's


def _read_reasoning(thinking: Taking) -> Reasoning | None:
    """Budget 0 is thinking switched off; -1 leaves it to the model."""
    if not thinking.left:
        thinking.form["void"] = True
    level = thinking.take("thinkingLevel", str)
    effort = None if level is None else EFFORTS.read(level.upper())
    if level is not None and effort is None:
        thinking.left["thinkingLevel"] = level
    elif effort is not None and level != EFFORTS.write(effort):
        thinking.form["level"] = level
    budget = thinking.take("thinkingBudget", int)
    mode = THINKING_MODES.read(budget) if level is None and budget is not None else None
    if mode is None and budget is not None and budget < 0:
        thinking.left["thinkingBudget"] = budget
    if mode is not None or (budget is not None and budget < 0):
        budget = None
    visible = thinking.take("includeThoughts", bool)
    if effort is None and budget is None and visible is None and mode is None:
        return None
    return Reasoning(effort, budget, visible, mode)


# -- writing --------------------------------------------------------------------------------------


def write_config(options: Options, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    """`rest` and `form` are what was kept beside the fields."""
    out = rest.copy()
    for key, (field, _) in NUMBERS.items():
        if (number := getattr(options, field)) is not None:
            out[key] = number
    if options.stop is not None:
        out["stopSequences"] = list(options.stop)
    if options.logprobs is not None:
        _write_logprobs(out, options.logprobs, form)
    if options.modalities is not None:
        _write_modalities(out, options, form, scribe)
    _write_format(out, options.response_format, form, scribe)
    _write_reasoning(out, options.reasoning, form.get("thinkingConfig") or {}, scribe)
    return spell(out, form)


def _write_logprobs(out: Wire, count: int, form: Wire) -> None:
    out["responseLogprobs"] = True
    if count or form.get("zero"):
        out["logprobs"] = count
    else:
        out.pop("logprobs", None)


def _write_modalities(out: Wire, options: Options, form: Wire, scribe: Scribe) -> None:
    modalities = list(options.modalities or ())
    words = form.get("modalities")
    if words is None or [str(word).lower() for word in words] != modalities:
        words = [word.upper() for word in modalities]
        if [word.lower() for word in words] != modalities:
            scribe.lost(options, "modalities", "one style of writing them", kind="approximated")
    out["responseModalities"] = words


def _write_format(out: Wire, wanted: ResponseFormat | None, form: Wire, scribe: Scribe) -> None:
    mime = out.pop("responseMimeType", None)
    if wanted is None:
        return
    scribe.unsaid(wanted, _SAID_FORMAT)
    word = "text" if wanted.kind == "text" else "json"
    plain: Wire = {"responseMimeType": FORMATS.write(word)}
    if wanted.schema is not None and word == "json":
        schema = write_schema(wanted.schema, form, "google")
        plain[form.get("schema") or "responseJsonSchema"] = schema
    odd = plain.copy()
    if mime is not None:
        odd["responseMimeType"] = mime
    elif form.get("typeless"):
        del odd["responseMimeType"]
    out.update(settle(wanted, _SAID_FORMAT, [odd, plain], _read_format, scribe))


def _write_reasoning(out: Wire, wanted: Reasoning | None, form: Wire, scribe: Scribe) -> None:
    rest = out.pop("thinkingConfig", None) or {}
    if wanted == Reasoning():
        wanted = Reasoning(mode="adaptive")  # it is wanted, and nothing is said about how much
    plain = {} if wanted is None else _thinking(wanted)
    odd = {**rest, **plain}
    if "thinkingLevel" in plain and type(form.get("level")) is str:
        odd["thinkingLevel"] = form["level"]
    thinking = settle(wanted, None, [odd, plain], _read_reasoning, scribe)
    thinking = spell(thinking, form)
    if thinking or form.get("void"):
        out["thinkingConfig"] = thinking


def _thinking(wanted: Reasoning) -> Wire:
    thinking: Wire = {}
    if wanted.mode == "off":
        thinking["thinkingBudget"] = THINKING_MODES.write("off")
    else:
        if wanted.effort is not None:
            thinking["thinkingLevel"] = EFFORTS.write(wanted.effort) or HIGHEST
        if wanted.budget_tokens is not None:
            thinking["thinkingBudget"] = wanted.budget_tokens
        if wanted.mode is not None and not thinking:
            thinking["thinkingBudget"] = THINKING_MODES.write("adaptive")
    if wanted.visible is not None:
        thinking["includeThoughts"] = wanted.visible
    return thinking
