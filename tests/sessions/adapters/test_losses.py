"""What a model cannot be shown: left out cleanly, one warning each, or refused."""

from __future__ import annotations

import logging

import pytest

import interlingua as il
from interlingua.sessions.adapters import Adapter
from tests.laws.acceptable import problems
from tests.sessions.wires import PIXEL, SIGNATURE, TOOLS, answer, image

FIVE = ("session_id", "message_id", "block_type", "adapter", "reason")


def warnings(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [r for r in caplog.records if r.levelno >= logging.WARNING]


def stored(message: il.Message, id: str) -> il.Message:
    return message.replace(id=id, session_id="01SESSION")


def thought() -> list[il.Message]:
    made = Adapter("anthropic:claude-sonnet-4-6").from_wire_response(answer("anthropic", 1))
    return [stored(il.Message.user("hi"), "01A"), stored(made, "01B")]


@pytest.mark.requirement("S002-109", "S002-28", "S002-86")
def test_thinking_through_openai_is_one_warning_each_with_five_fields(
    caplog: pytest.LogCaptureFixture,
) -> None:
    messages = thought()
    written = Adapter("openai:gpt-5").to_wire([*messages, il.Message.user("and?")])
    result = warnings(caplog)
    dropped = [(r.__dict__["block_type"], r.__dict__["message_id"]) for r in result]
    kinds = ["redacted_thinking", "thinking", "tool_result", "tool_use"]
    assert sorted(dropped) == [(kind, "01B") for kind in kinds]
    for record in result:
        assert record.levelno == logging.WARNING
        assert {name: record.__dict__[name] for name in FIVE if not record.__dict__[name]} == {}
        assert record.__dict__["session_id"] == "01SESSION"
        assert record.__dict__["adapter"] == "openai-chat"
    text = written.json()
    assert b"Let me see." not in text
    assert SIGNATURE.encode() not in text
    assert "Let me see." not in caplog.text
    assert problems("openai-chat", "request", written.wire) == []


@pytest.mark.requirement("S002-86", "S002-85")
def test_redacted_thinking_is_left_out_for_others_and_kept_for_its_issuer() -> None:
    messages = [*thought(), il.Message.user("and?")]
    assert b"cmVkYWN0ZWQ1" in Adapter("anthropic:claude-sonnet-4-6").to_wire(messages).json()
    for other in (
        "openai:gpt-5",
        "gemini:gemini-2.5-pro",
        "ollama:qwen3",
        "mistral:codestral-2508",
    ):
        written = Adapter(other).to_wire(messages)
        assert b"cmVkYWN0ZWQ1" not in written.json()
        assert "redacted_thinking" in {loss.block_type for loss in written.report.entries}


@pytest.mark.requirement("S002-86", "S002-85", "S002-28")
@pytest.mark.parametrize("model", ["openai:gpt-4", "ollama:llama3.1", "deepseek:deepseek-v4-pro"])
def test_images_for_a_text_only_model_are_a_placeholder_and_a_warning_each(
    model: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect = Adapter(model)
    call = il.ToolUseBlock("tu_1", "read_file", {"path": "a.png"})
    result = il.ToolResultBlock("tu_1", (image(), il.TextBlock("a picture"), image()))
    messages = [
        stored(il.Message.user([il.TextBlock("Compare"), image(), image()]), "01A"),
        stored(il.Message.assistant([call]), "01B"),
        stored(il.Message.of_result(result), "01C"),
    ]
    before = [il.dumps(message) for message in messages]
    written = dialect.to_wire(messages, TOOLS)
    collected = [(r.__dict__["block_type"], r.__dict__["message_id"]) for r in warnings(caplog)]
    assert collected == [("image", "01A"), ("image", "01A"), ("image", "01C"), ("image", "01C")]
    for record in warnings(caplog):
        assert all(record.__dict__[name] for name in FIVE)
    text = written.json().decode()
    assert text.count("[image left out") == 1, "one for a run of images"
    assert text.count("[image of the result left out") == 2
    assert PIXEL not in text
    for content in written.wire["messages"]:
        content.pop(
            "reasoning_content", None
        )  # DeepSeek's own key, which OpenAI's types do not have
    assert problems(dialect.dialect.name, "request", written.wire) == []
    assert [il.dumps(message) for message in messages] == before


@pytest.mark.requirement("S002-29", "S002-85")
def test_what_is_critical_is_never_left_out() -> None:
    asked = il.Message.user([il.TextBlock("Compare"), image()])
    for critical in (True, (1,)):
        marked = asked.replace(metadata=il.MessageMetadata(critical=critical))
        with pytest.raises(il.LossError) as refused:
            Adapter("openai:gpt-4").to_wire([marked])
        assert "image" in str(refused.value)
    fine = asked.replace(metadata=il.MessageMetadata(critical=(0,)))
    assert Adapter("openai:gpt-4").to_wire([fine]).report


@pytest.mark.requirement("S002-91")
def test_a_tool_round_in_openais_own_words(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is hoisted, every result is a message of its own, arguments are text."""
    call = il.ToolUseBlock("tu_01", "read_file", {"path": "a.txt"})
    messages = [
        il.Message.user("Read it"),
        il.Message.assistant([il.TextBlock("I will."), call]),
        il.Message.tool_result("tu_01", "contents"),
        il.Message.assistant("There."),
        il.Message.user("Thanks"),
    ]
    written = Adapter("openai:gpt-5").to_wire(messages)
    assert written.wire["messages"] == [
        {"role": "user", "content": "Read it"},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [
                {
                    "id": "tu_01",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "tu_01", "content": "contents"},
        {"role": "assistant", "content": "There."},
        {"role": "user", "content": "Thanks"},
    ]
    assert not written.report.entries
    assert warnings(caplog) == []
