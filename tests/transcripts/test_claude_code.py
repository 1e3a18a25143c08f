"""Claude Code's sessions, where there is something special about them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts.sessions import at, look

SESSION = "0b2c6b1e-6c1f-4d58-9a53-0d7e2f3a4b5c"
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "oven"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "cold"}


def events() -> list[dict[str, Any]]:
    """A session as the web version exports it: no event names its parent."""
    answer = {"id": "msg_1", "role": "assistant", "model": "claude-sonnet-4-6", "content": [CALL]}
    last = {**answer, "id": "msg_2", "content": [{"type": "text", "text": "It is cold."}]}
    found: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "cwd": "/work", "session_id": SESSION},
        {"type": "user", "message": {"role": "user", "content": "Is it hot?"}},
        {"type": "assistant", "message": answer},
        {"type": "user", "message": {"role": "user", "content": [RESULT]}},
        {"type": "control_request", "request": {"subtype": "x"}},
        {"type": "assistant", "message": last},
        {"type": "result", "subtype": "success"},
    ]
    for number, event in enumerate(found):
        event |= {"uuid": f"u{number}", "created_at": f"2026-03-01T12:00:0{number}Z"}
    return found


DOCUMENTS = {
    "a list": lambda: events(),
    "events": lambda: {"events": events()},
    "messages": lambda: {"messages": events(), "session_id": SESSION, "title": "Bread"},
    "loglines": lambda: {"loglines": events()},
    "data": lambda: {"data": events(), "has_more": False},
    "session": lambda: {"session": {"id": SESSION, "title": "Bread"}, "events": events()},
}


@pytest.mark.parametrize("name", ["session.json", "session.jsonl"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_session_in_one_document_is_read_and_goes_home(
    kind: str, indent: int | None, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(DOCUMENTS[kind](), indent=indent))
    assert transcripts.detect(path).format == "claude-code"
    read = transcripts.read(path)
    assert [str(message.role) for message in read.messages] == [
        *("user", "assistant", "tool", "assistant")
    ]
    assert b'"cold"' in il.dumps(read.messages[2])
    assert read.messages[-1].text == "It is cold."
    assert (read.id, read.folder) == (SESSION, "/work")
    assert read.title == ("Bread" if kind in ("messages", "session") else None)
    assert not [loss for loss in read.report.entries if loss.severity == "error"]
    assert look(at(path)).messages == 4
    home = b"".join(transcripts.draft(read, "claude-code", name).files[name])
    if name.endswith(".json"):
        assert home == path.read_bytes()
    else:  # Claude Code looks for lines in a file of this name
        assert next(json.loads(line)["type"] for line in home.splitlines()) == "user"


def test_a_document_goes_on_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"events": events()}))
    read = transcripts.read(path)
    transcripts.write(read, tmp_path / "lines.jsonl", "claude-code")
    lines = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "assistant"]
    more = read.replace(messages=(*read.messages, il.Message.user("Then heat it.")))
    files = transcripts.draft(more, "claude-code", "session.json").files
    assert b"Then heat it." in b"".join(files["session.json"])


@pytest.mark.parametrize(
    "document",
    [
        {"events": [{"type": "click", "uuid": "1"}]},
        {"events": []},
        [{"type": "user", "text": "no message"}],
        {"messages": [{"role": "user", "content": "Hi"}]},
    ],
)
def test_other_documents_are_none_of_its(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    with suppress(il.DetectError):
        assert transcripts.detect(path).format != "claude-code"


def test_a_document_that_was_cut_is_refused_with_words(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"events": events()})[:-40])
    with pytest.raises(transcripts.TranscriptError, match="invalid JSON"):
        transcripts.read(path)
