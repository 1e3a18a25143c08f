"""Asks as fast as it is answered: `python -m bench.gateway.load JSON` prints what it saw."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any


class Load:
    """Some connections, each of which asks again when it has its answer."""

    def __init__(
        self, port: int, path: str, model: str, stream: bool, token: str, seconds: float
    ) -> None:
        self.port = port
        self.seconds = seconds
        self.times: list[float] = []
        self.failed = ""
        self.until = 0.0
        question = "How high is the Zugspitze, and since when is that known? " * 4
        wire: dict[str, Any] = {
            "model": model,
            "max_tokens": 100,
            "messages": [{"role": "user", "content": question}],
        }
        if stream:
            wire["stream"] = True
        body = json.dumps(wire, separators=(",", ":")).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.request = head.encode() + body

    async def run(self, connections: int) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        self.until = time.perf_counter() + self.seconds
        for _ in range(connections):
            await loop.create_connection(lambda: Asking(self), "127.0.0.1", self.port)
        await asyncio.sleep(self.seconds + 0.5)
        times = sorted(self.times)
        if not times:
            return {"failed": self.failed or "no answer"}
        return {
            "per_second": len(times) / self.seconds,
            "p50_ms": times[len(times) // 2] * 1000,
            "p99_ms": times[int(len(times) * 0.99)] * 1000,
            "failed": self.failed,
        }


class Asking(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self.load = load
        self.held = bytearray()
        self.since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.ask()

    def ask(self) -> None:
        self.since = time.perf_counter()
        self.transport.write(self.load.request)

    def data_received(self, data: bytes) -> None:
        self.held += data
        end = self.held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.held[:end]).lower()
        if b"chunked" in head:
            if not self.held.endswith(b"0\r\n\r\n"):
                return
        else:
            start = head.find(b"content-length:") + 15
            length = int(head[start:].split(b"\r\n")[0])
            if len(self.held) < end + 4 + length:
                return
        if not head.startswith(b"http/1.1 200"):
            self.load.failed = bytes(self.held[:300]).decode("latin-1")
            self.transport.close()
            return
        now = time.perf_counter()
        self.load.times.append(now - self.since)
        self.held.clear()
        if now < self.load.until:
            self.ask()
        else:
            self.transport.close()


if __name__ == "__main__":
    import uvloop

    told = json.loads(sys.argv[1])
    connections = told.pop("connections")
    print(json.dumps(uvloop.run(Load(**told).run(connections))))
