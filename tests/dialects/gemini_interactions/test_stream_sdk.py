"""What is written here, read by the official SDK: streams over HTTP, whole bodies by its types."""

from __future__ import annotations

from typing import Any

import pytest
from google import genai
from google.genai import types
from google.genai.interactions import Interaction

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.streams import sse
from tests.dialects import streaming
from tests.loopback import answering

TEXT = il.TextBlock("Grüße, 世界 \u2028 🙂\n")
ANSWERS: dict[str, tuple[tuple[il.Block, ...], il.StopReason]] = {
    "text": ((TEXT,), il.StopReason.END_TURN),
    "two texts": ((TEXT, il.TextBlock("b")), il.StopReason.END_TURN),
    "thinking": ((il.ThinkingBlock("Hm.", "c2ln"), TEXT), il.StopReason.END_TURN),
    "calls": (
        (TEXT, il.ToolUseBlock("a", "add", {"a": ["é"]}), il.ToolUseBlock("b", "now", {})),
        il.StopReason.TOOL_USE,
    ),
    "cited": (
        (il.TextBlock("Grüße", citations=(il.Citation(url="https://x", start=1, end=3),)),),
        il.StopReason.MAX_TOKENS,
    ),
    "an image": ((il.ImageBlock(il.Source("base64", "AAAA"), "image/png"),), il.StopReason.PAUSE),
    "nothing": ((), il.StopReason.CANCELLED),
}


def answer(name: str) -> il.Response:
    content, reason = ANSWERS[name]
    cancelled = reason is il.StopReason.CANCELLED
    metadata = il.MessageMetadata(
        response_id="v1_a",
        response_model="gemini-2.5-flash",
        stop_reason=reason,
        status=il.MessageStatus.CANCELLED if cancelled else il.MessageStatus.COMPLETE,
        usage=il.Usage(10, 5, cached_input_tokens=2, reasoning_tokens=1),
    )
    return il.Response(il.Message.assistant(content, metadata))


def heard(body: bytes) -> list[Any]:
    with answering(body) as url:
        options = types.HttpOptions(base_url=url, timeout=20_000)
        client = genai.Client(api_key="none", vertexai=False, http_options=options)
        try:
            asked: Any = {"model": "gemini-2.5-flash", "input": "Hi", "stream": True}
            return list(client.interactions.create(**asked))
        finally:
            client.close()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_sdk_hears_the_stream_that_we_fold(name: str) -> None:
    response = answer(name)
    frames, report = streaming.frames_of(DIALECT, streaming.bare(il.unfold(response)))
    assert list(report.entries) == []
    events = heard(b"".join([sse.encode(frame) for frame in frames]))
    texts = [
        event.delta.text
        for event in events
        if event.event_type == "step.delta" and event.delta.type == "text"
    ]
    assert "".join(texts) == response.message.text
    assert not [event for event in events if type(event).__name__.startswith("Unknown")]
    last = events[-1].interaction
    whole = DIALECT.write_response(response).wire
    assert (last.id, last.status) == (whole["id"], whole["status"])
    assert last.usage.total_tokens == whole["usage"]["total_tokens"] == 17
    items = [event.model_dump(mode="json", exclude_none=True) for event in events]
    again = il.fold(streaming.events_of(DIALECT, items, _frame))
    assert again.message.content == response.message.content


def _frame(wire: Any) -> il.Frame:
    import json

    return il.Frame(wire["event_type"], json.dumps(wire))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_whole_answer_is_one_to_the_sdk(name: str) -> None:
    wire = DIALECT.write_response(answer(name)).wire
    result = Interaction.model_validate(wire)
    kinds = [type(step).__name__ for step in result.steps or ()]
    assert not [kind for kind in kinds if kind.startswith("Unknown")]
    again = DIALECT.read_response(result.model_dump(mode="json", exclude_none=True))
    assert again.message.content == answer(name).message.content
