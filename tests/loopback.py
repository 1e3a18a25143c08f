"""Servers on loopback for tests; one answers every request with the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self

STREAM_TYPES = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "aws": "application/vnd.amazon.eventstream",
}


STOPS_WITHIN = 0.01
"""Seconds between two looks of a server at whether it is to stop; every test waits for that."""


def body_of(handler: BaseHTTPRequestHandler) -> bytes:
    """What was sent, whole or in chunks."""
    if handler.headers.get("transfer-encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length") or 0))
    pieces = []
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        pieces.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(pieces)


def reply(
    handler: BaseHTTPRequestHandler,
    data: bytes,
    media_type: str = "application/json",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Answers in one piece."""
    handler.send_response(status)
    for name, value in {"content-type": media_type, **(headers or {})}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def chunk(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """A piece of an answer."""
    handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
    handler.wfile.flush()


class _Quiet:
    """For handlers of requests: connections stay open, and nothing is printed."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass


class Loopback:
    """A server at `url`, from `with` to its end."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        quiet = type("Handler", (_Quiet, handler), {})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), quiet)
        self._server.daemon_threads = True
        serve = self._server.serve_forever
        self._thread = Thread(target=serve, args=(STOPS_WITHIN,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def answering(body: bytes, content_type: str = STREAM_TYPES["sse"]) -> Iterator[str]:
    """The base URL of a server that gives `body`, cut into small chunks, to whoever asks."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body_of(self)
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 777):
                chunk(self, body[start : start + 777])
            self.wfile.write(b"0\r\n\r\n")

    with Loopback(Handler) as server:
        yield server.url
