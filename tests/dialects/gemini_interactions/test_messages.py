"""Steps to messages."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from tests.dialects.gemini_interactions.wires import (
    CALL,
    IMAGE,
    RESULT,
    SEARCH,
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


@pytest.mark.parametrize("given", ["Hi", text("Hi"), [text("Hi")]])
def test_a_conversation_that_grows_is_written_in_steps(given: Any) -> None:
    request = read({"model": "m", "input": given})
    longer = request.replace(messages=(*request.messages, il.Message.assistant("Yes.")))
    wire = DIALECT.write_request(longer).wire["input"]
    assert wire == [user(text("Hi")), output(text("Yes."))]


def test_what_has_no_place_is_reported() -> None:
    message = il.Message.assistant(
        [il.TextBlock("a", "sig"), il.RedactedThinkingBlock("x"), il.RefusalBlock("No.")]
    )
    options = il.Options(top_k=3, reasoning=il.Reasoning(budget_tokens=9), seed=1)
    request = il.Request((il.Message.user("q"), message), "m", options=options)
    written = DIALECT.write_request(request)
    assert written.wire["input"][1:] == [output(text("a"), text("No."))]
    assert {(loss.kind, loss.path) for loss in written.report.entries} == {
        ("dropped", "$.messages[1].content[0].signature"),
        ("dropped", "$.messages[1].content[1]"),
        ("downgraded", "$.messages[1].content[2]"),
        ("dropped", "$.options.top_k"),
        ("dropped", "$.options.reasoning.budget_tokens"),
    }


def test_a_document_that_is_text_is_written_as_text() -> None:
    page = il.DocumentBlock(il.Source("text", "Eight legs."))
    sound = il.DocumentBlock(il.Source("base64", "AAAA"), "audio/wav")
    written = DIALECT.write_request(il.Request((il.Message.user([page, sound]),), "m"))
    kinds = [part["type"] for part in written.wire["input"][0]["content"]]
    assert kinds == ["text", "audio"]
    assert [loss.kind for loss in written.report.entries] == ["downgraded", "approximated"]
