"""Options: the keys of a body that are neither messages nor tools. If hosts spell an option in
several ways, all of them are read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from interlingua.dialects.kernel import fields as kernel
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import Preserved, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import (
    FORMAT_NAME,
    cache_options,
    explicit_cache_options,
    format_field,
)
from interlingua.dialects.openai_chat import tables
from interlingua.dialects.openai_chat.tables import (
    CHOICES,
    MARKS,
    NAMES,
    Host,
    Tables,
    WriteContext,
)
from interlingua.dialects.openai_chat.text import read_marks, write_cache
from interlingua.model.exchange import EFFORTS, Options, Reasoning, ToolChoice
from interlingua.model.reasons import because

# -- words, lists and numbers ---------------------------------------------------------------------


def _modalities(words: frozenset[str]) -> Field:
    def write(options: Any, recorder: LossRecorder) -> list[str] | None:
        known = [word for word in options.modalities if word in words]
        if len(known) < len(options.modalities):
            recorder.lost(options, "modalities", because("modalities_cut"), "approximated")
        return known if known or not options.modalities else None

    return kernel.strings("modalities", "modalities")._replace(write=write)


def _write_top_k(options: Any, recorder: LossRecorder) -> float:
    return int(options.top_k) if options.top_k == int(options.top_k) else options.top_k


def _read_bias(value: Any) -> Reading:
    is_ours = all(type(each) in (int, float) for each in require(value, dict).values())
    return {"logit_bias": value} if is_ours else NOT_OURS


def _bias(floats: bool) -> Field:
    def write(options: Any, recorder: LossRecorder) -> Wire:
        bias: dict[str, float] = options.logit_bias
        whole = {token: round(value) for token, value in bias.items()}
        if whole == bias or not floats:
            if whole != bias:
                recorder.lost(options, "logit_bias", because("rounded"), "approximated")
            return whole
        return bias

    return Field("logit_bias", ("logit_bias",), _read_bias, write)


def _read_logprobs(wire: Wire) -> Reading:
    """A boolean with a number beside it; some servers take the number alone."""
    enabled = wire.get("logprobs", False)
    if type(enabled) is int:
        return {"logprobs": enabled}
    most = require(wire.get("top_logprobs", 0), int, ".top_logprobs")
    return {"logprobs": most} if require(enabled, bool, ".logprobs") else {}


def _write_logprobs(options: Any, recorder: LossRecorder) -> Wire:
    most: int = options.logprobs
    return {"logprobs": True, "top_logprobs": most} if most else {"logprobs": True}


# -- which tools may be called --------------------------------------------------------------------


def _read_choice(choice: Any, servers: str | None) -> ToolChoice | None:
    """The choice; None for shapes that are not known."""
    if type(choice) is str:
        mode = CHOICES.read(choice)
        return None if mode is None else ToolChoice(mode)  # type: ignore[arg-type]  # of the table
    match choice:
        case {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)} as of}:
            names = tuple([_read_name(tool, servers) for tool in tools])
            if mode not in ("auto", "required") or not names or None in names:
                return None
            known: Any = ToolChoice("auto" if mode == "auto" else "any", names)  # type: ignore[arg-type]  # names
            return known if len(choice) == len(of) == 2 else None
    name = _read_name(choice, servers)
    return None if name is None else ToolChoice("any", (name,))


def _read_name(tool: Any, servers: str | None) -> str | None:
    """The name in `{"type": "function", "function": {"name": …}}`, if it is just that."""
    match tool:
        case {"type": str(kind)} if len(tool) == 1 and servers and kind.startswith(servers):
            return kind
        case {"type": "function", "function": {"name": str(name), **more}} | {
            "type": "custom",
            "custom": {"name": str(name), **more},
        } if len(tool) == 2 and not more:
            return name
    return None


def _read_legacy(wire: Wire, attrs: Attrs, preserved: Preserved) -> None:
    """`function_call`; the newer key counts where both are there."""
    choice, found = wire["function_call"], None
    if choice == "auto" or choice == "none":
        found = ToolChoice(choice)
    elif type(choice) is dict and len(choice) == 1 and type(choice.get("name")) is str:
        found = ToolChoice("any", (choice["name"],))
    if found is None or "tool_choice" in attrs:
        preserved.add("function_call", choice)
    else:
        attrs["tool_choice"] = found
        preserved.spelling["function_call"] = True


def _choice(t: Tables) -> Field:
    def read(value: Any) -> Reading:
        found = _read_choice(value, t.server_tools)
        return NOT_OURS if found is None else {"tool_choice": found}

    def write(options: Any, recorder: LossRecorder) -> Any:
        choice: ToolChoice = options.tool_choice
        mode, names = choice.mode, choice.names
        alone = len(names) == 1 and mode == "any"
        if names and (mode == "none" or not (alone or t.subset_choice)):
            recorder.lost(options, "tool_choice.names")
            names = ()
        if not names:
            word = CHOICES.write(mode)
            if word is None:
                recorder.lost(options, "tool_choice")
            return word
        tools = [_reference(name, t.server_tools) for name in names]
        subset = {"mode": "auto" if mode == "auto" else "required", "tools": tools}
        return tools[0] if alone else {"type": "allowed_tools", "allowed_tools": subset}

    return Field("tool_choice", ("tool_choice",), read, write, few=True)


def _reference(name: str, servers: str | None) -> Wire:
    if servers and name.startswith(servers):
        return {"type": name}
    return {"type": "function", "function": {"name": name}}


def choose_custom(wire: Wire, custom: frozenset[str]) -> None:
    """Tools that take free text are chosen by another key; `custom` are their names."""
    choice = wire.get("tool_choice")
    match choice:
        case {"type": "function", "function": {"name": name}} if name in custom:
            wire["tool_choice"] = {"type": "custom", "custom": {"name": name}}
        case {"type": "allowed_tools", "allowed_tools": {"tools": list(tools)}}:
            for tool in tools:
                if tool.get("function", {}).get("name") in custom:
                    tool.update(type="custom", custom=tool.pop("function"))


def choose_function(wire: Wire, own_raw: Wire) -> None:
    """Writes a tool choice that was read from the legacy `function_call` back under that key."""
    match wire.get("tool_choice"):
        case ("auto" | "none") as choice:
            pass
        case {"type": "function", "function": choice}:
            pass
        case _:
            return
    if spelling_in(own_raw).get("function_call"):
        wire["function_call"] = choice
        del wire["tool_choice"]


# -- how much to think ----------------------------------------------------------------------------
# Several keys may have it, of which an edit has to find the right one: `$form` names it.

_REASONING = ("reasoning", "reasoning_effort", *tables.SWITCHES)


def _read_reasoning(wire: Wire, t: Tables, preserved: Preserved) -> Reasoning | None:
    """All settings of thinking in the body; None if it has none."""
    fields: Attrs | None = None
    taken: set[str] = set()
    effort = wire.get("reasoning_effort")
    if type(wire.get("reasoning")) is dict:
        fields = _read_object(wire, preserved)
        taken.add("reasoning")
        if effort in EFFORTS and fields.get("effort") == effort:
            taken.add("reasoning_effort")
            preserved.spelling["reasoning"] = "both"
        elif not t.reasoning_object:
            preserved.spelling["reasoning"] = "object"
    elif effort in EFFORTS or effort == tables.DEFAULT_EFFORT:
        fields = {"effort": effort} if effort in EFFORTS else {"mode": "on"}
        taken.add("reasoning_effort")
        if effort == tables.DEFAULT_EFFORT:
            preserved.spelling["reasoning"] = tables.DEFAULT_EFFORT
        elif t.reasoning_object:
            preserved.spelling["reasoning"] = "effort"
    if "reasoning" not in taken and effort != "none":
        fields = _read_switches(wire, fields, preserved, taken)
    preserved.add_others({key: wire[key] for key in _REASONING if key in wire}, taken, _REASONING)
    return None if fields is None else Reasoning(**fields)


def _read_object(wire: Wire, preserved: Preserved) -> Attrs:
    """OpenRouter's object: an effort or a budget, a switch, whether the thinking is left out."""
    inner = wire["reasoning"]
    effort, budget, exclude, enabled = [
        inner.get(key) for key in ("effort", "max_tokens", "exclude", "enabled")
    ]
    attrs: dict[str, tuple[str, Any]] = {}
    if type(effort) is str and effort in EFFORTS:
        attrs["effort"] = "effort", effort
    if type(budget) is int:
        attrs["max_tokens"] = "budget_tokens", budget
    if type(exclude) is bool:
        attrs["exclude"] = "visible", not exclude
    if type(enabled) is bool and effort != "none":
        attrs["enabled"] = "mode", "on" if enabled else "off"
        preserved.spelling["enabled"] = True
    preserved.add_inside(wire, "reasoning", attrs)
    if not attrs:
        preserved.spelling["void"] = True
    return dict(attrs.values())


def _read_switches(
    wire: Wire, fields: Attrs | None, preserved: Preserved, taken: set[str]
) -> Attrs | None:
    for key in tables.SWITCHES:
        value, mode, flag = wire.get(key), None, "type"
        if type(value) is dict and key == tables.TEMPLATE:
            flag = next((name for name in tables.TEMPLATE_FLAGS if name in value), "")
            value = value.get(flag)
        if type(value) is bool and key != "thinking":
            mode = "on" if value else "off"
        elif type(value) is dict and key == "thinking":
            mode = tables.SWITCHED.read(value.get("type", ""))
        if mode is not None:
            if type(wire[key]) is dict:
                preserved.add_inside(wire, key, (flag,))
            if key == tables.TEMPLATE:
                preserved.spelling["flag"] = flag
            taken.add(key)
            preserved.spelling["switch"] = key
            return {**(fields or {}), "mode": mode}
    return fields


def _spelled_here(spelling: Wire, host: Host) -> Wire:
    """The spelling of a request for thinking, without keys that only other hosts have."""
    spelled, switch = spelling.get("reasoning"), spelling.get("switch")
    is_object = spelled in ("object", "both") and "reasoning" in host.lacks
    if is_object or (spelled == tables.DEFAULT_EFFORT and host.name not in (None, "groq")):
        spelling = {key: value for key, value in spelling.items() if key != "reasoning"}
    if switch in host.lacks:
        spelling = {key: value for key, value in spelling.items() if key != "switch"}
    return spelling


def _write_reasoning(options: Options, to: WriteContext, spelling: Wire, wire: Wire) -> None:
    t, recorder = to.t, to.recorder
    spelling = _spelled_here(spelling, t.host) if t.host.lacks else spelling
    reasoning, spelled = options.reasoning or Reasoning(), spelling.get("reasoning")
    vague = reasoning.mode not in (None, "on", "off")
    is_usual = t.reasoning_object and not (spelled or "switch" in spelling)
    if is_usual or spelled in ("object", "both"):
        wire["reasoning"] = _write_object(reasoning, spelling)
        if vague:
            recorder.lost(
                options, "reasoning.mode", because("thinking_on_or_off"), kind="approximated"
            )
        if spelled == "both" and "effort" in wire["reasoning"]:
            wire["reasoning_effort"] = wire["reasoning"]["effort"]
        return
    if spelled == tables.DEFAULT_EFFORT and reasoning == Reasoning(mode="on"):
        wire["reasoning_effort"] = tables.DEFAULT_EFFORT
        return
    switch, is_off = spelling.get("switch") or t.host.switch, reasoning.mode == "off"
    if reasoning.effort is None and not is_off and switch is None:
        recorder.lost(options, "reasoning", because("thinking_by_effort"))
        return
    for name in ("budget_tokens", "visible"):
        if getattr(reasoning, name) is not None:
            recorder.lost(options, f"reasoning.{name}")
    if reasoning.effort is not None and (not is_off or switch is not None):
        wire["reasoning_effort"] = reasoning.effort
    if is_off and switch is None:
        wire["reasoning_effort"] = "none"
        if reasoning.effort is not None:
            recorder.lost(options, "reasoning.effort", because("thinking_off"))
    elif switch is not None and (is_off or not reasoning.effort or "switch" in spelling):
        wire[switch] = _write_switch(switch, not is_off, spelling)
    if vague:
        reason = (
            because("thinking_on_or_off") if reasoning.effort is None else because("effort_decides")
        )
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")


def _write_switch(key: str, on: bool, spelling: Wire) -> Any:
    if key == "thinking":
        return {"type": tables.SWITCHED.write("on" if on else "off")}
    return {spelling.get("flag", tables.TEMPLATE_FLAGS[0]): on} if key == tables.TEMPLATE else on


def _write_object(reasoning: Reasoning, spelling: Wire) -> Wire:
    inner: Wire = {}
    void = reasoning == Reasoning() and not spelling.get("void")
    if reasoning.mode == "off" and reasoning.effort is None and not spelling.get("enabled"):
        inner["effort"] = "none"
    elif reasoning.mode is not None or spelling.get("enabled") or void:
        inner["enabled"] = reasoning.mode != "off"
    if reasoning.effort is not None:
        inner["effort"] = reasoning.effort
    if reasoning.budget_tokens is not None:
        inner["max_tokens"] = reasoning.budget_tokens
    if reasoning.visible is not None:
        inner["exclude"] = not reasoning.visible
    return inner


ATTRS = {
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "prompt_cache_key": "cache_key",
    "prompt_cache_options": "cache_mode",
    "prompt_cache_retention": "cache_retention",
    "random_seed": "seed",
    "reasoning_effort": "reasoning",
    "safety_identifier": "user",
    "top_logprobs": "logprobs",
    **dict.fromkeys(tables.SWITCHES, "reasoning"),
}
"""The options for keys with other names."""


def own_name(key: str, host: Host) -> str | None:
    """The host's own name for an option that another calls by this key; None where it has none."""
    for attr, names in NAMES.items():
        if key in names.keys:
            own = getattr(host, names.own)
            return own if attr == ATTRS.get(key, key) and own not in host.lacks else None
    return None


_LIMIT, _LIMIT_NOW = NAMES["max_output_tokens"].keys[::-1]
_USERS, _SEEDS = frozenset(NAMES["user"].keys), frozenset(NAMES["seed"].keys)

_ASIDE = frozenset({"function_call", *_REASONING, *MARKS})

# -- all of them ----------------------------------------------------------------------------------


@lru_cache(512)
def _options(t: Tables, limit: str) -> Table:
    """The table for one host: its own names of options, and the options that it accepts. The output
    limit is looked up first, because half of all requests have it."""
    named = {attr: _named(t, attr) for attr in NAMES} | {"max_output_tokens": limit}
    fields = [
        *[plain(own, attr, NAMES[attr].kind) for attr, own in named.items()],
        *[plain(name, name, kind) for kind, names in tables.NUMBERS.items() for name in names],
        Field("top_k", ("top_k",), lambda value: {"top_k": require(value, float)}, _write_top_k),
        kernel.strings("stop", "stop", alone=True),
        _bias(t.float_bias),
        kernel.together(
            ("logprobs", "top_logprobs"), ("logprobs",), _read_logprobs, _write_logprobs
        ),
        *[kernel.one_of(key, key, t.words[key] or ()) for key in ("verbosity", "service_tier")],
        _modalities(t.words["modalities"] or frozenset()),
        _choice(t),
        format_field("response_format", inside=True, fillers={"name": FORMAT_NAME}),
        plain("metadata", "metadata", dict, fits=_is_all_text),
        *cache_options(("30m",)),
    ]
    if t.reasoning_object:  # OpenRouter
        fields[-2] = explicit_cache_options()
    others = {own: _other(own, attr) for attr, own in named.items()}
    return Table(
        Options,
        *[field if field.attrs[0] in t.options else _unknown(field) for field in fields],
        beside=("model", "messages", "tools", "functions", *_ASIDE),
        silent=("reasoning", "cache"),
        also_named=lambda key: others.get(key, key),
    )


def _named(t: Tables, attr: str) -> str:
    """The host's own name of an option; OpenAI's where the host has none."""
    own: str | None = getattr(t.host, NAMES[attr].own)
    return own or NAMES[attr].keys[0]


def _other(key: str, attr: str) -> str:
    first, second = NAMES[attr].keys
    return second if key == first else first


def _is_all_text(metadata: Wire) -> bool:
    return all(type(value) is str for value in metadata.values())


def _unknown(field: Field) -> Field:
    """An option of other hosts is written back, and in no other dialect."""

    def write(options: Any, recorder: LossRecorder) -> Any:
        recorder.lost(options, field.attrs[0])
        return {} if field.keys else None

    return field._replace(write=write, kind=None)


def read_options(wire: Wire, t: Tables, preserved: Preserved) -> Attrs:
    keys, own = wire.keys(), t.host.max_tokens
    if (_LIMIT in wire and _LIMIT_NOW in wire) or keys >= _USERS or keys >= _SEEDS:
        wire = _once(wire, t, preserved)
    limit = _LIMIT if _LIMIT in wire else _LIMIT_NOW if _LIMIT_NOW in wire else own
    if limit != own:
        preserved.spelling["named"] = {own: limit}
    attrs = _options(t, limit).read(wire, preserved)
    if _ASIDE.isdisjoint(wire):
        return attrs
    if wire.get("function_call") is not None:
        _read_legacy(wire, attrs, preserved)
    elif "function_call" in wire:
        preserved.keep_spelling("function_call", None)
    if any(key in wire for key in _REASONING):
        reasoning = _read_reasoning(wire, t, preserved)
        if reasoning is not None:
            attrs["reasoning"] = reasoning
    if any(key in wire for key in MARKS):
        cache = read_marks(wire, t, "body", preserved)
        if cache is not None:
            attrs["cache"] = cache
    return attrs


def _once(wire: Wire, t: Tables, preserved: Preserved) -> Wire:
    """The body with one name for each option. Another name with the same value, or with null, is
    spelling (`$form.twice`); the host's own name wins where values differ."""
    for attr in NAMES:
        own = _named(t, attr)
        other = _other(own, attr)
        if own not in wire or other not in wire:
            continue
        first, second = wire[own], wire[other]
        wire = {key: value for key, value in wire.items() if key != other}
        if second is not None and first is None:
            wire[own] = second
            preserved.spelling.setdefault("twice", {})[attr] = "null"
        elif second is not None and first == second and type(first) is type(second):
            preserved.spelling.setdefault("twice", {})[attr] = "same"
        else:
            preserved.add(other, second)
    return wire


def write_options(options: Options, out: Wire, own_raw: Wire, to: WriteContext) -> None:
    t, recorder = to.t, to.recorder
    spelling = spelling_in(own_raw)
    _options(t, t.host.max_tokens).write(options, out, own_raw, recorder)
    for attr, how in spelling.get("twice", {}).items():
        own = _named(t, attr)
        if own in out:
            out[_other(own, attr)] = out[own]
            out[own] = None if how == "null" else out[own]
    if t.host.user is None and options.user is not None:
        own = _named(t, "user")
        if own not in spelling.get("named", ()):
            out.pop(own, None)
            recorder.lost(options, "user")
    if options.reasoning is not None:
        _write_reasoning(options, to, spelling, out)
    if options.cache is not None:
        write_cache(out, options, to, "body", spelling)
