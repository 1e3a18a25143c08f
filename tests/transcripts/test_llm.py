"""The log of llm, made up: threads in a database, read and not written."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts import Found, TranscriptError
from interlingua.transcripts.sessions import opened

SCHEMA = """
CREATE TABLE _llm_migrations (name, applied_at);
CREATE TABLE responses (id);
CREATE TABLE attachments (id, type, path, url, content);
CREATE TABLE messages (hash, parent_hash, role, provider_metadata);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash, position, type, tool_name, text, payload);
CREATE TABLE threads (id, name, tip_message_hash, forked_from, datetime_utc);
CREATE TABLE turns (id, thread_id, parent_message_hash, tip_message_hash, model, resolved_model,
  input_tokens, output_tokens, token_details, duration_ms, datetime_utc);
"""
CALL = {"name": "look", "arguments": {"at": "oven"}, "tool_call_id": "c1"}
RESULT = {"name": "look", "output": "Error: dark", "tool_call_id": "c1", "exception": "Dark"}
DETAILS = {
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
PARTS = [
    ("h1", 0, "text", "Is it hot?", None),
    ("h1", 1, "attachment", None, {"attachment": {"id": "a1"}}),
    ("h2", 0, "reasoning", "", {"redacted": True}),
    ("h2", 1, "tool_call", None, CALL),
    ("h3", 0, "tool_result", None, RESULT),
    ("h4", 0, "text", "It is dark.", None),
    ("h4", 1, "odd", None, {"a": 1}),
]


def log(folder: Path, threads: int = 1) -> Path:
    path = folder / "logs.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        database.execute("INSERT INTO attachments VALUES ('a1', 'image/png', NULL, NULL, x'00')")
        before = None
        for name, role in zip(
            ("h1", "h2", "h3", "h4"), ("user", "assistant", "tool", "assistant"), strict=True
        ):
            database.execute("INSERT INTO messages VALUES (?, ?, ?, NULL)", (name, before, role))
            before = name
        for name, place, kind, text, payload in PARTS:
            database.execute(
                "INSERT INTO parts VALUES (NULL, ?, ?, ?, NULL, ?, ?)",
                (name, place, kind, text, json.dumps(payload) if payload else None),
            )
        for at, tip in enumerate(("h2", "h4")):
            database.execute(
                "INSERT INTO turns VALUES (?, 't0', ?, ?, 'm-1', NULL, 30, 5, ?, 7, ?)",
                (f"turn{at}", "h1", tip, json.dumps(DETAILS), f"2026-03-01T12:00:0{at}+00:00"),
            )
        for at in range(threads):
            database.execute(
                "INSERT INTO threads VALUES (?, 'Bread', 'h4', NULL, ?)",
                (f"t{at}", f"2026-03-0{at + 1} 12:00:00+00:00"),
            )
        database.commit()
    return path


def test_a_thread_is_read(tmp_path: Path) -> None:
    path = log(tmp_path)
    assert transcripts.detect(path).format == "llm"
    arrived = transcripts.read(path)
    assert (arrived.id, arrived.title, arrived.models) == ("t0", "Bread", ("m-1",))
    assert [str(message.role) for message in arrived.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    prompt, called, answered, last = (message.content for message in arrived.messages)
    assert [type(block) for block in prompt] == [il.TextBlock, il.ImageBlock]
    assert [type(block) for block in called] == [il.ThinkingBlock, il.ToolUseBlock]
    [result] = answered
    assert isinstance(result, il.ToolResultBlock)
    assert result.is_error
    assert [type(block) for block in last] == [il.TextBlock, il.UnknownBlock]
    assert not arrived.report.entries


def test_each_answer_is_counted_once(tmp_path: Path) -> None:
    usage = transcripts.read(log(tmp_path)).usage
    assert (usage.input_tokens, usage.cached_input_tokens) == (20, 40)
    assert (usage.output_tokens, usage.reasoning_tokens) == (10, 4)


def test_the_newest_of_several_threads_is_read_and_the_others_are_reported(tmp_path: Path) -> None:
    path = log(tmp_path, threads=3)
    newest = transcripts.read(path)
    assert newest.id == "t2"
    assert "2 more conversations" in str(newest.report.entries[0])
    assert [each.id for each in transcripts.read_all(path)] == ["t0", "t1", "t2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where llm keeps its log."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def test_threads_are_found_where_llm_keeps_its_log(folder: Path) -> None:
    path = log(folder, threads=2)
    found = [each for each in transcripts.find() if each.format == "llm"]
    assert [(each.path, each.id) for each in found] == [(path, "t0"), (path, "t1")]
    assert (found[1].updated_at or 0) - (found[0].updated_at or 0) == 24 * 60 * 60
    whole = {each.id: each for each in transcripts.read_all(path)}
    for each in found:
        alone, read = opened(each), whole[str(each.id)]
        assert [*map(il.dumps, alone.messages)] == [*map(il.dumps, read.messages)]
        assert (alone.usage, alone.title) == (read.usage, read.title)
    with pytest.raises(TranscriptError, match="no thread t7"):
        opened(Found("llm", path, "t7"))


def test_another_log_in_the_place_of_llms_hides_nothing(folder: Path) -> None:
    (folder / "logs.db").write_bytes(b"no database")
    assert [each for each in transcripts.find() if each.format == "llm"] == []


def test_a_thread_goes_on_elsewhere(tmp_path: Path) -> None:
    arrived = transcripts.read(log(tmp_path))
    transcripts.write(arrived, tmp_path / "there.jsonl", "pi")
    there = transcripts.read(tmp_path / "there.jsonl")
    assert [m.text for m in there.messages] == [m.text for m in arrived.messages]
    with pytest.raises(TranscriptError, match="can be read, but not written"):
        transcripts.write(arrived.replace(origin=None), tmp_path / "new.db", "llm")


@pytest.mark.parametrize("keep", [0, 10, 100, 4096, 0.5, 0.9])
def test_a_damaged_log_is_refused_with_words(keep: float, tmp_path: Path) -> None:
    data = log(tmp_path).read_bytes()
    cut = tmp_path / "cut.db"
    cut.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    with pytest.raises(il.InterlinguaError, match=r"cut\.db"):
        transcripts.read(cut, "llm")
