"""Text with its citations, thinking, refusals and compactions."""

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
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message
from tests.dialects.anthropic.contents import only
from tests.dialects.anthropic.wires import (
    CALL,
    answer,
    assistant,
    body,
    losses,
    read,
    read_answer,
    text,
    user,
    write,
)


def part_of(block: Block, role: str = "user") -> dict[str, Any]:
    """The part that a block alone in its message is written as, without a loss."""
    wire, report = write(Message(role, (block,)))  # type: ignore[arg-type]  # a word is a role
    assert not report.entries
    return wire["messages"][0]["content"][0]  # type: ignore[no-any-return]  # wires are JSON


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
    assert [(loss.kind, loss.severity) for loss in report.entries] == [("dropped", "info")]


@pytest.mark.requirement("P7")
def test_a_signature_on_text_or_a_call_is_a_loss() -> None:
    blocks = (TextBlock("Hi", "sig"), ToolUseBlock("toolu_1", "f", {}, signature="sig"))
    _, report = write(Message.assistant(blocks))
    paths = [f"$.messages[0].content[{n}].signature" for n in (0, 1)]
    assert losses(report) == [("dropped", path) for path in paths]


def test_a_refusal_is_written_as_text() -> None:
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
    items = [part["text"] for part in wire["messages"][0]["content"]]
    assert items == [SUMMARY.format("So far."), "Go on"]
    assert losses(report) == [("downgraded", "$.messages[0].content[0]")]


def test_compacted_history_of_another_vendor_cannot_be_said() -> None:
    sealed = CompactionBlock(data="gAAA")
    wire, report = write(Message.user("Hi"), Message.assistant([sealed, TextBlock("Yes")]))
    assert wire["messages"][1]["content"] == [text("Yes")]
    assert [(loss.severity, loss.path) for loss in report.entries] == [
        ("error", "$.messages[1].content[0]")
    ]


@pytest.mark.parametrize("kind", ["fallback", "mcp_tool_listing"])
def test_parts_for_the_service_alone_say_nothing_to_others(kind: str) -> None:
    marker = {"type": kind, "from": {"model": "a"}}
    assert only(marker, "assistant") == UnknownBlock({"anthropic": marker})
