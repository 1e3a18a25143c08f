"""pi's sessions, where there is something special about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlingua import transcripts
from interlingua.model.blocks import ThinkingBlock, UnknownBlock
from interlingua.transcripts import format_of
from interlingua.transcripts.sessions import agents


def test_a_thought_without_text_has_its_signature(tmp_path: Path) -> None:
    fields = {
        "role": "assistant",
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "m",
    }
    fields["content"] = [{"type": "thinking", "thinkingSignature": "c2lnbmVk"}]  # type: ignore[assignment]
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T12:00:00Z"},
        {"type": "message", "id": "a1", "parentId": None, "message": fields},
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    [message] = transcripts.read(path, "pi").messages
    assert message.content == (ThinkingBlock("", "c2lnbmVk"),)


def compacted(path: Path, said: dict[str, Any]) -> Path:
    """A session with this message before a compaction that keeps it."""
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T12:00:00Z"},
        {"type": "message", "message": {"role": "user", "content": "Hello?"}},
        {"type": "message", "message": answer},
        {"type": "message", "message": said},
        {"type": "compaction", "summary": "We greeted.", "firstKeptEntryId": "a3"},
        {"type": "message", "message": {"role": "user", "content": "Go on."}},
    ]
    for number, line in enumerate(lines[1:], 1):
        line |= {"id": f"a{number}", "parentId": f"a{number - 1}" if number > 1 else None}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("agent", agents())
@pytest.mark.parametrize("role", ["user", "assistant", "custom", "system"])
def test_a_message_without_content_before_a_compaction_goes_to_every_agent_and_back(
    role: str, agent: str, tmp_path: Path
) -> None:
    read = transcripts.read(compacted(tmp_path / "session.jsonl", {"role": role}), "pi")
    assert len(read.messages) == 5
    assert [mark.at for mark in read.compactions] == [3]
    assert not read.report.entries
    home = transcripts.draft(read, "pi", "session.jsonl").files["session.jsonl"]
    assert b"".join(home) == (tmp_path / "session.jsonl").read_bytes()
    there = tmp_path / f"there{format_of(agent).suffix}"
    transcripts.write(read.replace(origin=None), there, agent)
    back = transcripts.read(there, agent)
    assert [each.content for each in back.messages] == [each.content for each in read.messages]
    assert [mark.at for mark in back.compactions] == [3]


PICTURE = {"type": "image", "data": "aGk=", "mimeType": {"type": "image/png"}}


@pytest.mark.parametrize("content", [7, True, ["words"], [None], {"type": "new"}, [PICTURE]])
def test_content_of_an_unknown_kind_is_an_unknown_block(content: Any, tmp_path: Path) -> None:
    fields = {"role": "user", "content": content}
    read = transcripts.read(compacted(tmp_path / "session.jsonl", fields), "pi")
    part = content[0] if isinstance(content, list) else content
    assert read.messages[2].content == (UnknownBlock({"pi": part}),)
    report = transcripts.draft(read, "claude-code").report
    assert any(loss.path.startswith("$.messages[2]") for loss in report.entries)
