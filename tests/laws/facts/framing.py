"""Bytes of a stream as (event, data) pairs: SSE, lines of JSON, and Amazon's event stream."""

from __future__ import annotations

import json
from typing import Any

Frames = list[tuple[str | None, Any]]


def frames(dialect: str, data: bytes) -> Frames:
    if dialect == "bedrock":
        return _aws(data)
    if dialect == "ollama":
        return [(None, json.loads(line)) for line in data.splitlines() if line.strip()]
    return _sse(data.decode())


def _sse(text: str) -> Frames:
    found: Frames = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        event, lines = None, []
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                event = value
            elif name == "data":
                lines.append(value)
        if lines:
            found.append((event, parsed("\n".join(lines))))
    return found


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _aws(data: bytes) -> Frames:
    from botocore.eventstream import EventStreamBuffer

    buffer = EventStreamBuffer()
    buffer.add_data(data)
    found: Frames = []
    for message in buffer:
        headers = message.headers
        name = headers.get(":event-type") or headers.get(":exception-type")
        found.append((name, json.loads(message.payload or b"{}")))
    return found
