"""Exports of chat programs, made up: conversations that are trees, read and not written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts import Transcript, TranscriptError
from interlingua.transcripts.notes import ignoring_notes
from interlingua.transcripts.sessions import agents

ROOT = "00000000-0000-4000-8000-000000000000"


def claude_ai() -> dict[str, Any]:
    work = [
        {"type": "thinking", "thinking": "An oven.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "oven"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [_text("cold")], "is_error": True},
        {"type": "text", "text": "It is cold."},
    ]
    return {
        "uuid": "c1",
        "name": "Bread",
        "created_at": "2026-03-01T12:00:00Z",
        "chat_messages": [
            _turn("m1", ROOT, "human", [_text("Is it hot?")]),
            _turn("m2", "m1", "assistant", [_text("No idea.")]),
            _turn("m3", "m1", "assistant", work),
        ],
    }


def chatgpt() -> dict[str, Any]:
    nodes = {
        "n0": {"id": "n0", "message": None, "parent": None},
        "n1": _node("n0", "user", {"content_type": "text", "parts": ["Is it hot?"]}),
        "n2": _node("n1", "assistant", {"content_type": "text", "parts": ["No idea."]}),
        "n3": _node("n1", "assistant", {"content_type": "code", "text": "look(oven)"}, "kitchen"),
        "n4": _node("n3", "tool", {"content_type": "execution_output", "text": "cold"}),
        "n5": _node("n4", "tool", {"content_type": "tether_quote", "text": "very", "url": "u"}),
        "n6": _node("n5", "assistant", {"content_type": "text", "parts": ["It is cold."]}),
    }
    return {
        "title": "Bread",
        "create_time": 1.5,
        "mapping": nodes,
        "current_node": "n6",
        "conversation_id": "c1",
    }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": []}


def _turn(name: str, parent: str, sender: str, content: list[Any]) -> dict[str, Any]:
    turn = {"uuid": name, "parent_message_uuid": parent, "sender": sender, "content": content}
    return {**turn, "text": "", "attachments": [], "files": []}


def _node(parent: str, role: str, content: Any, to: str = "all") -> dict[str, Any]:
    about = {"model_slug": "gpt-4"} if role == "assistant" else {}
    message = {"author": {"role": role, "name": None}, "content": content, "recipient": to}
    return {"message": {**message, "metadata": about}, "parent": parent, "children": []}


MADE = {"claude-ai": claude_ai, "chatgpt": chatgpt}


@pytest.fixture(params=MADE)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def saved(value: Any, folder: Path) -> Path:
    path = folder / "conversations.json"
    path.write_text(json.dumps(value))
    return path


def _texts(transcript: Transcript) -> list[str]:
    return [message.text for message in transcript.messages]


def test_a_conversation_is_read_with_its_branches(name: str, tmp_path: Path) -> None:
    path = saved([MADE[name]()], tmp_path)
    assert transcripts.detect(path).format == name
    arrived = transcripts.read(path)
    assert (arrived.id, arrived.title) == ("c1", "Bread")
    assert arrived.messages[0].text == "Is it hot?"
    assert arrived.messages[-1].text == "It is cold."
    assert arrived.created_at is not None
    assert [(b.messages[-1].text, b.active) for b in arrived.branches] == [
        ("No idea.", False),
        ("It is cold.", True),
    ]
    assert not arrived.report.entries


def test_results_answer_their_calls(name: str, tmp_path: Path) -> None:
    arrived = transcripts.read(saved([MADE[name]()], tmp_path))
    blocks = [block for message in arrived.messages for block in message.content]
    [call] = [block for block in blocks if isinstance(block, il.ToolUseBlock)]
    results = [block for block in blocks if isinstance(block, il.ToolResultBlock)]
    assert {result.tool_use_id for result in results} == {call.id}
    assert len(results) == (2 if name == "chatgpt" else 1)
    assert results[0].is_error == (name == "claude-ai")
    assert [str(m.role) for m in arrived.messages][-2:] == ["tool", "assistant"]


def test_it_goes_on_in_an_agent_and_home(name: str, tmp_path: Path) -> None:
    path = saved([MADE[name]()], tmp_path)
    arrived = transcripts.read(path)
    transcripts.write(arrived, tmp_path / "there.jsonl", "claude-code")
    assert _texts(transcripts.read(tmp_path / "there.jsonl")) == _texts(arrived)
    transcripts.write(arrived, tmp_path / "home.json", name)
    assert (tmp_path / "home.json").read_bytes() == path.read_bytes()
    with pytest.raises(TranscriptError, match="can be read, but not written"):
        transcripts.write(arrived.replace(origin=None), tmp_path / "new.json", name)


def test_each_conversation_of_an_export_is_there(name: str, tmp_path: Path) -> None:
    path = saved([MADE[name](), MADE[name]()], tmp_path)
    assert "more conversations" in str(transcripts.read(path).report.entries[0])
    assert [each.id for each in transcripts.read_all(path)] == ["c1", "c1"]


@pytest.mark.parametrize("keep", [0, 1, 30, 0.3, 0.6, 0.9, 0.99])
def test_an_export_that_was_cut_gives_what_can_be_read(
    name: str, keep: float, tmp_path: Path
) -> None:
    data = saved([MADE[name]()], tmp_path).read_bytes()
    cut = tmp_path / "cut.json"
    cut.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    try:
        arrived = transcripts.read(cut, name)
    except il.InterlinguaError:
        return  # said with words
    assert arrived.report.entries


@pytest.mark.parametrize("odd", [None, 7, "text", [], {}, {"message": 7}, {"sender": "human"}])
def test_odd_places_of_a_conversation_do_no_harm(name: str, odd: Any, tmp_path: Path) -> None:
    made = MADE[name]()
    if name == "chatgpt":
        made["mapping"] = {"odd": odd, **made["mapping"]}
    else:
        made["chat_messages"].insert(0, odd)
    arrived = transcripts.read(saved([made], tmp_path))
    assert arrived.messages[-1].text == "It is cold."
    if not isinstance(odd, dict):
        assert [loss.severity for loss in arrived.report.entries] == ["error"]


def test_a_circle_of_nodes_ends(tmp_path: Path) -> None:
    made = chatgpt()
    made["mapping"]["n0"]["parent"] = "n6"
    assert _texts(transcripts.read(saved([made], tmp_path)))[-1] == "It is cold."


MARKDOWN = "# Heading\n\n- one\n- two\n\n---\n```\n1. code\n```\n## Last\n\nThe end."
BEGINNINGS = ["", "\n", "---\n", "<system-reminder>\n", "[Request interrupted by user]\n"]
BEGINNINGS += ["<environment_context>", "# AGENTS.md instructions\n", "/help ", "Exit code 1\n"]


def results_in(transcript: Transcript) -> list[str]:
    """The text of each result."""
    blocks = (block for message in transcript.messages for block in message.content)
    return [
        "\n".join(each.text for each in block.content if isinstance(each, il.TextBlock))
        for block in blocks
        if isinstance(block, il.ToolResultBlock)
    ]


@pytest.mark.parametrize("agent", agents())
@pytest.mark.parametrize("start", BEGINNINGS)
def test_an_agent_that_goes_on_sees_all_results_of_a_call_as_one(
    start: str, agent: str, tmp_path: Path
) -> None:
    export = chatgpt()
    for name in ("n4", "n5"):
        export["mapping"][name]["message"]["content"]["text"] = f"{start}{MARKDOWN}{name}"
    read = transcripts.read(saved(export, tmp_path))
    there = tmp_path / f"there{transcripts.format_of(agent).suffix}"
    report = transcripts.write(read, there, agent)
    assert any(loss.path == "$.messages[3]" and loss.kind == "moved" for loss in report.entries)
    assert all(loss.severity != "error" for loss in report.entries)
    with ignoring_notes():
        seen = transcripts.read(there, agent)
    assert results_in(seen) == [f"{start}{MARKDOWN}n4\n{start}{MARKDOWN}n5"]
    back = transcripts.read(there, agent)
    assert [each.content for each in back.messages] == [each.content for each in read.messages]


@pytest.mark.parametrize("agent", agents())
def test_what_an_agent_sees_nothing_of_is_reported(agent: str, tmp_path: Path) -> None:
    export = chatgpt()
    parts = ["Look:", {"content_type": "hologram"}, "The end."]
    export["mapping"]["n4"]["message"]["content"] = {
        "content_type": "multimodal_text",
        "parts": parts,
    }
    read = transcripts.read(saved(export, tmp_path))
    report = transcripts.draft(read, agent).report
    assert any(
        loss.path.startswith("$.messages[2]") and loss.severity == "warning"
        for loss in report.entries
    )
