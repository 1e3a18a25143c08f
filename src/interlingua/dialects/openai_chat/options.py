"""The options of a request. Where hosts spell one in several ways, all are read; `$form` remembers
which, and which options and words stood there that OpenAI itself does not know."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.cache import MARKS, read_cache, write_cache
from interlingua.dialects.openai_chat.choice import read_choice, read_legacy_choice, write_choice
from interlingua.dialects.openai_chat.formats import (
    read_format,
    read_reasoning,
    write_format,
    write_reasoning,
)
from interlingua.dialects.openai_chat.shape import Note, each, maybe, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.model.exchange import Options

SIMPLE: dict[str, type] = {
    "temperature": float,
    "top_p": float,
    "top_k": float,
    "min_p": float,
    "frequency_penalty": float,
    "presence_penalty": float,
    "repetition_penalty": float,
    "n": int,
    "verbosity": str,
    "parallel_tool_calls": bool,
    "service_tier": str,
    "stream": bool,
}
"""Options that the wire calls by the same name."""
SPELLINGS: dict[str, tuple[type, tuple[str, ...]]] = {
    "max_output_tokens": (int, ("max_completion_tokens", "max_tokens")),
    "seed": (int, ("seed", "random_seed")),
    "user": (str, ("safety_identifier", "user")),
}
"""Options with several names."""
KNOWN = frozenset(
    {*SIMPLE, *(key for _, keys in SPELLINGS.values() for key in keys)}
    | {"stop", "logit_bias", "logprobs", "top_logprobs", "modalities", "tool_choice"}
    | {"function_call", "response_format", "reasoning", "reasoning_effort", "thinking"}
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
        elif type(read) is str:
            if read not in fields:
                _read_spelled(wire, read, t, note, taken, fields)
        else:
            read(wire, t, note, taken, fields)
    if not fields.keys() <= t.options:
        note.form["stood"] = sorted(field for field in fields if field not in t.options)
    if not _WORDED.isdisjoint(fields):
        _note_words(fields, t, note)
    return Options(**fields)


def _read_spelled(
    wire: Wire, option: str, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    kind, keys = SPELLINGS[option]
    given = [key for key in keys if wire.get(key) is not None]
    value = fields[option] = want(wire[given[0]], kind, f".{given[0]}")
    given = [key for key in given if wire[key] == value and type(wire[key]) is not bool]
    taken.update(given)
    if given != [_usual(option, t)]:
        note.form[option] = given


def _usual(option: str, t: Tables) -> str | None:
    host = t.host
    if option == "max_output_tokens":
        return host.max_tokens
    return host.seed if option == "seed" else host.user


def _note_words(fields: dict[str, Any], t: Tables, note: Note) -> None:
    """Remember words that stood there although the service does not list them."""
    for option in sorted(_WORDED):
        words = t.words[option]
        value = fields.get(option)
        if value is None or words is None:
            continue
        odd = [word for word in ((value,) if type(value) is str else value) if word not in words]
        if odd:
            note.form.setdefault("words", []).extend(odd)


def _read_stop(wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]) -> None:
    stop = wire["stop"]
    taken.add("stop")
    if type(stop) is str:
        note.form["stop"] = "string"
        fields["stop"] = (stop,)
    else:
        fields["stop"] = tuple(each(stop, ".stop", lambda word: want(word, str, "")))


def _read_bias(wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]) -> None:
    bias: dict[str, float] = {}
    for token, value in want(wire["logit_bias"], dict, ".logit_bias").items():
        bias[token] = want(value, float, f".logit_bias.{token}")
    taken.add("logit_bias")
    fields["logit_bias"] = bias
    if not t.float_bias and any(value != int(value) for value in bias.values()):
        note.form["logit_bias"] = "float"


def _read_logprobs(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
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


def _read_modalities(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    taken.add("modalities")
    words = each(wire["modalities"], ".modalities", lambda word: want(word, str, ""))
    fields["modalities"] = tuple(words)


def _read_metadata(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    metadata = want(wire["metadata"], dict, ".metadata")
    if all(type(value) is str for value in metadata.values()):
        taken.add("metadata")
        fields["metadata"] = metadata


def _read_format(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    found = read_format(wire["response_format"], note)
    if found is not None:
        taken.add("response_format")
        fields["response_format"] = found


def _read_choice(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    found = read_choice(wire["tool_choice"], t, note.form)
    if found is not None:
        taken.add("tool_choice")
        fields["tool_choice"] = found


def _read_legacy_choice(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    if "tool_choice" not in fields:
        found = read_legacy_choice(wire["function_call"], note.form)
        if found is not None:
            taken.add("function_call")
            fields["tool_choice"] = found


def _read_cache(wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]) -> None:
    found = read_cache(wire, t, "body", note.form, taken)
    if found is not None:
        fields["cache"] = found


def _read_reasoning(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    """Several keys may speak of it; the first one that is met reads them all."""
    if "reasoning" not in fields:
        found = read_reasoning(wire, t, note, taken)
        if found is not None:
            fields["reasoning"] = found


def _read_choices(
    wire: Wire, t: Tables, note: Note, taken: set[str], fields: dict[str, Any]
) -> None:
    """The newer key counts where both are there."""
    if "tool_choice" not in fields and wire.get("tool_choice") is not None:
        _read_choice(wire, t, note, taken, fields)
    if "tool_choice" not in fields and wire.get("function_call") is not None:
        _read_legacy_choice(wire, t, note, taken, fields)


_SIMPLE = object()
_WORDED = frozenset({"service_tier", "verbosity", "modalities"})
_BY_KEY: dict[str, Any] = {
    **dict.fromkeys(SIMPLE, _SIMPLE),
    **{key: option for option, (_, keys) in SPELLINGS.items() for key in keys},
    **dict.fromkeys(("reasoning", "reasoning_effort", "thinking"), _read_reasoning),
    **dict.fromkeys(MARKS, _read_cache),
    "stop": _read_stop,
    "logit_bias": _read_bias,
    "logprobs": _read_logprobs,
    "modalities": _read_modalities,
    "metadata": _read_metadata,
    "response_format": _read_format,
    "tool_choice": _read_choices,
    "function_call": _read_choices,
}
"""Who reads a key of the body: nobody special, an option with several names, or a function."""


# Writing


def write_options(
    options: Options, custom: frozenset[str], t: Tables, scribe: Scribe, form: Wire
) -> Wire:
    """The options as keys of the body; `custom` are the names of tools that take free text."""
    said = t.options.union(form.get("stood", ()))
    wire: Wire = {}
    for option in SIMPLE:
        value = getattr(options, option)
        if value is not None and option in said and _is_word(option, value, t, form):
            wire[option] = int(value) if option == "top_k" and value == int(value) else value
        elif value is not None and option in said:
            scribe.lost(options, option, f"no {option} is called {value!r}")
    for option in SPELLINGS:
        value = getattr(options, option)
        if value is not None and option in said:
            keys = form.get(option) or [_usual(option, t)]
            wire.update({key: value for key in keys if key is not None})
            if keys == [None]:
                scribe.lost(options, option)
    if options.tool_choice is not None:
        wire.update(write_choice(options, custom, t, scribe, form))
    _write_lists(options, t, scribe, form, wire)
    _write_logprobs(options, form, wire)
    if options.response_format is not None:
        wire["response_format"] = write_format(options, scribe, form)
    if options.reasoning is not None:
        write_reasoning(wire, options, t, scribe, form)
    if options.cache is not None and "cache" in said:
        write_cache(wire, options, options.cache, t, scribe, "body", form)
    scribe.unsaid(options, said)
    return wire


def _is_word(option: str, value: Any, t: Tables, form: Wire) -> bool:
    words = t.words.get(option)
    return words is None or value in words or value in form.get("words", ())


def _write_lists(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    if options.stop is not None:
        alone = form.get("stop") == "string" and len(options.stop) == 1
        wire["stop"] = options.stop[0] if alone else list(options.stop)
    if options.modalities is not None:
        said = [word for word in options.modalities if _is_word("modalities", word, t, form)]
        if len(said) < len(options.modalities):
            scribe.lost(options, "modalities", "not all of them exist here", "approximated")
        if said or not options.modalities:
            wire["modalities"] = said
    if options.metadata is not None:
        wire["metadata"] = options.metadata
    if options.logit_bias is not None:
        wire["logit_bias"] = _write_bias(options, options.logit_bias, t, scribe, form)


def _write_bias(
    options: Options, bias: dict[str, float], t: Tables, scribe: Scribe, form: Wire
) -> Wire:
    if t.float_bias or form.get("logit_bias") == "float":
        return bias
    whole = {token: round(value) for token, value in bias.items()}
    if whole != bias:
        scribe.lost(options, "logit_bias", "sent in whole numbers", "approximated")
    return whole


def _write_logprobs(options: Options, form: Wire, wire: Wire) -> None:
    if options.logprobs is None:
        return
    if form.get("logprobs") == "number":
        wire["logprobs"] = options.logprobs
        return
    wire["logprobs"] = True
    if options.logprobs or form.get("logprobs") == "zero":
        wire["top_logprobs"] = options.logprobs
