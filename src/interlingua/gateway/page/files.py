"""The files of the page, as they are in `interlingua/web`, under names that are known beforehand:
nothing that a request says is looked up on a disk.

What a model, a tool or a file says is shown on this page. It is put there as text, and the policy
below makes sure of it: no code runs that is not one of these files, and no text becomes markup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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
KINDS = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def contents() -> dict[str, bytes]:
    """Every file of the page by its name."""
    found = [each for each in files("interlingua.web").iterdir() if each.is_file()]
    served = [each for each in found if each.name.rpartition(".")[2] in KINDS]
    return {each.name: each.read_bytes() for each in served}


def wants_page(request: Request) -> bool:
    """Browsers say that they take HTML; clients of an API do not."""
    return "text/html" in request.headers.get("accept", "")


def page() -> Response:
    return _file(INDEX)


@cache
def routes() -> tuple[Route, ...]:
    """One route for each file that the page asks for."""
    names = sorted(contents().keys() - {INDEX})
    return tuple(Route(f"/page/{name}", _serving(name), methods=["GET"]) for name in names)


def _serving(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        return _file(name)

    return serve


def _file(name: str) -> Response:
    kind = KINDS[name.rpartition(".")[2]]
    headers = {**HEADERS, "vary": "accept"} if name == INDEX else HEADERS
    return Response(contents()[name], headers=headers, media_type=kind)
