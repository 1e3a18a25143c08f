"""A search that one vendor's client asks for is done by the model behind the gateway, and what it
found comes back with citations in the client's own form."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.framing import decoder
from interlingua.gateway.settings import RouteSettings
from tests.gateway.relay.test_fitted import KEYS, Listening, through

TEXT = "Ulm has the tallest steeple."
URL, TITLE = "https://ulm.example/minster", "The minster"
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
USAGE = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": TEXT}]},
            "finishReason": "STOP",
            "index": 0,
            "groundingMetadata": {
                "webSearchQueries": ["tallest steeple"],
                "groundingChunks": [{"web": {"uri": URL, "title": TITLE}}],
                "groundingSupports": [
                    {
                        "segment": {"startIndex": 0, "endIndex": len(TEXT), "text": TEXT},
                        "groundingChunkIndices": [0],
                    }
                ],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12},
    "modelVersion": "gemini-3-pro-preview",
    "responseId": "r1",
}
CITED = {"type": "url_citation", "url": URL, "title": TITLE, "start_index": 0, "end_index": 28}
RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-5.6",
    "output": [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "tallest steeple"},
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": TEXT, "annotations": [CITED], "logprobs": []}
            ],
        },
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        **USAGE,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
OPENROUTER: dict[str, Any] = {
    "id": "gen-1",
    "object": "chat.completion",
    "created": 1,
    "model": "z-ai/glm-4.6",
    "provider": "Z.AI",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": TEXT,
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {
                            "url": URL,
                            "title": TITLE,
                            "start_index": 0,
                            "end_index": 28,
                        },
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
}
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "gemini:gemini-3-pro-preview": ("gemini", GEMINI, {"googleSearch": {}}),
    "openai:gpt-5.6": ("openai-responses", RESPONSES, {"type": "web_search"}),
    "openai:gpt-5": ("openai-responses", RESPONSES, {"type": "web_search"}),
    "router": (
        "openrouter",
        OPENROUTER,
        {"type": "openrouter:web_search", "parameters": {"max_uses": 8}},
    ),
}
ROUTES = {"router": RouteSettings("openrouter:z-ai/glm-4.6", dialect="openrouter")}
"""It takes Anthropic's own requests, too."""


def asking(model: str, stream: bool) -> dict[str, Any]:
    """A search as Claude Code asks for one."""
    return {
        "model": model,
        "max_tokens": 999,
        "stream": stream,
        "system": "You are an assistant for performing a web search tool use",
        "messages": [{"role": "user", "content": "Perform a web search: tallest steeple"}],
        "tools": [SEARCH],
        "tool_choice": {"type": "tool", "name": "web_search"},
    }


def answer_of(data: bytes, stream: bool) -> il.Message:
    dialect = il.dialect("anthropic")
    if not stream:
        return dialect.read_response(data).message
    frames = decoder("anthropic")
    reader = dialect.stream_reader()
    events = [event for frame in frames.feed(data) for event in reader.feed(frame)]
    return il.fold([*events, *reader.close()]).message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", list(MODELS))
def test_a_search_of_claude_code_is_done_by_another_model_and_cited(
    model: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KEYS, "openrouter", "k")
    dialect, content, tool = MODELS[model]
    provider = Listening(dialect, [content])
    provider.stream = stream
    data = through(provider, "/v1/messages", asking(model, stream), ROUTES)
    assert provider.asked[0]["tools"] == [tool]
    message = answer_of(data, stream)
    assert message.text == TEXT
    cited = [each for block in message.content for each in getattr(block, "citations", ()) or ()]
    assert [(each.url, each.title) for each in cited] == [(URL, TITLE)]
    assert message.metadata.stop_reason is il.StopReason.END_TURN


def test_citations_are_on_the_wire_as_anthropic_writes_them() -> None:
    provider = Listening("gemini", [GEMINI])
    body = asking("gemini:gemini-3-pro-preview", False)
    parsed = json.loads(through(provider, "/v1/messages", body))
    (block,) = [each for each in parsed["content"] if each["type"] == "text"]
    (cited,) = block["citations"]
    assert cited["type"] == "web_search_result_location"
    assert (cited["url"], cited["title"], cited["cited_text"]) == (URL, TITLE, "")
