"""Formats that are read and written by name: dialects, views, and the canonical form itself. A
format may be named by an alias (`claude`) or a provider (`groq`), whose own field names are then
used.

`translate` is the short way between two dialects; this is the way for everything else.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from interlingua.adapt import formats
from interlingua.adapt.caching import Caching
from interlingua.adapt.convert import with_model
from interlingua.adapt.history.retell import retell
from interlingua.adapt.presets import BATCHES, PRESETS
from interlingua.adapt.request import adapt
from interlingua.adapt.request import write as write_adapted
from interlingua.adapt.target import Instructions, ProfileChoice, conversion_target, split_model
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import parse
from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import (
    ALIASES,
    Detected,
    Kind,
    dialect,
    dialects,
    is_dialect,
    traits_of,
    unknown_name,
)
from interlingua.errors import DetectError, InterlinguaError, ReadError, a_type
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message

CANONICAL = "canonical"
VIEW_NAMES = (
    "flat",
    "parts",
    "camel",
    "openai-ui",
    "pydantic-ai",
    "langchain",
    "llama-index",
    "llm-messages",
    "openai-agents",
)
"""Known without loading the views."""


def names() -> list[str]:
    """Every format's name."""
    return [*dialects(), *VIEW_NAMES, CANONICAL]


def load(name: str, kind: str) -> None:
    """Loads the code for a format."""
    if name in dialects():
        dialect(name).load(kind)
    elif name in VIEW_NAMES:
        from interlingua.views import view

        view(name)


def read(
    data: Any, source: str, kind: str, model: str | None = None, stream: bool | None = None
) -> Request | Response:
    """JSON of any format, parsed or not, as a request (messages alone are one) or a response; for
    the view of a library its own objects as well."""
    if source in dialects():
        reader = dialect(source)
        if kind != "request":
            return reader.read_response(data)
        try:
            request = reader.read_request(_whole(data, source), model, stream)
            if not request.messages:
                require_format(data, source)
        except ReadError as error:
            raise with_other_format(error, data, source) from None
        return request
    if source in VIEW_NAMES:
        from interlingua.views import view
        from interlingua.views.objects import plain_of

        plain = parse(plain_of(data), f"{source} view")
        if kind == "request":
            return view(source).read_request(plain)
        return view(source).read_response(plain)
    if source == CANONICAL:
        if not isinstance(data, (bytes, str)):
            data = codec.dumps(data)
        if data.lstrip()[:1] in (b"[", "["):
            return Request(tuple(codec.loads(data, list[Message])))
        return codec.loads(data, Request) if kind == "request" else codec.loads(data, Response)
    if source in PRESETS:
        return _read_preset(parse(data, source), source, kind)
    raise unknown_format(source)


def unknown_format(name: object) -> DetectError:
    """An error with the nearest name first."""
    from interlingua.providers.read import providers

    return unknown_name("format", name, names(), [*ALIASES, *providers()])


def _read_preset(plain: Any, source: str, kind: str) -> Request | Response:
    from interlingua.adapt.presets import read as read_row

    request = read_row(plain, source)
    if kind == "request":
        return request
    raise DetectError(f"{source} contains conversations, not a single {kind}", [])


def _whole(data: Any, source: str) -> Any:
    """A request around bare messages, or a single one."""
    if begins_a_list(data) or _begins_a_message(data):
        parsed = parse(data, f"{source} request")
        if is_bare(parsed):
            return {traits_of(source).messages: parsed}
        if is_message(parsed):
            return {traits_of(source).messages: [parsed]}
    return data


def _begins_a_message(data: Any) -> bool:
    """Whether this JSON, parsed or not, may be a message."""
    if not isinstance(data, (bytes, str)):
        return isinstance(data, dict) and "role" in data
    head = data[:100]
    return _MESSAGE.match(head if isinstance(head, str) else head.decode("latin-1")) is not None


_MESSAGE = re.compile(r'\s*\{\s*"(?:role|content|parts|name|id)"\s*:')


def begins_a_list(data: Any) -> bool:
    """Whether this JSON, parsed or not, is a list."""
    if isinstance(data, (bytes, str)):
        return data[:64].lstrip()[:1] in (b"[", "[")
    return isinstance(data, list)


def is_message(parsed: Any) -> bool:
    """One message alone, of a format that has roles."""
    return (
        isinstance(parsed, dict)
        and isinstance(parsed.get("role"), str)
        and ("content" in parsed or "parts" in parsed)
        and not parsed.keys() & _MESSAGE_KEYS.keys()
    )


def is_bare(parsed: Any) -> bool:
    """Messages without a request around them."""
    return (
        isinstance(parsed, list)
        and bool(parsed)
        and all(isinstance(each, dict) and ("role" in each or "type" in each) for each in parsed)
        and any("role" in each for each in parsed)
    )


def write(
    value: Request | Response,
    target: str,
    source: str | None = None,
    model: str | None = None,
    profile: ProfileChoice = None,
    instructions: Instructions = "place",
    provider: str | None = None,
    caching: Caching = "pass",
) -> Written:
    """A request or response in any format, retold first where that is another dialect, and fitted
    to the model. `provider` is the host whose rules of the dialect to follow."""
    if model is not None:
        value = _renamed(value, split_model(model)[1])
    if target in dialects():
        writer = dialect(target)
        how = (profile, instructions, provider, caching)
        return _write_dialect(value, writer, source, model, *how)
    if target in VIEW_NAMES:
        return _write_view(value, target, source)
    if target == CANONICAL:
        return Written(codec.parse(codec.dumps(value), CANONICAL), Report(CANONICAL))
    if target in PRESETS:
        return _write_preset(value, target, source, model, profile, instructions)
    raise unknown_format(target)


def _renamed(value: Request | Response, model: str) -> Request | Response:
    if isinstance(value, Response):
        return with_model(value, model)
    return value if value.model == model else value.replace(model=model)


def _write_dialect(
    value: Request | Response,
    writer: Dialect,
    source: str | None,
    model: str | None,
    profile: ProfileChoice,
    instructions: Instructions,
    provider: str | None = None,
    caching: Caching = "pass",
) -> Written:
    # Views and training presets belong to no model: the author of a message is unknown unless it
    # has one.
    known = source if source in dialects() else None
    if isinstance(value, Request):
        is_home = source == writer.name and provider is None and caching == "pass"
        if is_home and instructions == "place":
            return writer.write_request(value)
        rules = False if is_home else profile
        to = conversion_target(writer, model, value.model, rules, instructions, provider, caching)
        return write_adapted(adapt(value, to, known))
    if source == writer.name:
        return writer.write_response(value)
    name = None if model is None else split_model(model)[1]
    adapted = retell(value, writer, name, source=known)
    return writer.write_response(adapted.value, adapted.recorder)


def _write_preset(
    value: Request | Response,
    target: str,
    source: str | None,
    model: str | None,
    profile: ProfileChoice,
    instructions: Instructions,
) -> Written:
    """A row of one conversation; a line of a batch is a request, written for its dialect."""
    from interlingua.adapt.presets import line_of
    from interlingua.adapt.presets import write as write_row

    request = value if isinstance(value, Request) else Request((value.message,))
    if target in BATCHES:
        writer = dialect(BATCHES[target])
        done = _write_dialect(request, writer, source, model, profile, instructions)
        return Written(line_of(done.wire, target), done.report, done.model, done.stream)
    if model is not None:
        request = request.replace(model=split_model(model)[1])
    wire, report = write_row(request, target)
    return Written(wire, report, request.model)


def _write_view(value: Request | Response, target: str, source: str | None) -> Written:
    """A view holds messages; everything else of a response is in the report."""
    from interlingua.views import view

    issuer = source if source in dialects() else None
    if isinstance(value, Request):
        wire, report = view(target).write_request(value, issuer)
        return Written(wire, report, value.model, value.options.stream)
    wire, losses = view(target).write([value.message], issuer)
    report = Report(target, list(losses.entries))
    recorder = LossRecorder(target, value, report)
    for other in value.alternatives:
        recorder.lost(other)
    if value.error is not None:
        recorder.lost(value, "error", severity="error")
    if value.raw is not None:
        recorder.unwritten_raw(value, value.raw)
    return Written(wire, report, value.message.metadata.response_model)


def detect(data: Any, kind: Kind | None = None) -> Detected:
    """Detects the dialect or view of this JSON by its shape; the model's name decides only if
    several fit equally well. A list is messages alone; a library's own objects are of its view.

    Raises `DetectError` with the candidates if several still fit, or none does."""
    from interlingua.views.objects import plain_of

    parsed = parse(plain_of(data), "JSON")
    found = [each for each in fitting(parsed) if kind in (None, each.kind)]
    if not found:
        raise DetectError(_unknown(parsed), [])
    first = _best(parsed, found)
    if first is None:
        best = [str(each) for each in found if each.score == found[0].score]
        raise DetectError("several formats match; pass source= to choose one", best)
    others = tuple(each for each in found if each is not first)
    return Detected(first.dialect, first.kind, first.evidence, first.score, others)


NO_CONVERSATION = (
    "no format matches this JSON: it is not a request, a response or a list of messages"
)


def _best(parsed: Any, found: list[Detected]) -> Detected | None:
    """The format that fits best; None if none fits, or several equally well."""
    best = [each for each in found if each.score == found[0].score]
    return best[0] if len(best) == 1 else _by_name(parsed, best) if best else None


def _unknown(parsed: Any) -> str:
    """The message for JSON that fits no format: what it is instead, and what to do."""
    keys = [key for key in _MESSAGE_KEYS if isinstance(parsed, dict) and key in parsed]
    if keys:
        likely, kind = _MESSAGE_KEYS[keys[0]], "response" if keys[0] in _ANSWER_KEYS else "request"
        try:
            read(parsed, likely, kind)
        except InterlinguaError as error:
            return f"no format matches this JSON: {error}; pass source= if you know the format"
        return f"no format matches this JSON for certain; pass source={likely!r} if it is that one"
    return f"{NO_CONVERSATION}; pass source= if you know the format"


_MESSAGE_KEYS = {
    "messages": "openai-chat",
    "input": "openai-responses",
    "contents": "gemini",
    "choices": "openai-chat",
    "candidates": "gemini",
}
"""The keys that most formats have their messages in, and one of these formats."""
_ANSWER_KEYS = ("choices", "candidates")


def kind_in(data: Any, source: str) -> Kind:
    """Whether JSON of a known format is a request or a response; a request if nothing decides
    it."""
    from interlingua.views.objects import plain_of

    parsed = parse(plain_of(data), f"{source} JSON")
    if source == CANONICAL:
        return _canonical_kind(parsed) or "request"
    if source in dialects() and isinstance(parsed, dict) and traits_of(source).messages in parsed:
        return "request"
    kinds = [each.kind for each in fitting(parsed) if each.dialect == source]
    if not kinds and (other := _other_format(parsed, source)) and other.kind == "response":
        raise DetectError(
            f"this JSON is neither a request nor a response of {source}{_hint(other)}"
        )
    return kinds[0] if kinds else "request"


def require_format(data: Any, source: str) -> None:
    """`ReadError` if a body in which `source` finds no messages is one of another format."""
    if _other_format(data, source):
        raise ReadError(f"{source} request", problem="it has no messages")


def with_other_format(error: ReadError, data: Any, source: str) -> ReadError:
    """The error, with the format to try instead if the body is one of another format."""
    if other := _other_format(data, source):
        error.args = (f"{error}{_hint(other)}",)
    return error


def _hint(other: Detected) -> str:
    article = "an" if other.dialect[0] in "aeiou" else "a"
    name = f"{article} {other.dialect} {other.kind}"
    return f"; it looks like {name}: pass source={other.dialect!r}"


def _other_format(data: Any, source: str) -> Detected | None:
    """The format of a body that has no sign of `source`; None if it has, or if no other format
    finds a conversation in it."""
    from interlingua.views.objects import plain_of

    try:
        parsed = parse(plain_of(data), "JSON")
    except ReadError:
        return None
    found = fitting(parsed)
    other = None if any(each.dialect == source for each in found) else _best(parsed, found)
    try:
        value = other and read(parsed, other.dialect, other.kind)
    except InterlinguaError:
        return None
    return None if isinstance(value, Request) and not value.messages else other


def fitting(parsed: Any) -> list[Detected]:
    """All that fit, the best first."""
    from interlingua.dialects.signs import candidates, key_of
    from interlingua.views.detect import guesses

    if (own := _canonical_kind(parsed)) is not None:
        return [Detected(CANONICAL, own, ("messages with a schema_version",), 9)]
    views = [
        Detected(each.view, "response" if each.is_answer else "request", each.evidence, each.score)
        for each in guesses(parsed)
    ]
    dialects = candidates({key_of(parsed): parsed} if is_bare(parsed) else parsed)
    if not dialects and is_message(parsed):
        dialects = candidates({key_of([parsed]): [parsed]})
    return sorted([*dialects, *views], key=lambda each: -each.score)


def _canonical_kind(parsed: Any) -> Kind | None:
    """The kind of canonical JSON: messages alone are a request."""
    if isinstance(parsed, dict) and _is_canonical(parsed.get("message")):
        return "response"
    messages = parsed.get("messages") if isinstance(parsed, dict) else parsed
    first = messages[0] if isinstance(messages, list) and messages else None
    return "request" if _is_canonical(first) else None


def _is_canonical(message: Any) -> bool:
    return isinstance(message, dict) and "schema_version" in message and "role" in message


def _by_name(parsed: Any, best: list[Detected]) -> Detected | None:
    """Of several formats, the one that the model's name suggests, or one whose errors are the
    same."""
    from interlingua.dialects.signs import SAME_ERRORS, usual_dialect
    from interlingua.profiles.names import name_parts

    fits = {each.dialect: each for each in best}
    model = parsed.get("model") if isinstance(parsed, dict) else None
    if isinstance(model, str) and model:
        return fits.get(usual_dialect(model, name_parts(model).family) or "")
    same = best[0].kind == "response" and fits.keys() == set(SAME_ERRORS)
    return fits[SAME_ERRORS[0]] if same else None


FormatName: TypeAlias = (
    Literal[
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "gemini-interactions",
        "ollama",
        "bedrock",
        "openrouter",
        "cohere",
        "openai",
        "claude",
        "google",
        "azure",
        "mistral",
        "groq",
        "deepseek",
        "xai",
        "together",
        "fireworks",
        "cerebras",
        "perplexity",
        "canonical",
    ]
    | str
)
"""A format by name; the list is for editors, and has the usual ones."""


class Format(NamedTuple):
    """A format by its own name, and the provider whose rules it has."""

    name: str
    provider: str | None = None


def format_named(name: str) -> Format:
    """The format that a name means; an unknown name is returned unchanged."""
    if not isinstance(name, str):
        raise TypeError(f"a format is a name such as 'anthropic'; found {a_type(name)}")
    if is_dialect(name):
        return Format(name)
    return _other(name)


@lru_cache(256)
def _other(name: str) -> Format:
    from interlingua.providers.read import providers

    known = providers()
    if name in ALIASES:
        return Format(ALIASES[name], name if name in known else None)
    if name in known and name not in (*formats.VIEW_NAMES, *PRESETS):
        return Format(known[name].dialect, name)
    plain = name.lower().replace("_", "-")
    if plain != name and name not in (*formats.VIEW_NAMES, *PRESETS):
        return format_named(plain)
    return Format(name)


def dialect_named(name: str) -> Dialect:
    """The dialect that a name means."""
    format = format_named(name)
    if is_dialect(format.name):
        return dialect(format.name)
    raise formats.unknown_format(name)
