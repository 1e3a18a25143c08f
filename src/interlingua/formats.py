"""What can be read and written by name: dialects, views, and the canonical form itself.

`translate` is the short way between two dialects; this is the way for everything else.
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import parse
from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import Detected, Kind, dialect, dialects
from interlingua.errors import DetectError
from interlingua.losses import Report
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from interlingua.retell import retell
from interlingua.say import Fitting, Instructions, host_of, named, profile_for, say

CANONICAL = "canonical"
VIEW_NAMES = ("flat", "parts", "camel", "openai-ui", "pydantic-ai", "langchain")
"""Known without loading the views."""


def names() -> list[str]:
    """Every format's name."""
    return [*dialects(), *VIEW_NAMES, CANONICAL]


def load(name: str, kind: str) -> None:
    """Have the code for a format at hand."""
    if name in dialects():
        dialect(name).load(kind)
    elif name in VIEW_NAMES:
        import interlingua.views  # noqa: F401  # loading it is all that is wanted


def read(
    data: Any, source: str, kind: str, model: str | None = None, stream: bool | None = None
) -> Request | Response:
    """JSON of any format, parsed or not, as a request (messages alone are one) or a response; for
    the view of a library its own objects as well."""
    if source in dialects():
        reader = dialect(source)
        if kind == "request":
            return reader.read_request(data, model, stream)
        return reader.read_response(data)
    if source in VIEW_NAMES:
        from interlingua.views import view
        from interlingua.views.objects import plain_of

        plain = parse(plain_of(data), f"{source} view")
        if kind == "request":
            return view(source).read_request(plain)
        return view(source).read_response(plain)
    if source == CANONICAL:
        return _read_canonical(data, kind)
    raise DetectError(f"no format is called {source!r}", names())


def _read_canonical(data: Any, kind: str) -> Request | Response:
    if not isinstance(data, (bytes, str)):
        data = codec.dumps(data)
    if data.lstrip()[:1] in (b"[", "["):
        return Request(tuple(codec.loads(data, list[Message])))
    return codec.loads(data, Request) if kind == "request" else codec.loads(data, Response)


def write(
    value: Request | Response,
    target: str,
    source: str | None = None,
    model: str | None = None,
    profile: Fitting = None,
    instructions: Instructions = "place",
) -> Written:
    """A request or response in any format, retold first where that is another dialect, and fitted
    to the model."""
    if target in dialects():
        return _write_dialect(value, dialect(target), source, model, profile, instructions)
    if target in VIEW_NAMES:
        return _write_view(value, target, source)
    if target == CANONICAL:
        return Written(codec.parse(codec.dumps(value), CANONICAL), Report(CANONICAL))
    raise DetectError(f"no format is called {target!r}", names())


def _write_dialect(
    value: Request | Response,
    writer: Dialect,
    source: str | None,
    model: str | None,
    profile: Fitting,
    instructions: Instructions,
) -> Written:
    known = None if source == CANONICAL else source
    provider, name = (None, None) if model is None else named(model)
    if isinstance(value, Request):
        if name is not None and value.model != name:
            value = value.replace(model=name)
        if source == writer.name:
            return writer.write_request(value)
        fitted = profile_for(model or value.model, writer.name, profile)
        return say(
            value,
            writer,
            fitted,
            provider=provider,
            source=known,
            host=host_of(provider),
            instructions=instructions,
        )
    if source == writer.name:
        return writer.write_response(value)
    told = retell(value, writer, name, source=known)
    return writer.write_response(told.value, told.scribe)


def _write_view(value: Request | Response, target: str, source: str | None) -> Written:
    """A view holds messages; what a response says beyond its message is in the report."""
    from interlingua.views import view

    issuer = source if source in dialects() else None
    if isinstance(value, Request):
        wire, report = view(target).write_request(value, issuer)
        return Written(wire, report, value.model, value.options.stream)
    wire, told = view(target).write([value.message], issuer)
    report = Report(target, list(told))
    scribe = LossRecorder(target, value, report)
    for other in value.alternatives:
        scribe.lost(other)
    if value.error is not None:
        scribe.lost(value, "error", severity="error")
    if value.raw is not None:
        scribe.unwritten_raw(value, value.raw)
    return Written(wire, report, value.message.metadata.response_model)


def detect(data: Any, kind: Kind | None = None) -> Detected:
    """Which dialect or view this JSON is in, told by its shape and never by a model's name.

    Raises `DetectError` with the candidates when several fit equally well, or none does."""
    from interlingua.dialects.detect import candidates
    from interlingua.views.detect import guesses
    from interlingua.views.objects import plain_of

    parsed = parse(plain_of(data), "JSON")
    views = [
        Detected(each.view, "response" if each.is_answer else "request", each.evidence, each.score)
        for each in guesses(parsed)
    ]
    both = sorted([*candidates(parsed), *views], key=lambda each: -each.score)
    found = [each for each in both if kind in (None, each.kind)]
    if not found:
        raise DetectError("no dialect and no view fits this JSON", [])
    best = [each for each in found if each.score == found[0].score]
    if len(best) > 1:
        raise DetectError("several of them fit equally well", [str(each) for each in best])
    first = found[0]
    return Detected(first.dialect, first.kind, first.evidence, first.score, tuple(found[1:]))
