"""Streams to be converted."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.dialects.framing import decoder, encoder
from tests.laws import streams

DIALECTS = il.dialects()

TEXT = il.TextBlock("Grüße, 世界 🙂\n")

CALL = il.ToolUseBlock("call_1", "sum_up", {"a": 1, "b": ["é"]})


def answer(*content: il.Block, **more: Any) -> il.Response:
    reason = il.StopReason.END_TURN
    if any(isinstance(block, il.ToolUseBlock) for block in content):
        reason = il.StopReason.TOOL_USE
    fields = {"response_id": "msg_1", "response_model": "m", "usage": il.Usage(5, 7)}
    metadata = il.MessageMetadata(stop_reason=reason, **{**fields, **more})
    return il.Response(il.Message.assistant(content, metadata))


def stream_of(name: str, *content: il.Block, **more: Any) -> bytes:
    """This answer as a stream of the dialect."""
    dialect = il.dialect(name)
    response = answer(*content, **{"protocol": name, **more})
    return b"".join(map(encoder(name), streams.write(dialect, il.unfold(response))))


def events_of(name: str, data: bytes) -> list[Any]:
    pieces = decoder(name)
    return streams.read(il.dialect(name), [*pieces.feed(data), *pieces.close()])
