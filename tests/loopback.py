"""A server on loopback that answers every request with the same bytes, for the official SDKs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

STREAM_TYPES = {
    "sse": "text/event-stream; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "aws": "application/vnd.amazon.eventstream",
}


STOPS_WITHIN = 0.01
"""Seconds between two looks of a server at whether it is to stop; every test waits for that."""


@contextmanager
def answering(body: bytes, content_type: str = STREAM_TYPES["sse"]) -> Iterator[str]:
    """The base URL of a server that gives `body`, cut into small chunks, to whoever asks."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 777):
                piece = body[start : start + 777]
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(STOPS_WITHIN,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
