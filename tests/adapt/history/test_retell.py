"""Retelling: what is repaired or left out on the way to another dialect or model, and how it is
reported. The dialects here are made up of traits alone; nothing is written."""

from __future__ import annotations

import logging

import pytest

import interlingua as il
from interlingua.adapt.history.retell import retell
from interlingua.dialects.kernel.words import SYSTEM_MARK
from tests.adapt.history.conversations import (
    GRAMMAR,
    SIGNED,
    USER,
    assistant,
    call,
    losses,
    result,
    target,
    told,
)


@pytest.mark.requirement("S002-28", "S002-109", "S002-85")
def test_a_dropped_block_gives_one_warning_with_five_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="gemini")
    message = message.replace(id="01J", session_id="01S")
    with caplog.at_level(logging.DEBUG, logger="interlingua"):
        told([USER, message], target())
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message == "block_dropped"
    fields = ("session_id", "message_id", "block_type", "adapter")
    assert [getattr(record, field) for field in fields] == ["01S", "01J", "thinking", "anthropic"]
    assert "issuer" in record.__dict__["reason"]
    assert "hm" not in str(record.__dict__)


@pytest.mark.requirement("P9", "P10")
def test_a_provider_that_insists_on_signatures_gets_the_stand_in() -> None:
    gemini = target("gemini", family="google", call_signature=lambda model: "skip")
    message = assistant(call("a"), call("b"), protocol="openai-chat")
    out = told([USER, message, result("a"), result("b")], gemini)
    assert [block.signature for block in out.value[1].content] == ["skip", None]
    assert losses(out) == [("approximated", "$.messages[1].content[0].signature")]


@pytest.mark.requirement("P14")
def test_a_response_leaves_with_ids_that_its_client_can_store() -> None:
    response = il.Response(assistant(call("functions.Bash:0")))
    out = retell(response, target())
    assert GRAMMAR.legal(out.value.message.content[0].id)


@pytest.mark.requirement("P39")
def test_instructions_in_mid_conversation_keep_their_place() -> None:
    history = [il.Message.system("a"), USER, il.Message.system("b"), USER]
    assert told(history, target()).value == tuple(history)
    out = told(history, target(system_anywhere=False))
    assert out.value[0] == history[0]
    assert (out.value[2].role, out.value[2].text) == (il.Role.USER, SYSTEM_MARK + "b")
    assert losses(out) == [("downgraded", "$.messages[2].role")]


@pytest.mark.requirement("P40")
def test_tools_that_a_provider_runs_do_not_cross_vendors() -> None:
    search = call("srv", "web_search", executor="provider", raw={"anthropic": {"x": 1}})
    found = il.ToolResultBlock("srv", raw={"anthropic": {"y": 1}})
    message = assistant(search, found, il.TextBlock("here"), protocol="anthropic")
    assert told([USER, message], target()).value[1] == message
    out = told([USER, message], target("gemini", family="google"))
    assert out.value[1].content == (il.TextBlock("here"),)
    assert [path for _, path in losses(out)] == [f"$.messages[1].content[{n}]" for n in (0, 1)]


@pytest.mark.requirement("P45")
def test_schemas_lose_keywords_only_and_never_properties_of_that_name() -> None:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"additionalProperties": {"type": "string", "pattern": "a"}},
    }
    tool = il.ToolDefinition("look", "looks", schema)
    keywords = frozenset({"type", "properties"})
    out = retell(il.Request((USER,), tools=(tool,)), target(schema_keywords=keywords))
    assert out.value.tools[0].input_schema == {
        "type": "object",
        "properties": {"additionalProperties": {"type": "string"}},
    }
    assert [loss.path for loss in out.report.entries] == [
        "$.tools[0].input_schema.additionalProperties",
        "$.tools[0].input_schema.properties.additionalProperties.pattern",
    ]
    assert tool.input_schema == schema


def test_a_vendors_own_tool_is_left_out_abroad() -> None:
    tool = il.ToolDefinition("web_search", kind="web_search_20250305", executor="provider")
    out = retell(il.Request((USER,), tools=(tool,)), target())
    assert out.value.tools == ()
    assert [(loss.path, loss.severity) for loss in out.report.entries] == [("$.tools[0]", "error")]


def test_thinking_in_an_answer_is_shown_without_its_signature() -> None:
    response = il.Response(assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic"))
    out = retell(response, target("ollama", family=None))
    assert out.value.message.content[0] == il.ThinkingBlock("hm")
    assert losses(out) == [("dropped", "$.message.content[0].signature")]


# -- who said it -----------------------------------------------------------------------------------


def test_the_model_that_a_request_asks_is_the_one_that_is_reported() -> None:
    content = assistant(
        SIGNED, il.TextBlock("yes"), protocol="anthropic", model="anthropic:claude-opus-4-1"
    )
    request = il.Request((USER, content), "claude-sonnet-4-5")
    assert losses(retell(request, target())) == [("dropped", "$.messages[1].content[0]")]
    read = assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic")
    other = retell(il.Request((USER, read), "claude-opus-4-1"), target(), "claude-sonnet-4-5")
    assert losses(other) == [("dropped", "$.messages[1].content[0]")]


def test_what_the_provider_keeps_is_known_by_the_value_itself() -> None:
    keeps = target("openai-responses", family="openai", continues=frozenset({"response_id"}))
    request = il.Request((result("x" * 70),), continues=il.Continues(response_id="r1"))
    assert retell(request, keeps).value == request
    assert retell(request.replace(raw={"openai-responses": {}}), keeps).report.entries == []
    other = retell(request.replace(raw={"anthropic": {}}), keeps)
    assert [loss.path for loss in other.report.entries] == ["$.messages[0]", "$.continues"]
    token = retell(il.Request((USER,), continues=il.Continues(token="t")), keeps)
    assert [(loss.path, loss.severity) for loss in token.report.entries] == [
        ("$.continues", "error")
    ]


# -- what is refused for its form ------------------------------------------------------------------


def test_a_line_to_one_service_is_not_shown_to_another() -> None:
    line = il.TextBlock("x-anthropic-billing-header: cc_version=2.1; cch=1a2b3;")
    both = il.Message.system([line, il.TextBlock("be kind")])
    chat = target("openai-chat", family=None)
    out = told([both, USER], chat)
    assert out.value == (il.Message.system([il.TextBlock("be kind")]), USER)
    assert [(loss.path, loss.severity) for loss in out.report.entries] == [
        ("$.messages[0].content[0]", "info")
    ]
    assert told([il.Message.system([line]), USER], chat).value == (USER,)
    assert told([both, USER], target()).value == (both, USER)
