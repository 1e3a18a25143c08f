"""Requests: contents, `generationConfig`, `toolConfig`. Model and stream are in the URL; a body
that names the model too has `model` in its spelling.

Tools: function declarations, which come several to an entry, and tools that are built in.

The spelling of entries is preserved with the tools. Its words:

    apart   a new entry began here, though the tool before is a function too
    with    this tool stood in one entry with the one before
    entry   the spelling of the entry itself, with its first tool
    google  schemas that were in Google's own language, an older OpenAPI's, by the key for JSON
            Schema; the schema itself where JSON Schema spells it otherwise

Its schemas spell types in capitals, have `nullable` for a type that may be null, and counts as
strings. The schema that was read is written back as long as it is equivalent."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.messages import read_contents, read_system, write_messages
from interlingua.dialects.gemini.messages import read_more as read_more
from interlingua.dialects.gemini.tables import BUILT_IN, CLIENT_KINDS, NAME
from interlingua.dialects.google import write_labels
from interlingua.dialects.kernel.calls import TEXT_SCHEMA
from interlingua.dialects.kernel.errors import ShapeError, at_path, read_each, read_whole, require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    QUIET,
    Attrs,
    Field,
    Reading,
    Table,
    Through,
    inside,
    plain,
    strings,
    together,
)
from interlingua.dialects.kernel.preserved import (
    FORM,
    NOTHING,
    Preserved,
    content_of,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.base import Raw, same, unchecked
from interlingua.model.exchange import (
    NO_OPTIONS,
    Continues,
    Options,
    Reasoning,
    Request,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- tools ----------------------------------------------------------------------------------------


FUNCTIONS = "functionDeclarations"
_BUILT_IN = frozenset({"name", "kind", "executor"})

# -- Google's schema language ---------------------------------------------------------------------

_TYPES = {
    word.upper(): word
    for word in ("string", "number", "integer", "boolean", "array", "object", "null")
}
_CAPITALS = {word: capitals for capitals, word in _TYPES.items()}
_COUNTS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_INNER = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "defs")
_WORDS = (*_COUNTS, *_LISTS, "additionalProperties", "propertyOrdering")
_SNAKE = {snake_case(word): word for word in _WORDS}


def google_schemas(keys: dict[str, str]) -> Through:
    """For a table that has schemas under these keys: where the wire has one in Google's language,
    under the key beside it, that is JSON Schema while it is ours."""

    def read(wire: Wire, preserved: Preserved) -> Wire:
        for usual, google in keys.items():
            wire = _from_google(wire, usual, google, preserved)
        return wire

    def write(out: Wire, own_raw: Wire) -> None:
        notes = spelling_in(own_raw).get("google", NOTHING)
        for usual, google in keys.items():
            if usual in notes and usual in out:
                out[google] = _to_google(out.pop(usual), notes[usual])

    return read, write


def _from_google(wire: Wire, usual: str, google: str, preserved: Preserved) -> Wire:
    key = google if wire.get(google) is not None else snake_case(google)
    schema = wire.get(key)
    if schema is None or wire.get(usual) is not None:
        return wire
    converted = _through(require(schema, dict, f".{google}"), _plain)
    notes = preserved.spelling.setdefault("google", {})
    notes[usual] = None if same(converted, schema) else schema
    if key != google:
        preserved.spelling.setdefault("named", {})[google] = key
    if usual in wire:
        preserved.keep_spelling(usual, None)
    return {name: item for name, item in wire.items() if name not in (usual, key)} | {
        usual: converted
    }


def _to_google(schema: Wire, old: Wire | None) -> Any:
    """The schema that was read, if it still means the same."""
    if old is None:
        return schema
    return old if same(_through(old, _plain), schema) else _through(schema, _google)


def _through(schema: Any, change: Any) -> Any:
    """The schema with every schema in it changed."""
    if type(schema) is not dict:
        return schema
    out = {_camel(key, schema): item for key, item in schema.items()}
    for key in _INNER:
        if key in out:
            out[key] = _through(out[key], change)
    for key in _LISTS:
        if type(out.get(key)) is list:
            out[key] = [_through(each, change) for each in out[key]]
    for key in _NAMED:
        if type(out.get(key)) is dict:
            out[key] = {name: _through(each, change) for name, each in out[key].items()}
    return change(out)


def _camel(key: str, schema: Wire) -> str:
    """The usual spelling of a keyword: the service takes two."""
    usual = _SNAKE.get(key, key)
    return key if usual in schema else usual


def _plain(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is str and word in _TYPES:
        out["type"] = word = _TYPES[word]
    for key in _COUNTS & out.keys():
        if type(out[key]) is str and out[key].isdecimal():
            out[key] = int(out[key])
    if out.get("nullable") is False:
        del out["nullable"]
    elif out.get("nullable") is True:
        _allow_null(out)
    return out


def _allow_null(out: Wire) -> None:
    """Expresses `nullable` in JSON Schema, in every keyword that would forbid null."""
    words = out.get("enum")
    if type(out.get("type")) is str:
        out["type"] = [out["type"], "null"]
    elif type(out.get("anyOf")) is list:
        out["anyOf"] = [*out["anyOf"], {"type": "null"}]
    elif type(words) is not list:
        return
    if type(words) is list and None not in words:
        out["enum"] = [*words, None]
    del out["nullable"]


def _google(out: Wire) -> Wire:
    word = out.get("type")
    if type(word) is list and len(word) == 2 and "null" in word:
        out["nullable"] = True
        if type(out.get("enum")) is list:
            out["enum"] = [each for each in out["enum"] if each is not None]
        word = next(each for each in word if each != "null") if word != ["null", "null"] else "null"
    if type(word) is str and word in _CAPITALS:
        out["type"] = _CAPITALS[word]
    return out


# -- one function ---------------------------------------------------------------------------------


def _read_behavior(value: Any) -> Reading:
    waits = tables.BEHAVIORS.read(require(value, str))
    return NOT_OURS if waits is None else {"asynchronous": waits}


def _write_behavior(tool: Any, recorder: LossRecorder) -> None:
    """Only live sessions take it (`google-genai` 3.3.0, read 2026-11): it is written back."""
    recorder.lost(tool, "asynchronous", because("async_live_only"))


TOOL = Table(
    ToolDefinition,
    plain("name", "name", str, missing=""),
    plain("description", "description", str),
    plain("parametersJsonSchema", "input_schema", dict),
    plain("responseJsonSchema", "output_schema", dict),
    Field("behavior", ("asynchronous",), _read_behavior, _write_behavior),
    silent=("kind",),
    also_named=snake_case,
    through=google_schemas(
        {"parametersJsonSchema": "parameters", "responseJsonSchema": "response"}
    ),
)


def _read_function(wire: Any) -> ToolDefinition:
    return TOOL.read_value(ToolDefinition, require(wire, dict), NAME)


def _write_function(tool: ToolDefinition, recorder: LossRecorder) -> Wire:
    out = TOOL.write_value(tool, recorder)
    if tool.kind == "custom":
        reason = because("custom_tool_as_function")
        recorder.lost(tool, "kind", reason, kind="downgraded")
        if not tool.input_schema:
            out["parametersJsonSchema"] = TEXT_SCHEMA
    return out


# -- all of them ----------------------------------------------------------------------------------

ENTRY = Table(None, beside=(FUNCTIONS, *BUILT_IN), also_named=snake_case)


def read_tools(entries: list[Any]) -> tuple[tuple[ToolDefinition, ...], Wire]:
    """The tools, and the entries without any by their position."""
    tools: list[ToolDefinition] = []
    hollow: Wire = {}
    for index, found in enumerate(read_each(entries, ".tools", _read_entry)):
        if not found:
            hollow[str(index)] = entries[index]
        elif tools and tools[-1].kind == "function" and found[0].kind == "function":
            found[0] = _noted(found[0], "apart", True)
        tools += found
    return tuple(tools), hollow


def _read_entry(entry: Any) -> list[ToolDefinition]:
    preserved = Preserved()
    functions: list[ToolDefinition] = []
    others: list[ToolDefinition] = []
    for kind, value in ENTRY.usual(require(entry, dict), preserved).items():
        if value is None or (kind == FUNCTIONS and value == []):
            preserved.keep_spelling(kind, value)
        elif kind == FUNCTIONS:
            functions = read_each(value, f".{FUNCTIONS}", _read_function)
        elif type(value) not in (dict, list) and kind not in BUILT_IN:
            preserved.rest[kind] = value
        elif type(value) not in (dict, list):
            raise ShapeError(f".{kind}", "an object", value)
        else:
            others.append(_built_in(kind, value))
    found, rest = functions + others, preserved.rest
    if not found:
        found, rest = [_built_in(kind, value) for kind, value in rest.items()], {}
    for index in range(max(len(functions), 1), len(found)):
        found[index] = _noted(found[index], "with", True)
    if preserved.spelling and found:
        found[0] = _noted(found[0], "entry", preserved.spelling)
    if rest:
        own_raw = raw_of(NAME, found[0].raw)
        found[0] = found[0].replace(raw={NAME: {**own_raw, _BESIDE: rest}})
    return found


def _built_in(kind: str, settings: Any) -> ToolDefinition:
    executor: Any = "client" if kind in CLIENT_KINDS else "provider"
    return ToolDefinition(kind, executor=executor, kind=kind, raw={NAME: {kind: settings}})


def _noted(tool: ToolDefinition, name: str, note: Any) -> ToolDefinition:
    own_raw = raw_of(NAME, tool.raw)
    return tool.replace(raw={NAME: {**own_raw, FORM: {**spelling_in(own_raw), name: note}}})


_BESIDE = "$beside"
"""Unknown keys of an entry that are no tools, with its first tool."""


def write_tools(
    tools: tuple[ToolDefinition, ...], hollow: Wire, recorder: LossRecorder
) -> list[Wire]:
    entries: list[tuple[Wire, Wire]] = []
    functions: list[Wire] | None = None
    for tool in tools:
        own_raw = raw_of(NAME, tool.raw)
        spelling = spelling_in(own_raw)
        if tool.kind in ("function", "custom"):
            if functions is None or "apart" in spelling:
                functions = []
                _enter(entries, FUNCTIONS, functions, own_raw)
            functions.append(_write_function(tool, recorder))
        elif (value := _write_built_in(tool, recorder)) is not None:
            _enter(entries, tool.kind, value, own_raw)
            functions = None
    written = [restore(entry, around) for entry, around in entries]
    for index, entry in hollow.items():
        written.insert(int(index), entry)
    return written


def _enter(entries: list[tuple[Wire, Wire]], key: str, value: Any, own_raw: Wire) -> None:
    """A tool in the last entry, if it stood there, else in one of its own."""
    spelling = spelling_in(own_raw)
    if entries and "with" in spelling and key not in entries[-1][0]:
        entries[-1][0][key] = value
    else:
        entries.append(
            ({key: value}, {**own_raw.get(_BESIDE, {}), FORM: spelling.get("entry") or {}})
        )


def _write_built_in(tool: ToolDefinition, recorder: LossRecorder) -> Any:
    """The settings of a built-in tool; None for one that is not known here."""
    settings = content_of(NAME, tool.raw).get(tool.kind, {} if tool.kind in BUILT_IN else None)
    if settings is None:
        recorder.lost(tool, None, because("vendor_tool_foreign"))
        return None
    recorder.unwritten(tool, _BUILT_IN)
    if tool.name != tool.kind:
        reason = because("tool_name_fixed")
        recorder.lost(tool, None, reason, kind="approximated")
    if (tool.executor == "client") is not (tool.kind in CLIENT_KINDS):
        recorder.lost(tool, "executor", because("executor_fixed"), kind="approximated")
    return settings


def _report_near(value: Any, written: Any, names: tuple[str, ...], recorder: LossRecorder) -> None:
    """Report every field of a value that reads as another one."""
    for name in names:
        near = getattr(written, name)
        if not same(getattr(value, name), near):
            is_word = isinstance(near, (str, int))
            reason = because("sent_as", value=near) if is_word else because("nearest_value")
            recorder.lost(value, name, reason, kind="approximated")


# -- generationConfig -----------------------------------------------------------------------------


def _read_logprobs(wire: Wire) -> Reading:
    """Only if they were requested; any other value is preserved."""
    if wire.get("responseLogprobs") is not True:
        return {}
    return {"logprobs": require(wire.get("logprobs", 0), int, ".logprobs")}


def _write_logprobs(options: Any, recorder: LossRecorder) -> Wire:
    out: Wire = {"responseLogprobs": True}
    return {**out, "logprobs": options.logprobs} if options.logprobs else out


def _read_modalities(value: Any) -> Reading:
    for index, word in enumerate(require(value, list)):
        require(word, str, f"[{index}]")
    return {"modalities": tuple([word.lower() for word in value])}


def _write_modalities(options: Any, recorder: LossRecorder) -> list[str]:
    words = [word.upper() for word in options.modalities]
    if tuple([word.lower() for word in words]) != options.modalities:
        recorder.lost(options, "modalities", because("modalities_style"), kind="approximated")
    return words


_FORMAT = ("responseMimeType", "responseJsonSchema")


def _read_format(wire: Wire) -> Reading:
    mime = require(wire.get("responseMimeType", ""), str, ".responseMimeType")
    schema = wire.get("responseJsonSchema")
    if schema is not None:
        schema = require(schema, dict, ".responseJsonSchema")
        return {"response_format": ResponseFormat("json_schema", schema=schema)}
    return {"response_format": ResponseFormat(tables.FORMATS.read(mime) or "text")}  # type: ignore[arg-type]  # a table's


def _write_format(options: Any, recorder: LossRecorder) -> Wire:
    response_format = options.response_format
    recorder.unwritten(response_format, frozenset({"kind", "schema"}))
    is_json = response_format.kind != "text"
    out: Wire = {"responseMimeType": tables.FORMATS.write("json" if is_json else "text")}
    if response_format.schema is not None and is_json:
        out["responseJsonSchema"] = response_format.schema
    back: Any = _read_format(out)
    _report_near(response_format, back["response_format"], ("kind", "schema"), recorder)
    return out


_THINKING = ("thinkingLevel", "thinkingBudget", "includeThoughts")


def _read_reasoning(wire: Wire) -> Reading:
    """Budget 0 is thinking switched off; -1 leaves it to the model."""
    level, budget, mode = wire.get("thinkingLevel"), wire.get("thinkingBudget"), None
    effort = None
    if level is not None:
        effort = tables.EFFORTS.read(require(level, str, ".thinkingLevel").upper())
    if budget is not None:
        budget = require(budget, int, ".thinkingBudget")
        mode = tables.THINKING_MODES.read(budget) if level is None else None
        budget = None if mode is not None or budget < 0 else budget
    visible = wire.get("includeThoughts")
    if visible is not None:
        require(visible, bool, ".includeThoughts")
    reasoning = Reasoning(effort, budget, visible, mode)
    return {} if reasoning == Reasoning() else {"reasoning": reasoning}


def _write_reasoning(options: Any, recorder: LossRecorder) -> Wire:
    reasoning = options.reasoning
    if reasoning == Reasoning():
        reasoning = Reasoning(mode="adaptive")  # thinking is requested without an amount
    out = _thinking(reasoning)
    if recorder is not QUIET:
        back: Any = _read_reasoning(out)
        written = back.get("reasoning", Reasoning())
        _report_near(reasoning, written, Reasoning.__struct_fields__, recorder)
    return out


def _thinking(reasoning: Reasoning) -> Wire:
    thinking: Wire = {}
    if reasoning.mode == "off":
        thinking["thinkingBudget"] = tables.THINKING_MODES.write("off")
    else:
        if reasoning.effort is not None:
            thinking["thinkingLevel"] = tables.EFFORTS.write(reasoning.effort) or tables.HIGHEST
        if reasoning.budget_tokens is not None:
            thinking["thinkingBudget"] = reasoning.budget_tokens
        if reasoning.mode is not None and not thinking:
            thinking["thinkingBudget"] = tables.THINKING_MODES.write("adaptive")
    if reasoning.visible is not None:
        thinking["includeThoughts"] = reasoning.visible
    return thinking


# -- toolConfig -----------------------------------------------------------------------------------


_CHOICE = ("mode", "allowedFunctionNames")


def _read_choice(wire: Wire) -> Reading:
    listed, path = wire.get("allowedFunctionNames", []), ".allowedFunctionNames"
    names = tuple(read_each(listed, path, lambda name: require(name, str)))
    word = wire.get("mode")
    mode: Any = tables.MODES.read(word.upper()) if type(word) is str else None
    if mode is None:
        return {"tool_choice": ToolChoice("auto", names)} if names else {}
    return {"tool_choice": ToolChoice(mode, names)}


def _write_choice(options: Any, recorder: LossRecorder) -> Wire:
    choice = options.tool_choice
    narrowed = choice.names and choice.mode == "auto"
    mode = tables.NARROWED if narrowed else tables.MODES.write(choice.mode)
    if mode is None:
        recorder.lost(options, "tool_choice")
        return {}
    out: Wire = {"mode": mode}
    if choice.names:
        out["allowedFunctionNames"] = list(choice.names)
    return out


# -- all of them ----------------------------------------------------------------------------------


def _read_tier(value: Any) -> Reading:
    tier = require(value, str).lower()
    return {"service_tier": tier if tier in tables.SERVICE_TIERS else value}


def _write_tier(options: Any, recorder: LossRecorder) -> str | None:
    tier = options.service_tier
    word = tables.SERVICE_TIERS.get(tier)
    if word is None:
        recorder.lost(options, "service_tier")
    elif word != tier:
        recorder.lost(options, "service_tier", because("tier_nearest"), kind="approximated")
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
            more=lambda value: type(value) is str and value not in tables.FORMATS.words
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
                more=lambda value: value == tables.NARROWED
            ),
        ),
    ),
    Field("serviceTier", ("service_tier",), _read_tier, _write_tier),
    beside=("systemInstruction", "contents", "tools", "continuationToken", "model", "labels"),
    silent=("metadata", "stream"),
    also_named=snake_case,
)
"""All keys of a body; those beside are no options, but for labels."""


def read_options(body: Wire, preserved: Preserved) -> Attrs:
    """The attributes of the options; `body` has the usual names."""
    attrs = OPTIONS.read(body, preserved)
    labels = preserved.may_take(body, "labels", dict)
    if labels is not None and any(type(each) is not str for each in labels.values()):
        preserved.hold("labels", labels)
    elif labels is not None:
        attrs["metadata"] = labels
        preserved.spelling["labels"] = True  # which need not fit the grammar of labels
    return attrs


def write_options(
    options: Options, out: Wire, own_raw: Wire, raw: Raw | None, recorder: LossRecorder
) -> None:
    """`mine` is the part of `raw` for this API; labels are shared with the other one."""
    OPTIONS.write(options, out, own_raw, recorder)
    if options.metadata is not None:
        write_labels(options, raw, out, recorder)


_TOKEN = frozenset({"token"})

# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(f"{NAME} request", _read, wire, model, stream)


_PROBE = {"role": "user", "parts": [{"text": "."}]}


def read_without(wire: Wire, model: str | None, stream: bool | None) -> Request:
    """A request without the messages of its contents, which are a list of some."""
    read = read_request({**wire, "contents": [_PROBE]}, model, stream)
    return read.replace(messages=read.messages[:-1])


def _read(wire: Wire, model: str | None, stream: bool | None) -> Request:
    preserved = Preserved()
    body = OPTIONS.usual(wire, preserved)
    messages = _read_messages(body, preserved)
    tools = _read_tools(body, preserved) if "tools" in body else ()
    attrs = read_options(body, preserved)
    if stream is not None:
        attrs["stream"] = stream
    options = unchecked(Options, **attrs) if attrs else NO_OPTIONS
    token = preserved.may_take(body, "continuationToken", str)
    continues = None if token is None else Continues(token=token)
    name = _read_model(body, model, preserved)
    return unchecked(Request, tuple(messages), name, tools, options, continues, preserved.raw(NAME))


def _read_messages(body: Wire, preserved: Preserved) -> list[Message]:
    messages: list[Message] = []
    system = body.get("systemInstruction")
    if type(system) is not str:
        system = preserved.may_take(body, "systemInstruction", dict)
    if system is not None:
        messages.append(at_path(".systemInstruction", read_system, system))
    if type(contents := body.get("contents")) is dict:
        preserved.spelling["one"] = True
        return messages + read_contents([contents])
    return messages + read_contents(preserved.may_take(body, "contents", list, filled=True) or [])


def _read_tools(body: Wire, preserved: Preserved) -> tuple[ToolDefinition, ...]:
    if type(entries := body["tools"]) is dict:
        preserved.spelling["tool"] = True
        entries = [entries]
    elif not preserved.take(body, "tools", list):
        return ()
    tools, hollow = read_tools(entries)
    if hollow:
        preserved.spelling["hollow"] = hollow
    return tools


def _read_model(body: Wire, model: str | None, preserved: Preserved) -> str | None:
    """The URL's model, or else the body's; another one in the body stays there."""
    named = body.get("model")
    if type(named) is not str or model not in (None, named):
        if "model" in body:
            preserved.add("model", named)
        return model
    preserved.spelling["model"] = True
    return named


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, request.raw)
    spelling = spelling_in(own_raw)
    system, contents = write_messages(request.messages, recorder)
    body: Wire = {}
    if contents or not was_absent(own_raw, "contents"):
        body["contents"] = contents[0] if spelling.get("one") and len(contents) == 1 else contents
    if system is not None:
        body["systemInstruction"] = system
    if request.tools or spelling:
        entries = write_tools(request.tools, spelling.get("hollow") or {}, recorder)
        if entries:
            body["tools"] = entries[0] if spelling.get("tool") and len(entries) == 1 else entries
    if request.options is not NO_OPTIONS:
        write_options(request.options, body, own_raw, request.raw, recorder)
    if request.continues is not None:
        if request.continues.token is not None:
            body["continuationToken"] = request.continues.token
        if request.continues != Continues(token=request.continues.token):
            recorder.unwritten(request.continues, _TOKEN)
            reason = because("continues_token_only")
            recorder.lost(request, "continues", reason, kind="approximated")
    if spelling.get("model") is True and request.model is not None:
        body["model"] = request.model
    return body if request.raw is None else restore_raw(body, request, request.raw, recorder)
