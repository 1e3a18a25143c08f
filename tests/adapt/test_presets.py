"""Rows for training and batches as targets and sources of conversions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import interlingua as il
from interlingua.adapt.presets import BATCHES, PRESETS
from interlingua.cli.convert import command
from interlingua.errors import ReadError
from tests.adapt.batch_rows import CHAT, TOOL, to


@pytest.mark.parametrize("name", PRESETS)
def test_a_conversation_goes_there_and_back(name: str) -> None:
    wire = to(name).wire
    back = il.convert(wire, name, "canonical").wire
    blocks = [block for message in back["messages"] for block in message["content"]]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    assert texts == ["Be brief.", "2 + 2?", "I add.", "It is 4.", "Thanks."]
    [call] = [block for block in blocks if block["type"] == "tool_use"]
    [result] = [block for block in blocks if block["type"] == "tool_result"]
    assert (call["name"], call["input"]) == ("add", {"a": 2})
    assert result["content"] == [{"type": "text", "text": "4"}]
    assert result["tool_use_id"] == call["id"]
    lost = {loss.path for loss in to(name).report.entries}
    assert bool(back.get("tools")) != ("$.tools[0]" in lost)
    assert ("$.options.max_output_tokens" in lost) == (name not in BATCHES)


def test_rows_of_messages_have_objects_as_arguments_and_tools() -> None:
    row = to("hf-messages").wire
    assert row["tools"] == [TOOL]
    call = row["messages"][2]["tool_calls"][0]["function"]
    assert call == {"name": "add", "arguments": {"a": 2}}


@pytest.mark.parametrize("name", PRESETS)
def test_lines_become_lines(name: str, tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_text(f"{json.dumps(CHAT)}\n{json.dumps(CHAT)}\n", encoding="utf-8")
    done = CliRunner().invoke(command, [str(file), "--to", name, "--lines", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [to(name).wire] * 2


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_no_row_is_refused(name: str) -> None:
    with pytest.raises(ReadError):
        il.convert("3", name, "openai-chat")


def test_signed_thinking_stays_in_messages_of_a_page() -> None:
    claude = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 64,
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Hello."},
                ],
            },
            {"role": "user", "content": "And?"},
        ],
    }
    page = il.convert(claude, "anthropic", "ui-message").wire
    home = il.convert(page, "ui-message", "anthropic", model="claude-sonnet-4-6")
    assert "c2ln" in home.json().decode()
    assert (
        "c2ln" not in il.convert(page, "ui-message", "gemini", model="gemini-3-pro").json().decode()
    )


def test_an_unknown_target_names_rows_as_well() -> None:
    done = CliRunner().invoke(command, ["-", "--to", "cubist"], input="{}")
    assert done.exit_code == 2
    assert "hf-messages" in done.output
