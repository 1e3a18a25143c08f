"""Where losses stand in the source body; the law of places is in `tests/laws/at.py`."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il

MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize("turns", [1, 2])
def test_marks_of_instructions_and_messages(turns: int) -> None:
    """A message of one block has the place of the block, and the mark is the block's."""
    text = {"type": "text", "text": "hi", **MARK}
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 10,
        "system": [text],
        "messages": [{"role": role, "content": [text]} for role in ("user", "assistant")[:turns]],
    }
    written = il.convert(body, to="gemini", model="gemini-2.5-pro")
    messages = [f"$.messages[{number}].content[0].cache_control" for number in range(turns)]
    places = ["$.system[0].cache_control", *messages]
    assert [entry.at for entry in written.report.notes] == [(place,) for place in places]


def places(body: dict[str, Any], source: str, to: str, **how: Any) -> dict[str, tuple[str, ...]]:
    report = il.convert(body, source, to=to, **how).report
    return {entry.path: entry.at for entry in (*report.losses, *report.notes)}


def test_breakpoints_that_are_items_of_their_own() -> None:
    point = {"cachePoint": {"type": "default"}}
    body = {
        "system": [{"text": "a"}, point, {"text": "b"}],
        "messages": [{"role": "user", "content": [{"text": "hi"}, point]}],
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}, point],
        },
    }
    found = places(body, "bedrock", "gemini", model="gemini-2.5-pro")
    assert {place for place in found.values() if place} == {
        ("$.system[1]",),
        ("$.messages[0].content[1]",),
        ("$.toolConfig.tools[1]",),
    }
    lived = {**body, "system": [{"text": "a"}, {"cachePoint": {"type": "default", "ttl": "1h"}}]}
    found = places({**lived, "modelId": "x"}, "bedrock", "openai-chat")
    assert found["$.messages[0].content[0].cache.ttl"] == ("$.system[1].cachePoint.ttl",)


def test_documents_beside_the_messages() -> None:
    messages = [{"role": "user", "content": "hi"}]
    documents = ["plain", {"id": "d", "data": {"text": "t"}}]
    body = {"model": "command-a-03-2025", "messages": messages, "documents": documents}
    found = places(body, "cohere", "openai-chat")
    assert found["$.messages[0].content[0]"] == ("$.documents[0]",)
    assert found["$.messages[0].content[1]"] == ("$.documents[1]",)


def test_tools_of_the_service_in_an_entry_with_functions() -> None:
    entry = {"functionDeclarations": [{"name": "f"}], "googleSearch": {}, "urlContext": {}}
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [entry]}
    found = places(body, "gemini", "openai-chat", model="gpt-5")
    assert found["$.tools[1]"] == ("$.tools[0].googleSearch",)
    assert found["$.tools[2]"] == ("$.tools[0].urlContext",)


def test_thinking_that_is_there_twice_has_two_places() -> None:
    detail = {
        "type": "reasoning.text",
        "text": "hm",
        "format": "anthropic-claude-v1",
        "signature": "s",
    }
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {
        "role": "assistant",
        "reasoning": "hm",
        "reasoning_details": [detail],
        "tool_calls": [call],
    }
    result = {"role": "tool", "tool_call_id": "c", "content": "r"}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, turn, result]}
    found = places(body, "openrouter", "gemini", model="gemini-2.5-pro")
    at = ("$.messages[1].reasoning_details[0]", "$.messages[1].reasoning")
    assert found["$.messages[1].content[0]"] == at


def test_a_number_that_means_nothing_alone_goes_with_its_switch() -> None:
    asked = {"responseLogprobs": True, "logprobs": 3, "maxOutputTokens": 9}
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    body = {"contents": contents, "generationConfig": asked}
    found = places(body, "gemini", "anthropic", model="claude-sonnet-4-6")
    at = ("$.generationConfig.responseLogprobs", "$.generationConfig.logprobs")
    assert found["$.options.logprobs"] == at


@pytest.mark.parametrize(
    ("source", "target", "answer", "places"),
    [
        (
            "anthropic",
            "gemini",
            {"content": [{"type": "text", "text": "hi"}]},
            {"$.usage.cache_creation", "$.usage.server_tool_use"},
        ),
        (
            "openai-responses",
            "bedrock",
            {"output": [{"type": "message", "role": "assistant", "content": []}]},
            {"$.usage.output_tokens_details.reasoning_tokens"},
        ),
    ],
)
def test_counts_of_an_answer_stand_beside_its_only_item(
    source: str, target: str, answer: Any, places: set[str]
) -> None:
    counts: Any = {
        "anthropic": {
            "input_tokens": 1,
            "output_tokens": 1,
            "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 0},
            "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
        },
        "openai-responses": {
            "input_tokens": 1,
            "output_tokens": 2,
            "total_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1},
        },
    }
    wire = {"id": "r", "model": "m", "role": "assistant", **answer, "usage": counts[source]}
    report = il.convert(wire, source, target, "response").report
    found = {at for entry in report.located() if ".usage." in entry.path for at in entry.at}
    assert found >= places


def test_a_document_that_moved_behind_its_result_keeps_its_place() -> None:
    image = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [image]}
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Read it."},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}],
            },
            {"role": "user", "content": [result]},
        ],
    }
    report = il.convert(body, "anthropic", "gemini", model="gemini-2.5-pro").report
    replaced = [loss for loss in report.losses if loss.code == "message_replaced"]
    assert [loss.at for loss in replaced] == [("$.messages[2].content[0].content[0]",)]


@pytest.mark.parametrize("default", [None, "", False])
def test_a_keyword_of_a_schema_has_its_place_whatever_its_value_is(default: Any) -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string", "default": default}}}
    body = {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
    }
    found = [loss.at for loss in il.convert(body, to="ollama").report if "default" in loss.path]
    assert found == [("$.tools[0].function.parameters.properties.b.default",)]
