"""Text, text for guardrails, citations and reasoning."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.anthropic import DIALECT as ANTHROPIC
from interlingua.dialects.bedrock import DIALECT
from interlingua.dialects.kernel.words import SUMMARY
from interlingua.model.blocks import (
    Citation,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from interlingua.model.message import Message
from tests.dialects.bedrock.wires import (
    CALL,
    PNG,
    TOOLS,
    assistant,
    block_of,
    body,
    losses,
    read,
    result,
    text,
    user,
    write,
)


def signed(words: str, signature: str | None = "EqQB") -> dict[str, Any]:
    fields = {"text": words} if signature is None else {"text": words, "signature": signature}
    return {"reasoningContent": {"reasoningText": fields}}


@pytest.mark.requirement("P1", "P2", "P6")
def test_thinking_is_replayed_block_by_block_ahead_of_the_call() -> None:
    turn = assistant(signed("Hm."), signed("", "EqQC"), CALL)
    content = read(body(turn, user(result()), toolConfig=TOOLS)).messages[0].content
    assert content[:2] == (ThinkingBlock("Hm.", "EqQB"), ThinkingBlock("", "EqQC"))


@pytest.mark.requirement("P3", "P5")
def test_redacted_thinking_is_the_same_data_as_in_the_messages_api() -> None:
    blob = base64.b64encode(b"EuYBCoYB").decode()
    part = {"reasoningContent": {"redactedContent": blob}}
    block = block_of(part, "assistant")
    assert block == RedactedThinkingBlock("EuYBCoYB")
    request = DIALECT.read_request(body(assistant(part)))
    outcome = retell(request.replace(model=None), ANTHROPIC, source="bedrock")
    wire = ANTHROPIC.write_request(outcome.value, outcome.recorder).wire
    fields = {"type": "redacted_thinking", "data": "EuYBCoYB"}
    assert wire["messages"][0]["content"] == [fields]


def test_a_blob_that_is_no_text_goes_home() -> None:
    blob = base64.b64encode(bytes(range(200, 220))).decode()
    part = {"reasoningContent": {"redactedContent": blob}}
    assert block_of(part, "assistant") == RedactedThinkingBlock(blob)


@pytest.mark.requirement("P4", "P43")
def test_unsigned_thinking_of_others_is_left_out_and_never_becomes_text() -> None:
    wire, report = write(Message.assistant([ThinkingBlock("Hm."), TextBlock("Hello")]))
    assert wire == body(assistant(text("Hello")))
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


def test_unsigned_thinking_from_here_goes_back() -> None:
    assert block_of(signed("Hm.", None), "assistant") == ThinkingBlock("Hm.")


def test_text_and_images_for_guardrails_are_text_and_images() -> None:
    guarded = {"text": {"text": "Hi", "qualifiers": ["query"]}}
    assert block_of({"guardContent": guarded}) == TextBlock("Hi")
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    assert isinstance(block_of({"guardContent": image}), ImageBlock)


def test_compacted_history_is_labelled_text() -> None:
    wire, report = write(Message.user("Hi"), Message.assistant([CompactionBlock("So far.")]))
    assert wire["messages"][1]["content"] == [text(SUMMARY.format("So far."))]
    assert [loss.kind for loss in report.entries] == ["downgraded"]


@pytest.mark.requirement("P41")
def test_text_that_cites_holds_its_citations() -> None:
    citations = [
        {
            "title": "T",
            "sourceContent": [text("So it is.")],
            "location": {"documentPage": {"documentIndex": 1, "start": 2, "end": 3}},
        },
        {"location": {"web": {"url": "https://a.b", "domain": "a.b"}}},
        {"source": "https://c.d", "location": {"searchResultLocation": {"searchResultIndex": 0}}},
    ]
    part = {"citationsContent": {"content": [text("It is "), text("so.")], "citations": citations}}
    block = block_of(part, "assistant")
    assert isinstance(block, TextBlock)
    assert block.text == "It is so."
    assert block.citations == (
        Citation("So it is.", title="T", document_index=1),
        Citation(url="https://a.b"),
        Citation(url="https://c.d"),
    )


def test_citations_of_others_are_written_as_far_as_there_is_a_place() -> None:
    cited = TextBlock("So.", citations=(Citation("a", "https://a.b", "A", start=0, end=2),))
    wire, report = write(Message.assistant([cited]))
    content = wire["messages"][0]["content"][0]["citationsContent"]
    assert content["content"] == [text("So.")]
    assert content["citations"][0]["location"] == {"web": {"url": "https://a.b"}}
    place = "$.messages[0].content[0].citations[0]"
    assert losses(report) == [("dropped", f"{place}.start"), ("dropped", f"{place}.end")]


def test_a_refusal_is_written_as_text() -> None:
    wire, report = write(Message.assistant([RefusalBlock("No.")]))
    assert wire == body(assistant(text("No.")))
    assert losses(report) == [("downgraded", "$.messages[0].content[0]")]
