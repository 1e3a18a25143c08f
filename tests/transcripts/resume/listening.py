"""Who listens between a tool and its model: passes everything on, and writes bodies down."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.loopback import Loopback, body_of

_OWN_HOP = {"connection", "transfer-encoding", "content-length", "host", "keep-alive"}
_PATIENCE = 120


class Heard(NamedTuple):
    """A request of a tool, and the status that it was answered with."""

    path: str
    body: dict[str, Any]
    status: int


class Listener:
    """`url` is what the tool takes for its model, `heard` what it said so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[Heard] = []


@contextmanager
def listening(model: str) -> Iterator[Listener]:
    """Passes on to `model`, from `with` to its end."""
    place = urlsplit(model).netloc

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on(b"")

        def do_POST(self) -> None:
            self._pass_on(body_of(self))

        def _pass_on(self, data: bytes) -> None:
            connection = http.client.HTTPConnection(place, timeout=_PATIENCE)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _OWN_HOP}
            try:
                connection.request(self.command, self.path, data or None, headers)
                reply = connection.getresponse()
                _note(listener, self.path, data, reply.status)
                _answer(self, reply)
            except OSError:
                self.close_connection = True
            finally:
                connection.close()

    with Loopback(Handler) as server:
        listener = Listener(server.url)
        yield listener


def _note(listener: Listener, path: str, data: bytes, status: int) -> None:
    try:
        body = json.loads(data)
    except ValueError:
        return
    if isinstance(body, dict):
        listener.heard.append(Heard(path, body, status))


def _answer(handler: BaseHTTPRequestHandler, reply: http.client.HTTPResponse) -> None:
    handler.send_response(reply.status)
    for name, value in reply.getheaders():
        if name.lower() not in _OWN_HOP:
            handler.send_header(name, value)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    while piece := reply.read1(1 << 16):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")
