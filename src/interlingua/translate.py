"""Read, retell, write: the one-call path that everything else uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import _LOADED, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.losses import Report, planning
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.retell import retell
from interlingua.say import Fitting, Instructions, host_of, named, profile_for, say

Kind = Literal["request", "response"]


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
    """Say a request or a response of one dialect in another, and tell what could not be said.
    Views, and the `canonical` form, are formats like dialects here.

    `data` is parsed JSON, bytes or text. `model` is the target's name for the model where that
    differs, or `<provider>:<name>`; for dialects that say the model in the URL it is what the URL
    said. A request is fitted to the model by its `profile`, unless that is False. `instructions`
    in mid-conversation stay in their place, or are put in front (`hoist`)."""
    reader, writer = _LOADED.get(source), _LOADED.get(target)
    if reader is None or writer is None:
        if not {source, target} <= set(dialects()):
            return _between(data, source, target, kind, model, stream, profile, instructions)
        reader, writer = dialect_of(source), dialect_of(target)
    if kind == "request":
        provider, name = (None, None) if model is None else named(model)
        request = reader.read_request(data, name, stream)
        if name is not None and request.model != name:
            request = request.replace(model=name)
        if reader is writer and instructions == "place":
            return writer.write_request(request)
        fitted = profile_for(model or request.model, writer.name, profile)
        if reader is writer:
            fitted = None
        return say(
            request,
            writer,
            fitted,
            provider=provider,
            source=source,
            host=None if provider is None else host_of(provider),
            instructions=instructions,
        )
    response = reader.read_response(data)
    if reader is writer:
        return writer.write_response(response)
    told = retell(response, writer, None if model is None else named(model)[1], source=source)
    return writer.write_response(told.value, told.scribe)


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

    name = None if model is None else named(model)[1]
    value = formats.read(data, source, kind, name, stream)
    return formats.write(value, target, source, model, profile, instructions)


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
