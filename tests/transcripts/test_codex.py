"""Codex: common items are read quickly, and as the dialect reads them."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.openai_responses.messages import ItemReader
from interlingua.model.message import Message
from interlingua.transcripts.codex.history import quick_answer, quick_result, quick_turn

NOTE = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1"}}
PROMPT = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
TWO = {**PROMPT, "content": [*PROMPT["content"], {"type": "input_text", "text": "there"}]}  # type: ignore[misc]
TEXT = {"type": "output_text", "text": "Well."}
SAID = {"type": "message", "role": "assistant", "content": [TEXT]}
CALL = {"type": "function_call", "name": "run", "arguments": '{"cmd":"ls"}', "call_id": "c1"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "a\nb"}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look."}],
    "encrypted_content": "c2VhbGVk",
}


def by_the_dialect(item: dict[str, Any]) -> list[Message]:
    reader = ItemReader()
    reader.read([item], ".input")
    reader.flush()
    return reader.messages


def quickly(item: dict[str, Any]) -> Message | None:
    if item["type"] == "function_call_output":
        return quick_result(item)
    return quick_turn(item) if item.get("role") == "user" else quick_answer([item])


@pytest.mark.parametrize(
    "item",
    [
        PROMPT,
        {**PROMPT, **NOTE, "id": "msg_1"},
        {**TWO, "id": "msg_1"},
        SAID,
        {**SAID, **NOTE, "id": "msg_2", "status": "completed", "phase": "commentary"},
        {**SAID, "content": [{**TEXT, "annotations": []}]},
        {**SAID, "content": [{**TEXT, "annotations": [], "logprobs": []}], "id": "msg_2"},
        CALL,
        {**CALL, **NOTE, "id": "fc_1", "status": "completed", "namespace": "shell"},
        {**CALL, "arguments": '{"cmd": "ls"}'},
        RESULT,
        {**RESULT, **NOTE, "id": "fco_1"},
        THOUGHT,
        {**THOUGHT, **NOTE},
        {**THOUGHT, "summary": [], "content": None},
    ],
)
def test_a_common_item_is_read_as_the_dialect_reads_it(item: dict[str, Any]) -> None:
    read = quickly(item)
    assert read is not None
    assert [il.dumps(read)] == [il.dumps(each) for each in by_the_dialect(item)]


@pytest.mark.parametrize(
    "item",
    [
        {**PROMPT, "content": "Hi"},
        {**PROMPT, "content": [{"type": "input_image", "image_url": "data:,"}]},
        {**PROMPT, "extra": None},
        {**SAID, "content": [{**TEXT, "annotations": [{"type": "url_citation"}]}]},
        {**SAID, "phase": None},
        {**CALL, "arguments": '{"cut'},
        {**CALL, "call_id": ""},
        {**CALL, "arguments": "[]"},
        {**RESULT, "output": [{"type": "input_text", "text": "a"}]},
        {**RESULT, "output": ""},
        {**RESULT, "name": "run"},
        {**THOUGHT, "encrypted_content": None},
        {**THOUGHT, "content": [{"type": "reasoning_text", "text": "x"}]},
    ],
)
def test_anything_else_is_left_to_the_dialect(item: dict[str, Any]) -> None:
    assert quickly(item) is None


def test_two_thoughts_in_a_row_are_left_to_the_dialect() -> None:
    assert quick_answer([THOUGHT, THOUGHT]) is None
    assert quick_answer([THOUGHT, SAID, CALL, CALL]) is not None
