"""Read, retell, write: the one-call path that everything else uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import _LOADED, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import DetectError, ReadError
from interlingua.losses import Report, planning
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.retell import retell
from interlingua.say import Fitting, Instructions, host_of, named, profile_for, renamed, say

Kind = Literal["request", "response"]
_KINDS = get_args(Kind)


def convert(
    data: Any,
    source: str,
    target: str,
    kind: Kind = "request",
    model: str | None = None,
    stream: bool | None = None,
    *,
    profile: Fitting = None,
    instructions: Instructions = "place",
) -> Written:
    """Convert a request or a response from one format to another, with a report of what is lost.

        said = il.convert(body, source="openai-chat", target="anthropic")
        said.wire, said.json(), said.report, said.model

    `data` is parsed JSON, bytes or text; a list is messages alone. `source` and `target` are
    dialects (`il.dialects()`), views, or `canonical`; `il.detect(data)` says which one data is in.
    `kind` is `request` or `response`; streams have `il.stream_convert`. `model` is the target's
    name for the model if it differs, or `<provider>:<name>`; for dialects that have the model in
    the URL, it is the URL's, and so is `stream`. A request is fitted to what the model accepts, by
    the package's rules or by `profile`, unless that is False. `instructions` in mid-conversation
    stay in their place, or are moved to the front (`hoist`). The `report` has one loss for each
    thing that the target cannot represent; `report.require_lossless()` makes them an error."""
    reader, writer = _LOADED.get(source), _LOADED.get(target)
    if reader is None or writer is None:
        if not {source, target} <= set(dialects()):
            return _between(data, source, target, kind, model, stream, profile, instructions)
        reader, writer = dialect_of(source), dialect_of(target)
    if kind == "request":
        try:
            return _request(data, reader, writer, model, stream, profile, instructions)
        except ReadError:
            if not _begins_a_list(data):
                raise
        return _between(data, source, target, kind, model, stream, profile, instructions)
    _require_kind(kind)
    return _response(data, reader, writer, model)


def _request(
    data: Any,
    reader: Dialect,
    writer: Dialect,
    model: str | None,
    stream: bool | None,
    profile: Fitting,
    instructions: Instructions,
) -> Written:
    provider, name = (None, None) if model is None else named(model)
    request = reader.read_request(data, name, stream)
    if name is not None and request.model != name:
        request = request.replace(model=name)
    if reader is writer and instructions == "place":
        return writer.write_request(request)
    fitted = None
    if reader is not writer:
        fitted = profile_for(model or request.model, writer.name, profile)
    return say(
        request,
        writer,
        fitted,
        provider=provider,
        source=reader.name,
        host=None if provider is None else host_of(provider),
        instructions=instructions,
    )


def _response(data: Any, reader: Dialect, writer: Dialect, model: str | None) -> Written:
    response = reader.read_response(data)
    name = None if model is None else named(model)[1]
    if name is not None:
        response = renamed(response, name)
    if reader is writer:
        return writer.write_response(response)
    told = retell(response, writer, name, source=reader.name)
    return writer.write_response(told.value, told.scribe)


def _begins_a_list(data: Any) -> bool:
    if isinstance(data, (bytes, str)):
        return data[:64].lstrip()[:1] in (b"[", "[")
    return isinstance(data, list)


def _between(
    data: Any,
    source: str,
    target: str,
    kind: Kind,
    model: str | None,
    stream: bool | None,
    profile: Fitting,
    instructions: Instructions,
) -> Written:
    """The same where one side is no dialect."""
    from interlingua import formats

    _require_kind(kind)
    name = None if model is None else named(model)[1]
    value = formats.read(data, source, kind, name, stream)
    return formats.write(value, target, source, model, profile, instructions)


def _require_kind(kind: str) -> None:
    if kind == "stream":
        raise DetectError("a stream is converted by il.stream_convert, not by il.convert")
    if kind not in _KINDS:
        raise DetectError(f"unknown kind {kind!r}", [*_KINDS])


def plan(
    messages: Request | Sequence[Message],
    target: str | Dialect,
    model: str | None = None,
    *,
    profile: Fitting = None,
) -> Report:
    """What saying this history to `target` would lose, without doing it. Of messages alone, only
    what is lost of them is told."""
    writer = target if isinstance(target, Dialect) else dialect_of(target)
    alone = not isinstance(messages, Request)
    request = messages if isinstance(messages, Request) else Request(_going_on(messages), model)
    provider, name = (None, request.model) if model is None else named(model)
    if request.model != name:
        request = request.replace(model=name)
    fitted = profile_for(model or request.model, writer.name, profile)
    with planning():
        report = say(request, writer, fitted, provider=provider, host=host_of(provider)).report
    return report.of_history() if alone else report


def _going_on(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A history as it will be said: with a turn of the user's behind the model's last."""
    ends = bool(messages) and messages[-1].role is Role.ASSISTANT
    return (*messages, Message.user("?")) if ends else tuple(messages)
