"""Calls of tools and their results."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from tests.dialects.anthropic.contents import only
from tests.dialects.anthropic.wires import (
    CALL,
    PNG,
    answer,
    losses,
    read_answer,
    result,
    text,
    user,
    write,
)


def test_a_call_says_its_input_as_an_object() -> None:
    assert only(CALL, "assistant") == ToolUseBlock("toolu_1", "get_weather", {"city": "Oslo"})
    only({**CALL, "caller": {"type": "direct"}}, "assistant")
    by = {"type": "code_execution_20260120", "tool_id": "s"}
    called: Any = only({**CALL, "caller": by}, "assistant")
    assert (called.caller, called.raw is None) == ("s", False)
    only({**CALL, "caller": {**by, "of": "another kind"}}, "assistant")


def test_spelling_of_arguments_is_no_loss_but_a_repair_is() -> None:
    spelled = ToolUseBlock("a", "f", {"a": 1}, raw_arguments='{ "a": 1 }')
    broken = ToolUseBlock("b", "f", {}, raw_arguments='{"a"')
    _, report = write(Message.assistant((spelled, broken)))
    assert losses(report) == [("dropped", "$.messages[0].content[1].raw_arguments")]


@pytest.mark.parametrize("content", ["12", "", [], None, [text("12")], [text("1"), text("2")]])
@pytest.mark.parametrize("flag", [{}, {"is_error": False}, {"is_error": True}])
def test_results_go_home_in_every_spelling(content: Any, flag: dict[str, Any]) -> None:
    block = only(result(content, **flag))
    assert block.is_error is flag.get("is_error", False)
    bare = result(**flag)
    del bare["content"]
    assert only(bare).content == ()


@pytest.mark.requirement("P33")
def test_a_failed_result_has_its_flag() -> None:
    wire, report = write(Message.tool_result("toolu_1", "No.", is_error=True, tool_name="f"))
    part = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("No.")]}
    assert wire["messages"] == [user({**part, "is_error": True})]
    assert not report.entries


def test_a_tool_that_a_search_found_is_its_name() -> None:
    found = result([{"type": "tool_reference", "tool_name": "get_weather"}])
    assert only(found).content == (TextBlock("get_weather"),)


def test_results_hold_images_and_documents() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png")
    wire, report = write(Message.tool_result("toolu_1", [TextBlock("See"), image]))
    assert [p["type"] for p in wire["messages"][0]["content"][0]["content"]] == ["text", "image"]
    assert not report.entries


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}

FOUND = {"type": "web_search_result", "url": "https://example.com", "title": "E"}


FOUND |= {"encrypted_content": "Eq", "page_age": None}


def hosted(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": f"{kind}_tool_result", "tool_use_id": "srvtoolu_1", "content": content, **more}


@pytest.mark.requirement("P40")
def test_hosted_calls_and_results_stay_in_the_models_turn() -> None:
    message = read_answer(answer(SEARCH, hosted("web_search", [FOUND]), text("So."))).message
    call, found, _ = message.content
    assert isinstance(call, ToolUseBlock)
    assert isinstance(found, ToolResultBlock)
    assert call.executor == "provider"
    assert found.content == (DocumentBlock(Source("url", "https://example.com"), title="E"),)
    request = Request((message,), "m", options=Options(max_output_tokens=9))
    assert DIALECT.write_request(request).report.entries == []


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("code_execution", {"type": "code_execution_result", "stdout": "4", "return_code": 0}, "4"),
        ("bash_code_execution", {"type": "bash_code_execution_result", "stdout": ""}, ""),
        ("advisor", {"type": "advisor_result", "text": "Ship it."}, "Ship it."),
        ("tool_search", {"type": "tool_search_tool_search_result"}, ""),
        ("mcp", [text("4")], "4"),
        ("mcp", "4", "4"),
        ("some_later", {"type": "some_later_result", "anything": [1]}, ""),
    ],
)
def test_hosted_results_say_their_text(kind: str, content: Any, said: str) -> None:
    block = only(hosted(kind, content), "assistant")
    assert "".join(part.text for part in block.content) == said


def test_a_hosted_error_is_an_error() -> None:
    error = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
    assert only(hosted("web_fetch", error), "assistant").is_error
    assert only(hosted("mcp", [text("no")], is_error=True), "assistant").is_error


def test_hosted_tools_of_others_are_left_out() -> None:
    call = ToolUseBlock("x", "web_search", {}, executor="provider")
    _, report = write(Message.assistant((call, ToolResultBlock("x"), TextBlock("Hi"))))
    paths = ["$.messages[0].content[0]", "$.messages[0].content[1]"]
    assert losses(report) == [("dropped", path) for path in paths]
