"""Requests that are refused at the door: for another host's name, from web pages, and with an
ambiguous end.

A page in a browser can make a name of its own lead to this machine (DNS rebinding), or send a form
here. Both are refused: the name in `Host` has to be one of ours, and an `Origin` that of our own
page or a configured one. Requests of other sites without an `Origin` (an image, a script) are
refused if the browser marks them. There is no CORS.
"""

from __future__ import annotations

from collections.abc import Awaitable
from ipaddress import ip_address
from urllib.parse import urlsplit

from interlingua.gateway.keys.keys import is_loopback
from interlingua.gateway.settings import Listen
from interlingua.gateway.shared.callers import UNKNOWN_ROUTE, log_refused
from interlingua.gateway.shared.fronts import Asgi, Receive, Scope, Send

_MOST = 256
"""Names that were looked at and found good, and are not looked at again."""
_LOCAL = frozenset({"localhost"})
_ELSEWHERE = frozenset({b"cross-site", b"same-site"})
_LOOKED_AT = frozenset(
    {b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"transfer-encoding"}
)
_VERSIONS = frozenset({"1.0", "1.1"})


class Guard:
    """Checks requests before an application, by their headers alone."""

    def __init__(self, app: Asgi, listen: Listen, sockets: Asgi | None = None) -> None:
        self._app = app
        self._sockets = sockets
        self.allow(listen)

    def allow(self, listen: Listen) -> None:
        """The names from now on."""
        self._names = frozenset(
            [*_LOCAL, listen.host.lower(), *[name.lower() for name in listen.hosts]]
        )
        self._any = not listen.hosts and not is_loopback(listen.host)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in listen.origins)
        self._good: set[bytes] = set()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            problem = self._problem(scope)
            if problem is not None:
                log_refused(scope["method"], UNKNOWN_ROUTE, *problem[:2])
                return _refuse(send, *problem)
        elif scope["type"] == "websocket":
            problem = self._problem(scope)
            if problem is not None:
                log_refused("GET", UNKNOWN_ROUTE, *problem[:2])
                return _refuse(send, *problem, start="websocket.http.response")
            if self._sockets is not None:
                return self._sockets(scope, receive, send)
        return self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> tuple[int, str, str] | None:
        hosts: list[bytes] = []
        origins: list[bytes] = []
        site = mode = b""
        for name, value in scope["headers"]:
            if name not in _LOOKED_AT:
                continue
            if name == b"host":
                hosts.append(value)
                if value not in self._good and not self._is_ours(value):
                    return (
                        403,
                        "host_not_allowed",
                        "host not allowed: it is not a name of this gateway",
                    )
            elif name == b"origin":
                origins.append(value)
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"sec-fetch-mode":
                mode = value
            elif name == b"transfer-encoding" and not _is_chunked(value, scope):
                return (
                    400,
                    "bad_encoding",
                    "unsupported transfer encoding: only chunked is accepted",
                )
        if len(hosts) != 1:
            return 400, "bad_host", "exactly one Host header is required"
        is_foreign = site in _ELSEWHERE and mode != b"navigate" and not origins
        if is_foreign or (origins and not self._may_all_ask(origins, hosts[0])):
            return (
                403,
                "origin_not_allowed",
                "origin not allowed: web pages may not call this gateway",
            )
        if scope.get("http_version", "1.1") not in _VERSIONS:
            return 505, "bad_version", "unsupported HTTP version: only 1.0 and 1.1 are accepted"
        return None

    def _is_ours(self, value: bytes) -> bool:
        host = host_of(value)
        if host is None:
            return False
        good = self._any or host in self._names or _is_address(host)
        if good and len(self._good) < _MOST:
            self._good.add(value)
        return good

    def _may_all_ask(self, origins: list[bytes], host: bytes) -> bool:
        return all(self._may_ask(origin, host) for origin in origins)

    def _may_ask(self, value: bytes, host: bytes) -> bool:
        """Whether an origin is allowed: our own page, which came from the requested host, or a
        configured one."""
        origin = value.decode("latin-1").lower()
        own = host.decode("latin-1").lower()
        return origin in (f"http://{own}", f"https://{own}") or origin in self._origins


def _is_chunked(value: bytes, scope: Scope) -> bool:
    """Any other encoding, and HTTP 1.0, may be parsed differently by a proxy in front of us, which
    could hide a second request."""
    return value.strip().lower() == b"chunked" and scope.get("http_version", "1.1") == "1.1"


def host_of(value: bytes) -> str | None:
    """The name in a `Host` header, without its port; None if it is invalid."""
    text = value.decode("latin-1").lower()
    if not text or any(mark in text for mark in "/\\@?# \t,"):
        return None
    try:
        parts = urlsplit(f"//{text}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname.rstrip(".") if parts.hostname else None


def _is_address(host: str) -> bool:
    """An IP address cannot be rebound by any page."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _refuse(
    send: Send, status: int, code: str, text: str, start: str = "http.response"
) -> None:
    body = f'{{"error":{{"code":"{code}","message":"{text}"}}}}'.encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": f"{start}.start", "status": status, "headers": headers})
    await send({"type": f"{start}.body", "body": body})
