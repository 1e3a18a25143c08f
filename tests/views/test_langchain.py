"""The langchain view, on JSON as langchain-core 1.7.2 writes it (2026-11-17)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import interlingua as il
from interlingua.model.base import same
from interlingua.model.blocks import (
    AudioBlock,
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
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.views import langchain


def message(type: str, content: Any, **more: Any) -> dict[str, Any]:
    data = {
        "content": content,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": type,
        "name": None,
        "id": None,
    }
    if type == "ai":
        data |= {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
    if type == "tool":
        data |= {"artifact": None, "status": "success"}
    return {"type": type, "data": {**data, **more}}


def called(id: str, **args: Any) -> dict[str, Any]:
    return {"name": "add", "args": args, "id": id, "type": "tool_call"}


SIGNATURES = {"__gemini_function_call_thought_signatures__": {"c3": "dGg="}, "other": 1}
HISTORY = [
    message("system", "Be brief."),
    message("system", "Do so.", additional_kwargs={"__openai_role__": "developer"}),
    message(
        "human",
        [
            "Look:",
            {"type": "image", "base64": "AAAA", "mime_type": "image/png", "id": "lc_1"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "text-plain", "text": "hi", "mime_type": "text/plain", "title": "t"},
            {"type": "media", "data": "?"},
        ],
        name="ada",
        id="1",
    ),
    message(
        "ai",
        [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "c2VhbGVk"},
            {"type": "text", "text": "I add."},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
        ],
        tool_calls=[called("c1", a=1)],
        invalid_tool_calls=[
            {
                "name": "add",
                "args": '{"a": ',
                "id": "c2",
                "error": "cut",
                "type": "invalid_tool_call",
            }
        ],
        usage_metadata={
            "input_tokens": 10,
            "output_tokens": 4,
            "total_tokens": 14,
            "input_token_details": {"cache_creation": 1, "cache_read": 2, "audio": 0},
            "output_token_details": {"reasoning": 2},
        },
        response_metadata={
            "model_provider": "anthropic",
            "model_name": "claude-sonnet-4-6",
            "stop_reason": "tool_use",
            "id": "msg_1",
            "stop_sequence": None,
        },
    ),
    message("tool", "3", tool_call_id="c1", name="add", status="error", artifact={"a": 1}),
    message("tool", [{"type": "text", "text": "cut"}], tool_call_id="c2"),
    message("ai", "", tool_calls=[called("c3", a=3)], additional_kwargs=SIGNATURES),
    message("tool", "6", tool_call_id="c3"),
    message(
        "ai",
        [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "So."}],
                "encrypted_content": "ZW5j",
            },
            {"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "c2ln"}},
            {
                "type": "text",
                "text": "Done.",
                "annotations": [{"type": "citation", "url": "https://example.com", "id": "x"}],
            },
            {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": "x"}},
            {
                "type": "server_tool_result",
                "tool_call_id": "s1",
                "status": "success",
                "output": [{"url": "u"}],
            },
            {"type": "non_standard", "value": {"type": "refusal", "refusal": "no"}},
            {"type": "tool_call", "id": "c4", "name": "add", "args": {}},
        ],
        tool_calls=[called("c4")],
        response_metadata={"output_version": "v1", "model_provider": "openai"},
    ),
    {"type": "remove", "data": {"content": "", "id": "x", "type": "remove"}},
]


@pytest.mark.parametrize("style", ["dict", "lc", "plain"])
def test_messages_come_home_unchanged(style: str) -> None:
    wire: list[Any] = deepcopy(HISTORY)
    if style == "plain":
        wire = [each["data"] for each in wire]
    if style == "lc":
        names = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessage"}
        names |= {"tool": "ToolMessage", "remove": "RemoveMessage"}
        place = ["langchain", "schema", "messages"]
        wire = [
            {
                "lc": 1,
                "type": "constructor",
                "id": [*place, names[each["type"]]],
                "kwargs": each["data"],
            }
            for each in wire
        ]
    before = deepcopy(wire)
    home, report = langchain.write(langchain.read(wire))
    assert same(home, before)
    assert same(wire, before)
    assert not report.entries
    assert il.detect(wire[:-1]).dialect == "langchain"


def test_what_messages_say() -> None:
    read = langchain.read(HISTORY)
    assert [each.role for each in read[:3]] == [Role.SYSTEM, Role.DEVELOPER, Role.USER]
    assert [type(block) for block in read[2].content] == [
        TextBlock,
        ImageBlock,
        ImageBlock,
        DocumentBlock,
        UnknownBlock,
    ]
    answer = read[3]
    assert answer.content[:4] == (
        ThinkingBlock("Hm.", "c2ln"),
        RedactedThinkingBlock("c2VhbGVk"),
        TextBlock("I add."),
        ToolUseBlock("c1", "add", {"a": 1}),
    )
    assert isinstance(answer.content[4], ToolUseBlock)
    assert answer.content[4].raw_arguments == '{"a": '
    assert answer.metadata.diagnostics
    assert answer.metadata.usage == Usage(7, 4, 2, 1, 2)
    assert answer.metadata.stop_reason is StopReason.TOOL_USE
    assert answer.metadata.model == "anthropic:claude-sonnet-4-6"
    assert read[4].content == (ToolResultBlock("c1", (TextBlock("3"),), True, "add"),)
    assert read[6].content == (ToolUseBlock("c3", "add", {"a": 3}, signature="dGg="),)
    last = read[8].content
    assert last[0] == ThinkingBlock("So.", "ZW5j", "rs_1")
    assert last[1] == ThinkingBlock("Hm.", "c2ln")
    assert isinstance(last[3], ToolUseBlock)
    assert last[3].executor == "provider"
    assert last[4] == ToolResultBlock("s1", (TextBlock('[{"url":"u"}]'),))
    assert last[5] == RefusalBlock("no")


def test_edits_win_and_change_nothing_else() -> None:
    messages = list(langchain.read(HISTORY))
    answer = messages[3]
    edited = (*answer.content[:3], answer.content[3].replace(input={"a": 5}), answer.content[4])
    messages[3] = answer.replace(content=edited)
    expected = deepcopy(HISTORY)
    expected[3]["data"]["content"][3]["input"] = {"a": 5}
    expected[3]["data"]["tool_calls"][0]["args"] = {"a": 5}
    assert same(langchain.write(messages).wire, expected)


def test_a_plain_answer_with_calls_is_a_string_and_a_list() -> None:
    metadata = MessageMetadata(provider="openai", response_model="gpt-5", usage=Usage(3, 2))
    answer = Message.assistant(["I add.", ToolUseBlock("c", "add", {"a": 2})])
    wire, report = langchain.write([answer.replace(metadata=metadata)])
    assert not report.entries
    expected = message(
        "ai",
        "I add.",
        tool_calls=[called("c", a=2)],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"model_provider": "openai", "model_name": "gpt-5"},
    )
    assert wire == [expected]


def test_thinking_is_written_in_standard_blocks() -> None:
    answer = Message.assistant(
        [ThinkingBlock("Hm.", "c2ln"), RedactedThinkingBlock("x"), ToolUseBlock("c", "add", {})]
    )
    answer = answer.replace(metadata=MessageMetadata(protocol="anthropic"))
    [wire] = langchain.write([answer]).wire
    assert wire["data"]["content"] == [
        {"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "c2ln"}},
        {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "x"}},
        {"type": "tool_call", "id": "c", "name": "add", "args": {}},
    ]
    about = {"model_provider": "anthropic", "output_version": "v1"}
    assert wire["data"]["response_metadata"] == about
    assert wire["data"]["tool_calls"] == [called("c")]


def test_arguments_that_are_no_json_are_an_invalid_call() -> None:
    call = ToolUseBlock("c", "add", {"a": 1}, '{"a": 1')
    [wire] = langchain.write([Message.assistant(call)]).wire
    assert wire["data"]["tool_calls"] == []
    [invalid] = wire["data"]["invalid_tool_calls"]
    assert invalid["args"] == '{"a": 1'


def test_a_developer_is_marked_as_langchain_marks_it() -> None:
    wire, report = langchain.write([Message.developer("Be brief.")])
    assert wire[0]["data"]["additional_kwargs"] == {"__openai_role__": "developer"}
    assert not report.entries


@pytest.mark.parametrize(
    ("given", "kind", "path"),
    [
        (Message.user(ImageBlock(Source("file_ref", "a.png"))), "dropped", "$[0].content[0]"),
        (
            Message.user(AudioBlock(Source("url", "u"), transcript="hi")),
            "dropped",
            "$[0].content[0].transcript",
        ),
        (Message.user(CompactionBlock("before")), "downgraded", "$[0].content[0]"),
        (
            Message.user(TextBlock("hi", cache=il.Cache())),
            "dropped",
            "$[0].content[0].cache",
        ),
        (
            Message.assistant("x").replace(metadata=MessageMetadata(usage=Usage(3))),
            "approximated",
            "$[0].metadata.usage",
        ),
        (Message(Role.TOOL, (TextBlock("x"),)), "dropped", "$[0].content[0]"),
    ],
)
def test_a_loss_is_told_at_its_place(given: Message, kind: str, path: str) -> None:
    report = langchain.write([given]).report
    assert (kind, path) in [(loss.kind, loss.path) for loss in report.entries]
