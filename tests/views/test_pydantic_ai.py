"""The pydantic-ai view, on JSON as pydantic-ai 2.66.0 writes it (2026-11-17)."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

import interlingua as il
from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
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
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.views import pydantic_ai

TIME = "2026-11-17T08:45:28.492768Z"


def binary(data: str = "aGk_") -> dict[str, Any]:
    return {
        "data": data,
        "media_type": "image/png",
        "vendor_metadata": {"detail": "low"},
        "kind": "binary",
        "identifier": "978ea7",
    }


def call(id: str, args: Any, **more: Any) -> dict[str, Any]:
    return {
        "tool_name": "add",
        "args": args,
        "tool_call_id": id,
        "tool_kind": None,
        "id": None,
        "provider_name": None,
        "provider_details": None,
        "part_kind": "tool-call",
        **more,
    }


def returned(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "tool_name": "add",
        "content": content,
        "tool_call_id": id,
        "tool_kind": None,
        "metadata": None,
        "timestamp": TIME,
        "outcome": "success",
        "retry": None,
        "part_kind": "tool-return",
        **more,
    }


def request(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "parts": list(parts),
        "timestamp": None,
        "instructions": None,
        "kind": "request",
        "run_id": "run-1",
        "conversation_id": None,
        "metadata": None,
        "state": "complete",
        **more,
    }


SYSTEM = {
    "content": "Be brief.",
    "timestamp": TIME,
    "dynamic_ref": None,
    "scope": "conversation",
    "metadata": None,
    "part_kind": "system-prompt",
}
PROMPT = {
    "content": [
        "Look:",
        binary(),
        {"kind": "cache-point", "ttl": "1h"},
        {
            "url": "https://example.com/a.pdf",
            "force_download": False,
            "vendor_metadata": None,
            "kind": "document-url",
            "media_type": "application/pdf",
            "identifier": "97fe89",
        },
        {"content": "aside", "metadata": {"a": 1}, "kind": "text-content"},
    ],
    "timestamp": TIME,
    "part_kind": "user-prompt",
}
RESPONSE = {
    "parts": [
        {
            "content": "Hm.",
            "id": None,
            "signature": "c2ln",
            "provider_name": "anthropic",
            "provider_details": None,
            "part_kind": "thinking",
        },
        {
            "content": "",
            "id": "redacted_thinking",
            "signature": "c2VhbGVk",
            "provider_name": "anthropic",
            "provider_details": None,
            "part_kind": "thinking",
        },
        {
            "content": "I add.",
            "id": None,
            "provider_name": None,
            "provider_details": None,
            "citations": [
                {
                    "sources": [
                        {
                            "url": "https://example.com",
                            "title": None,
                            "excerpts": ["one"],
                            "kind": "web",
                        }
                    ],
                    "anchor": {"start": 0, "end": 1, "kind": "content"},
                }
            ],
            "part_kind": "text",
        },
        call("c1", '{"a":1}'),
        call("c2", {"a": 2}, provider_details={"thought_signature": "dGg="}),
        {**call("s1", {"query": "x"}), "part_kind": "builtin-tool-call"},
        {"speaker": "assistant", "transcript": "hi", "part_kind": "speech"},
    ],
    "usage": {
        "input_tokens": 10,
        "cache_write_tokens": 1,
        "cache_read_tokens": 2,
        "output_tokens": 4,
        "output_reasoning_tokens": 3,
        "audio_seconds": 0.0,
        "details": {"reasoning_tokens": 3},
        "cost": "0.00012",
    },
    "model_name": "claude-sonnet-4-6",
    "timestamp": TIME,
    "kind": "response",
    "provider_name": "anthropic",
    "provider_url": "https://api.anthropic.com",
    "provider_details": {"finish_reason": "tool_use"},
    "provider_response_id": "msg_1",
    "finish_reason": "tool_call",
    "run_id": "run-1",
    "state": "complete",
}
HISTORY = [
    request(SYSTEM, PROMPT, instructions="Old."),
    RESPONSE,
    request(
        returned("c1", {"sum": 3}),
        returned("c2", ["see", binary()], outcome="denied"),
        {
            "content": "Try again.",
            "tool_name": "add",
            "tool_call_id": "c3",
            "timestamp": TIME,
            "part_kind": "retry-prompt",
        },
        {"content": "Now?", "timestamp": TIME, "part_kind": "user-prompt"},
        instructions="New.",
    ),
    request({"content": "Again?", "timestamp": TIME, "part_kind": "user-prompt"}),
]


def test_a_history_comes_home_unchanged() -> None:
    before = deepcopy(HISTORY)
    wire, report = pydantic_ai.write(pydantic_ai.read(HISTORY))
    assert same(wire, before)
    assert same(HISTORY, before)
    assert not report.entries


def test_a_history_comes_home_from_another_process() -> None:
    messages = pydantic_ai.read(HISTORY)
    again = il.loads(il.dumps(list(messages)), list[Message])
    assert same(pydantic_ai.write(again).wire, HISTORY)


def test_what_a_history_says() -> None:
    result, system, user, answer, *results = pydantic_ai.read(HISTORY)
    assert result == Message.system("New.")
    assert system.content == (TextBlock("Be brief."),)
    assert system.created_at == datetime(2026, 11, 17, 8, 45, 28, 492768, UTC)
    text, image, document, _ = user.content
    assert text == TextBlock("Look:")
    assert image == ImageBlock(
        Source("base64", "aGk/"), "image/png", detail="low", cache=il.Cache("1h")
    )
    assert document == DocumentBlock(Source("url", "https://example.com/a.pdf"), "application/pdf")
    thinking, sealed, content, first, second, search, speech = answer.content
    assert thinking == ThinkingBlock("Hm.", "c2ln")
    assert sealed == RedactedThinkingBlock("c2VhbGVk")
    assert isinstance(content, TextBlock)
    assert content.citations[0].url == "https://example.com"
    assert first == ToolUseBlock("c1", "add", {"a": 1})
    assert second == ToolUseBlock("c2", "add", {"a": 2}, signature="dGg=")
    assert isinstance(search, ToolUseBlock)
    assert search.executor == "provider"
    assert isinstance(speech, UnknownBlock)
    known = answer.metadata
    assert (known.model, known.protocol) == ("anthropic:claude-sonnet-4-6", "anthropic")
    assert known.usage is not None
    assert known.usage.input_tokens == 7
    assert known.usage.reasoning_tokens == 3
    assert (known.stop_reason, known.raw_stop_reason) == (StopReason.TOOL_USE, "tool_use")
    assert results[0].content == (
        ToolResultBlock("c1", (TextBlock('{"sum":3}'),), tool_name="add"),
    )
    assert isinstance(results[1].content[0], ToolResultBlock)
    assert results[1].content[0].is_error
    assert isinstance(results[2].content[0], ToolResultBlock)
    assert results[2].content[0].is_error


def test_edits_win_and_change_nothing_else() -> None:
    messages = list(pydantic_ai.read(HISTORY))
    messages[0] = messages[0].replace(content=(TextBlock("Newer."),))
    answer = messages[3]
    edited = (answer.content[0].replace(text="Aha."), *answer.content[1:])
    messages[3] = answer.replace(content=edited)
    expected = deepcopy(HISTORY)
    expected[2]["instructions"] = "Newer."
    expected[1]["parts"][0]["content"] = "Aha."
    assert same(pydantic_ai.write(messages).wire, expected)


def test_messages_of_ours_are_requests_and_responses() -> None:
    metadata = MessageMetadata(protocol="anthropic", usage=Usage(3, 2, 1))
    messages = [
        Message.system("Be brief."),
        Message.user("2 + 2?"),
        Message.assistant([ThinkingBlock("Hm.", "c2ln"), ToolUseBlock("c", "add", {"a": 2})]),
        Message.tool_result("c", "4", is_error=True),
    ]
    messages[2] = messages[2].replace(metadata=metadata)
    wire, report = pydantic_ai.write(messages)
    assert not report.entries
    assert wire == [
        {
            "parts": [
                {"content": "Be brief.", "part_kind": "system-prompt"},
                {"content": "2 + 2?", "part_kind": "user-prompt"},
            ],
            "kind": "request",
        },
        {
            "parts": [
                {
                    "content": "Hm.",
                    "signature": "c2ln",
                    "provider_name": "anthropic",
                    "part_kind": "thinking",
                },
                {
                    "tool_name": "add",
                    "args": {"a": 2},
                    "tool_call_id": "c",
                    "part_kind": "tool-call",
                },
            ],
            "usage": {"input_tokens": 4, "output_tokens": 2, "cache_read_tokens": 1},
            "kind": "response",
            "provider_name": "anthropic",
        },
        {
            "parts": [
                {
                    "tool_name": "add",
                    "content": "4",
                    "tool_call_id": "c",
                    "outcome": "failed",
                    "part_kind": "tool-return",
                }
            ],
            "kind": "request",
        },
    ]


@pytest.mark.parametrize(
    ("message", "kind", "path"),
    [
        (Message.assistant(RefusalBlock("no")), "downgraded", "$[0].content[0]"),
        (Message.developer("Be brief."), "approximated", "$[0].role"),
        (Message.user("hi", name="ada"), "dropped", "$[0].name"),
        (Message.user(ImageBlock(Source("file_ref", "a.png"))), "dropped", "$[0].content[0]"),
        (Message.user(ImageBlock(Source("base64", "AAAA"))), "dropped", "$[0].content[0]"),
        (
            Message.user(DocumentBlock(Source("text", "hi"), "text/plain")),
            "approximated",
            "$[0].content[0].source",
        ),
        (
            Message.assistant(ToolUseBlock("c", "f", {"input": "x"}, call_type="custom")),
            "dropped",
            "$[0].content[0].call_type",
        ),
        (
            Message.tool_result("c", ["a", "b"], tool_name="f"),
            "approximated",
            "$[0].content[0].content",
        ),
        (Message(Role.TOOL, (TextBlock("x"),)), "dropped", "$[0].content[0]"),
        (Message.user(CompactionBlock("before")), "downgraded", "$[0].content[0]"),
    ],
)
def test_a_loss_is_told_at_its_place(message: Message, kind: str, path: str) -> None:
    report = pydantic_ai.write([message]).report
    assert (kind, path) in [(loss.kind, loss.path) for loss in report.entries]


def test_a_failed_answer_says_so() -> None:
    answer = Message.assistant("Wel")
    answer = answer.replace(metadata=MessageMetadata(status=MessageStatus.CANCELLED))
    wire, report = pydantic_ai.write([answer])
    assert wire[0]["state"] == "interrupted"
    assert not report.entries


def test_what_is_no_message_is_refused_at_its_place() -> None:
    with pytest.raises(ReadError) as error:
        pydantic_ai.read([{"kind": "request", "parts": [{"part_kind": "user-prompt"}]}])
    assert error.value.path == "$[0].parts[0].content"
