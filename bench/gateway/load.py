"""Asks as fast as it is answered: `python -m bench.gateway.load JSON` prints what it saw."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from bench import workloads
from bench.gateway.upstream import PAUSE

HISTORY, TURNS = 100, 40
"""Messages that an agent begins with, which are 300 KB, and the turns that it takes."""


class Load:
    """Some connections, each of which asks again when it has its answer."""

    def __init__(
        self,
        port: int,
        path: str,
        model: str,
        stream: bool,
        token: str,
        seconds: float,
        pause: float = 0.0,
        each: int | None = None,
        patient: bool = False,
        agents: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        """For so many seconds, or until each connection has had `each` answers if that is sooner;
        `pause` is what upstream is to leave between two events of a stream. Who is patient waits
        for answers that come later, and counts the time that they take: of a slow one, most
        answers are under way when the time is up. `agents` send their whole history with each
        turn, and two more messages. `headers` are further ones."""
        self.port = port
        self.seconds = seconds
        self.each = each
        self.patience = 120.0 if patient else 0.5
        self.open = 0
        self.last = 0.0
        self.tasks: set[asyncio.Future[None]] = set()
        self.times: list[float] = []
        self.failed = ""
        self.until = 0.0
        question = "How high is the Zugspitze, and since when is that known? " * 4
        if pause:
            question += f"{PAUSE}{pause}."
        wire: dict[str, Any] = {
            "model": model,
            "max_tokens": 100,
            "messages": [{"role": "user", "content": question}],
        }
        if stream:
            wire["stream"] = True
        self.head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {token}\r\n"
        )
        self.head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self.request = self.posted(json.dumps(wire, separators=(",", ":")).encode())
        self.messages: list[bytes] = []
        if agents:
            whole = workloads.chat_request(workloads.transcript(HISTORY + 2 * TURNS))
            self.messages = [workloads.encoded(each) for each in whole.pop("messages")]
            self.rest = workloads.encoded({**whole, "model": model})[1:]

    def posted(self, body: bytes) -> bytes:
        return f"{self.head}content-length: {len(body)}\r\n\r\n".encode() + body

    def turn(self, agent: int, number: int) -> bytes:
        """A request of an agent: all that was said, and two messages more than the last time."""
        system = workloads.encoded({"role": "system", "content": f"You are agent {agent}."})
        count = HISTORY + 2 * (number % TURNS)
        listed = b", ".join([system, *self.messages[1 : count + 2]])
        return self.posted(b'{"messages": [' + listed + b"], " + self.rest)

    async def run(self, connections: int) -> dict[str, Any]:
        self.until = time.perf_counter() + self.seconds
        for _ in range(connections):
            await Asking(self).connect()
        begun = time.perf_counter()
        while self.open and time.perf_counter() < self.until + self.patience:
            await asyncio.sleep(0.05)
        seconds = max(self.seconds, self.last - begun) if self.patience > 1 else self.seconds
        times = sorted(self.times)
        if not times:
            return {"failed": self.failed or "no answer"}
        return {
            "count": len(times),
            "per_second": len(times) / seconds,
            "p50_ms": times[len(times) // 2] * 1000,
            "p99_ms": times[int(len(times) * 0.99)] * 1000,
            "failed": self.failed,
        }


class Asking(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self.load = load
        self.held = bytearray()
        self.since = 0.0
        self.left = load.each
        self.is_done = False
        self.agent, self.asked = load.open, 0
        load.open += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        """Some close a connection after each answer; a client comes back then."""
        if self.is_done:
            self.load.open -= 1
        else:
            self.held.clear()
            self.load.tasks.add(asyncio.ensure_future(self.connect()))

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self, "127.0.0.1", self.load.port)
        except OSError as odd:
            self.load.failed = str(odd)
            self.load.open -= 1

    def ask(self) -> None:
        request = self.load.request
        if self.load.messages:
            request = self.load.turn(self.agent, self.asked)
            self.asked += 1
        self.since = time.perf_counter()
        self.transport.write(request)

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
            self.is_done = True
            self.transport.close()
            return
        closes = b"connection: close" in head or b"http/1.0" in head
        now = time.perf_counter()
        self.load.times.append(now - self.since)
        self.load.last = now
        self.held.clear()
        if self.left is not None:
            self.left -= 1
        self.is_done = now >= self.load.until or self.left == 0
        if self.is_done:
            self.transport.close()
        elif not closes:
            self.ask()


if __name__ == "__main__":
    import uvloop

    told = json.loads(sys.argv[1])
    connections = told.pop("connections")
    print(json.dumps(uvloop.run(Load(**told).run(connections))))
