"""How to generate: `inferenceConfig`, what a request says about itself, and the shape of the answer
with how much thought goes into it (`outputConfig`, and what the model alone is told in
`additionalModelRequestFields`)."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.bedrock import tables
from interlingua.dialects.kernel.claude import effort_word, read_thinking, tell_unsaid, thinking_of
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import (
    QUIET,
    Field,
    Reading,
    Table,
    inside,
    plain,
    strings,
    word,
)
from interlingua.dialects.kernel.kept import Kept, form_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import same
from interlingua.model.exchange import EFFORTS as ALL_EFFORTS
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

OUTPUT, ADDITIONAL = "outputConfig", "additionalModelRequestFields"


# -- numbers and words ----------------------------------------------------------------------------


def _share(key: str, attr: str) -> Field:
    """A number from 0 to 1."""

    def write(options: Any, recorder: LossRecorder) -> float:
        given: float = getattr(options, attr)
        number = min(max(given, 0), 1)
        if number != given:
            recorder.lost(options, attr, "out of range", kind="approximated")
        return number

    return plain(key, attr, float)._replace(write=write, fits=lambda number: 0 <= number <= 1)


def _write_limit(options: Any, recorder: LossRecorder) -> int | None:
    limit: int = options.max_output_tokens
    if limit < 1:
        recorder.lost(options, "max_output_tokens", "out of range")
    return limit if limit >= 1 else None


def _write_stop(options: Any, recorder: LossRecorder) -> list[str]:
    words = [word for word in options.stop if word]
    if len(words) < len(options.stop):
        recorder.lost(options, "stop", "out of range", kind="approximated")
    return words


def _read_metadata(given: Any) -> Reading:
    for key, value in want(given, dict).items():
        want(value, str, f".{key}")
    return {"metadata": given} if given else {}


def _write_metadata(options: Any, recorder: LossRecorder) -> dict[str, str] | None:
    given, legal = options.metadata, tables.METADATA_LEGAL.fullmatch
    fitting = [(key, item) for key, item in given.items() if key and legal(key) and legal(item)]
    said = dict(fitting[: tables.MOST_METADATA])
    if said != given or not given:
        reason = "pairs of short plain text, one to sixteen"
        recorder.lost(options, "metadata", reason, kind="approximated")
    return said or None


OPTIONS = Table(
    Options,
    inside(
        "inferenceConfig",
        plain("maxTokens", "max_output_tokens", int)._replace(
            write=_write_limit, fits=lambda limit: limit >= 1
        ),
        _share("temperature", "temperature"),
        _share("topP", "top_p"),
        strings("stopSequences", "stop")._replace(write=_write_stop),
    ),
    Field("requestMetadata", ("metadata",), _read_metadata, _write_metadata),
    inside("serviceTier", word("type", "service_tier", tables.SERVICE_TIERS)),
    beside=("modelId", "messages", "system", "toolConfig", OUTPUT, ADDITIONAL),
    silent=("tool_choice", "response_format", "reasoning", "top_k", "stream"),
)


def read_options(wire: Wire, kept: Kept) -> Wire:
    """The fields of the options that the body gives."""
    attrs = OPTIONS.read(wire, kept)
    reasoning: Wire = {}
    if OUTPUT in wire:
        _read_output(wire, attrs, reasoning, kept)
    if ADDITIONAL in wire:
        _read_additional(wire, attrs, reasoning, kept)
    if reasoning:
        attrs["reasoning"] = Reasoning(**reasoning)
    return attrs


def write_options(out: Wire, options: Options, mine: Wire, recorder: LossRecorder) -> None:
    OPTIONS.write(options, out, mine, recorder)
    form = form_in(mine)
    output: Wire = {}
    additional: Wire = {}
    if options.response_format is not None:
        _put_format(output, options, options.response_format, form, recorder)
    if options.reasoning is not None:
        _put_reasoning(output, additional, options.reasoning, form, recorder)
    if options.top_k is not None:
        additional["top_k"] = options.top_k
    out |= {key: said for key, said in ((OUTPUT, output), (ADDITIONAL, additional)) if said}


# -- the shape of the answer ----------------------------------------------------------------------


def _read_output(wire: Wire, attrs: Wire, reasoning: Wire, kept: Kept) -> None:
    config = kept.take(wire, OUTPUT, dict)
    if config is None:
        return
    known, effort = set(), config.get("effort")
    if type(effort) is str and tables.EFFORTS.get(effort) == effort:
        known.add("effort")
        reasoning["effort"] = effort
    wanted = _read_format(config.get("textFormat"), kept.form)
    if wanted is not None:
        known.add("textFormat")
        attrs["response_format"] = wanted
    _keep_others(OUTPUT, config, known, kept)


def _keep_others(key: str, config: Wire, known: set[str], kept: Kept) -> None:
    """What no field holds of an object inside."""
    inner = Kept()
    inner.add_others(config, frozenset(known))
    kept.absorb(key, inner)


def _read_format(wire: Any, form: Wire) -> ResponseFormat | None:
    """The schema is JSON in a text; a format that says more than we know stays as it is."""
    match wire:
        case {"structure": {"jsonSchema": {"schema": str(text)} as named}}:
            schema, name, description = _parse(text), named.get("name"), named.get("description")
        case _:
            return None
    is_known = wire == _format(text, name, description)
    if schema is None or not is_known or not all(type(item) is str for item in named.values()):
        return None
    if _spell(schema) != text:
        form["schema"] = text
    return ResponseFormat("json_schema", name, schema, description=description)


def _format(schema: str, name: str | None, description: str | None) -> Wire:
    more = {"name": name, "description": description}
    named = {"schema": schema, **{key: item for key, item in more.items() if item is not None}}
    return {"type": "json_schema", "structure": {"jsonSchema": named}}


def _put_format(
    output: Wire, options: Options, given: ResponseFormat, form: Wire, recorder: LossRecorder
) -> None:
    if given.kind == "text":
        recorder.unwritten(given, frozenset({"kind"}))
        return
    if given.kind != "json_schema" or given.schema is None:
        recorder.lost(options, "response_format", "an answer follows a schema, or no rule")
        return
    text = form.get("schema")
    if type(text) is not str or not same(_parse(text), given.schema):
        text = _spell(given.schema)
    output["textFormat"] = _format(text, given.name, given.description)
    if given.strict is not None:
        recorder.lost(options, "response_format.strict", "a schema always binds", severity="info")


def _parse(text: str) -> Wire | None:
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return schema if type(schema) is dict else None


def _spell(schema: Wire) -> str:
    return msgspec.json.encode(schema).decode()


# -- thought --------------------------------------------------------------------------------------
#
# The form remembers the place, not the spelling: `thinking` and `effort` are keys among the model's
# own fields, where an edit goes as well, and `on` says that thinking was on without a budget.


def _read_additional(wire: Wire, attrs: Wire, reasoning: Wire, kept: Kept) -> None:
    """Of the model's own fields, what Claude's own API calls `thinking` and `top_k`, and what
    several call effort."""
    given = wire[ADDITIONAL]
    if type(given) is not dict or not given:
        kept.hold(ADDITIONAL, given) if given else kept.spell(ADDITIONAL, given)
        return
    known = set()
    if type(given.get("top_k")) in (int, float):
        known.add("top_k")
        attrs["top_k"] = want(given["top_k"], float, f".{ADDITIONAL}.top_k")
    for name in tables.THINKING_KEYS:
        if name in given and _read_thinking(given[name], reasoning):
            known.add(name)
            if name != tables.THINKING_KEYS[0]:
                kept.form["thinking"] = name
            if reasoning.get("mode") == "on":
                kept.form["on"] = True
            break
    place = next((key for key in tables.EFFORT_KEYS if _read_effort(key, given, reasoning)), None)
    if place is not None:
        known.add(place)
        kept.form["effort"] = place
    _keep_others(ADDITIONAL, given, known, kept)


def _read_thinking(given: Any, reasoning: Wire) -> bool:
    """Whether this is one of the shapes that fields can hold. A budget says by itself that thinking
    is on; beside an effort, `on` would not be seen any more."""
    is_named = type(given) is dict and type(given.get("type")) is str
    found = read_thinking(given) if is_named else {}
    if not found or thinking_of(Reasoning(**found), QUIET, on="enabled") != given:
        return False
    if "budget_tokens" in found:
        del found["mode"]
    elif found["mode"] == "on" and "effort" in reasoning:
        return False
    reasoning |= found
    return True


def _read_effort(key: str, given: Wire, reasoning: Wire) -> bool:
    """Whether the effort stands under this key, and nothing else does."""
    word = given.get(key)
    if key == tables.NOVA:
        return _read_nova(word, reasoning)
    if key in tables.EFFORT_OBJECTS:
        word = word.get("effort") if type(word) is dict and len(word) == 1 else None
    if type(word) is not str or word not in ALL_EFFORTS:
        return False
    if word == "none":
        is_free = not reasoning
    else:  # a second place may name it, without changing what the first said
        is_free = "effort" not in reasoning and reasoning.get("mode") != "on"
    if is_free:
        reasoning["effort"] = word
    return is_free


def _read_nova(value: Any, reasoning: Wire) -> bool:
    if type(value) is not dict or reasoning or not value.keys() <= {"type", "maxReasoningEffort"}:
        return False
    mode, effort = tables.NOVA_TYPES.read(value.get("type", "")), value.get("maxReasoningEffort")
    if mode is None or (effort is not None and (effort not in ALL_EFFORTS[1:] or mode == "off")):
        return False
    reasoning |= {"mode": mode} if effort is None else {"effort": effort}
    return True


def _put_reasoning(
    output: Wire, additional: Wire, given: Reasoning, form: Wire, recorder: LossRecorder
) -> None:
    key: str = form.get("thinking", tables.THINKING_KEYS[0])
    place: str = form.get("effort", "")
    is_word = place in (tables.EFFORT, "reasoning")
    if place == tables.NOVA:
        _put_nova(additional, given, recorder)
        return
    if is_word and given.mode is None and given.budget_tokens is None:
        tell_unsaid(given, ("visible",), recorder)
    else:
        # Without a budget Claude takes `adaptive` only.
        thinking = thinking_of(given, recorder, on="enabled" if form.get("on") else "adaptive")
        if given.mode == "off" and given.effort is None and is_word:
            additional[place] = _effort_at(place, "none")
        elif thinking is not None:
            additional[key] = thinking
    if given.effort is None:
        return
    if place and given.effort in ALL_EFFORTS:
        additional[place] = _effort_at(place, given.effort)
    elif (word := effort_word(given, "effort", given.effort, recorder)) is not None:
        output["effort"] = word


def _put_nova(additional: Wire, given: Reasoning, recorder: LossRecorder) -> None:
    how = {} if given.effort is None else {"maxReasoningEffort": given.effort}
    is_off = given.mode == "off"
    additional[tables.NOVA] = {"type": "disabled"} if is_off else {"type": "enabled", **how}
    tell_unsaid(given, ("budget_tokens", "visible"), recorder)
    if given.mode in ("adaptive", "between_tools"):
        recorder.lost(given, "mode", "it is on, or off", kind="approximated")


def _effort_at(place: str, word: str) -> Any:
    return {"effort": word} if place in tables.EFFORT_OBJECTS else word
