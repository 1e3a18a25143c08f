"""What the commands can read and write: dialects, views and the canonical form, by name."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Written, encode
from interlingua.dialects.registry import dialects
from interlingua.errors import DetectError
from interlingua.losses import Report
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message

CANONICAL = "canonical"
VIEW_NAMES = ("flat", "parts", "camel", "openai-ui")
"""Known without loading the views."""


def names() -> list[str]:
    """Every format's name."""
    return [*dialects(), *VIEW_NAMES, CANONICAL]


def read(data: bytes, source: str, kind: str, model: str | None = None) -> Request | Response:
    """Bytes of any format as a request (messages alone are one) or a response."""
    if source in dialects():
        from interlingua.dialects.registry import dialect

        reader = dialect(source)
        return reader.read_request(data, model) if kind == "request" else reader.read_response(data)
    if source in VIEW_NAMES:
        from interlingua.views import VIEWS

        return VIEWS[source].read_request(codec.parse(data, source))
    if source == CANONICAL:
        return _read_canonical(data, kind)
    raise DetectError(f"no format is called {source!r}", names())


def _read_canonical(data: bytes, kind: str) -> Request | Response:
    if data.lstrip()[:1] == b"[":
        return Request(tuple(codec.loads(data, list[Message])))
    return codec.loads(data, Request) if kind == "request" else codec.loads(data, Response)


def write(value: Request | Response, target: str, source: str) -> Written:
    """A request or response in any format, retold first where that is another one."""
    if target in dialects():
        return _write_dialect(value, target, source)
    if target in VIEW_NAMES:
        return _write_view(value, target)
    if target == CANONICAL:
        return Written(codec.parse(codec.dumps(value), CANONICAL), Report(CANONICAL))
    raise DetectError(f"no format is called {target!r}", names())


def _write_view(value: Request | Response, target: str) -> Written:
    """A view holds messages; what a response says beyond its message is in the report."""
    from interlingua.views import VIEWS

    if isinstance(value, Request):
        written = VIEWS[target].write_request(value)
        return Written(written.wire, written.report)
    written = VIEWS[target].write([value.message])
    report = Report(target, list(written.report))
    scribe = Scribe(target, value, report)
    for other in value.alternatives:
        scribe.lost(other)
    if value.error is not None:
        scribe.lost(value, "error", severity="error")
    if value.raw is not None:
        scribe.unsaid_raw(value, value.raw)
    return Written(written.wire, report)


def _write_dialect(value: Request | Response, target: str, source: str) -> Written:
    from interlingua.dialects.registry import dialect
    from interlingua.retell import retell

    writer = dialect(target)
    scribe = None
    if source != target:
        told = retell(value, writer, source=source if source in dialects() else None)
        value, scribe = told.value, told.scribe
    if isinstance(value, Request):
        return writer.write_request(value, scribe)
    return writer.write_response(value, scribe)


def guessed(data: bytes, kind: str | None) -> tuple[str, str]:
    """The dialect and kind of some JSON; an error lists what it may be."""
    from interlingua.dialects.registry import detect

    found = detect(data, kind)  # type: ignore[arg-type]  # one of the two words, by the option
    return found.dialect, found.kind


def to_bytes(wire: Any, pretty: bool) -> bytes:
    data = encode(wire)
    if not pretty:
        return data
    import msgspec

    return msgspec.json.format(data, indent=2)
