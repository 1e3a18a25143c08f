"""Conversions in one call: read, adapt, write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from msgspec.structs import force_setattr, replace

from interlingua.adapt.caching import Caching
from interlingua.adapt.history.retell import plain_answer, require_instructions, retell
from interlingua.adapt.places import Source
from interlingua.adapt.request import adapt, write
from interlingua.adapt.target import (
    Instructions,
    ProfileChoice,
    WireTarget,
    conversion_target,
    one_target,
    split_model,
)
from interlingua.dialects.kernel.wire import SpelledTexts, decode_quickly, parse, parse_spelled
from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import _LOADED, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import DetectError, ReadError, a_type
from interlingua.model.exchange import Request, Response
from interlingua.model.human import dollars
from interlingua.model.interop import dumped
from interlingua.model.losses import Report, planning
from interlingua.model.message import Message, Role
from interlingua.model.spelled_numbers import decode_usual

if TYPE_CHECKING:
    from interlingua.adapt.formats import FormatName
    from interlingua.coerce import Conversation
    from interlingua.costs.ahead import Ahead

Kind = Literal["request", "response"]
_KINDS = get_args(Kind)


def convert(
    data: Any,
    source: FormatName | None = None,
    target: FormatName | None = None,
    kind: Kind | None = None,
    model: str | None = None,
    stream: bool | None = None,
    *,
    to: FormatName | None = None,
    profile: ProfileChoice = None,
    instructions: Instructions = "place",
    caching: Caching = "pass",
) -> Written:
    """Convert a request or a response to another format, with a report of what is lost.

        result = il.convert(body, to="anthropic", model="claude-sonnet-4-6")
        result.wire, result.json(), result.report, result.model

    `data` is parsed JSON, bytes, text, an object of an SDK, or `il.Request` and `il.Response`; a
    list is messages alone. `to` (or `target`) is a dialect, a view, a provider such as `groq`, a
    model such as `sonnet`, or `canonical`. `source` and `kind` (`request` or `response`) are
    detected unless they are passed; streams have `il.stream_convert`. `model` is the target's name
    for the model, an alias such as `sonnet`, or `<provider>:<name>`; for dialects that have it in
    the URL, the URL's, and so is `stream`. A request is fitted to what the model accepts, by the
    package's rules or by `profile`, unless that is False. `instructions` in mid-conversation stay
    in their place, or are moved to the front (`hoist`). With `caching="auto"` cache breakpoints and
    keys are added where the request has none and the model needs them; `off` drops those that it
    has. The `report` has one loss for each thing that the target cannot represent;
    `report.require_lossless()` makes them an error."""
    if target is None or to is not None:
        target = one_target(target, to)
    if type(data) not in _JSON:
        data, source, kind = _taken(data, source, kind)
    if source is None or source == "auto":
        source, kind = _detected(data, kind)
    return _converted(data, source, target, kind, model, stream, profile, instructions, caching)


def _converted(
    data: Any,
    source: str,
    target: str,
    kind: Kind | None,
    model: str | None,
    stream: bool | None,
    profile: ProfileChoice,
    instructions: Instructions,
    caching: Caching,
) -> Written:
    reader, writer, host = _LOADED.get(source), _LOADED.get(target), None
    if reader is None or writer is None:
        from interlingua.adapt.formats import format_named

        (source, own), (target, host) = format_named(source), format_named(target)
        host = None if host == own else host
        if not _is_format(target):
            planned, host, model = _planned(target, model)
            target = planned.name
        if not {source, target} <= set(dialects()):
            how = (model, stream, profile, instructions, caching, host)
            return _between(data, source, target, kind, *how)
        reader, writer = dialect_of(source), dialect_of(target)
    if host is None and model is not None and reader is writer and writer.traits.hosts:
        host = split_model(model)[0]
    if kind == "request" or kind is None:
        how = (model, stream, profile, instructions, caching, host)
        try:
            return _request(data, reader, writer, kind, how)
        except ReadError as error:
            if not _may_be_messages(data):
                from interlingua.adapt import formats

                raise formats.with_other_format(error, data, source) from None
        return _between(data, source, target, kind, *how)
    if kind not in _KINDS:
        _require_kind(kind)
    return _response(data, reader, writer, model)


def _is_format(name: str) -> bool:
    from interlingua.adapt import formats
    from interlingua.adapt.presets import PRESETS

    return name in dialects() or name in (*formats.VIEW_NAMES, formats.CANONICAL, *PRESETS)


_JSON = (dict, list, bytes, str)
_TAKEN = (
    "il.convert takes parsed JSON, bytes, text, an object of an SDK, il.Request, il.Response or"
    " il.Message"
)


def _taken(data: Any, source: str | None, kind: Kind | None) -> tuple[Any, str | None, Kind | None]:
    """Values that are neither JSON nor text, as JSON or as they are; `TypeError` for others."""
    from interlingua.views.objects import view_of

    if isinstance(data, (dict, list, bytes, str)) or view_of(data) is not None:
        return data, source, kind
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data), source, kind
    if isinstance(data, Message):
        data = Request((data,))
    elif isinstance(data, tuple):
        data = list(data)
    if isinstance(data, (Request, Response)):
        return data, "canonical", "request" if isinstance(data, Request) else "response"
    plain = dumped(data)
    if plain is data and not isinstance(data, list):
        raise TypeError(f"{_TAKEN}; found {a_type(data)}")
    return plain, source, kind


def _detected(data: Any, kind: Kind | None) -> tuple[str, Kind]:
    from interlingua.adapt import formats

    if kind is not None:
        _require_kind(kind)
    if isinstance(data, list) and data and all(isinstance(each, Message) for each in data):
        return formats.CANONICAL, "request"
    found = formats.detect(data, kind)
    return found.dialect, found.kind


_How = tuple[str | None, bool | None, ProfileChoice, Instructions, Caching, str | None]
"""The model, streaming, profile, instructions, caching and host, as in `convert`."""
_LONG = 4096
"""The size in bytes from which on parsing a body directly is faster."""


def _request(data: Any, reader: Dialect, writer: Dialect, kind: Kind | None, how: _How) -> Written:
    """A request; without a kind, a response if the body is one."""
    body = data
    if type(data) is bytes or type(data) is str:
        if len(data) >= _LONG and reader is not writer and type(data) is bytes:
            straight = reader.read_straight and reader.read_straight(data)
            if straight:
                return _adapted(data, reader, writer, *straight, how)
        try:
            body = decode_usual(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            if (parsed := parse_spelled(data)) is not None:
                return _with_text(_request(parsed, reader, writer, kind, how))
            body = parse(data, f"{reader.name} request")
    model, stream = how[0], how[1]
    if type(body) is dict:
        if "role" in body and _may_be_messages(body):
            return _between(body, reader.name, writer.name, kind, *how)
        if kind is None and reader.traits.messages not in body and _is_response(body, reader):
            return _response(data, reader, writer, model)
    read = reader.read_request if body is data else reader.read_parsed
    request = read(body, model and split_model(model)[1], stream)
    return _adapted(data, reader, writer, request, None, how)


def _adapted(
    data: Any,
    reader: Dialect,
    writer: Dialect,
    request: Request,
    spelled: SpelledTexts | None,
    how: _How,
) -> Written:
    """A request that was read, adapted and written."""
    model, stream, profile, instructions, caching, host = how
    name = None if model is None else split_model(model)[1]
    if name is not None and name != request.model:
        request = request.replace(model=name)
    is_home = reader is writer and host is None
    if is_home and caching == "pass":
        profile = False
        if instructions == "place":
            return writer.write_request(request)
    if not request.messages:
        from interlingua.adapt import formats

        formats.require_format(data, reader.name)
    target = conversion_target(writer, model, request.model, profile, instructions, host, caching)
    history, size = not is_home or target.hoist, len(data) if type(data) is bytes else None
    adapted = adapt(request, target, reader.name, history=history, size=size, spelled=spelled)
    written = write(adapted)
    if written.report.entries:
        written.report.source = Source(data, reader.name, reader.read_request, (name, stream))
    return written


def _is_response(body: Any, reader: Dialect) -> bool:
    """Whether a body in this dialect is a response; one without messages may be."""
    if type(body) is not dict or reader.traits.messages in body:
        return False
    from interlingua.adapt import formats

    return formats.kind_in(body, reader.name) == "response"


def _with_text(written: Written) -> Written:
    """The same with plain floats in its wire, and the spelling in `text`."""
    text = written.json()
    return replace(written, wire=decode_quickly(text), text=text)


def _response(data: Any, reader: Dialect, writer: Dialect, model: str | None) -> Written:
    response = reader.read_response(data)
    name = None if model is None else split_model(model)[1]
    if name is not None:
        metadata = response.message.metadata
        if metadata.usage is not None:  # it was read just now, and no other code holds it
            force_setattr(metadata, "response_model", name)
        else:
            response = with_model(response, name)
    if reader is writer:
        return writer.write_response(response)
    adapted = plain_answer(response, (writer, name, None, False, True, reader.name))
    if adapted is None:
        adapted = retell(response, writer, name, source=reader.name)
    written = writer.write_response(adapted.value, adapted.recorder)
    if written.report.entries:
        written.report.source = Source(data, reader.name, reader.read_response)
    return written


def with_model(response: Response, model: str) -> Response:
    """The response under another name of its model."""
    message = response.message
    metadata = message.metadata.replace(response_model=model)
    return response.replace(message=message.replace(metadata=metadata))


def _may_be_messages(data: Any) -> bool:
    """Whether this may be messages, or one, without a request around them."""
    from interlingua.adapt import formats

    return formats.begins_a_list(data) or formats.is_message(data)


def _between(
    data: Any,
    source: str,
    target: str,
    kind: Kind | None,
    model: str | None,
    stream: bool | None,
    profile: ProfileChoice,
    instructions: Instructions,
    caching: Caching,
    host: str | None,
) -> Written:
    """The same where one side is no dialect."""
    from interlingua.adapt import formats
    from interlingua.adapt.presets import PRESETS

    if source not in (*formats.names(), *PRESETS):
        raise formats.unknown_format(source)
    kind = kind or formats.kind_in(data, source)
    _require_kind(kind)
    require_instructions(instructions)
    name = None if model is None else split_model(model)[1]
    parsed = parse_spelled(data) if kind == "request" else None
    value = formats.read(data if parsed is None else parsed, source, kind, name, stream)
    written = formats.write(value, target, source, model, profile, instructions, host, caching)
    if written.report.entries and source != formats.CANONICAL:
        written.report.source = Source(data, source, formats.read, (source, kind, name, stream))
    return written if parsed is None else _with_text(written)


def _require_kind(kind: str) -> None:
    if kind == "stream":
        raise DetectError("a stream is converted by il.stream_convert, not by il.convert")
    if kind not in _KINDS:
        raise DetectError(f"unknown kind {kind!r}", [*_KINDS])


class Plan(Report, eq=False):
    """The report of `plan`. If a model is named, `ahead` predicts what the next prompt of this
    history would read from the model's cache and cost, if it is sent now."""

    request: Request | None = None
    model: str | None = None
    """`<provider>:<name>`; None where no model is named."""

    @property
    def ahead(self) -> Ahead | None:
        from interlingua.costs.ahead import ahead

        if self.request is None or self.model is None:
            return None
        return ahead(self.request, self.model, datetime.now(UTC))

    def __str__(self) -> str:
        found = self.ahead
        if found is None:
            return super().__str__()
        cost = "" if found.cost_usd is None else f"{dollars(found.cost_usd)}, "
        return f"{super().__str__()}\n  the prompt for {self.model}: {cost}{found.text}"


def plan(
    messages: Conversation,
    target: FormatName | Dialect,
    model: str | None = None,
    *,
    profile: ProfileChoice = None,
    instructions: Instructions = "place",
) -> Plan:
    """What writing this history for `target` would lose, without doing it; if a model is named,
    also what its next prompt will read from the cache and cost (`ahead`). `target` is a format or a
    model. For messages alone, the report has only their losses. `messages` are text, messages,
    dicts or a whole request, and `instructions` are as for `convert`."""
    from interlingua.coerce import as_conversation, places_in

    require_instructions(instructions)
    host = None
    if isinstance(target, Dialect):
        writer = target
    else:
        writer, host, model = _planned(target, model)
    history = as_conversation(messages)
    alone = not isinstance(history, Request)
    request = history if isinstance(history, Request) else Request(_going_on(history), model)
    name = request.model if model is None else split_model(model)[1]
    if request.model != name:
        request = request.replace(model=name)
    to = conversion_target(writer, model, request.model, profile, instructions, host)
    with planning():
        report = write(adapt(request, to)).report
    report = report.of_history() if alone else report
    found = None if request.model is None else _id_of(to, model or request.model)
    places = places_in(messages)
    return Plan(report.target, report.entries, places, request=request, model=found)


def _id_of(target: WireTarget, model: str) -> str | None:
    """`<provider>:<name>` of the model that a target is for, where its provider is known."""
    from interlingua.profiles.names import UnknownModelError
    from interlingua.profiles.resolving import resolve
    from interlingua.providers.profiles import lookup_here

    provider, name = split_model(model)
    provider = provider or target.provider_key
    if provider is not None:
        return f"{provider}:{target.alias_of or name}"
    try:
        id = resolve(target.alias_of or name)
    except UnknownModelError:
        return None
    return id if target.dialect.name in lookup_here().speaks(id) else None


def _planned(target: str, model: str | None) -> tuple[Dialect, str | None, str | None]:
    """The dialect, the host and the model that a format's or a model's name means."""
    from interlingua.adapt.formats import format_named, unknown_format
    from interlingua.profiles.names import AmbiguousModelError, UnknownModelError
    from interlingua.profiles.resolving import resolve
    from interlingua.providers.profiles import lookup_here

    name, host = format_named(target)
    if name in dialects():
        return dialect_of(name), host, model
    try:
        id = resolve(target)
        return dialect_of(lookup_here().dialect(id)), split_model(id)[0], model or id
    except AmbiguousModelError:
        raise
    except UnknownModelError as error:
        problem = unknown_format(target)
        raise (problem if problem.near or not error.near else error) from None


def _going_on(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The history with a user turn appended if the model's turn is last."""
    ends = bool(messages) and messages[-1].role is Role.ASSISTANT
    return (*messages, Message.user("?")) if ends else tuple(messages)
