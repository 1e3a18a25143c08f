"""Requests as bytes, and clients on bare sockets: for tests in which it matters how a client acts,
and not what it says."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple

from tests.gateway.endurance.outside import MODEL

FRONTS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:{action}",
}


class Raw(NamedTuple):
    """A request, ready to be sent."""

    head: bytes
    body: bytes


def request(front: str, number: int, stream: bool, token: str, words: str = "Hello") -> Raw:
    """A request that says its number, for the scripted provider to know it by."""
    text = f"#{number}# {words}"
    model = MODEL if front == "anthropic" else f"anthropic:{MODEL}"
    path = FRONTS[front]
    wire: dict[str, Any]
    if front == "gemini":
        action = "streamGenerateContent?alt=sse" if stream else "generateContent"
        path = path.format(model=model, action=action)
        contents = [{"role": "user", "parts": [{"text": text}]}]
        wire = {"contents": contents, "generationConfig": {"maxOutputTokens": 100}}
    elif front == "openai-responses":
        wire = {"model": model, "input": text, "max_output_tokens": 100, "stream": stream}
    else:
        messages = [{"role": "user", "content": text}]
        wire = {"model": model, "messages": messages, "max_tokens": 100, "stream": stream}
    body = json.dumps(wire).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return Raw(head.encode(), body)


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.id = ""
        """What the gateway calls the last request."""
        self.status = 0

    @classmethod
    async def connect(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def begin(self) -> dict[str, str]:
        """The headers of an answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        self.status = int(first.split()[1])
        pairs = [line.partition(": ") for line in lines if line]
        headers = {name.lower(): value for name, _, value in pairs}
        self.id = headers.get("x-request-id", "")
        return headers

    async def answer(self) -> int:
        """An answer to its end; gives the bytes of its body."""
        headers = await self.begin()
        if "content-length" in headers:
            return len(await self.reader.readexactly(int(headers["content-length"])))
        total = 0
        while size := int(await self.reader.readline(), 16):
            total += size
            await self.reader.readexactly(size + 2)
        await self.reader.readline()
        return total

    def leave(self, rudely: bool = False) -> None:
        """Close the connection: in good order, or with a reset."""
        if rudely:
            own: Any = self.writer.get_extra_info("socket")
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort() if rudely else self.writer.close()


async def all_of(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of them at the same time. The first that fails ends the others, and is what is told."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
