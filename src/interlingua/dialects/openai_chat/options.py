"""The options of a request. Where hosts spell one in several ways, all are read; `$form` remembers
which, and which options and words stood there that OpenAI itself does not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from interlingua.dialects.kernel.errors import each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import FORMAT_NAME, Tables
from interlingua.dialects.openai_chat.text import MARKS, read_cache, write_cache
from interlingua.model.exchange import EFFORTS, Options, Reasoning, ResponseFormat, ToolChoice

# -- which tools may be called --------------------------------------------------------------------

_MODES: dict[Any, Any] = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
_WORDS = {"auto": "auto", "none": "none", "any": "required"}
_LEGACY = "function_call"
_SUBSET = "allowed_tools"


def read_choice(choice: Any, t: Tables, form: Wire) -> ToolChoice | None:
    """The choice; None for shapes that are not known."""
    if type(choice) is str:
        mode = _MODES.get(choice)
        if mode is not None and _WORDS[mode] != choice:
            form["tool_choice"] = choice
        return None if mode is None else ToolChoice(mode)
    if type(choice) is not dict or type(choice.get("type")) is not str:
        return None
    kind = choice["type"]
    if kind == _SUBSET and choice.keys() == {"type", kind}:
        return _read_subset(choice[kind], t, form)
    name = _read_reference(choice, t)
    if name is None:
        return None
    if kind == "custom":
        form["tool_choice"] = kind
    return ToolChoice("any", (name,))


def _read_subset(inner: Any, t: Tables, form: Wire) -> ToolChoice | None:
    if type(inner) is not dict or inner.keys() != {"mode", "tools"}:
        return None
    if inner["mode"] not in ("auto", "required") or type(inner["tools"]) is not list:
        return None
    names = [_read_reference(tool, t) for tool in inner["tools"]]
    known = tuple([name for name in names if name is not None])
    if not known or len(known) < len(names):
        return None
    form["tool_choice"] = _SUBSET
    custom = [tool["custom"]["name"] for tool in inner["tools"] if "custom" in tool]
    if custom:
        form["custom"] = custom
    return ToolChoice("auto" if inner["mode"] == "auto" else "any", known)


def _read_reference(tool: Any, t: Tables) -> str | None:
    """The name in `{"type": "function", "function": {"name": …}}`, if it is just that."""
    kind = tool.get("type") if type(tool) is dict else None
    if type(kind) is not str:
        return None
    if t.server_tools and kind.startswith(t.server_tools) and len(tool) == 1:
        return kind
    if kind not in ("function", "custom") or tool.keys() != {"type", kind}:
        return None
    inner = tool[kind]
    if type(inner) is not dict or inner.keys() != {"name"} or type(inner["name"]) is not str:
        return None
    name: str = inner["name"]
    return name


def read_legacy_choice(choice: Any, form: Wire) -> ToolChoice | None:
    found: ToolChoice | None = None
    if choice == "auto" or choice == "none":
        found = ToolChoice(_MODES[choice])
    elif type(choice) is dict and choice.keys() == {"name"} and type(choice["name"]) is str:
        found = ToolChoice("any", (choice["name"],))
    if found is not None:
        form["tool_choice"] = _LEGACY
    return found


def write_choice(
    options: Options, custom: frozenset[str], t: Tables, recorder: LossRecorder, form: Wire
) -> Wire:
    """`custom` are the names of the tools that take free text."""
    choice = options.tool_choice or ToolChoice()
    mode, names, spelled = choice.mode, choice.names, form.get("tool_choice")
    if names and (mode == "none" or not _is_sayable(choice, t, spelled)):
        recorder.lost(options, "tool_choice.names")
        names = ()
    if spelled == _LEGACY and (mode, len(names)) in _LEGACY_FORMS:
        return {_LEGACY: {"name": names[0]} if names else mode}
    if not names:
        return {"tool_choice": "any" if mode == spelled == "any" else _WORDS[mode]}
    free = custom.union(form.get("custom", ()), names if spelled == "custom" else ())
    tools = [_reference(name, name in free, t) for name in names]
    if len(names) == 1 and mode == "any" and spelled != _SUBSET:
        return {"tool_choice": tools[0]}
    subset = {"mode": "auto" if mode == "auto" else "required", "tools": tools}
    return {"tool_choice": {"type": _SUBSET, _SUBSET: subset}}


_LEGACY_FORMS = {("auto", 0), ("none", 0), ("any", 1)}


def _is_sayable(choice: ToolChoice, t: Tables, spelled: str | None) -> bool:
    alone = len(choice.names) == 1 and choice.mode == "any"
    return alone or t.subset_choice or spelled == _SUBSET


def _reference(name: str, free: bool, t: Tables) -> Wire:
    if t.server_tools and name.startswith(t.server_tools):
        return {"type": name}
    kind = "custom" if free and t.custom_tools else "function"
    return {"type": kind, kind: {"name": name}}


# -- the shape of the answer ----------------------------------------------------------------------

_FIELDS: dict[str, type] = {"description": str, "schema": dict, "strict": bool}


def read_format(wire: Any, note: Note) -> ResponseFormat | None:
    """The format; None for shapes that are not known."""
    kind = want(wire, dict, ".response_format").get("type")
    if kind == "text" and len(wire) == 1:
        return ResponseFormat("text")
    if kind == "json_object" and len(wire) == 1:
        return ResponseFormat("json")
    inner = wire.get("json_schema")
    if kind != "json_schema" or type(inner) is not dict:
        return None
    path, fields = ".response_format.json_schema", {}
    for key, type_ in _FIELDS.items():
        value: Any = maybe(inner, key, type_, path)
        if value is not None:
            fields[key] = value
    name = maybe(inner, "name", str, path)
    if name is None:
        note.form["no_name"] = True
    deep = Note()
    deep.leave_inner(wire, "json_schema", fields.keys() | ({"name"} if name is not None else set()))
    deep.leave(wire, ("type", "json_schema"), ())
    if deep.rest:
        note.rest["response_format"] = deep.rest
    if deep.form:
        note.form.setdefault("empty", {})["response_format"] = deep.form["empty"]
    return ResponseFormat("json_schema", name, **fields)


def write_format(options: Options, recorder: LossRecorder, form: Wire) -> Wire:
    wanted = options.response_format or ResponseFormat()
    if wanted.kind != "json_schema":
        for field in ("name", "schema", "strict", "description"):
            if getattr(wanted, field) is not None:
                recorder.lost(options, f"response_format.{field}")
        return {"type": "json_object" if wanted.kind == "json" else "text"}
    inner: Wire = {}
    if wanted.name is not None:
        inner["name"] = wanted.name
    elif not form.get("no_name"):
        inner["name"] = FORMAT_NAME
        recorder.filled(options, "response_format.name", FORMAT_NAME)
    for key in _FIELDS:
        if getattr(wanted, key) is not None:
            inner[key] = getattr(wanted, key)
    return {"type": "json_schema", "json_schema": inner}


# -- how much to think ----------------------------------------------------------------------------

# DeepSeek and Z.ai have an object with a type, Alibaba's and SiliconFlow's models a flag.
SWITCHES = ("thinking", "enable_thinking")
_TYPES = {"enabled": "on", "disabled": "off"}
# Groq's Qwen models think by default, and say so in place of an effort (console docs, 2026-11).
DEFAULT = "default"
_SAID_BY_EFFORT = "the effort says how much"


# Reading


def read_reasoning(wire: Wire, t: Tables, note: Note, taken: set[str]) -> Reasoning | None:
    """All that the body says about thinking; None where it says nothing."""
    fields: dict[str, Any] | None = None
    if type(wire.get("reasoning")) is dict:
        fields = _read_object(wire["reasoning"], note)
        taken.add("reasoning")
        if not t.reasoning_object:
            note.form["reasoning"] = "object"
    effort = wire.get("reasoning_effort")
    if effort in EFFORTS:
        if fields is None:
            fields = {"effort": effort}
            taken.add("reasoning_effort")
            if t.reasoning_object:
                note.form["reasoning"] = "effort"
        elif fields.get("effort") == effort:
            taken.add("reasoning_effort")
            note.form["reasoning"] = "both"
    elif effort == DEFAULT and fields is None:
        fields = {"mode": "on"}
        taken.add("reasoning_effort")
        note.form["reasoning"] = DEFAULT
    if "reasoning" not in taken and effort != "none":
        fields = _read_switches(wire, fields, note, taken)
    return None if fields is None else Reasoning(**fields)


def _read_object(inner: Wire, note: Note) -> dict[str, Any]:
    """OpenRouter's object: an effort or a budget, a switch, whether the thinking is left out."""
    effort, budget = inner.get("effort"), inner.get("max_tokens")
    enabled, exclude = inner.get("enabled"), inner.get("exclude")
    fields: dict[str, Any] = {}
    taken = set()
    if effort in EFFORTS:
        fields["effort"] = effort
        taken.add("effort")
    if type(budget) is int:
        fields["budget_tokens"] = budget
        taken.add("max_tokens")
    if type(exclude) is bool:
        fields["visible"] = not exclude
        taken.add("exclude")
    if type(enabled) is bool and effort != "none":
        fields["mode"] = "on" if enabled else "off"
        taken.add("enabled")
        note.form["enabled"] = True
    rest = {key: value for key, value in inner.items() if key not in taken}
    if rest:
        note.rest["reasoning"] = rest
    if not taken:
        note.form["void"] = True
    return fields


def _read_switches(
    wire: Wire, fields: dict[str, Any] | None, note: Note, taken: set[str]
) -> dict[str, Any] | None:
    for key in SWITCHES:
        given = wire.get(key)
        if type(given) is dict and given.get("type") in _TYPES:
            mode = _TYPES[given["type"]]
            if len(given) > 1:
                note.rest[key] = {name: item for name, item in given.items() if name != "type"}
        elif type(given) is bool:
            mode = "on" if given else "off"
        else:
            continue
        taken.add(key)
        note.form["switch"] = key
        return {**(fields or {}), "mode": mode}
    return fields


# Writing


def write_reasoning(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    asked, spelled = options.reasoning or Reasoning(), form.get("reasoning")
    if spelled in ("object", "both") or (t.reasoning_object and not (spelled or "switch" in form)):
        wire["reasoning"] = _write_object(asked, form)
        if asked.mode in ("adaptive", "between_tools"):
            recorder.lost(options, "reasoning.mode", "it is on, or off", kind="approximated")
        if spelled == "both" and "effort" in wire["reasoning"]:
            wire["reasoning_effort"] = wire["reasoning"]["effort"]
        return
    if spelled == DEFAULT and asked == Reasoning(mode="on"):
        wire["reasoning_effort"] = DEFAULT
        return
    switch = form.get("switch") or ("thinking" if spelled == "thinking" else t.host.switch)
    if asked.effort is None and asked.mode != "off" and switch is None:
        recorder.lost(options, "reasoning", "thinking is asked for by an effort only")
        return
    for name in ("budget_tokens", "visible"):
        if getattr(asked, name) is not None:
            recorder.lost(options, f"reasoning.{name}")
    if asked.mode == "off":
        _write_off(options, asked, switch, recorder, wire)
        return
    if asked.effort is not None:
        wire["reasoning_effort"] = asked.effort
    if switch is not None and (asked.effort is None or "switch" in form):
        wire[switch] = _switched(switch, True)
    if asked.mode in ("adaptive", "between_tools"):
        reason = "it is on, or off" if asked.effort is None else _SAID_BY_EFFORT
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")


def _write_off(
    options: Options, asked: Reasoning, switch: str | None, recorder: LossRecorder, wire: Wire
) -> None:
    if switch is None:
        wire["reasoning_effort"] = "none"
        if asked.effort is not None:
            recorder.lost(options, "reasoning.effort", "thinking is off")
        return
    wire[switch] = _switched(switch, False)
    if asked.effort is not None:
        wire["reasoning_effort"] = asked.effort


def _switched(key: str, on: bool) -> Any:
    return {"type": "enabled" if on else "disabled"} if key == "thinking" else on


def _write_object(asked: Reasoning, form: Wire) -> Wire:
    inner: Wire = {}
    if asked.mode == "off":
        if asked.effort is None and not form.get("enabled"):
            inner["effort"] = "none"
        else:
            inner["enabled"] = False
    elif form.get("enabled") or asked.mode is not None or _is_empty(asked, form):
        inner["enabled"] = True
    if asked.effort is not None:
        inner["effort"] = asked.effort
    if asked.budget_tokens is not None:
        inner["max_tokens"] = asked.budget_tokens
    if asked.visible is not None:
        inner["exclude"] = not asked.visible
    return inner


def _is_empty(asked: Reasoning, form: Wire) -> bool:
    return asked == Reasoning() and not form.get("void")


# -- words, lists and numbers ---------------------------------------------------------------------

Fields = dict[str, Any]
Reader = Callable[[Wire, Tables, Note, set[str], Fields], None]
Writer = Callable[[Options, Tables, LossRecorder, Wire, Wire], None]


# Words


def _read_word(
    key: str, wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields
) -> None:
    fields[key] = want(wire[key], str, f".{key}")
    taken.add(key)
    _note_words(key, (fields[key],), t, note)


def _note_words(option: str, said: Sequence[str], t: Tables, note: Note) -> None:
    """Remember words that stood there although the service does not list them."""
    words = t.words[option]
    odd = [word for word in said if words is not None and word not in words]
    if odd:
        note.form.setdefault("words", []).extend(odd)


def _is_word(option: str, value: str, t: Tables, form: Wire) -> bool:
    words = t.words[option]
    return words is None or value in words or value in form.get("words", ())


def _write_word(
    option: str, options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    value = getattr(options, option)
    if _is_word(option, value, t, form):
        wire[option] = value
    else:
        recorder.lost(options, option, f"no {option} is called {value!r}")


def _read_modalities(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    taken.add("modalities")
    words = each(wire["modalities"], ".modalities", lambda word: want(word, str, ""))
    fields["modalities"] = tuple(words)
    _note_words("modalities", words, t, note)


def _write_modalities(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    wanted = options.modalities or ()
    said = [word for word in wanted if _is_word("modalities", word, t, form)]
    if len(said) < len(wanted):
        recorder.lost(options, "modalities", "not all of them exist here", "approximated")
    if said or not wanted:
        wire["modalities"] = said


# Lists and numbers


def _read_stop(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    stop = wire["stop"]
    taken.add("stop")
    if type(stop) is str:
        note.form["stop"] = "string"
        fields["stop"] = (stop,)
    else:
        fields["stop"] = tuple(each(stop, ".stop", lambda word: want(word, str, "")))


def _write_stop(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    stop = options.stop or ()
    alone = form.get("stop") == "string" and len(stop) == 1
    wire["stop"] = stop[0] if alone else list(stop)


def _write_top_k(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    top_k = options.top_k or 0
    wire["top_k"] = int(top_k) if top_k == int(top_k) else top_k


def _read_bias(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    bias: dict[str, float] = {}
    for token, value in want(wire["logit_bias"], dict, ".logit_bias").items():
        bias[token] = want(value, float, f".logit_bias.{token}")
    taken.add("logit_bias")
    fields["logit_bias"] = bias
    if not t.float_bias and any(not value.is_integer() for value in bias.values()):
        note.form["logit_bias"] = "float"


def _write_bias(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    bias = options.logit_bias or {}
    whole = {token: round(value) for token, value in bias.items()}
    if whole == bias:
        wire["logit_bias"] = whole
    elif t.float_bias or form.get("logit_bias") == "float":
        wire["logit_bias"] = bias
    else:
        recorder.lost(options, "logit_bias", "sent in whole numbers", "approximated")
        wire["logit_bias"] = whole


def _read_logprobs(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    """A boolean with a number beside it; some servers take the number alone."""
    asked = wire["logprobs"]
    if type(asked) is int:
        taken.add("logprobs")
        note.form["logprobs"] = "number"
        fields["logprobs"] = asked
    elif want(asked, bool, ".logprobs"):
        taken.add("logprobs")
        top = maybe(wire, "top_logprobs", int)
        fields["logprobs"] = top or 0
        if top is not None:
            taken.add("top_logprobs")
            if top == 0:
                note.form["logprobs"] = "zero"


def _write_logprobs(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    if form.get("logprobs") == "number":
        wire["logprobs"] = options.logprobs
        return
    wire["logprobs"] = True
    if options.logprobs or form.get("logprobs") == "zero":
        wire["top_logprobs"] = options.logprobs


READERS: dict[str, Reader] = {
    "verbosity": partial(_read_word, "verbosity"),
    "service_tier": partial(_read_word, "service_tier"),
    "modalities": _read_modalities,
    "stop": _read_stop,
    "logit_bias": _read_bias,
    "logprobs": _read_logprobs,
}
WRITERS: dict[str, Writer] = {
    "verbosity": partial(_write_word, "verbosity"),
    "service_tier": partial(_write_word, "service_tier"),
    "modalities": _write_modalities,
    "stop": _write_stop,
    "top_k": _write_top_k,
    "logit_bias": _write_bias,
    "logprobs": _write_logprobs,
}

# -- all of them ----------------------------------------------------------------------------------

SIMPLE: dict[str, type] = {
    "temperature": float,
    "top_p": float,
    "top_k": float,
    "min_p": float,
    "frequency_penalty": float,
    "presence_penalty": float,
    "repetition_penalty": float,
    "n": int,
    "parallel_tool_calls": bool,
    "stream": bool,
}
"""Options that the wire calls by the same name."""
SPELLINGS: dict[str, tuple[type, str, str, str]] = {
    "max_output_tokens": (int, "max_completion_tokens", "max_tokens", "max_tokens"),
    "seed": (int, "seed", "random_seed", "seed"),
    "user": (str, "safety_identifier", "user", "user"),
}
"""Options with two names, and the field of a `Host` that says which is its own."""
KNOWN = frozenset(
    {*SIMPLE, *(key for spelled in SPELLINGS.values() for key in spelled[1:3]), *READERS}
    | {"top_logprobs", "tool_choice"}
    | {"function_call", "response_format", "reasoning", "reasoning_effort", *SWITCHES}
    | {"metadata", "tools", "functions", "model", "cache_control"}
)


# Reading


def read_options(wire: Wire, t: Tables, note: Note, taken: set[str]) -> Options:
    """Only the keys that are there cost anything."""
    fields: dict[str, Any] = {}
    for key, value in wire.items():
        read = _BY_KEY.get(key)
        if read is None or value is None:
            continue
        if read is _SIMPLE:
            fields[key] = want(value, SIMPLE[key], f".{key}")
            taken.add(key)
        elif type(read) is tuple:
            option, kind, other, usual = read
            if type(value) is kind and wire.get(other) is None:
                fields[option] = value  # said once, and rightly
                taken.add(key)
                if getattr(t.host, usual) != key:
                    note.form[option] = [key]
            elif option not in fields:
                _read_spelled(wire, option, t, note, taken, fields)
        else:
            read(wire, t, note, taken, fields)
    if not fields.keys() <= t.options:
        note.form["stood"] = sorted(field for field in fields if field not in t.options)
    return Options(**fields)


def _read_spelled(
    wire: Wire, option: str, t: Tables, note: Note, taken: set[str], fields: Fields
) -> None:
    kind, first, second, usual = SPELLINGS[option]
    given = [key for key in (first, second) if wire.get(key) is not None]
    value: Any = want(wire[given[0]], kind, f".{given[0]}")
    fields[option] = value
    given = [key for key in given if wire[key] == value and type(wire[key]) is not bool]
    taken.update(given)
    if given != [getattr(t.host, usual)]:
        note.form[option] = given


def _read_metadata(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    metadata = want(wire["metadata"], dict, ".metadata")
    if all(type(value) is str for value in metadata.values()):
        taken.add("metadata")
        fields["metadata"] = metadata


def _read_format(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    found = read_format(wire["response_format"], note)
    if found is not None:
        taken.add("response_format")
        fields["response_format"] = found


def _read_choice(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    found = read_choice(wire["tool_choice"], t, note.form)
    if found is not None:
        taken.add("tool_choice")
        fields["tool_choice"] = found


def _read_legacy_choice(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    if "tool_choice" not in fields:
        found = read_legacy_choice(wire["function_call"], note.form)
        if found is not None:
            taken.add("function_call")
            fields["tool_choice"] = found


def _read_cache(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    found = read_cache(wire, t, "body", note.form, taken)
    if found is not None:
        fields["cache"] = found


def _read_reasoning(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    """Several keys may speak of it; the first one that is met reads them all."""
    if "reasoning" not in fields:
        found = read_reasoning(wire, t, note, taken)
        if found is not None:
            fields["reasoning"] = found


def _read_choices(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    """The newer key counts where both are there."""
    if "tool_choice" not in fields and wire.get("tool_choice") is not None:
        _read_choice(wire, t, note, taken, fields)
    if "tool_choice" not in fields and wire.get("function_call") is not None:
        _read_legacy_choice(wire, t, note, taken, fields)


_SIMPLE = object()
_BY_KEY: dict[str, Any] = {
    **dict.fromkeys(SIMPLE, _SIMPLE),
    **{one: (option, kind, two, own) for option, (kind, one, two, own) in SPELLINGS.items()},
    **{two: (option, kind, one, own) for option, (kind, one, two, own) in SPELLINGS.items()},
    **dict.fromkeys(("reasoning", "reasoning_effort", *SWITCHES), _read_reasoning),
    **dict.fromkeys(MARKS, _read_cache),
    **READERS,
    "metadata": _read_metadata,
    "response_format": _read_format,
    "tool_choice": _read_choices,
    "function_call": _read_choices,
}
"""Who reads a key of the body: nobody special, an option with several names, or a function."""


# Writing


def write_options(
    options: Options, custom: frozenset[str], t: Tables, recorder: LossRecorder, form: Wire
) -> Wire:
    """The options as keys of the body; `custom` are the names of tools that take free text."""
    said = t.options.union(form["stood"]) if "stood" in form else t.options
    wire: Wire = {}
    for option in _OPTION_FIELDS:
        value = getattr(options, option)
        if value is None:
            continue
        if option not in said:
            recorder.lost(options, option)
        elif option in SIMPLE and option != "top_k":
            wire[option] = value
        elif option in SPELLINGS:
            _write_spelled(options, option, value, t, recorder, form, wire)
        elif option == "tool_choice":
            wire.update(write_choice(options, custom, t, recorder, form))
        else:
            _WRITERS[option](options, t, recorder, form, wire)
    if options.raw is not None:
        recorder.unwritten_raw(options, options.raw)
    return wire


_OPTION_FIELDS = tuple([field for field in Options.__struct_fields__ if field != "raw"])


def _write_spelled(
    options: Options,
    option: str,
    value: Any,
    t: Tables,
    recorder: LossRecorder,
    form: Wire,
    wire: Wire,
) -> None:
    keys = form.get(option) or [getattr(t.host, SPELLINGS[option][3])]
    if keys == [None]:
        recorder.lost(options, option)
    else:
        wire.update(dict.fromkeys(keys, value))


def _write_metadata(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    wire["metadata"] = options.metadata


def _write_format(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    wire["response_format"] = write_format(options, recorder, form)


def _write_cache(
    options: Options, t: Tables, recorder: LossRecorder, form: Wire, wire: Wire
) -> None:
    write_cache(wire, options, options.cache, t, recorder, "body", form)


_WRITERS: dict[str, Writer] = {
    **WRITERS,
    "metadata": _write_metadata,
    "response_format": _write_format,
    "reasoning": write_reasoning,
    "cache": _write_cache,
}
