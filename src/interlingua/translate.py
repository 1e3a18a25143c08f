"""Read, retell, write: the one-call path that everything else uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from interlingua.dialects.base import Dialect, Written
from interlingua.dialects.registry import _LOADED, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.losses import Report, planning
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.retell import retell

Kind = Literal["request", "response"]


def convert(
    data: Any,
    source: str,
    target: str,
    kind: Kind = "request",
    model: str | None = None,
    stream: bool | None = None,
) -> Written:
    """Say a request or a response of one dialect in another, and tell what could not be said.
    Views, and the `canonical` form, are formats like dialects here.

    `data` is parsed JSON, bytes or text. `model` is the target's name for the model where that
    differs; for dialects that say the model in the URL it is what the URL said."""
    reader, writer = _LOADED.get(source), _LOADED.get(target)
    if reader is None or writer is None:
        if not {source, target} <= set(dialects()):
            return _between(data, source, target, kind, model, stream)
        reader, writer = dialect_of(source), dialect_of(target)
    if kind == "request":
        request = reader.read_request(data, model, stream)
        if model is not None and request.model != model:
            request = request.replace(model=model)
        if reader is writer:
            return writer.write_request(request)
        told = retell(request, writer, model, source=source)
        return writer.write_request(told.value, told.scribe)
    response = reader.read_response(data)
    if reader is writer:
        return writer.write_response(response)
    told = retell(response, writer, model, source=source)
    return writer.write_response(told.value, told.scribe)


def _between(
    data: Any, source: str, target: str, kind: Kind, model: str | None, stream: bool | None
) -> Written:
    """The same where one side is no dialect."""
    from interlingua import formats

    value = formats.read(data, source, kind, model, stream)
    return formats.write(value, target, source, model)


def plan(
    messages: Request | Sequence[Message], target: str | Dialect, model: str | None = None
) -> Report:
    """What saying this history to `target` would lose, without doing it. Of messages alone, only
    what is lost of them is told."""
    writer = target if isinstance(target, Dialect) else dialect_of(target)
    request = messages if isinstance(messages, Request) else Request(tuple(messages), model)
    with planning():
        told = retell(request, writer, model)
        report = writer.write_request(told.value, told.scribe).report
    return report if request is messages else report.of_history()
