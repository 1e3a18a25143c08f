"""A client that knows nothing: bytes out, bytes in, and how the connection ended."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.replay.exchanges import Exchange


@dataclass(frozen=True)
class Raw:
    """Everything that came on one connection. `end` is `fin`, `rst`, or `silence` after a while."""

    data: bytes
    end: str
    seconds: float

    @property
    def head(self) -> bytes:
        return self.data.partition(b"\r\n\r\n")[0]

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.decode("latin-1").partition(": ")
            if key.lower() == name:
                return value
        return None

    @property
    def chunks(self) -> list[bytes]:
        """The body as it was cut; a body of a known length is one. A cut chunk is what came."""
        rest = self.data.partition(b"\r\n\r\n")[2]
        if self.header("transfer-encoding") != "chunked":
            return [rest]
        chunks = []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size or b"0", 16)
            if length == 0:
                break
            chunks.append(rest[:length])
            rest = rest[length + 2 :]
        return chunks

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def is_well_formed(self) -> bool:
        """Whether HTTP itself says that this was all."""
        if self.header("transfer-encoding") == "chunked":
            return self.data.endswith(b"\r\n0\r\n\r\n")
        return self.header("content-length") == str(len(self.body))


def ask(base_url: str, exchange: Exchange, seconds: float = 2.0, fault: str | None = None) -> Raw:
    """Send the exchange's request and read until the connection ends, or nothing comes."""
    url = urlsplit(base_url)
    with socket.create_connection((url.hostname, url.port or 80), timeout=seconds) as connection:
        connection.sendall(request(url.path, exchange, fault))
        return read(connection)


def request(prefix: str, exchange: Exchange, fault: str | None = None, keep: bool = False) -> bytes:
    body = exchange.request or b""
    lines = [
        f"{exchange.method} {prefix}{exchange.path} HTTP/1.1",
        "host: 127.0.0.1",
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"connection: {'keep-alive' if keep else 'close'}",
        *([f"x-replay-fault: {fault}"] if fault else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def read(connection: socket.socket, until: bytes | None = None) -> Raw:
    """What comes until the end, or up to some bytes on a connection that stays open."""
    start, data = time.monotonic(), b""
    end = "fin"
    while until is None or not data.endswith(until):
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            end = "rst"
            break
        except TimeoutError:
            end = "silence"
            break
        if not piece:
            break
        data += piece
    return Raw(data, end, time.monotonic() - start)
