"""Retelling for streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.framing import encoder
from interlingua.dialects.kernel.words import PLACEHOLDER
from tests.adapt.streamed import CALL, DIALECTS, TEXT, events_of, stream_of
from tests.dialects.anthropic import streaming as wires

SEARCH = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
"""What Anthropic runs itself: a search, and what it found."""


def searched(*more: list[dict[str, Any]]) -> bytes:
    """A stream of Anthropic's with a hosted tool, and what follows it."""
    blocks = [wires.block(index, start) for index, start in enumerate(SEARCH)]
    return b"".join(encoder("anthropic")(wires.frame(w)) for w in wires.talk(*blocks, *more))


def test_foreign_signatures_and_hidden_thinking_are_left_out_and_told_of() -> None:
    hidden = il.RedactedThinkingBlock("xyz")
    data = stream_of("anthropic", il.ThinkingBlock("Hm.", "c2ln"), hidden, TEXT)
    found = il.stream_convert([data], "anthropic", "gemini")
    out = b"".join(found)
    assert b"c2ln" not in out
    assert b"xyz" not in out
    thought, text = il.fold(events_of("gemini", out)).message.content
    assert isinstance(thought, il.ThinkingBlock)
    assert (thought.text, thought.signature) == ("Hm.", None)
    assert text == TEXT
    paths = [loss.path for loss in found.report.entries]
    assert "$.message.content[0].signature" in paths
    assert "$.message.content[1]" in paths


def test_signatures_stay_within_their_family() -> None:
    data = stream_of("anthropic", il.ThinkingBlock("Hm.", "c2ln"), TEXT)
    found = il.stream_convert([data], "anthropic", "bedrock")
    thought, _ = il.fold(events_of("bedrock", b"".join(found))).message.content
    assert isinstance(thought, il.ThinkingBlock)
    assert thought.signature == "c2ln"
    assert not [loss for loss in found.report.entries if "signature" in loss.path]


@pytest.mark.parametrize("target", [name for name in DIALECTS if name != "anthropic"])
def test_hosted_tools_do_not_cross_vendors(target: str) -> None:
    data = searched(wires.block(2, wires.TEXT, *wires.words("So", " it is.")))
    found = il.stream_convert([data], "anthropic", target)
    out = b"".join(found)
    assert b"web_search" not in out
    message = il.fold(events_of(target, out)).message
    assert message.text == "So it is."
    assert len(message.content) == 1
    dropped = {loss.path for loss in found.report.entries if loss.kind == "dropped"}
    assert {"$.message.content[0]", "$.message.content[1]"} <= dropped


@pytest.mark.parametrize("target", [name for name in DIALECTS if name != "anthropic"])
def test_a_placeholder_stands_where_nothing_is_left(target: str) -> None:
    found = il.stream_convert([searched()], "anthropic", target)
    message = il.fold(events_of(target, b"".join(found))).message
    assert message.text == PLACEHOLDER
    assert ("approximated", "$.message.content") in {(x.kind, x.path) for x in found.report.entries}


@pytest.mark.parametrize("target", DIALECTS)
def test_tool_ids_are_fitted_to_the_grammar_of_the_target(target: str) -> None:
    odd = il.ToolUseBlock("call|1/é " + "x" * 80, "f", {})
    source = "ollama" if target == "openai-chat" else "openai-chat"
    found = il.stream_convert([stream_of(source, odd, CALL)], source, target)
    content = il.fold(events_of(target, b"".join(found))).message.content
    ids = [block.id for block in content if isinstance(block, il.ToolUseBlock)]
    assert len(set(ids)) == 2
    assert all(il.dialect(target).legal_id(id) for id in ids)


SHELL = {
    "id": "sh_1",
    "type": "shell_call",
    "call_id": "call_1",
    "status": "completed",
    "action": {"commands": ["ls -l"], "timeout_ms": None, "max_output_length": None},
}
IMAGE = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "AAAA"}
SUMMARY = {"id": "cmp_1", "type": "compaction", "encrypted_content": "eHg="}


def _progress() -> list[dict[str, Any]]:
    body = {"id": "resp_1", "object": "response", "model": "gpt-5.6", "status": "in_progress"}
    named = {
        "shell_call_command.added": {"output_index": 0, "command_index": 0, "command": ""},
        "shell_call_command.delta": {"output_index": 0, "command_index": 0, "delta": "ls -l"},
        "shell_call_command.done": {"output_index": 0, "command_index": 0, "command": "ls -l"},
        "image_generation_call.partial_image": {"output_index": 1, "partial_image_b64": "AA=="},
        "compaction.compacting": {"output_index": 2, "item_id": "cmp_1"},
    }
    frames: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**body, "output": []}}
    ]
    for at, (item, own) in enumerate(zip((SHELL, IMAGE, SUMMARY), _OWN, strict=True)):
        frames.append({"type": "response.output_item.added", "output_index": at, "item": item})
        frames += [{"type": f"response.{n}", **named[n]} for n in named if n.startswith(own)]
        frames.append({"type": "response.output_item.done", "output_index": at, "item": item})
    whole = {**body, "status": "completed", "output": [SHELL, IMAGE, SUMMARY]}
    return [*frames, {"type": "response.completed", "response": whole}]


_OWN = ("shell_call_command", "image_generation_call", "compaction")


@pytest.mark.parametrize("target", [name for name in il.dialects() if name != "openai-responses"])
def test_progress_that_the_target_does_not_show_is_noted_by_its_name(target: str) -> None:
    data = "".join(f"data: {json.dumps(frame)}\n\n" for frame in _progress())
    converted = il.stream_convert(data, "openai-responses", target)
    list(converted)
    noted = [e.reason for e in converted.report.notes if e.code == "progress_unsupported"]
    for name in (
        "1 response.shell_call_command.delta",
        "1 response.image_generation_call.partial_image",
        "1 response.compaction.compacting",
    ):
        assert any(name in reason for reason in noted), (name, noted)
    home = b"".join(il.stream_convert(data, "openai-responses", "openai-responses"))
    assert home.decode() == data
