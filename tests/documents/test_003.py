"""Closed message types: what may stand where, and what an answer says about itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import interlingua as il
from interlingua.views import camel

requirement = pytest.mark.requirement
ROOT = Path(__file__).parents[2]

CONTEXT = {
    "systemPrompt": "Be brief.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A cat?", "thinkingSignature": "c2ln"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "x", "redacted": True},
                {"type": "text", "text": "Let me look.", "textSignature": "t"},
                {
                    "type": "toolCall",
                    "id": "c1",
                    "name": "look",
                    "arguments": {"size": 2},
                    "thoughtSignature": "g",
                },
            ],
            "protocol": "anthropic",
            "provider": "anthropic",
            "model": "claude-sonnet-4-6",
            "usage": {
                "input": 8,
                "output": 42,
                "cacheRead": 0,
                "cacheWrite": 0,
                "totalTokens": 50,
                "cost": {
                    "input": 0.000024,
                    "output": 0.00063,
                    "cacheRead": 0,
                    "cacheWrite": 0,
                    "total": 0.000654,
                },
            },
            "stopReason": "toolUse",
            "timestamp": 1778198400000,
        },
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "look",
            "content": [{"type": "text", "text": "a cat"}],
            "isError": False,
        },
    ],
    "tools": [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}],
}

BAD = """
import interlingua as il

il.Message.user([il.TextBlock("fine"), il.ImageBlock(il.Source("url", "https://example.com"))])
il.Message.assistant([il.ThinkingBlock("fine"), il.ToolUseBlock("c", "f", {})])
il.Message.user(il.ThinkingBlock("no"))
il.Message.user([il.ToolUseBlock("c", "f", {})])
il.Message.system([il.ImageBlock(il.Source("url", "https://example.com"))])
il.Message.tool_result("c", [il.ThinkingBlock("no")])
"""


@requirement("S003-1", "S003-23")
def test_a_whole_context_goes_there_and_back() -> None:
    request = camel.read_context(CONTEXT)
    assert [m.role.value for m in request.messages] == ["system", "user", "assistant", "tool"]
    assert [tool.name for tool in request.tools] == ["look"]
    assert camel.write_context(request).wire == CONTEXT


@requirement("S003-2", "S003-3", "S003-4")
def test_a_type_checker_refuses_what_has_no_place(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(BAD)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), file],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == [6, 7, 8, 9], done.stdout


@requirement("S003-16", "S003-15")
def test_an_answer_begins_with_what_is_known_of_its_model() -> None:
    begun = il.new_assistant_message("anthropic:claude-sonnet-4-6")
    metadata = begun.metadata
    assert (metadata.model, metadata.provider) == ("anthropic:claude-sonnet-4-6", "anthropic")
    assert metadata.protocol == "anthropic"
    assert begun.created_at is not None
    assert begun.content == ()


@requirement("S003-20", "S003-21")
def test_text_and_calls_are_read_off_an_answer() -> None:
    answer = camel.read_context(CONTEXT).messages[2]
    assert answer.text == "Let me look."
    (call,) = answer.tool_calls
    call.input["size"] = 3
    assert answer.tool_calls[0].input == {"size": 2}
    assert il.Message.assistant("no calls").tool_calls == []


@requirement("S003-19")
@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("toolUse", "tool_use"),
        ("error", "error"),
        ("aborted", "cancelled"),
    ],
)
def test_each_word_for_the_end_has_ours(word: str, stop: str) -> None:
    message = {**CONTEXT["messages"][1], "stopReason": word}  # type: ignore[dict-item]
    read = camel.read_context({"messages": [message]}).messages[0]
    assert read.metadata.stop_reason == stop


@requirement("S003-10")
@pytest.mark.parametrize("text", ['{"path": "no', '{"path": "notes.md", "n": 1', "{", ""])
def test_arguments_of_a_stream_that_broke_off_are_still_an_object(text: str) -> None:
    assert isinstance(il.recover(text).input, dict)


@requirement("S003-20", "S003-21")
def test_text_and_tool_calls_are_read_in_the_words_of_the_document() -> None:
    answer = camel.CamelMessage(camel.read_context(CONTEXT).messages[2])
    assert answer.Text() == "Let me look."
    calls = answer.ToolCalls()
    assert [call["name"] for call in calls] == ["look"]
    calls[0]["arguments"]["size"] = 3  # a copy
    assert answer.ToolCalls()[0]["arguments"] == {"size": 2}
    assert (answer["stopReason"], dict(answer)["role"]) == ("toolUse", "assistant")
    nothing = camel.CamelMessage(None)
    assert (nothing.Text(), nothing.ToolCalls(), len(nothing)) == ("", [], 0)
