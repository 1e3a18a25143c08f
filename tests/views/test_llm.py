"""The llm-messages view, on JSON as llm 0.36 writes it (2026-11-17)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import interlingua as il
from interlingua.model.base import same
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.views import llm


def said(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts), **more}


def part(type: str, **more: Any) -> dict[str, Any]:
    return {"type": type, **more}


HISTORY = [
    said("system", part("text", text="Be brief.")),
    said(
        "user",
        part("text", text="Look:"),
        part("attachment", attachment={"type": "image/png", "content": "AAAA"}),
        part("attachment", attachment={"url": "https://example.com/a.pdf"}),
        part("attachment", attachment={"type": "image/jpeg", "path": "/tmp/a.jpg"}),
    ),
    said(
        "assistant",
        part("reasoning", text="Hm.", provider_metadata={"anthropic": {"signature": "c2ln"}}),
        part(
            "reasoning",
            text="",
            redacted=True,
            provider_metadata={"anthropic": {"type": "redacted_thinking", "data": "c2VhbGVk"}},
        ),
        part("text", text="I add."),
        part("tool_call", name="add", arguments={"a": 1}, tool_call_id="c1"),
        part(
            "tool_call",
            name="add",
            arguments={},
            tool_call_id="c2",
            provider_metadata={"gemini": {"thoughtSignature": "dGg=", "more": 1}},
        ),
        part("tool_call", name="web_search", arguments={}, tool_call_id="s", server_executed=True),
        part("tool_result", name="web_search", output="x", tool_call_id="s", server_executed=True),
        provider_metadata={"anthropic": {"x": 1}},
    ),
    said(
        "tool",
        part("tool_result", name="add", output="3", tool_call_id="c1"),
        part(
            "tool_result",
            name="add",
            output="Error: no",
            tool_call_id="c2",
            exception="ValueError: no",
            attachments=[{"type": "image/png", "content": "AAAA"}],
        ),
    ),
]


def test_messages_come_home_unchanged() -> None:
    before = deepcopy(HISTORY)
    wire, report = llm.write(llm.read(HISTORY))
    assert same(wire, before)
    assert same(HISTORY, before)
    assert not report.entries
    assert il.detect(HISTORY).dialect == "llm-messages"


def test_what_messages_say() -> None:
    system, user, answer, first, second = llm.read(HISTORY)
    assert system == Message.system("Be brief.")
    assert user.content == (
        TextBlock("Look:"),
        ImageBlock(Source("base64", "AAAA"), "image/png"),
        DocumentBlock(Source("url", "https://example.com/a.pdf")),
        ImageBlock(Source("file_ref", "/tmp/a.jpg"), "image/jpeg"),
    )
    assert answer.content == (
        ThinkingBlock("Hm.", "c2ln"),
        RedactedThinkingBlock("c2VhbGVk"),
        TextBlock("I add."),
        ToolUseBlock("c1", "add", {"a": 1}),
        ToolUseBlock("c2", "add", {}, signature="dGg="),
        ToolUseBlock("s", "web_search", {}, executor="provider"),
        ToolResultBlock("s", (TextBlock("x"),), tool_name="web_search"),
    )
    assert first.content == (ToolResultBlock("c1", (TextBlock("3"),), tool_name="add"),)
    assert isinstance(second.content[0], ToolResultBlock)
    assert second.content[0].is_error
    assert len(second.content[0].content) == 2


def test_a_response_is_read_with_its_prompt() -> None:
    response = {
        "model": "claude-sonnet-4-6",
        "prompt": {"messages": HISTORY[:2], "options": {"temperature": 0}},
        "messages": [said("assistant", part("text", text="Yes."))],
        "id": "01",
        "usage": {"input": 5, "output": 2},
    }
    messages = llm.read(response)
    assert [message.role for message in messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT]
    assert il.detect(response).dialect == "llm-messages"


def test_a_failed_result_has_an_exception() -> None:
    wire, report = llm.write([Message.tool_result("c", "no", is_error=True, tool_name="add")])
    result = {"name": "add", "output": "no", "tool_call_id": "c", "exception": "no"}
    assert wire == [said("tool", part("tool_result", **result))]
    assert not report.entries


@pytest.mark.parametrize(
    ("given", "kind", "path"),
    [
        (Message.assistant(RefusalBlock("no")), "downgraded", "$[0].content[0]"),
        (
            Message.assistant("x").replace(metadata=MessageMetadata(usage=Usage(3, 2))),
            "dropped",
            "$[0].metadata.usage",
        ),
        (
            Message.user(DocumentBlock(Source("url", "https://example.com/a.pdf"), name="a")),
            "dropped",
            "$[0].content[0].name",
        ),
        (
            Message.user(ImageBlock(Source("file_id", "f", provider="openai"))),
            "dropped",
            "$[0].content[0]",
        ),
    ],
)
def test_a_loss_is_told_at_its_place(given: Message, kind: str, path: str) -> None:
    report = llm.write([given]).report
    assert (kind, path) in [(loss.kind, loss.path) for loss in report.entries]
