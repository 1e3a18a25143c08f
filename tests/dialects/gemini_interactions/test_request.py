"""Requests: what is said, in all its forms; tools, options, and what the service keeps."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from tests.dialects.gemini_interactions.wires import (
    CALL,
    NAME,
    RESULT,
    TOOL,
    body,
    read,
    text,
    user,
)


def test_options_and_tools_have_their_fields() -> None:
    request = read(
        body(
            tools=[
                TOOL,
                {"type": "google_search"},
                {"type": "computer_use", "environment": "browser"},
                {"type": "mcp_server", "url": "https://x", "name": "docs"},
                {"type": "mcp_server", "url": "https://x"},
                {"type": "wish"},
            ],
            generation_config={
                "max_output_tokens": 5,
                "temperature": 0.5,
                "stop_sequences": ["END"],
                "thinking_level": "low",
                "thinking_summaries": "auto",
                "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["add"]}},
                "speech_config": [{"voice": "Kore"}],
            },
            response_format={"type": "text", "mime_type": "application/json", "schema": {"a": 1}},
            service_tier="flex",
            labels={"team": "a"},
            store=False,
            stream=True,
            continuation_token="t",
        )
    )
    options = request.options
    assert options.max_output_tokens == 5
    assert options.reasoning == il.Reasoning("low", visible=True)
    assert options.tool_choice == il.ToolChoice("any", ("add",))
    assert options.response_format == il.ResponseFormat("json_schema", schema={"a": 1})
    assert (options.service_tier, options.metadata, options.stream) == (
        *("flex", {"team": "a"}),
        True,
    )
    assert request.continues == il.Continues(token="t")
    kinds = [(tool.name, tool.kind, tool.executor) for tool in request.tools]
    assert kinds == [
        ("add", "function", "client"),
        ("google_search", "google_search", "provider"),
        ("computer_use", "computer_use", "client"),
        ("docs", "mcp_server", "provider"),
        ("mcp_server", "mcp_server", "provider"),
        ("wish", "unknown", "provider"),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"generation_config": {"tool_choice": "validated"}},
        {"generation_config": {"tool_choice": {"allowed_tools": {"tools": ["a"]}}}},
        {"generation_config": {"thinking_level": "ultra", "thinking_summaries": "none"}},
        {"generation_config": {}},
        {"generation_config": None, "tools": [], "system_instruction": ""},
        {"response_format": {"type": "object", "properties": {}}, "response_mime_type": "x/y"},
        {"response_format": [{"type": "text"}, {"type": "image"}]},
        {"response_format": [{"type": "text"}]},
        {"response_format": {"type": "audio", "mime_type": "audio/mp3"}},
        {"response_mime_type": "application/json"},
        {"response_modalities": ["text", "image"]},
        {"response_modalities": ["smell"]},
        {"labels": {}, "service_tier": "golden", "agent": "deep-research", "background": True},
        {"labels": {"a": 1}},
    ],
    ids=str,
)
def test_odd_options_go_home(more: Any) -> None:
    read(body(**more))


def test_an_agent_may_stand_in_place_of_a_model() -> None:
    request = read({"input": "Look it up.", "agent": "deep-research", "background": True})
    assert request.model is None
    assert request.raw is not None
    assert request.raw[NAME]["agent"] == "deep-research"


def test_edits_win_over_what_was_spelled() -> None:
    request = read(body(user(text("a")), CALL, {**RESULT, "result": {"sum": 1}}))
    result = request.messages[-1].content[0]
    assert isinstance(result, il.ToolResultBlock)
    assert result.content == (il.TextBlock('{"sum":1}'),)
    changed = result.replace(content=(il.TextBlock("three"),))
    messages = (*request.messages[:-1], il.Message.of_result(changed))
    steps = DIALECT.write_request(request.replace(messages=messages)).wire["input"]
    assert steps[-1]["result"] == "three"


def test_metadata_of_others_becomes_labels_where_it_can() -> None:
    options = il.Options(metadata={"team": "a", "Who": "B C"})
    written = DIALECT.write_request(il.Request((il.Message.user("q"),), "m", options=options))
    assert written.wire["labels"] == {"team": "a"}
    assert [(loss.kind, loss.path) for loss in written.report.entries] == [
        ("approximated", "$.options.metadata")
    ]


@pytest.mark.parametrize(
    ("wire", "place"),
    [
        ({"model": 1}, "$.model"),
        ({"input": 5}, "$.input"),
        ({"input": [5]}, "$.input[0]"),
        ({"input": [{"type": "user_input", "content": "x"}]}, "$.input[0].content"),
        ({"input": [{"type": "function_call", "id": "a"}]}, "$.input[0].name"),
        ({"input": [{"type": "thought", "summary": [{}]}]}, "$.input[0].summary[0].type"),
        ({"input": [user({"type": "text"})]}, "$.input[0].content[0].text"),
        ({"tools": [{"type": "function"}]}, "$.tools[0].name"),
        ({"generation_config": {"temperature": "x"}}, "$.generation_config.temperature"),
    ],
    ids=str,
)
def test_the_wrong_shape_is_named_with_its_place(wire: Any, place: str) -> None:
    with pytest.raises(il.ReadError) as error:
        DIALECT.read_request(wire)
    assert error.value.path == place
