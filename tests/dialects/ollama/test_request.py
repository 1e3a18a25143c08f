"""Requests: messages, calls and results, tools."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.kernel.calls import DEFAULT_SCHEMA
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.ollama import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    AudioBlock,
    Cache,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Continues, Request
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from tests.dialects.ollama.wires import (
    PNG,
    SCHEMA,
    TOOL,
    assistant,
    body,
    losses,
    read,
    said,
    user,
    write,
)

# -- messages -------------------------------------------------------------------------------------


@pytest.mark.requirement("P39")
def test_roles_stay_what_and_where_they_are() -> None:
    words = ["system", "user", "assistant", "system", "user"]
    request = read(body(*({"role": word, "content": "Hi"} for word in words)))
    assert [m.role.value for m in request.messages] == words
    assert request.messages[2].metadata.protocol == "ollama"


def test_a_developer_is_a_system_with_a_report() -> None:
    wire, report = write(Message.developer("Be brief."))
    assert wire["messages"] == [{"role": "system", "content": "Be brief."}]
    assert losses(report) == [("downgraded", "$.messages[0].role")]


@pytest.mark.parametrize("word", ["control", "developer", "User", "function"])
def test_words_for_roles_that_templates_know_go_home(word: str) -> None:
    read(body({"role": word, "content": "thinking"}, user("Hi")))


@pytest.mark.parametrize("blank", ["", None])
def test_blank_content_is_no_block_and_goes_home(blank: Any) -> None:
    assert read(body({"role": "user", "content": blank})).messages[0].content == ()
    assert read(body({"role": "user"})).messages[0].content == ()
    read(body({"role": "user", "content": "Hi", "images": [], "tool_calls": None, "thinking": ""}))


def test_several_texts_become_one_with_a_report() -> None:
    wire, report = write(
        Message.user(["One.", "Two."]), Message.assistant(["It is ", "so.", "Really."])
    )
    assert [m["content"] for m in wire["messages"]] == ["One.\n\nTwo.", "It is so.Really."]
    assert losses(report) == [
        ("approximated", "$.messages[0].content[1]"),
        ("approximated", "$.messages[1].content[1]"),
        ("approximated", "$.messages[1].content[2]"),
    ]
    assert {loss.severity for loss in report.entries} == {"info"}


def test_a_message_of_which_nothing_can_be_said_leaves_a_placeholder() -> None:
    wire, report = write(Message.user([AudioBlock(Source("base64", "AAAA"), "audio/wav")]))
    assert wire["messages"] == [user(PLACEHOLDER)]
    assert losses(report) == [
        ("dropped", "$.messages[0].content[0]"),
        ("approximated", "$.messages[0].content"),
    ]


@pytest.mark.requirement("P38")
def test_names_and_cache_marks_have_no_place() -> None:
    _, report = write(Message.user([TextBlock("Hi", cache=Cache())], name="ada"))
    assert losses(report) == [
        ("dropped", "$.messages[0].name"),
        ("dropped", "$.messages[0].content[0].cache"),
    ]


# -- images and documents -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        ("/9j/4AAQ", "image/jpeg"),
        ("R0lGODlh", "image/gif"),
        ("UklGRgAA", "image/webp"),
        ("AAAA", None),
    ],
)
def test_the_data_of_an_image_tells_its_type(data: str, media_type: Any) -> None:
    image = ImageBlock(Source("base64", data), media_type)
    assert read(body(user("What?", images=[data]))).messages[0].content == (
        TextBlock("What?"),
        image,
    )
    wire, report = write(Message.user([TextBlock("What?"), image]))
    assert wire["messages"] == [user("What?", images=[data])]
    assert not report.entries


def test_an_image_moves_behind_the_text_and_may_lose_its_type() -> None:
    image = ImageBlock(Source("base64", "AAAA"), "image/bmp", detail="low")
    wire, report = write(Message.user([image, TextBlock("What?")]))
    assert wire["messages"] == [user("What?", images=["AAAA"])]
    assert losses(report) == [
        ("moved", "$.messages[0].content[0]"),
        ("dropped", "$.messages[0].content[0].media_type"),
        ("dropped", "$.messages[0].content[0].detail"),
    ]


@pytest.mark.requirement("P35")
def test_documents_are_written_as_text_or_reported() -> None:
    plain = DocumentBlock(Source("text", "All of it."), "text/plain", title="T")
    pdf = DocumentBlock(Source("base64", "JVBE"), "application/pdf")
    far = ImageBlock(Source("url", "https://example.com/a.png"), "image/png")
    wire, report = write(Message.user([plain, pdf, far]))
    assert wire["messages"] == [user("All of it.")]
    assert losses(report) == [
        ("downgraded", "$.messages[0].content[0]"),
        ("dropped", "$.messages[0].content[1]"),
        ("dropped", "$.messages[0].content[2]"),
    ]


# -- thinking -------------------------------------------------------------------------------------


@pytest.mark.requirement("P44", "P46")
def test_thinking_has_a_field_of_its_own_both_ways() -> None:
    message = read(body(user("Hi"), assistant("Hello", thinking="Hm."))).messages[1]
    assert message.content == (ThinkingBlock("Hm."), TextBlock("Hello"))
    history = [Message.user("Hi"), Message.assistant([ThinkingBlock("Hm."), TextBlock("Hello")])]
    assert said(*history)[1] == assistant("Hello", thinking="Hm.")


@pytest.mark.requirement("P4", "P43")
def test_signatures_and_hidden_thinking_stay_behind_and_never_become_text() -> None:
    hidden = RedactedThinkingBlock("EuYB")
    turn = Message.assistant([ThinkingBlock("Hm.", "EqQB"), hidden, TextBlock("Hello")])
    result = retell(Request((Message.user("Hi"), turn)), DIALECT, source="anthropic")
    written = DIALECT.write_request(result.value, result.recorder)
    assert written.wire["messages"][1] == assistant("Hello", thinking="Hm.")
    assert losses(written.report) == [
        ("dropped", "$.messages[1].content[0].signature"),
        ("dropped", "$.messages[1].content[1]"),
    ]


def test_several_thoughts_become_one_with_a_report() -> None:
    turn = Message.assistant([ThinkingBlock("One."), ThinkingBlock("Two."), TextBlock("Hello")])
    wire, report = write(turn)
    assert wire["messages"] == [assistant("Hello", thinking="One.\nTwo.")]
    assert losses(report) == [
        ("approximated", "$.messages[0].content[0]"),
        ("approximated", "$.messages[0].content[1]"),
    ]


def test_a_refusal_is_written_as_text_and_what_others_kept_is_not() -> None:
    other = UnknownBlock({"gemini": {"future": 1}})
    wire, report = write(Message(Role.ASSISTANT, (RefusalBlock("No."), other)))
    assert wire["messages"] == [assistant("No.")]
    assert losses(report) == [
        ("downgraded", "$.messages[0].content[0]"),
        ("dropped", "$.messages[0].content[1]"),
    ]


# -- errors ---------------------------------------------------------------------------------------


def test_history_that_a_provider_keeps_is_reported() -> None:
    _, report = write(Message.user("Hi"), continues=Continues(response_id="resp_1"))
    assert [(loss.path, loss.severity) for loss in report.entries] == [("$.continues", "error")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"messages": 5}, "$.messages"),
        (body(5), "$.messages[0]"),
        (body({"content": "Hi"}), "$.messages[0].role"),
        (body(user("Hi"), user([])), "$.messages[1].content"),  # type: ignore[arg-type]  # on purpose
        (body(user("Hi", images=[5])), "$.messages[0].images[0]"),
        (body(assistant(tool_calls=[5])), "$.messages[0].tool_calls[0]"),
        (body(tools=[{"function": {"name": "f", "parameters": 5}}]), "$.tools[0].function"),
        (body(options={"seed": "x"}), "$.options.seed"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path.startswith(path)


def test_tools_are_functions() -> None:
    request = read(body(tools=[TOOL]))
    assert request.tools == (ToolDefinition("get_weather", "Tells it.", SCHEMA),)
    read(body(tools=[]))
    read(body(tools=[{"type": "future", "a": 1}, {"function": {"name": "f", "strict": True}}]))


@pytest.mark.requirement("P45")
def test_keywords_that_the_server_ignores_are_reported_and_properties_are_none() -> None:
    schema = {
        "type": "object",
        "properties": {"format": {"type": "string", "format": "date"}},
        "additionalProperties": False,
    }
    result = retell(Request((), tools=(ToolDefinition("f", None, schema),)), DIALECT)
    wire = DIALECT.write_request(result.value, result.recorder)
    parameters = wire.wire["tools"][0]["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {"format": {"type": "string"}}}
    assert [path for _, path in losses(wire.report)] == [
        "$.tools[0].input_schema.properties.format.format",
        "$.tools[0].input_schema.additionalProperties",
    ]


def test_other_tools_are_written_as_functions_or_reported() -> None:
    tools = (
        ToolDefinition("now"),
        ToolDefinition("patch", kind="custom"),
        ToolDefinition("web_search", executor="provider", kind="web_search"),
    )
    wire, report = write(Message.user("Hi"), tools=tools)
    first, second = (tool["function"]["parameters"] for tool in wire["tools"])
    assert (first, second["required"]) == (DEFAULT_SCHEMA, ["input"])
    assert losses(report) == [("downgraded", "$.tools[1].kind"), ("dropped", "$.tools[2]")]
