"""Options that are lists or words, or that take two keys: a reader and a writer for each.

`READERS` are by key of the body, `WRITERS` by option."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import each
from interlingua.model.exchange import Options

Fields = dict[str, Any]
Reader = Callable[[Wire, Tables, Note, set[str], Fields], None]
Writer = Callable[[Options, Tables, Scribe, Wire, Wire], None]


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
    option: str, options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire
) -> None:
    value = getattr(options, option)
    if _is_word(option, value, t, form):
        wire[option] = value
    else:
        scribe.lost(options, option, f"no {option} is called {value!r}")


def _read_modalities(wire: Wire, t: Tables, note: Note, taken: set[str], fields: Fields) -> None:
    taken.add("modalities")
    words = each(wire["modalities"], ".modalities", lambda word: want(word, str, ""))
    fields["modalities"] = tuple(words)
    _note_words("modalities", words, t, note)


def _write_modalities(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    wanted = options.modalities or ()
    said = [word for word in wanted if _is_word("modalities", word, t, form)]
    if len(said) < len(wanted):
        scribe.lost(options, "modalities", "not all of them exist here", "approximated")
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


def _write_stop(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    stop = options.stop or ()
    alone = form.get("stop") == "string" and len(stop) == 1
    wire["stop"] = stop[0] if alone else list(stop)


def _write_top_k(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
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


def _write_bias(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    bias = options.logit_bias or {}
    whole = {token: round(value) for token, value in bias.items()}
    if whole == bias:
        wire["logit_bias"] = whole
    elif t.float_bias or form.get("logit_bias") == "float":
        wire["logit_bias"] = bias
    else:
        scribe.lost(options, "logit_bias", "sent in whole numbers", "approximated")
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


def _write_logprobs(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
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
