"""A provider that answers from memory: `python -m bench.gateway.upstream PORT`.

A stream comes as fast as it is read, or an event at a time where the request says `PAUSE` and the
seconds between two."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

EVENTS = 200
PAUSE = "seconds between two events: "
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "The mountain is 2,962 metres high. " * 4}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 21, "output_tokens": 42},
}


def _event(wire: dict[str, Any]) -> bytes:
    return f"event: {wire['type']}\ndata: {json.dumps(wire, separators=(',', ':'))}\n\n".encode()


def _stream() -> list[bytes]:
    start = {**ANSWER, "content": [], "stop_reason": None}
    wires: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
    ]
    for number in range(EVENTS - 5):
        delta = {"type": "text_delta", "text": f"word {number} "}
        wires.append({"type": "content_block_delta", "index": 0, "delta": delta})
    wires += [
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": EVENTS},
        },
        {"type": "message_stop"},
    ]
    return [_event(wire) for wire in wires]


_BODY = json.dumps(ANSWER).encode()
_WHOLE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_BODY)
) + _BODY
_BEGIN = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_PAUSE = re.compile(PAUSE.encode() + rb"([0-9.]+)\.")
_CHUNKS = [b"%x\r\n%b\r\n" % (len(event), event) for event in _stream()]


class Answering(asyncio.Protocol):
    """One connection. A stream comes in as many pieces as it has events."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.held = b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            length = _length(self.held[:end])
            if len(self.held) < end + 4 + length:
                return
            body = self.held[end + 4 : end + 4 + length]
            self.held = self.held[end + 4 + length :]
            if b'"stream":true' not in body and b'"stream": true' not in body:
                self.transport.write(_WHOLE)
            elif content := _PAUSE.search(body):
                self.transport.write(_BEGIN)
                self.next(0, float(content.group(1)))
            else:
                self.transport.write(_BEGIN)
                for chunk in _CHUNKS:
                    self.transport.write(chunk)
                self.transport.write(b"0\r\n\r\n")

    def next(self, number: int, pause: float) -> None:
        """One event, and the others later."""
        if number < len(_CHUNKS):
            self.transport.write(_CHUNKS[number])
            asyncio.get_running_loop().call_later(pause, self.next, number + 1, pause)
        else:
            self.transport.write(b"0\r\n\r\n")


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def main(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(int(sys.argv[1])))
