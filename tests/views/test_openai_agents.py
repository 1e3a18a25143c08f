"""The openai-agents view, on items as openai-agents 0.24.0 has them (2026-11-17)."""

from __future__ import annotations

from copy import deepcopy
from itertools import islice
from typing import Any

import pytest

import interlingua as il
from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.views import openai_agents
from tests.laws.corpus import corpus_or_skip, records

CLAUDE = {
    "model": "claude-sonnet-4-6",
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}],
}
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "2 + 2?"},
    {
        "type": "reasoning",
        "id": "__fake_id__",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "provider_data": CLAUDE,
    },
    {
        "id": "__fake_id__",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "I add.", "annotations": []}],
        "provider_data": {"model": "claude-sonnet-4-6"},
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "add",
        "arguments": "{}",
        "provider_data": {"thought_signature": "dGg=", "model": "gemini-3-pro"},
    },
    {"type": "function_call_output", "call_id": "c1", "output": "4"},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "ZW5j",
    },
]


def test_items_come_home_unchanged() -> None:
    before = deepcopy(ITEMS)
    wire, report = openai_agents.write(openai_agents.read(ITEMS))
    assert same(wire, before)
    assert same(ITEMS, before)
    assert not report.entries


def test_what_others_signed_is_theirs() -> None:
    user, first, _, last = openai_agents.read(ITEMS)
    assert user == Message.user("2 + 2?")
    assert first.content == (
        ThinkingBlock("Hm.", "c2ln"),
        TextBlock("I add."),
        ToolUseBlock("c1", "add", {}, signature="dGg="),
    )
    assert last.content == (ThinkingBlock("", "ZW5j", "rs_1"),)
    to_openai = il.convert(ITEMS, "openai-agents", "openai-responses", model="gpt-5")
    assert "c2ln" not in to_openai.json().decode()
    assert "dGg=" not in to_openai.json().decode()
    assert "ZW5j" in to_openai.json().decode()
    to_claude = il.convert(ITEMS, "openai-agents", "anthropic", model="claude-sonnet-4-6")
    assert "c2ln" in to_claude.json().decode()
    assert "ZW5j" not in to_claude.json().decode()


@pytest.mark.parametrize(
    ("protocol", "blocks"),
    [
        ("anthropic", [ThinkingBlock("Hm.", "c2ln"), RedactedThinkingBlock("c2VhbGVk")]),
        ("gemini", [ThinkingBlock("Hm.", "c2ln"), ToolUseBlock("c", "f", {}, signature="dGg=")]),
        ("openai-responses", [ThinkingBlock("Hm.", "c2ln", "rs_1")]),
    ],
)
def test_signatures_go_there_and_back(protocol: str, blocks: list[Any]) -> None:
    answer = Message.assistant([*blocks, "Well."])
    answer = answer.replace(metadata=MessageMetadata(protocol=protocol))
    wire, report = openai_agents.write([answer])
    [back] = openai_agents.read(wire)
    assert back.content == answer.content
    assert not report.entries
    assert same(openai_agents.write([back]).wire, wire)
    home = il.convert(wire, "openai-agents", protocol, model="m").json().decode()
    assert "c2ln" in home


def test_an_old_item_with_joined_signatures_stays_as_it_is() -> None:
    item = {**ITEMS[1], "encrypted_content": "c2ln"}
    messages = openai_agents.read([item])
    assert same(openai_agents.write(messages).wire, [item])
    result = il.convert(
        [ITEMS[0], item, ITEMS[0]], "openai-agents", "openai-responses", model="gpt-5"
    )
    assert "c2ln" not in result.json().decode()


def test_instructions_are_an_item_in_front() -> None:
    messages = [Message.system("Be brief."), Message.user("hi")]
    wire, report = openai_agents.write(messages)
    assert wire == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert not report.entries
    assert [each.role for each in openai_agents.read(wire)] == [Role.SYSTEM, Role.USER]


def test_losses_are_told_at_their_places() -> None:
    answer = Message.assistant("Well.").replace(
        id="01ARZ3NDEKTSV4RRFFQ69G5FAV", metadata=MessageMetadata(usage=Usage(3, 2))
    )
    failed = Message.tool_result("c", "no", is_error=True)
    report = openai_agents.write([Message.user("hi", name="ada"), answer, failed]).report
    assert {"$[0].name", "$[1].metadata.usage", "$[1].id", "$[2].content[0].is_error"} <= {
        loss.path for loss in report.entries
    }


def test_a_text_is_what_a_user_said() -> None:
    assert openai_agents.read("hi") == (Message.user("hi"),)
    with pytest.raises(ReadError):
        openai_agents.read(3)


def test_items_with_data_of_a_provider_are_recognised() -> None:
    assert il.detect(ITEMS).dialect == "openai-agents"


def test_recorded_items_come_home_unchanged() -> None:
    corpus_or_skip()
    judged = 0
    for record in islice(records("openai-responses"), 0, None, 10):
        items = record.request.get("input") if isinstance(record.request, dict) else None
        if not isinstance(items, list) or not record.accepted:
            continue
        wire, _ = openai_agents.write_context(openai_agents.read_context(items))
        assert same(wire, items), record.id
        judged += 1
    assert judged > 10
