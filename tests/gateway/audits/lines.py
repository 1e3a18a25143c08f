"""Requests over one connection, byte by byte as they are given."""

from __future__ import annotations

import asyncio

from tests.gateway.serving import Served


class Line:
    """One connection that is kept, and made again when it was closed."""

    def __init__(self, gateway: Served) -> None:
        self._port = int(gateway.base.rpartition(":")[2])
        self._pair: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def status(self, method: str, path: str, headers: str = "") -> int:
        for _ in range(2):
            if self._pair is None:
                self._pair = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._pair
            body = "{}" if method in ("POST", "PATCH") else ""
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}{headers}\r\n{body}".encode("latin-1"))
            try:
                return await asyncio.wait_for(self._read(reader), 5)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
        return 0

    async def _read(self, reader: asyncio.StreamReader) -> int:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        size = next((int(x.split(":")[1]) for x in lines if x.startswith("content-length")), None)
        if size is None or "connection: close" in lines:
            self.close()
        elif size:
            await reader.readexactly(size)
        return int(lines[0].split()[1])

    def close(self) -> None:
        if self._pair is not None:
            self._pair[1].close()
        self._pair = None
