"""Requests: what is said, in all its forms; tools, options, and what the service keeps."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from tests.dialects.gemini_interactions.wires import (
    CALL,
    IMAGE,
    NAME,
    RESULT,
    SEARCH,
    TOOL,
    body,
    output,
    read,
    text,
    thought,
    user,
)


def said(request: il.Request) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in request.messages]


@pytest.mark.parametrize(
    "given",
    ["Hi", text("Hi"), [text("Hi")], [user(text("Hi"))], user(text("Hi"))],
    ids=["a text", "content", "a list of content", "steps", "a step"],
)
def test_all_forms_of_input_say_the_same(given: Any) -> None:
    request = read({"model": "m", "input": given})
    assert said(request) == [("user", "Hi")]
    assert request.messages[0] == il.Message.user("Hi")


@pytest.mark.parametrize("given", ["Hi", text("Hi"), [text("Hi")]])
def test_a_conversation_that_grows_is_told_in_steps(given: Any) -> None:
    request = read({"model": "m", "input": given})
    longer = request.replace(messages=(*request.messages, il.Message.assistant("Yes.")))
    wire = DIALECT.write_request(longer).wire["input"]
    assert wire == [user(text("Hi")), output(text("Yes."))]


def test_steps_of_a_model_in_a_row_are_one_message() -> None:
    request = read(
        body(
            user(text("Add."), IMAGE),
            thought(text("Hm."), text("So."), signature="c2ln"),
            output(text("Well")),
            CALL,
            RESULT,
            *SEARCH,
            output(text("2"), text("!")),
            user(text("Thanks.")),
            system_instruction="Be brief.",
        )
    )
    roles = [message.role.value for message in request.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    first, second, well, call = request.messages[2].content
    assert (first, second) == (il.ThinkingBlock("Hm."), il.ThinkingBlock("So.", "c2ln"))
    assert (well, call) == (il.TextBlock("Well"), il.ToolUseBlock("fc_1", "add", {"a": 1}))
    result = request.messages[3].content[0]
    assert result == il.ToolResultBlock("fc_1", (il.TextBlock("2"),), tool_name="add")
    hosted, found, *_ = request.messages[4].content
    assert isinstance(hosted, il.ToolUseBlock)
    assert (hosted.name, hosted.executor, hosted.signature) == (
        *("google_search", "provider"),
        "c2lnMQ==",
    )
    assert isinstance(found, il.ToolResultBlock)


@pytest.mark.parametrize(
    "steps",
    [
        [user(), user(text(""))],
        [{"type": "user_input"}, {"type": "user_input", "content": None}],
        [user(text("a"), future=1)],
        [user(text("a")), output(), output(text("b")), {"type": "model_output"}],
        [user(text("a")), output(text("b")), output(text("c"), status="done", error=None)],
        [user(text("a")), output(text("b"), {"type": "hologram"}), output({"type": "smell"})],
        [user(text("a")), {"type": "model_output", "error": {"code": 3}}, {"type": "daydream"}],
        [user(text("a")), thought(), thought(text("")), thought(signature="")],
        [user(text("a")), thought(IMAGE, text("b", annotations=[]), signature="s", x=1)],
        [user(text("a")), thought(text("b")), thought(text("c"), signature="s")],
        [user(text("a")), {**CALL, "signature": ""}, {**RESULT, "is_error": True}],
        [user(text("a")), {**CALL, "signature": "s"}, {**RESULT, "is_error": False}],
        [user(text("a")), CALL, {**RESULT, "result": {"sum": 18.0}}],
        [user(text("a")), CALL, {**RESULT, "result": [text("x")]}],
        [user(text("a")), CALL, {**RESULT, "result": [text("x"), IMAGE, {"type": "smell"}]}],
        [user(text("a")), CALL, {**RESULT, "result": []}],
        [user(text("a")), CALL, {**RESULT, "result": 7}],
        [user(text("a")), CALL, user(RESULT, text("and")), text("bare")],
        [user(RESULT, {**RESULT, "call_id": "b"}), user(text("x"), RESULT, y=1)],
        [user({"type": "image"}, {"type": "video", "uri": "files/a", "name": "v", "fps": 1})],
        [user({"type": "image", "data": "aa", "uri": "u"}, {**IMAGE, "resolution": "high"})],
        [user({"type": "document", "uri": "https://x/y.pdf", "mime_type": None})],
        [
            user(text("a")),
            {"type": "mcp_server_tool_call", "id": "m", "name": "f", "server_name": "s"},
            {"type": "mcp_server_tool_result", "call_id": "m", "name": "f", "result": {"a": 1}},
            {"type": "code_execution_call", "id": "c", "arguments": {"code": "1"}},
            {"type": "code_execution_result", "call_id": "c", "result": "1"},
            {"type": "file_search_call", "id": "f"},
            {"type": "file_search_result", "call_id": "f"},
        ],
    ],
    ids=str,
)
def test_odd_steps_go_home(steps: list[Any]) -> None:
    read(body(*steps))


def test_results_may_stand_among_what_a_user_says() -> None:
    request = read(body(user(RESULT), previous_interaction_id="v1_a"))
    assert [message.role.value for message in request.messages] == ["tool"]
    assert request.continues == il.Continues(response_id="v1_a")


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


def test_what_has_no_place_is_told() -> None:
    message = il.Message.assistant(
        [il.TextBlock("a", "sig"), il.RedactedThinkingBlock("x"), il.RefusalBlock("No.")]
    )
    options = il.Options(top_k=3, reasoning=il.Reasoning(budget_tokens=9), seed=1)
    request = il.Request((il.Message.user("q"), message), "m", options=options)
    written = DIALECT.write_request(request)
    assert written.wire["input"][1:] == [output(text("a"), text("No."))]
    assert {(loss.kind, loss.path) for loss in written.report} == {
        ("dropped", "$.messages[1].content[0].signature"),
        ("dropped", "$.messages[1].content[1]"),
        ("downgraded", "$.messages[1].content[2]"),
        ("dropped", "$.options.top_k"),
        ("dropped", "$.options.reasoning.budget_tokens"),
    }


def test_a_document_that_is_text_is_said_as_text() -> None:
    page = il.DocumentBlock(il.Source("text", "Eight legs."))
    sound = il.DocumentBlock(il.Source("base64", "AAAA"), "audio/wav")
    written = DIALECT.write_request(il.Request((il.Message.user([page, sound]),), "m"))
    kinds = [part["type"] for part in written.wire["input"][0]["content"]]
    assert kinds == ["text", "audio"]
    assert [loss.kind for loss in written.report] == ["downgraded", "approximated"]


def test_metadata_of_others_becomes_labels_where_it_can() -> None:
    options = il.Options(metadata={"team": "a", "Who": "B C"})
    written = DIALECT.write_request(il.Request((il.Message.user("q"),), "m", options=options))
    assert written.wire["labels"] == {"team": "a"}
    assert [(loss.kind, loss.path) for loss in written.report] == [
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
