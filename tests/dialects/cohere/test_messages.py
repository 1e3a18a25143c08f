"""Messages: a list of content with a plan, calls and citations beside it."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere.wires import DOCUMENT, body, user


def test_commentary_is_a_plan_only_before_a_call() -> None:
    content = il.TextBlock("I look.", phase="commentary")
    call = il.ToolUseBlock("c1", "weather", {})
    turns = (il.Message.assistant((content, call)), il.Message.assistant((content.replace(),)))
    written = DIALECT.write_request(il.Request(turns, "m"))
    assert written.wire["messages"][0]["tool_plan"] == "I look."
    assert written.wire["messages"][1] == {"role": "assistant", "content": "I look."}
    assert [loss.path for loss in written.report.entries] == ["$.messages[1].content[0].phase"]


def test_a_failed_result_is_marked_in_its_text() -> None:
    result = il.ToolResultBlock("c1", (il.TextBlock("no"),), is_error=True)
    written = DIALECT.write_request(il.Request((il.Message.of_result(result),), "m"))
    assert written.wire["messages"][0]["content"] == "[tool error] no"
    again = DIALECT.read_request(written.wire).messages[0].content[0]
    assert isinstance(again, il.ToolResultBlock)
    assert again.is_error
    assert again.content == (il.TextBlock("no"),)


def test_documents_are_read_from_the_first_message_of_the_user() -> None:
    request = DIALECT.read_request(body(user("One"), user("Two"), documents=[DOCUMENT]))
    document, text = request.messages[0].content
    assert isinstance(document, il.DocumentBlock)
    assert (document.source.data, document.title) == ("Oslo is cold.", "Oslo")
    assert text == il.TextBlock("One")
    result = il.convert(body(user("One"), documents=[DOCUMENT]), "cohere", "anthropic", "request")
    assert result.wire["messages"][0]["content"][0]["source"]["data"] == "Oslo is cold."


def test_documents_of_others_stand_beside_the_messages() -> None:
    paper = il.DocumentBlock(il.Source("text", "It rains."), "text/plain", title="Weather")
    late = il.Message.user([il.TextBlock("And?"), paper])
    written = DIALECT.write_request(il.Request((il.Message.user("Hi"), late), "m"))
    assert written.wire["documents"] == [{"data": {"text": "It rains.", "title": "Weather"}}]
    assert written.wire["messages"][1] == user("And?")
    assert [(loss.kind, loss.path) for loss in written.report.entries] == [
        ("moved", "$.messages[1].content[1]")
    ]
