"""Reasoning items: summaries, encrypted content, and what others thought."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.dialects.openai_responses.wires import (
    CALL,
    SECRET,
    Wire,
    body,
    read,
    read_whole,
    whole,
    write,
    write_whole,
)


def summary(*texts: str) -> list[Wire]:
    return [{"type": "summary_text", "text": text} for text in texts]


@pytest.mark.requirement("P2", "P3")
def test_encrypted_reasoning_without_a_summary_is_thinking_without_text() -> None:
    assert read(body(SECRET, CALL)).messages[0].content[0] == ThinkingBlock("", "b64==", "rs_1")


@pytest.mark.requirement("P6")
def test_each_part_of_a_summary_is_a_block_and_the_last_one_is_signed() -> None:
    item = {**SECRET, "summary": summary("a", "b")}
    assert read(body(item)).messages[0].content == (
        ThinkingBlock("a", None, "rs_1"),
        ThinkingBlock("b", "b64==", "rs_1"),
    )


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "reasoning", "summary": summary("a"), "encrypted_content": "b64=="},
        {"type": "reasoning", "summary": []},
        {"type": "reasoning", "id": "rs_1"},
        {**SECRET, "encrypted_content": None, "content": []},
        {**SECRET, "content": [{"type": "reasoning_text", "text": "a"}], "status": None},
        {**SECRET, "content": None, "format": "x", "summary": [{"text": "a", "more": 1}]},
        {**SECRET, "summary": summary("", "")},
    ],
)
def test_reasoning_goes_home_in_its_own_spelling(item: Wire) -> None:
    read(body(item, CALL))
    read(body(item, item, CALL))
    read_whole(whole(item, item, CALL))


@pytest.mark.requirement("P1", "P42")
def test_reasoning_stays_before_what_it_led_to() -> None:
    thought = ThinkingBlock("a", "b64==", "rs_1")
    wire, losses = write(Message.assistant([thought, ToolUseBlock("call_1", "add", {"a": 1})]))
    assert wire["input"] == [{**SECRET, "summary": summary("a")}, CALL]
    assert losses == []


def test_a_signature_without_an_id_gets_one_that_stays_the_same() -> None:
    first, _ = write(Message.assistant([ThinkingBlock("", "b64==")]))
    second, _ = write(Message.user("Hi"), Message.assistant([ThinkingBlock("", "b64==")]))
    assert first["input"][0] == second["input"][1]
    assert first["input"][0]["id"].startswith("rs_")


@pytest.mark.requirement("P4", "P43")
def test_thinking_with_neither_id_nor_signature_has_no_place() -> None:
    wire, losses = write(Message.assistant([ThinkingBlock("a"), TextBlock("b")]))
    assert wire["input"] == [{"role": "assistant", "content": "b"}]
    assert losses == [("dropped", "$.messages[0].content[0]")]


@pytest.mark.requirement("P4", "P43", "S002-109")
def test_thinking_of_another_vendor_is_left_out_and_logged(caplog: Any) -> None:
    metadata = MessageMetadata(protocol="anthropic", model="claude")
    blocks = [ThinkingBlock("a", "sig"), RedactedThinkingBlock("b64=="), TextBlock("b")]
    result = retell(Request((Message.assistant(blocks, metadata),)), DIALECT)
    written = DIALECT.write_request(result.value, result.recorder)
    assert written.wire["input"] == [{"role": "assistant", "content": "b"}]
    assert [loss.path for loss in written.report.entries] == [
        "$.messages[0].content[0]",
        "$.messages[0].content[1]",
    ]
    logged = [record for record in caplog.records if record.message == "block_dropped"]
    assert [getattr(record, "block_type", None) for record in logged] == [
        "thinking",
        "redacted_thinking",
    ]


def test_redacted_thinking_that_is_no_compaction_has_no_place() -> None:
    _, losses = write(Message.assistant([RedactedThinkingBlock("b64=="), TextBlock("b")]))
    assert losses == [("dropped", "$.messages[0].content[0]")]


def test_a_response_shows_thinking_of_any_origin() -> None:
    wire, losses = write_whole(Message.assistant([ThinkingBlock("a"), ThinkingBlock("b", "sig")]))
    assert [item["summary"] for item in wire["output"]] == [summary("a", "b")]
    assert wire["output"][0]["encrypted_content"] == "sig"
    assert losses == []


def test_edits_of_thinking_win() -> None:
    request = read(body({**SECRET, "summary": summary("a")}))
    message = request.messages[0]
    block: Any = message.content[0]
    edited = message.replace(content=(block.replace(text="b", signature="new"),))
    wire = DIALECT.write_request(request.replace(messages=(edited,))).wire
    assert wire["input"] == [{**SECRET, "summary": summary("b"), "encrypted_content": "new"}]
