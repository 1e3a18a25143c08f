"""Serves the page at `/`, and its private endpoints: a session as one file, a preview of redaction.
They store nothing.

The files of the page are those of `interlingua/web`, under names that are known beforehand: no part
of a request is looked up on a disk. Output of models and tools and the content of files are put on
the page as text, and `POLICY` enforces it: only code of these files runs, and no text becomes
markup.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from interlingua.errors import MissingExtraError
from interlingua.gateway.sessions.api import own_sessions, session_row, summary
from interlingua.gateway.shared.bodies import read
from interlingua.gateway.shared.callers import ApiError, answer
from interlingua.gateway.shared.state import Principal
from interlingua.store.rows import SessionRow
from interlingua.transcripts.exports import (
    KINDS,
    ExportFormat,
    RedactedExport,
    SessionExport,
    redact_export,
)
from interlingua.transcripts.redaction import Finding, OwnPattern, PatternError, Rules

if TYPE_CHECKING:
    from interlingua.gateway.service import Service


POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
INDEX = "index.html"
SERVED_KINDS = {
    "css": "text/css",
    "html": "text/html",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


@cache
def contents() -> dict[str, bytes]:
    """Every file of the page by its name."""
    found = [each for each in files("interlingua.web").iterdir() if each.is_file()]
    served = [each for each in found if each.name.rpartition(".")[2] in SERVED_KINDS]
    return {each.name: each.read_bytes() for each in served}


def wants_page(request: Request) -> bool:
    """Browsers accept HTML; clients of an API do not."""
    return "text/html" in request.headers.get("accept", "")


def page(status: int = 200) -> Response:
    return _file(INDEX, status)


OWN_PLACES = ("/playground", "/tasks/{id}", "/admin")
"""Addresses that only the page has; it shares others with the API."""


@cache
def routes() -> tuple[Route, ...]:
    """One route for each file of the page."""
    files = {f"/page/{name}": name for name in sorted(contents().keys() - {INDEX})}
    served = {**files, "/favicon.ico": "icon.svg"}
    return (
        *[Route(path, _serving(name), methods=["GET"]) for path, name in served.items()],
        *[Route(path, _own_place, methods=["GET"]) for path in OWN_PLACES],
    )


async def _own_place(request: Request) -> Response:
    if not wants_page(request):
        raise HTTPException(404)
    return page()


def shared_place(path: str, request: Request) -> Response:
    """The response for a browser at an address that the page shares with the API."""
    if path == "/task/{id}":
        id = quote(request.path_params["id"], safe="")
        return RedirectResponse(f"/tasks/{id}", headers={"vary": "accept"})
    return page()


def _serving(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return _file(name)

    return serve


def _file(name: str, status: int = 200) -> Response:
    kind = SERVED_KINDS[name.rpartition(".")[2]]
    headers = {**HEADERS, "vary": "accept"} if name == INDEX else HEADERS
    return Response(contents()[name], status, headers, kind)


MOST_PATTERNS = 20
MOST_PLACES = 5
"""Places shown per secret."""
AROUND = 40
"""Characters on both sides of it that are shown."""


class NewRedaction(msgspec.Struct, forbid_unknown_fields=True):
    """What to redact: `kinds` (default: all), the user's `patterns` by name, and placeholders from
    a preview that are to stay unredacted (`keep`)."""

    kinds: list[str] | None = None
    patterns: dict[str, str] = {}
    keep: list[str] = []

    def rules(self) -> Rules:
        if len(self.patterns) > MOST_PATTERNS:
            raise ApiError(400, "invalid_request", f"patterns: at most {MOST_PATTERNS}")
        try:
            own = [OwnPattern(name, pattern) for name, pattern in self.patterns.items()]
            kinds = None if self.kinds is None else frozenset(self.kinds)
            return Rules(kinds, tuple(own))
        except MissingExtraError as error:
            raise ApiError(501, "missing_extra", str(error)) from None
        except (PatternError, ValueError) as error:
            raise ApiError(400, "invalid_pattern", str(error)) from None


class NewExport(NewRedaction, forbid_unknown_fields=True):
    """The same, and the file's format; with `redact` false everything is exported unredacted."""

    format: ExportFormat = "html"
    redact: bool = True


async def look(service: Service, request: Request, principal: Principal) -> Response:
    """A preview of redaction: each match once, with some of its places."""
    row = await session_row(service, request.path_params["id"], principal)
    body = await read(request, NewRedaction, service.limits)
    session = await _session(service, row, principal)
    made = await _cleaned(session, body)
    return answer({"findings": _grouped(made), "messages": len(session.messages)})


async def export(service: Service, request: Request, principal: Principal) -> Response:
    row = await session_row(service, request.path_params["id"], principal)
    body = await read(request, NewExport, service.limits)
    session = await _session(service, row, principal)
    if body.redact:
        session, _ = await _cleaned(session, body)
    data = await asyncio.to_thread(session.written, body.format)
    ending, kind = KINDS[body.format]
    name = re.sub(r"[^A-Za-z0-9]+", "-", session.row.name or "")[:40].strip("-")
    file = f"{name or 'session'}-{session.row.id[-6:].lower()}.{ending}"
    # A browser that opened it here would show it as this gateway's own page.
    headers = {**HEADERS, "content-disposition": f'attachment; filename="{file}"'}
    return Response(data, headers=headers, media_type=kind)


async def _session(service: Service, row: SessionRow, principal: Principal) -> SessionExport:
    store, own = service.store, own_sessions(service, principal)
    messages = await store.messages(row.id)
    details = await summary(store, row, own, service.tracer.pricer.table)
    calls = await store.tool_calls(row.id)
    ids = {call.id: call.provider_id for call in calls if call.provider_id is not None}
    alone = {**details, "branches": [], "copied_until": None}  # the others are not in the file
    return SessionExport(row, tuple(messages), alone, ids)


async def _cleaned(session: SessionExport, options: NewRedaction) -> RedactedExport:
    try:
        return await asyncio.to_thread(redact_export, session, options.rules(), options.keep)
    except PatternError as error:
        raise ApiError(400, "invalid_pattern", str(error)) from None


def _grouped(made: RedactedExport) -> list[dict[str, Any]]:
    """Groups findings of the same thing; those of removed fields by their kind."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in made.findings:
        groups.setdefault((finding.kind, finding.placeholder), []).append(finding)
    return [
        {
            "kind": kind,
            "placeholder": placeholder or None,
            "length": found[0].length,
            "count": len(found),
            "places": [_place(made.session, each) for each in found[:MOST_PLACES]],
        }
        for (kind, placeholder), found in groups.items()
    ]


def _place(session: SessionExport, finding: Finding) -> dict[str, Any]:
    part, *rest = finding.place.split("/")[1:]
    message = session.messages[int(rest[0])] if part == "messages" and rest else None
    text = _at(message, rest[1:]) if message is not None else None
    return {
        "message_id": None if message is None else message.id,
        "place": finding.place,
        "context": _around(text, finding.placeholder) if isinstance(text, str) else None,
    }


def _at(value: Any, place: Iterable[str]) -> Any:
    """The value at a pointer, if there is one."""
    for key in place:
        key = key.replace("~1", "/").replace("~0", "~")
        try:
            if isinstance(value, msgspec.Struct):
                value = getattr(value, key)
            else:
                value = value[int(key)] if isinstance(value, (list, tuple)) else value[key]
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
    return value


def _around(text: str, placeholder: str) -> str | None:
    at = text.find(placeholder) if placeholder else -1
    if at < 0:
        return None
    start, end = max(0, at - AROUND), at + len(placeholder) + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
