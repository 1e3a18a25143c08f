"""Documents of text inside tool results reach every target as part of the result."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

import interlingua as il

Wire = dict[str, Any]
WORDS = "boats at nine"
BYTES = b64encode(WORDS.encode()).decode()
ASKED = "When do boats go?"


def chat_loop(result: Any) -> Wire:
    call = {"id": "call_7", "type": "function", "function": {"name": "boats", "arguments": "{}"}}
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": ASKED},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_7", "content": result},
        ],
    }


def anthropic_loop(part: Wire) -> Wire:
    result = {"type": "tool_result", "tool_use_id": "call_7", "content": [part]}
    call = {"type": "tool_use", "id": "call_7", "name": "boats", "input": {}}
    turns = [("user", ASKED), ("assistant", [call]), ("user", [result])]
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"model": "m", "max_tokens": 9, "messages": messages}


def bedrock_loop(part: Wire) -> Wire:
    result = {"toolResult": {"toolUseId": "call_7", "content": [part]}}
    call = {"toolUse": {"toolUseId": "call_7", "name": "boats", "input": {}}}
    turns = [("user", {"text": ASKED}), ("assistant", call), ("user", result)]
    return {"messages": [{"role": role, "content": [part]} for role, part in turns]}


def responses_loop(part: Wire) -> Wire:
    call = {"type": "function_call", "call_id": "call_7", "name": "boats", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_7", "output": [part]}
    return {"model": "m", "input": [{"role": "user", "content": ASKED}, call, result]}


def gemini_loop(part: Wire) -> Wire:
    result = {"name": "boats", "response": {"output": "see"}, "parts": [part]}
    turns = [
        ("user", {"text": ASKED}),
        ("model", {"functionCall": {"name": "boats", "args": {}}}),
        ("user", {"functionResponse": result}),
    ]
    return {"contents": [{"role": role, "parts": [part]} for role, part in turns]}


DATA = {"type": "document", "document": {"data": {"found": WORDS}}}
TEXT = {"type": "text", "media_type": "text/plain", "data": WORDS}
LISTED = {"type": "content", "content": [{"type": "text", "text": WORDS}]}
FOUND = {"source": "https://b.example", "title": "Pier"}
FILE = {"type": "input_file", "filename": "a.txt", "file_data": f"data:text/plain;base64,{BYTES}"}
SEARCH = {"type": "search_result", **FOUND, "content": [{"type": "text", "text": WORDS}]}
RESULTS: dict[str, tuple[str, Wire]] = {
    "data": ("cohere", chat_loop([DATA])),
    "data as text": ("cohere", chat_loop([{"type": "document", "document": {"data": WORDS}}])),
    "titled": ("cohere", chat_loop([{"type": "document", "document": {"data": {"text": WORDS}}}])),
    "Groq's data": ("openai-chat", chat_loop([DATA])),
    "text": ("anthropic", anthropic_loop({"type": "document", "source": TEXT})),
    "blocks": ("anthropic", anthropic_loop({"type": "document", "source": LISTED})),
    "search result": ("anthropic", anthropic_loop(SEARCH)),
    "json": ("bedrock", bedrock_loop({"json": {"found": WORDS}})),
    "Bedrock's text": (
        "bedrock",
        bedrock_loop({"document": {"name": "n", "format": "txt", "source": {"text": WORDS}}}),
    ),
    "Bedrock's search result": (
        "bedrock",
        bedrock_loop({"searchResult": {**FOUND, "content": [{"text": WORDS}]}}),
    ),
}
AS_BYTES: dict[str, tuple[str, Wire]] = {
    "Bedrock's bytes": (
        "bedrock",
        bedrock_loop({"document": {"name": "n", "format": "txt", "source": {"bytes": BYTES}}}),
    ),
    "a file": ("openai-responses", responses_loop(FILE)),
    "inline data": (
        "gemini",
        gemini_loop({"inlineData": {"mimeType": "text/plain", "data": BYTES}}),
    ),
}


def result_of(wire: Wire) -> Any:
    """What stands behind the call: one message, which is the result."""
    listed = next(wire[key] for key in ("messages", "contents", "input") if key in wire)
    assert len(listed) == 3, listed
    return listed[-1]


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("name", RESULTS)
def test_a_document_of_text_stays_in_its_result(name: str, target: str) -> None:
    source, wire = RESULTS[name]
    result = json.dumps(result_of(il.convert(wire, source, target).wire))
    assert WORDS in result
    assert "inlineData" not in result
    assert "file" not in result


@pytest.mark.parametrize("target", ["openai-chat", "ollama", "cohere"])
@pytest.mark.parametrize("name", AS_BYTES)
def test_text_that_comes_as_bytes_stays_in_results_that_hold_no_files(
    name: str, target: str
) -> None:
    source, wire = AS_BYTES[name]
    converted = il.convert(wire, source, target)
    assert WORDS in json.dumps(result_of(converted.wire))
    assert {loss.kind for loss in converted.report.entries} <= {
        "downgraded",
        "approximated",
        "dropped",
    }


def test_bytes_that_are_no_text_follow_the_results() -> None:
    part = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,/w=="}
    wire = il.convert(responses_loop(part), "openai-responses", "openai-chat").wire
    assert wire["messages"][2]["content"] == "[document of call_7 follows]"


def test_the_title_and_the_address_of_a_search_result_stand_before_its_text() -> None:
    source, wire = RESULTS["search result"]
    converted = il.convert(wire, source, "openai-chat")
    assert result_of(converted.wire)["content"] == f"[Pier (https://b.example)]\n{WORDS}"
    assert [loss.kind for loss in converted.report.entries] == ["downgraded"]


def test_a_model_without_documents_in_results_gets_their_text() -> None:
    source, wire = AS_BYTES["a file"]
    converted = il.convert(wire, source, "gemini", model="gemini-2.5-pro")
    assert WORDS in result_of(converted.wire)["parts"][0]["functionResponse"]["response"]["output"]
