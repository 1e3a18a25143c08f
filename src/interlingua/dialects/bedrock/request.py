"""Converse requests: the body, `inferenceConfig`, the answer's format and the effort
(`outputConfig`, and the model's own fields in `additionalModelRequestFields`)."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.messages import read_system, read_turns, write_messages
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.tools import CONFIG, read_tools, stand_ins, write_tools
from interlingua.dialects.kernel.claude import (
    effort_word,
    read_thinking,
    report_fields,
    thinking_of,
)
from interlingua.dialects.kernel.errors import read_whole, require, require_key
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    QUIET,
    Field,
    Reading,
    Table,
    inside,
    plain,
    strings,
    word,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    content_of,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import same, unchecked
from interlingua.model.exchange import EFFORTS as ALL_EFFORTS
from interlingua.model.exchange import NO_OPTIONS, Options, Reasoning, Request, ResponseFormat
from interlingua.model.reasons import because

OUTPUT, ADDITIONAL = "outputConfig", "additionalModelRequestFields"


# -- numbers and words ----------------------------------------------------------------------------


def _share(key: str, attr: str) -> Field:
    """A number from 0 to 1."""

    def write(options: Any, recorder: LossRecorder) -> float:
        value: float = getattr(options, attr)
        number = min(max(value, 0), 1)
        if number != value:
            recorder.lost(options, attr, because("out_of_range"), kind="approximated")
        return number

    return plain(key, attr, float)._replace(write=write, fits=lambda number: 0 <= number <= 1)


def _write_limit(options: Any, recorder: LossRecorder) -> int | None:
    limit: int = options.max_output_tokens
    if limit < 1:
        recorder.lost(options, "max_output_tokens", because("out_of_range"))
    return limit if limit >= 1 else None


def _write_stop(options: Any, recorder: LossRecorder) -> list[str]:
    words = [word for word in options.stop if word]
    if len(words) < len(options.stop):
        recorder.lost(options, "stop", because("out_of_range"), kind="approximated")
    return words


def _read_metadata(value: Any) -> Reading:
    if not value:
        return {}
    is_ours = all(type(each) is str for each in require(value, dict).values())
    return {"metadata": value} if is_ours else NOT_OURS


def _write_metadata(options: Any, recorder: LossRecorder) -> dict[str, str] | None:
    metadata, legal = options.metadata, tables.METADATA_LEGAL.fullmatch
    fitting = [(key, item) for key, item in metadata.items() if key and legal(key) and legal(item)]
    pairs = dict(fitting[: tables.MOST_METADATA])
    if pairs != metadata or not metadata:
        reason = because("metadata_pairs")
        recorder.lost(options, "metadata", reason, kind="approximated")
    return pairs or None


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


def read_options(wire: Wire, preserved: Preserved) -> Wire:
    """The fields of the options that the body gives."""
    attrs = OPTIONS.read(wire, preserved)
    reasoning: Wire = {}
    if OUTPUT in wire:
        _read_output(wire, attrs, reasoning, preserved)
    if ADDITIONAL in wire:
        _read_additional(wire, attrs, reasoning, preserved)
    if reasoning:
        attrs["reasoning"] = Reasoning(**reasoning)
    return attrs


def write_options(out: Wire, options: Options, own_raw: Wire, recorder: LossRecorder) -> None:
    OPTIONS.write(options, out, own_raw, recorder)
    spelling = spelling_in(own_raw)
    output: Wire = {}
    additional: Wire = {}
    if options.response_format is not None:
        _put_format(output, options, options.response_format, spelling, recorder)
    if options.reasoning is not None:
        _put_reasoning(output, additional, options.reasoning, spelling, recorder)
    if options.top_k is not None:
        additional["top_k"] = options.top_k
    out |= {key: config for key, config in ((OUTPUT, output), (ADDITIONAL, additional)) if config}


# -- the shape of the answer ----------------------------------------------------------------------


def _read_output(wire: Wire, attrs: Wire, reasoning: Wire, preserved: Preserved) -> None:
    config = preserved.take(wire, OUTPUT, dict)
    if config is None:
        return
    known, effort = set(), config.get("effort")
    if type(effort) is str and tables.EFFORTS.get(effort) == effort:
        known.add("effort")
        reasoning["effort"] = effort
    response_format = _read_format(config.get("textFormat"), preserved.spelling)
    if response_format is not None:
        known.add("textFormat")
        attrs["response_format"] = response_format
    _keep_others(OUTPUT, config, known, preserved)


def _keep_others(key: str, config: Wire, known: set[str], preserved: Preserved) -> None:
    """Preserve the members of an inner object that no field holds."""
    inner = Preserved()
    inner.add_others(config, frozenset(known))
    preserved.absorb(key, inner)


def _read_format(wire: Any, spelling: Wire) -> ResponseFormat | None:
    """Reads a schema, which is JSON in a string; a format with unknown members is preserved."""
    match wire:
        case {"structure": {"jsonSchema": {"schema": str(text)} as named}}:
            schema, name, description = _parse(text), named.get("name"), named.get("description")
        case _:
            return None
    is_known = wire == _format(text, name, description)
    if schema is None or not is_known or not all(type(item) is str for item in named.values()):
        return None
    if _spell(schema) != text:
        spelling["schema"] = text
    return ResponseFormat("json_schema", name, schema, description=description)


def _format(schema: str, name: str | None, description: str | None) -> Wire:
    more = {"name": name, "description": description}
    named = {"schema": schema, **{key: item for key, item in more.items() if item is not None}}
    return {"type": "json_schema", "structure": {"jsonSchema": named}}


def _put_format(
    output: Wire,
    options: Options,
    response_format: ResponseFormat,
    spelling: Wire,
    recorder: LossRecorder,
) -> None:
    if response_format.kind == "text":
        recorder.unwritten(response_format, frozenset({"kind"}))
        return
    if response_format.kind != "json_schema" or response_format.schema is None:
        recorder.lost(options, "response_format", because("json_needs_schema"))
        return
    text = spelling.get("schema")
    if type(text) is not str or not same(_parse(text), response_format.schema):
        text = _spell(response_format.schema)
    output["textFormat"] = _format(text, response_format.name, response_format.description)
    if response_format.strict is not None:
        recorder.lost(options, "response_format.strict", because("schema_always_strict"))


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


def _read_additional(wire: Wire, attrs: Wire, reasoning: Wire, preserved: Preserved) -> None:
    """Reads the model's own fields: `thinking` and `top_k` as in Claude's own API, and the effort,
    which has several names."""
    fields = wire[ADDITIONAL]
    if type(fields) is not dict or not fields:
        preserved.hold(ADDITIONAL, fields) if fields else preserved.keep_spelling(
            ADDITIONAL, fields
        )
        return
    known = set()
    if type(fields.get("top_k")) in (int, float):
        known.add("top_k")
        attrs["top_k"] = require(fields["top_k"], float, f".{ADDITIONAL}.top_k")
    for name in tables.THINKING_KEYS:
        if name in fields and _read_thinking(fields[name], reasoning):
            known.add(name)
            if name != tables.THINKING_KEYS[0]:
                preserved.spelling["thinking"] = name
            if reasoning.get("mode") == "on":
                preserved.spelling["on"] = True
            break
    key_of_effort = next(
        (key for key in tables.EFFORT_KEYS if _read_effort(key, fields, reasoning)), None
    )
    if key_of_effort is not None:
        known.add(key_of_effort)
        preserved.spelling["effort"] = key_of_effort
    _keep_others(ADDITIONAL, fields, known, preserved)


def _read_thinking(thinking: Any, reasoning: Wire) -> bool:
    """Whether this is one of the shapes that fields can hold. A budget implies that thinking is
    on; `on` beside an effort would be lost."""
    is_named = type(thinking) is dict and type(thinking.get("type")) is str
    found = read_thinking(thinking) if is_named else {}
    if not found or thinking_of(Reasoning(**found), QUIET, on="enabled") != thinking:
        return False
    if "budget_tokens" in found:
        del found["mode"]
    elif found["mode"] == "on" and "effort" in reasoning:
        return False
    reasoning |= found
    return True


def _read_effort(key: str, fields: Wire, reasoning: Wire) -> bool:
    """Whether the effort is the only member under this key."""
    word = fields.get(key)
    if key == tables.NOVA:
        return _read_nova(word, reasoning)
    if key in tables.EFFORT_OBJECTS:
        word = word.get("effort") if type(word) is dict and len(word) == 1 else None
    if type(word) is not str or word not in ALL_EFFORTS:
        return False
    if word == "none":
        is_free = not reasoning
    else:  # a second place may name it, but the first one wins
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
    output: Wire, additional: Wire, reasoning: Reasoning, spelling: Wire, recorder: LossRecorder
) -> None:
    key: str = spelling.get("thinking", tables.THINKING_KEYS[0])
    key_of_effort: str = spelling.get("effort", "")
    is_word = key_of_effort in (tables.EFFORT, "reasoning")
    if key_of_effort == tables.NOVA:
        _put_nova(additional, reasoning, recorder)
        return
    if is_word and reasoning.mode is None and reasoning.budget_tokens is None:
        report_fields(reasoning, ("visible",), recorder)
    else:
        # Without a budget Claude takes `adaptive` only.
        thinking = thinking_of(
            reasoning, recorder, on="enabled" if spelling.get("on") else "adaptive"
        )
        if reasoning.mode == "off" and reasoning.effort is None and is_word:
            additional[key_of_effort] = _effort_at(key_of_effort, "none")
        elif thinking is not None:
            additional[key] = thinking
    if reasoning.effort is None:
        return
    if key_of_effort and reasoning.effort in ALL_EFFORTS:
        additional[key_of_effort] = _effort_at(key_of_effort, reasoning.effort)
    elif (word := effort_word(reasoning, "effort", reasoning.effort, recorder)) is not None:
        output["effort"] = word


def _put_nova(additional: Wire, reasoning: Reasoning, recorder: LossRecorder) -> None:
    how = {} if reasoning.effort is None else {"maxReasoningEffort": reasoning.effort}
    is_off = reasoning.mode == "off"
    additional[tables.NOVA] = {"type": "disabled"} if is_off else {"type": "enabled", **how}
    report_fields(reasoning, ("budget_tokens", "visible"), recorder)
    if reasoning.mode in ("adaptive", "between_tools"):
        recorder.lost(reasoning, "mode", because("thinking_on_or_off"), kind="approximated")


def _effort_at(key_of_effort: str, word: str) -> Any:
    return {"effort": word} if key_of_effort in tables.EFFORT_OBJECTS else word


_ONLY = {"messages"}


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """`model` and `stream` come from the URL; a `modelId` in the body takes precedence."""
    return read_whole(f"{NAME} request", _read, wire, model, stream)


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    preserved = Preserved()
    messages = read_system(wire, preserved) if "system" in wire else []
    tools, choice = read_tools(wire, preserved) if CONFIG in wire else ((), None)
    messages += read_turns(wire, preserved, frozenset([tool.name for tool in tools]))
    attrs = read_options(wire, preserved) if wire.keys() != _ONLY else {}
    if choice is not None:
        attrs["tool_choice"] = choice
    if stream is not None:
        attrs["stream"] = stream
    if wire.get("modelId") is not None:
        model = require_key(wire, "modelId", str)
        preserved.spelling["model"] = "body"
    elif "modelId" in wire:
        preserved.keep_spelling("modelId", None)
    if CONFIG not in wire and stand_ins(messages):
        preserved.mark_absent(CONFIG)
    options = unchecked(Options, **attrs) if attrs else NO_OPTIONS
    return unchecked(Request, tuple(messages), model, tools, options, raw=preserved.raw(NAME))


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    own_raw, options = raw_of(NAME, request.raw), request.options
    out: Wire = {}
    tools = frozenset([tool.name for tool in request.tools])
    system, turns = write_messages(request.messages, tools, recorder)
    if system:
        out["system"] = system
    if turns or not was_absent(own_raw, "messages"):
        out["messages"] = turns
    write_tools(out, request, own_raw, recorder)
    if options is not NO_OPTIONS:
        write_options(out, options, own_raw, recorder)
        for key, item in content_of(NAME, options.raw).items():
            out.setdefault(key, item)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    if spelling_in(own_raw).get("model") == "body" and request.model is not None:
        out["modelId"] = request.model
    return restore_raw(out, request, request.raw, recorder)
