"""How to generate: the options of a request, and what the provider keeps of its history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Scribe, Wire, count, expect
from interlingua.dialects.openai_responses.formats import (
    Body,
    read_reasoning_options,
    read_text,
    write_reasoning_options,
    write_text,
    write_word,
)
from interlingua.dialects.openai_responses.tables import EXTENSIONS, LOGPROBS, NAME, SERVICE_TIERS
from interlingua.errors import ReadError, found
from interlingua.model.exchange import Continues, Options

_PLAIN: dict[str, type] = {
    "max_output_tokens": int,
    "temperature": float,
    "top_p": float,
    "parallel_tool_calls": bool,
    "stream": bool,
}
_SAID = frozenset(
    {*_PLAIN, "logprobs", "verbosity", "tool_choice", "response_format", "reasoning"}
    | {"service_tier", "user", "metadata"}
)


# Reading -------------------------------------------------------------------------------------


def _read_plain(body: Body, key: str, value: Any) -> None:
    kind = _PLAIN[key]
    if kind is int and count(value) is not None:
        value = count(value)
    expect(value, kind, NAME, f"$.{key}")
    body.options[key] = number(value, f"$.{key}") if kind is float else value


def number(value: Any, place: str) -> float:
    """A number as the float that a field holds."""
    try:
        if float(value) == value:
            return float(value)
    except OverflowError:
        pass
    raise ReadError(NAME, place, "a number that fits", found(value))


def _read_extension(body: Body, key: str, value: Any) -> None:
    kind = EXTENSIONS[key]
    if type(value) is kind or (kind is float and type(value) is int):
        body.options[key] = number(value, f"$.{key}") if kind is float else value
        body.form.setdefault("extensions", []).append(key)
    else:
        body.rest[key] = value


def _read_word(body: Body, key: str, value: Any) -> None:
    """A service tier; words that are not known go home with their spelling."""
    body.options[key] = expect(value, str, NAME, f"$.{key}")
    if value not in SERVICE_TIERS:
        body.form[key] = value


def _read_include(body: Body, key: str, value: Any) -> None:
    if type(value) is not list or value.count(LOGPROBS) != 1:
        body.rest[key] = value
        return
    others = [each for each in value if each != LOGPROBS]
    if value[-1] != LOGPROBS:
        body.form["logprobs_at"] = value.index(LOGPROBS)
    if others:
        body.rest[key] = others
    body.options.setdefault("logprobs", 0)


def _read_top_logprobs(body: Body, key: str, value: Any) -> None:
    body.options["logprobs"] = expect(value, int, NAME, "$.top_logprobs")
    if value == 0:
        body.form["top_logprobs"] = 0


def _read_user(body: Body, key: str, value: Any) -> None:
    """`user` is the old name."""
    expect(value, str, NAME, f"$.{key}")
    if key == "safety_identifier":
        if "user" in body.options:
            body.rest["user"] = body.options["user"]
            body.form.pop("user", None)
        body.options["user"] = value
    elif "user" in body.options:
        body.rest["user"] = value
    else:
        body.options["user"] = value
        body.form["user"] = "user"


def _read_metadata(body: Body, key: str, value: Any) -> None:
    if type(value) is dict and all(type(each) is str for each in value.values()):
        body.options[key] = value
    else:
        body.rest[key] = value


def _read_previous(body: Body, key: str, value: Any) -> None:
    body.continues["response_id"] = expect(value, str, NAME, f"$.{key}")


def _read_conversation(body: Body, key: str, value: Any) -> None:
    if type(value) is str:
        body.continues["conversation_id"] = value
    elif type(value) is dict and type(value.get("id")) is str:
        body.continues["conversation_id"] = value["id"]
        body.form["conversation"] = {each: value[each] for each in value if each != "id"}
    else:
        raise ReadError(NAME, "$.conversation", "a string or an object with an id", found(value))


def _read_prompt(body: Body, key: str, value: Any) -> None:
    body.continues["prompt"] = expect(value, dict, NAME, "$.prompt")


READERS: dict[str, Callable[[Body, str, Any], None]] = {
    **dict.fromkeys(_PLAIN, _read_plain),
    **dict.fromkeys(EXTENSIONS, _read_extension),
    "service_tier": _read_word,
    "text": read_text,
    "reasoning": read_reasoning_options,
    "include": _read_include,
    "top_logprobs": _read_top_logprobs,
    "user": _read_user,
    "safety_identifier": _read_user,
    "metadata": _read_metadata,
    "previous_response_id": _read_previous,
    "conversation": _read_conversation,
    "prompt": _read_prompt,
}


def finish(body: Body, wire: Wire) -> None:
    """What only the whole body tells."""
    if "logprobs" in body.options:
        include = wire.get("include")
        if type(include) is not list or include.count(LOGPROBS) != 1:
            body.form["logprobs_at"] = None


# Writing -------------------------------------------------------------------------------------


def write_options(options: Options, wire: Wire, rest: Wire, form: Wire, scribe: Scribe) -> None:
    """`rest` and `form` are what the body kept; keys taken from `rest` are removed."""
    said = _SAID | set(form.get("extensions", ()))
    scribe.unsaid(options, said)
    for key in _PLAIN:
        value = getattr(options, key)
        if value is not None:
            wire[key] = value
    for key in form.get("extensions", ()):
        value = getattr(options, key)
        if value is not None:
            wire[key] = value
    if options.service_tier is not None:
        write_word(wire, "service_tier", options, SERVICE_TIERS, form, scribe)
    if options.user is not None:
        wire[form.get("user", "safety_identifier")] = options.user
    if options.metadata is not None:
        wire["metadata"] = options.metadata
    if options.logprobs is not None:
        _write_logprobs(options.logprobs, wire, rest, form)
    write_text(options, wire, rest, form, scribe)
    write_reasoning_options(options.reasoning, wire, rest, form, scribe)


def _write_logprobs(logprobs: int, wire: Wire, rest: Wire, form: Wire) -> None:
    if logprobs or "top_logprobs" in form:
        wire["top_logprobs"] = logprobs
    at = form.get("logprobs_at", -1)
    if at is not None or not (logprobs or "top_logprobs" in form):
        include = list(rest.pop("include", ()))
        include.insert(len(include) if at is None or at < 0 else at, LOGPROBS)
        wire["include"] = include


def write_continues(continues: Continues, wire: Wire, form: Wire, scribe: Scribe) -> None:
    scribe.unsaid(continues, frozenset({"response_id", "conversation_id", "prompt", "items"}))
    if continues.response_id is not None:
        wire["previous_response_id"] = continues.response_id
    if continues.conversation_id is not None:
        wire["conversation"] = continues.conversation_id
        if "conversation" in form:
            wire["conversation"] = {"id": continues.conversation_id, **form["conversation"]}
    if continues.prompt is not None:
        wire["prompt"] = continues.prompt
