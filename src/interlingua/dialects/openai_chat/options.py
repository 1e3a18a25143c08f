"""The options of a request. Where hosts spell one in several ways, all are read; `$form` remembers
which, and which options and words stood there that OpenAI itself does not know."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat import sampling
from interlingua.dialects.openai_chat.cache import MARKS, read_cache, write_cache
from interlingua.dialects.openai_chat.choice import read_choice, read_legacy_choice, write_choice
from interlingua.dialects.openai_chat.formats import read_format, write_format
from interlingua.dialects.openai_chat.reasoning import SWITCHES, read_reasoning, write_reasoning
from interlingua.dialects.openai_chat.sampling import Fields, Writer
from interlingua.dialects.openai_chat.shape import Note, want
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
    {*SIMPLE, *(key for spelled in SPELLINGS.values() for key in spelled[1:3]), *sampling.READERS}
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
    **sampling.READERS,
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
    said = t.options.union(form["stood"]) if "stood" in form else t.options
    wire: Wire = {}
    for option in _FIELDS:
        value = getattr(options, option)
        if value is None:
            continue
        if option not in said:
            scribe.lost(options, option)
        elif option in SIMPLE and option != "top_k":
            wire[option] = value
        elif option in SPELLINGS:
            _write_spelled(options, option, value, t, scribe, form, wire)
        elif option == "tool_choice":
            wire.update(write_choice(options, custom, t, scribe, form))
        else:
            _WRITERS[option](options, t, scribe, form, wire)
    if options.raw is not None:
        scribe.unsaid_raw(options, options.raw)
    return wire


_FIELDS = tuple([field for field in Options.__struct_fields__ if field != "raw"])


def _write_spelled(
    options: Options, option: str, value: Any, t: Tables, scribe: Scribe, form: Wire, wire: Wire
) -> None:
    keys = form.get(option) or [getattr(t.host, SPELLINGS[option][3])]
    if keys == [None]:
        scribe.lost(options, option)
    else:
        wire.update(dict.fromkeys(keys, value))


def _write_metadata(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    wire["metadata"] = options.metadata


def _write_format(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    wire["response_format"] = write_format(options, scribe, form)


def _write_cache(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    write_cache(wire, options, options.cache, t, scribe, "body", form)


_WRITERS: dict[str, Writer] = {
    **sampling.WRITERS,
    "metadata": _write_metadata,
    "response_format": _write_format,
    "reasoning": write_reasoning,
    "cache": _write_cache,
}
