"""`/convert`: a body, a stream or a transcript in another format. Nothing of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from interlingua import transcripts
from interlingua.adapt import formats
from interlingua.adapt.convert import convert
from interlingua.adapt.places import Source
from interlingua.adapt.stream_convert import detect_stream, stream_convert
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError, InterlinguaError
from interlingua.gateway.shared.bodies import read
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.model.exchange import Request as ModelRequest
from interlingua.model.losses import Report, planning
from interlingua.transcripts.files import LineSource
from interlingua.transcripts.format import titles_of

if TYPE_CHECKING:
    from interlingua.gateway.service import Service

MOST_BYTES = 4 * 1024 * 1024
MOST_SECONDS = 1.0
"""Spent on the places of losses."""
FILE = "session.jsonl"
"""The name of a transcript's text in losses."""

Kind = Literal["request", "response", "stream", "transcript"]


class NewConversion(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /convert`: `text` is the body. `source` and `kind` are detected by default; `model`
    is the target's name for the model where that differs. With `back` the answer also has the
    new form read again, in canonical form."""

    text: str
    target: str
    source: str | None = None
    kind: Kind | None = None
    model: str | None = None
    back: bool = False


class Found(msgspec.Struct, frozen=True):
    """The format of a text, the evidence for it, and the other candidates."""

    source: str
    kind: Kind
    evidence: list[str] = []
    others: list[str] = []


async def formats_known(service: Service, request: Request, principal: Principal) -> Response:
    names = transcripts.formats()
    titles = {name: dialect(name).title for name in dialects()}
    titles |= await asyncio.to_thread(titles_of, names)
    return answer({"formats": formats.names(), "transcripts": names, "titles": titles})


async def convert_body(service: Service, request: Request, principal: Principal) -> Response:
    limits = replace(service.limits, body=min(service.limits.body, MOST_BYTES))
    body = await read(request, NewConversion, limits)
    try:
        return answer(await asyncio.to_thread(_converted, body))
    except DetectError as error:
        details = {"candidates": list(error.candidates)}
        raise ApiError(400, "format_unknown", str(error), details) from None
    except InterlinguaError as error:
        raise ApiError(400, "not_convertible", str(error)) from None
    except RecursionError:
        raise ApiError(400, "not_convertible", "the body is nested too deeply") from None


def _converted(body: NewConversion) -> dict[str, Any]:
    found = _found(body)
    with planning():
        return {
            "source": found.source,
            "kind": found.kind,
            "evidence": found.evidence,
            "others": found.others,
            "target": body.target,
            **_WAYS[found.kind](body, found),
        }


# -- detecting
# --------------------------------------------------------------------------------------


def _found(body: NewConversion) -> Found:
    """The format of the text: as the request names it, or detected."""
    if body.source is not None:
        usual: Kind = "transcript" if body.source in transcripts.formats() else "request"
        return Found(body.source, body.kind or usual)
    if body.kind == "stream":
        return _stream(body.text) or Found(*_unknown("stream"))
    if body.kind == "transcript":
        return _transcript(body.text) or Found(*_unknown("transcript"))
    try:
        found = formats.detect(body.text, body.kind)
    except InterlinguaError as error:
        other = None if body.kind else _stream(body.text) or _transcript(body.text)
        if other is None:
            raise error from None
        return other
    others = [str(each) for each in found.others]
    return Found(found.dialect, found.kind, list(found.evidence), others)


def _unknown(kind: str) -> tuple[str, Kind]:
    raise DetectError(f"not a {kind} of a known format")


def _stream(text: str) -> Found | None:
    try:
        source = detect_stream(text.encode())
    except InterlinguaError:
        return None
    return None if source is None else Found(source, "stream", ["frames of a stream"])


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _transcript(text: str) -> Found | None:
    if text.lstrip()[:1] in ("{", "[") and not (
        _is_json(text.lstrip().partition("\n")[0]) or _is_json(text)
    ):
        return None  # a body that is not yet complete, or mistyped: its own error has the place
    try:
        with _file(text) as path:
            found = transcripts.detect(path)
    except InterlinguaError:
        return None
    return Found(found.format, "transcript", [found.evidence])


class _file:  # noqa: N801  # used like a function
    """The text as a file, for readers of files."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folder = TemporaryDirectory(prefix="interlingua-")

    def __enter__(self) -> Path:
        path = Path(self._folder.name) / FILE
        path.write_text(self._text, encoding="utf-8", newline="")
        return path

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


# -- converting
# -------------------------------------------------------------------------------------


def _body(body: NewConversion, found: Found) -> dict[str, Any]:
    kind: Any = found.kind
    written = convert(body.text, found.source, body.target, kind, body.model)
    if isinstance(written.report.source, Source):
        written.report.source.seconds = MOST_SECONDS
    back = {"back": _back(body.target, found.kind, written)} if body.back else {}
    return {"text": _pretty(written), **_losses(written.report), **back}


def _losses(report: Report) -> dict[str, Any]:
    return {"losses": report.losses, "notes": report.notes}


def _pretty(written: Written) -> str:
    return msgspec.json.format(written.json(), indent=2).decode()


def _back(target: str, kind: Kind, written: Written) -> str | None:
    """A request as the target's own reader reads it; None for everything else."""
    if target == formats.CANONICAL or kind != "request":
        return None
    try:
        return _pretty(convert(written.json(), target, formats.CANONICAL, "request"))
    except InterlinguaError:
        return None


def _events(body: NewConversion, found: Found) -> dict[str, Any]:
    if body.target not in dialects() or traits_of(body.target).framing == "aws":
        others = [name for name in dialects() if traits_of(name).framing != "aws"]
        raise DetectError(f"streams of {body.target} are not text; choose another format", others)
    converted = stream_convert(body.text.encode(), found.source, body.target, body.model)
    text = b"".join(converted).decode()
    return {"text": text, **_losses(converted.report)}


def _session(body: NewConversion, found: Found) -> dict[str, Any]:
    with _file(body.text) as path:
        session = transcripts.read(path, found.source)
        if body.target in transcripts.formats():
            made = transcripts.draft(session, body.target, FILE)
            text = b"".join(next(iter(made.files.values()))).decode(errors="replace")
            return {"text": text, **_losses(made.report)}
        last = session.models[-1] if session.models else None
        request = ModelRequest(session.live, last, session.tools)
        written = convert(request, target=body.target, model=body.model)
        written.report.source = LineSource(session, session.live)
        return {"text": _pretty(written), **_losses(written.report)}


_WAYS: dict[str, Callable[[NewConversion, Found], dict[str, Any]]] = {
    "request": _body,
    "response": _body,
    "stream": _events,
    "transcript": _session,
}
