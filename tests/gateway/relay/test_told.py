"""What a provider reports beside its answer reaches the client in its own words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.memory.memory import Memory
from interlingua.store.open import open_async_store
from tests.gateway.loops import gateway_of
from tests.gateway.relay.test_fitted import Listening, post, through

DROPPED = {
    "type": "thinking_dropped",
    "path": "messages.1.content.0",
    "reason": "model_binding_mismatch",
}
CLAUDE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-8",
    "content": [{"type": "text", "text": "Four."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 5, "output_tokens": 7},
    "input_transformations": [DROPPED],
}
REFUSED: dict[str, Any] = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "I"}]},
            "finishReason": "SAFETY",
            "index": 0,
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12},
    "modelVersion": "gemini-3-pro-preview",
    "responseId": "r1",
}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
ASKED: dict[str, Any] = {
    "model": "anthropic:claude-opus-4-8",
    "input": [{"role": "user", "content": "2 + 2?"}],
    "reasoning": {"effort": "high", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}


async def twice(provider: Listening, stream: bool, path: Path) -> tuple[str, bytes]:
    """The id of the reasoning in the first answer, and the second answer."""
    async with await open_async_store(str(path / "s.db")) as store:
        app = gateway_of(provider, Memory(store))
        status, data = await post(app, "/v1/responses", ASKED)
        assert status == 200, data
        output = json.loads(data)["output"]
        (thought,) = [item for item in output if item["type"] == "reasoning"]
        again = [*ASKED["input"], *output, {"role": "user", "content": "Sure?"}]
        provider.stream = stream
        body = {**ASKED, "input": again, "stream": stream}
        status, data = await post(app, "/v1/responses", body)
    assert status == 200, data
    return thought["id"], data


def events(data: bytes) -> list[Any]:
    lines = [line for line in data.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line[6:]) for line in lines]


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_that_claude_left_out_is_reported_to_a_client_of_openai(
    stream: bool, tmp_path: Path
) -> None:
    first = {key: item for key, item in CLAUDE.items() if key != "input_transformations"}
    first["content"] = [THOUGHT, *CLAUDE["content"]]
    provider = Listening("anthropic", [first, CLAUDE])
    id, data = asyncio.run(twice(provider, stream, tmp_path))
    assert provider.asked[1]["messages"][1]["content"][0]["signature"] == "c2ln"
    answer = events(data)[-1]["response"] if stream else json.loads(data)
    removed = {"id": id, "action": "removed", "reason": "model_mismatch", "type": "reasoning"}
    assert answer["input_transformations"] == [removed]


REASONED: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-6-luna",
    "status": "completed",
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "c2ln",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Four.", "annotations": []}],
        },
    ],
    "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
}
REMOVED = {"id": "rs_1", "action": "removed", "reason": "model_mismatch", "type": "reasoning"}


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_that_openai_left_out_is_reported_to_a_client_of_anthropic(
    stream: bool, tmp_path: Path
) -> None:
    provider = Listening(
        "openai-responses", [REASONED, {**REASONED, "input_transformations": [REMOVED]}]
    )
    asked: dict[str, Any] = {
        "model": "thinker",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "2 + 2?"}],
        "thinking": {"type": "adaptive"},
    }

    async def work() -> bytes:
        async with await open_async_store(str(tmp_path / "s.db")) as store:
            app = gateway_of(provider, Memory(store))
            status, data = await post(app, "/v1/messages", asked)
            assert status == 200, data
            turn = {"role": "assistant", "content": json.loads(data)["content"]}
            again = [*asked["messages"], turn, {"role": "user", "content": "Sure?"}]
            provider.stream = stream
            body = {**asked, "messages": again, "stream": stream}
            status, data = await post(app, "/v1/messages", body)
        assert status == 200, data
        return bytes(data)

    data = asyncio.run(work())
    assert provider.asked[1]["input"][1]["encrypted_content"] == "c2ln"
    answers = events(data) if stream else [json.loads(data)]
    (collected,) = [found for each in answers if (found := _transformations(each))]
    (entry,) = collected
    assert entry["type"] == "thinking_dropped"
    assert entry["path"] == "messages.1.content.0"


def _transformations(wire: Any) -> Any:
    inner = (wire, wire.get("delta"), wire.get("message"))
    return next((each["input_transformations"] for each in inner if _has(each)), None)


def _has(wire: Any) -> bool:
    return isinstance(wire, dict) and bool(wire.get("input_transformations"))


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_of_anthropic_is_told_why_gemini_refused(stream: bool) -> None:
    provider = Listening("gemini", [REFUSED])
    provider.stream = stream
    body = {
        "model": "gemini:gemini-3-pro-preview",
        "max_tokens": 99,
        "stream": stream,
        "messages": [{"role": "user", "content": "How?"}],
    }
    data = through(provider, "/v1/messages", body)
    (ending,) = (
        [each["delta"] for each in events(data) if each["type"] == "message_delta"]
        if stream
        else [json.loads(data)]
    )
    assert ending["stop_reason"] == "refusal"
    assert ending["stop_details"]["category"] == "general_harms"
