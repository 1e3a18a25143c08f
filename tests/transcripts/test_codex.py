"""Codex: common items are read quickly, and as the dialect reads them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.dialects.openai_responses.messages import MODEL_MESSAGE, ItemReader
from interlingua.model.message import Message, Role
from interlingua.transcripts.codex.history import (
    MessageItem,
    ResultItem,
    UsualItem,
    quick_answer,
    quick_result,
    quick_turn,
)
from interlingua.transcripts.codex.read import overview_at, read_file
from interlingua.transcripts.prices import Prices

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
    try:
        usual = msgspec.convert(item, UsualItem)
    except msgspec.ValidationError:
        return None
    if isinstance(usual, ResultItem):
        result = quick_result(usual)
        return Message.of_result(result) if result is not None else None
    if isinstance(usual, MessageItem) and usual.role == "user":
        return quick_turn(usual)
    content = quick_answer([usual])
    return None if content is None else Message(Role.ASSISTANT, content, metadata=MODEL_MESSAGE)


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
        {**CALL, "namespace": "shell", **NOTE, "id": "fc_1", "status": "completed"},
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
        {**THOUGHT, "summary": [{"text": "No type."}]},
        {**CALL, "execution": {}},
        {**SAID, "content": [{**TEXT, "extra": None}]},
        {**THOUGHT, "content": [{"type": "reasoning_text", "text": "x"}]},
    ],
)
def test_anything_else_is_left_to_the_dialect(item: dict[str, Any]) -> None:
    assert quickly(item) is None


def test_two_thoughts_in_a_row_are_left_to_the_dialect() -> None:
    thought, said, call = (msgspec.convert(item, UsualItem) for item in (THOUGHT, SAID, CALL))
    assert quick_answer([thought, thought]) is None
    assert quick_answer([thought, said, call, call]) is not None


def rollout(path: Path, *payloads: dict[str, Any]) -> Path:
    """A file of these items and events."""
    meta = {"id": "019aa51c-142e-7141-9632-4cf3cfe1a13f", "cli_version": "0.166.0", "cwd": "/w"}
    meta |= {"timestamp": "2026-11-01T10:00:00Z", "model_provider": "openai"}
    lines: list[tuple[str, dict[str, Any]]] = [("session_meta", meta)]
    lines.append(("turn_context", {"model": "gpt-5"}))
    kinds = {
        "token_count": "event_msg",
        "web_search_end": "event_msg",
        "item_completed": "event_msg",
    }
    lines += [(kinds.get(each["type"], "response_item"), each) for each in payloads]
    text = [
        {"timestamp": f"2026-11-01T10:00:{second:02}Z", "type": type, "payload": payload}
        for second, (type, payload) in enumerate(lines)
    ]
    path.write_text("".join([f"{json.dumps(line)}\n" for line in text]))
    return path


USED = {
    "type": "token_count",
    "info": {"last_token_usage": {"input_tokens": 1000, "output_tokens": 100}},
}
SEARCH = {"type": "web_search_call", "status": "completed", "action": {"type": "search"}}
OPEN = {**SEARCH, "action": {"type": "open_page", "url": "https://example.com"}}
WEB_RUN = {**CALL, "namespace": "web", "call_id": "call_1", "arguments": '{"search_query":[]}'}


def test_searches_are_counted_and_priced(tmp_path: Path) -> None:
    shown = {"type": "web_search_end", "call_id": "ws_1", "action": {"type": "search"}}
    path = rollout(
        tmp_path / "rollout-2026-11-01T10-00-00-019aa51c-142e-7141-9632-4cf3cfe1a13f.jsonl",
        *(PROMPT, shown, {**SEARCH, "id": "ws_1"}, OPEN, SEARCH, SAID, USED),
        *(TWO, SAID, USED),
    )
    transcript = read_file(path)
    used = [each.metadata.usage for each in transcript.messages if each.metadata.usage]
    assert [each.tool_uses for each in used] == [{"web_search": 2}, None]
    assert transcript.usage.tool_uses == {"web_search": 2}
    overview = overview_at(path, None)
    assert overview is not None
    assert [each.usage for each in overview.answers] == used
    tokens = 2 * (1000 * Decimal("1.25") + 100 * 10) / 1_000_000
    assert Prices()(overview.answers) == (tokens + 2 * Decimal("0.01"), 0)


def test_a_search_by_codex_itself_has_no_known_price(tmp_path: Path) -> None:
    item = {"type": "WebSearch", "id": "call_1", "action": {"type": "search"}}
    path = rollout(
        tmp_path / "rollout-2026-11-01T10-00-00-019aa51c-142e-7141-9632-4cf3cfe1a13f.jsonl",
        *(PROMPT, WEB_RUN, USED, {"type": "item_completed", "item": item}),
        {"type": "web_search_end", "call_id": "call_1", "action": {"type": "search"}},
        *({**RESULT, "call_id": "call_1"}, SAID, USED),
    )
    overview = overview_at(path, None)
    assert overview is not None
    assert [each.usage.tool_uses for each in overview.answers] == [None, {"web_run": 1}]
    assert Prices()(overview.answers)[1] == 1
    assert read_file(path).usage.tool_uses == {"web_run": 1}
