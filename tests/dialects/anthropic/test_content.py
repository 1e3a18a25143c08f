"""The parts of a turn: text, thinking, calls, results, media, hosted tools."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.dialects.kernel.words import SUMMARY
from interlingua.model.blocks import (
    Block,
    Cache,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from tests.dialects.anthropic.wires import (
    CALL,
    PNG,
    answer,
    assistant,
    body,
    losses,
    read,
    read_answer,
    result,
    text,
    user,
    write,
)


def only(wire_part: dict[str, Any], role: str = "user") -> Any:
    """The block that a part alone in its turn reads as."""
    (message,) = read(body({"role": role, "content": [wire_part]})).messages
    return message.content[0]


def part_of(block: Block, role: str = "user") -> dict[str, Any]:
    """The part that a block alone in its message is written as, without a loss."""
    wire, report = write(Message(role, (block,)))  # type: ignore[arg-type]  # a word is a role
    assert not report
    return wire["messages"][0]["content"][0]  # type: ignore[no-any-return]  # wires are JSON


# Text


@pytest.mark.requirement("P38")
@pytest.mark.parametrize("ttl", [None, "5m", "1h"])
def test_cache_marks_are_fields(ttl: str | None) -> None:
    control = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    block = only(text("Hi", cache_control=control))
    assert block == TextBlock("Hi", cache=Cache(ttl))
    assert part_of(TextBlock("Hi", cache=Cache(ttl))) == text("Hi", cache_control=control)


def test_a_time_to_live_that_is_not_offered_is_approximated() -> None:
    wire, report = write(Message.user(TextBlock("Hi", cache=Cache("12h"))))
    assert wire["messages"][0]["content"][0]["cache_control"]["ttl"] == "1h"
    assert losses(report) == [("approximated", "$.messages[0].content[0].cache")]
    only(text("Hi", cache_control={"type": "ephemeral", "ttl": "2h", "scope": "all"}))


@pytest.mark.requirement("P26")
def test_empty_text_of_an_answer_is_not_sent_back() -> None:
    message = read_answer(answer(text(""), CALL)).message
    assert message.content[0] == TextBlock("")
    wire, report = write(Message.user("Hi"), message)
    assert wire["messages"][1] == assistant(CALL)
    assert [(loss.kind, loss.severity) for loss in report] == [("dropped", "info")]


@pytest.mark.requirement("P7")
def test_a_signature_on_text_or_a_call_is_a_loss() -> None:
    blocks = (TextBlock("Hi", "sig"), ToolUseBlock("toolu_1", "f", {}, signature="sig"))
    _, report = write(Message.assistant(blocks))
    paths = [f"$.messages[0].content[{n}].signature" for n in (0, 1)]
    assert losses(report) == [("dropped", path) for path in paths]


def test_a_refusal_is_said_as_text() -> None:
    wire, report = write(Message.assistant(RefusalBlock("No.")))
    assert wire["messages"][0] == assistant(text("No."))
    assert losses(report) == [("downgraded", "$.messages[0].content[0]")]


CITED = [
    {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": "T"}
    | {"start_char_index": 1, "end_char_index": 2, "file_id": None},
    {"type": "web_search_result_location", "cited_text": "b", "url": "https://example.com"}
    | {"title": "E", "encrypted_index": "Eo8B"},
    {"type": "search_result_location", "cited_text": "c", "source": "https://example.com"}
    | {"title": "E", "search_result_index": 0, "start_block_index": 0, "end_block_index": 1},
]


@pytest.mark.requirement("P41")
def test_citations_are_fields_and_places_in_documents_are_kept() -> None:
    block = only(text("So.", citations=CITED), "assistant")
    assert block.citations == (
        Citation("a", title="T", document_index=0),
        Citation("b", "https://example.com", "E"),
        Citation("c", "https://example.com", "E"),
    )


def test_citations_of_others_and_of_users_are_losses() -> None:
    cited = TextBlock("So.", citations=(Citation("a", "https://example.com", start=0, end=2),))
    path = "$.messages[0].content[0].citations[0]"
    assert losses(write(Message.assistant(cited))[1]) == [("dropped", path)]
    own = only(text("So.", citations=CITED[:1]), "assistant")
    assert losses(write(Message.user(own))[1]) == [("dropped", path)]
    read(body(user(text("So.", citations=CITED))))  # an older version took them


# Thinking


@pytest.mark.requirement("S000-25", "P1", "P6")
def test_thinking_blocks_go_back_each_with_its_signature_and_ahead_of_the_call() -> None:
    parts = [
        {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"},
        {"type": "thinking", "thinking": "Well.", "signature": "EqQC"},
    ]
    message = read_answer(answer(*parts, CALL, stop_reason="tool_use")).message
    assert message.content[:2] == (ThinkingBlock("Hm.", "EqQB"), ThinkingBlock("Well.", "EqQC"))
    assert write(Message.user("Hi"), message)[0]["messages"][1] == assistant(*parts, CALL)


@pytest.mark.requirement("S000-26", "P2", "P3")
def test_empty_signed_thinking_and_redacted_thinking_stay_what_they_are() -> None:
    omitted = {"type": "thinking", "thinking": "", "signature": "EqQB"}
    redacted = {"type": "redacted_thinking", "data": "EmwK"}
    assert only(omitted, "assistant") == ThinkingBlock("", "EqQB")
    assert only(redacted, "assistant") == RedactedThinkingBlock("EmwK")
    assert part_of(ThinkingBlock("", "EqQB"), "assistant") == omitted
    assert part_of(RedactedThinkingBlock("EmwK"), "assistant") == redacted


@pytest.mark.requirement("P4", "P43")
def test_unsigned_thinking_is_left_out_of_a_request_and_never_becomes_text() -> None:
    wire, report = write(Message.assistant((ThinkingBlock("Secret."), TextBlock("Hi"))))
    assert wire["messages"] == [assistant(text("Hi"))]
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


def test_unsigned_thinking_of_a_recorded_wire_goes_home() -> None:
    for signature in ({}, {"signature": ""}, {"signature": None}):
        only({"type": "thinking", "thinking": "Hm.", **signature}, "assistant")


def test_compacted_history_is_a_block_of_its_own_and_goes_home() -> None:
    change = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}
    summary = {
        "type": "compaction",
        "content": "So far.",
        "encrypted_content": "Eq",
        "signature": "c2ln",
        "tool_changes": [change],
    }
    assert only(summary, "assistant") == CompactionBlock("So far.", "Eq", "c2ln")
    failed = {"type": "compaction", "content": None}
    assert only(failed, "assistant") == CompactionBlock()
    for part in (summary, failed):
        turns = [user(text("Hi")), assistant(part, text("Yes"))]
        assert DIALECT.write_request(read(body(*turns))).wire["messages"] == turns


def test_compacted_history_that_a_user_tells_is_labelled_text() -> None:
    wire, report = write(Message.user([CompactionBlock("So far."), TextBlock("Go on")]))
    said = [part["text"] for part in wire["messages"][0]["content"]]
    assert said == [SUMMARY.format("So far."), "Go on"]
    assert losses(report) == [("downgraded", "$.messages[0].content[0]")]


def test_compacted_history_of_another_vendor_cannot_be_said() -> None:
    sealed = CompactionBlock(data="gAAA")
    wire, report = write(Message.user("Hi"), Message.assistant([sealed, TextBlock("Yes")]))
    assert wire["messages"][1]["content"] == [text("Yes")]
    assert [(loss.severity, loss.path) for loss in report] == [
        ("error", "$.messages[1].content[0]")
    ]


# Calls and results


def test_a_call_says_its_input_as_an_object() -> None:
    assert only(CALL, "assistant") == ToolUseBlock("toolu_1", "get_weather", {"city": "Oslo"})
    only({**CALL, "caller": {"type": "direct"}}, "assistant")
    only({**CALL, "caller": {"type": "code_execution_20260120", "tool_id": "s"}}, "assistant")


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
    assert not report


def test_a_tool_that_a_search_found_is_its_name() -> None:
    found = result([{"type": "tool_reference", "tool_name": "get_weather"}])
    assert only(found).content == (TextBlock("get_weather"),)


def test_results_hold_images_and_documents() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png")
    wire, report = write(Message.tool_result("toolu_1", [TextBlock("See"), image]))
    assert [p["type"] for p in wire["messages"][0]["content"][0]["content"]] == ["text", "image"]
    assert not report


# Hosted tools

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
    assert DIALECT.write_request(request).report.losses == []


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


@pytest.mark.parametrize("kind", ["fallback", "mcp_tool_listing"])
def test_parts_for_the_service_alone_say_nothing_to_others(kind: str) -> None:
    marker = {"type": kind, "from": {"model": "a"}}
    assert only(marker, "assistant") == UnknownBlock({"anthropic": marker})
