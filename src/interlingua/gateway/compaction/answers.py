"""Responses for compactions: as the whole answer, or in front of an answer that continues, whole or
as a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from interlingua.adapt.history.compacted import PREFIX as PACKED
from interlingua.dialects.framing import decoder
from interlingua.gateway.compaction.forms import Ask, Wire
from interlingua.gateway.shared.fronts import ANTHROPIC, RESPONSES, Send
from interlingua.model.metadata import Usage

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


def item_of(id: str, sealed: str) -> Wire:
    """A compaction as an item of the Responses API."""
    return {"id": id, "type": "compaction", "encrypted_content": sealed}


def block_of(summary: str, sealed: str, signed: bool) -> Wire:
    """A compaction as a block of Anthropic's API."""
    block: Wire = {"type": "compaction", "content": summary}
    return {**block, "signature": sealed} if signed else {**block, "encrypted_content": sealed}


def openai_usage(usage: Usage) -> Wire:
    cached = usage.cached_input_tokens or 0
    input = (usage.input_tokens or 0) + cached + (usage.cache_creation_input_tokens or 0)
    output = usage.output_tokens or 0
    return {
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": input + output,
    }


def anthropic_usage(usage: Usage) -> Wire:
    return {
        "input_tokens": usage.input_tokens or 0,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens or 0,
        "cache_read_input_tokens": usage.cached_input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
    }


# A compaction as the whole answer


def response_wire(id: str, item: Wire, usage: Usage, request: bytes) -> Wire:
    wire = {"id": id, "object": "response", "status": "completed", "output": [item]}
    return RESPONSES.filler(request).whole({**wire, "usage": openai_usage(usage)})


def response_events(wire: Wire) -> list[Wire]:
    """The events of a response that is a compaction."""
    item = wire["output"][0]
    begun = {**wire, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    place = {"output_index": 0, "item": item}
    events: list[Wire] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", **place},
        {"type": "response.compaction.compacting", "item_id": item["id"], "output_index": 0},
        {"type": "response.output_item.done", **place},
        {"type": "response.completed", "response": wire},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def message_wire(id: str, model: str | None, block: Wire, usage: Usage) -> Wire:
    iteration = {"type": "compaction", **anthropic_usage(usage)}
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model or "",
        "content": [block],
        "stop_reason": "compaction",
        "stop_sequence": None,
        "usage": {**anthropic_usage(usage), "iterations": [iteration]},
    }


def message_events(wire: Wire) -> list[Wire]:
    begun = {**wire, "content": [], "stop_reason": None}
    delta = {"stop_reason": wire["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        *_block_events(wire["content"][0]),
        {"type": "message_delta", "delta": delta, "usage": wire["usage"]},
        {"type": "message_stop"},
    ]


def _block_events(block: Wire) -> list[Wire]:
    pieces = {name: block.get(name) for name in ("content", "encrypted_content")}
    start = {**block, **dict.fromkeys(pieces)}  # a signature has no delta of its own here
    return [
        {"type": "content_block_start", "index": 0, "content_block": start},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "compaction_delta", **pieces},
        },
        {"type": "content_block_stop", "index": 0},
    ]


def framed(events: Iterable[Wire]) -> bytes:
    """Both APIs name the event of a frame by the type in its data."""
    frames = [(event["type"].encode(), _encode(event)) for event in events]
    return b"".join([b"event: %b\ndata: %b\n\n" % frame for frame in frames])


# A compaction in front of an answer


Sealer = Callable[[Wire], Awaitable[None]]
"""Seals a block in which conversion has packed history that another service encrypted."""


class PrefixedSend:
    """Sends an answer with a compaction before its content, if there is one, and changes of its
    members; packed history in it is sealed. Headers wait for the body of an answer that is whole,
    whose length changes."""

    def __init__(
        self,
        send: Send,
        dialect: str,
        shown: Wire | None,
        usage: Usage,
        changes: Mapping[str, Any],
        seal: Sealer,
    ) -> None:
        self._send = send
        self._dialect = dialect
        self._shown = shown
        self._usage = usage
        self._changes = changes
        self._seal = seal
        self._start: Any = None
        self._streams = False
        self._decoder = decoder(dialect)
        self._body = bytearray()
        self._shift = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._streams = message["status"] == 200 and any(
                name == b"content-type" and b"event-stream" in value
                for name, value in message["headers"]
            )
            if self._streams or message["status"] != 200:
                await self._send(message)
            else:
                self._start = message
        elif self._streams:
            await self._send({**message, "body": await self._frames(message)})
        elif self._start is None:
            await self._send(message)
        else:
            await self._whole(message)

    async def _whole(self, message: Any) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        wire = _decode(bytes(self._body))
        await self._seal_in(wire)
        body = _encode(self._in_message(wire) if self._is_anthropic else self._in_response(wire))
        headers = [pair for pair in self._start["headers"] if pair[0] != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        await self._send({**self._start, "headers": headers})
        await self._send({**message, "body": body})

    @property
    def _is_anthropic(self) -> bool:
        return self._dialect == ANTHROPIC.dialect

    def _in_message(self, wire: Wire) -> Wire:
        usage = wire.get("usage") or {}
        if self._shown is not None and isinstance(wire.get("content"), list):
            wire["content"] = [self._shown, *wire["content"]]
            wire["usage"] = {**usage, "iterations": self._iterations(usage)}
        return {**wire, **self._changes}

    def _iterations(self, usage: Wire) -> list[Wire]:
        counts = {name: usage.get(name) or 0 for name in anthropic_usage(Usage())}
        summed = {"type": "compaction", **anthropic_usage(self._usage)}
        return [summed, {"type": "message", **counts}]

    def _in_response(self, wire: Wire) -> Wire:
        if self._shown is not None and isinstance(wire.get("output"), list):
            wire["output"] = [self._shown, *wire["output"]]
        return {**wire, **self._changes}

    async def _seal_in(self, event: Wire) -> None:
        if self._is_anthropic:
            content = event.get("content")
            places = [event.get("content_block"), event.get("delta")]
            for block in [*places, *(content if isinstance(content, list) else ())]:
                if isinstance(block, dict) and str(block.get("encrypted_content"))[:5] == PACKED:
                    await self._seal(block)

    async def _frames(self, message: Any) -> bytes:
        body: bytes = message.get("body", b"")
        if body[:1] == b":":
            return body  # a sign of life
        frames = self._decoder.feed(body) if body else []
        if not message.get("more_body"):
            frames += self._decoder.close()
        events = [_decode(frame.data) for frame in frames]
        for event in events:
            await self._seal_in(event)
        return framed([each for event in events for each in self._events(event)])

    def _events(self, event: Wire) -> list[Wire]:
        if self._is_anthropic:
            return self._message_events(event)
        return self._response_events(event)

    def _message_events(self, event: Wire) -> list[Wire]:
        if event.get("type") == "message_delta":
            event |= self._changes
        if self._shown is None:
            return [event]
        if "index" in event:
            event["index"] += 1
        if event.get("type") == "message_start":
            return [event, *_block_events(self._shown)]
        if event.get("type") == "message_delta" and isinstance(event.get("usage"), dict):
            event["usage"]["iterations"] = self._iterations(event["usage"])
        return [event]

    def _response_events(self, event: Wire) -> list[Wire]:
        kind, response = event.get("type"), event.get("response")
        if isinstance(response, dict):
            event["response"] = response = {**response, **self._changes}
        if self._shown is None:
            return [event]
        if isinstance(response, dict):
            done = kind not in ("response.created", "response.in_progress", "response.queued")
            output = [self._shown, *response.get("output", ())] if done else []
            event["response"] = {**response, "output": output}
        if "output_index" in event:
            event["output_index"] += 1
        before: list[Wire] = []
        if not self._shift and kind not in ("response.created", "response.in_progress"):
            before = [
                {"type": f"response.{name}", "output_index": 0, **more}
                for name, more in (
                    ("output_item.added", {"item": self._shown}),
                    ("compaction.compacting", {"item_id": self._shown["id"]}),
                    ("output_item.done", {"item": self._shown}),
                )
            ]
            number = event.get("sequence_number", 0)
            before = [{**each, "sequence_number": number + n} for n, each in enumerate(before)]
            self._shift = len(before)
        if "sequence_number" in event:
            event["sequence_number"] += self._shift
        return [*before, event]


def shown_as(ask: Ask, dialect: str, id: str, summary: str, sealed: str) -> Wire:
    """A compaction in the client's form."""
    if dialect == ANTHROPIC.dialect:
        return block_of(summary, sealed, signed=ask.kind == "summarize")
    return item_of(id, sealed)
