"""What holds for every agent's format, with a made-up session: no file of theirs is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.message import Message
from interlingua.transcripts import TranscriptError, format_of, formats
from interlingua.transcripts.transcript import usage_of
from tests.transcripts.made import SESSION, session
from tests.transcripts.said import said

AGENTS = [name for name in formats() if format_of(name).resume is not None]


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def written(agent: str, folder: Path, name: str = SESSION) -> Path:
    path = folder / f"{name}{'.json' if agent == 'opencode' else '.jsonl'}"
    transcripts.write(session(), path, agent)
    return path


def test_a_session_of_another_tool_arrives(agent: str, tmp_path: Path) -> None:
    path = written(agent, tmp_path)
    assert transcripts.detect(path).format == agent
    arrived = transcripts.read(path)
    assert said(arrived) == said(session())
    assert arrived.folder == "/home/user/bakery" or agent == "gemini-cli"
    assert arrived.models == ("claude-sonnet-4-6",)
    assert not arrived.report.entries


def test_tokens_are_counted_once(agent: str, tmp_path: Path) -> None:
    arrived = transcripts.read(written(agent, tmp_path))
    found = arrived.usage.replace(reasoning_tokens=None, cache_creation_input_tokens=None)
    assert found == usage_of(session().messages)


def test_what_the_tool_cannot_show_comes_back(agent: str, tmp_path: Path) -> None:
    arrived = transcripts.read(written(agent, tmp_path))
    before, after = session().messages, arrived.messages
    assert sorted(map(il.dumps, after)) == sorted(map(il.dumps, before))


def test_instructions_and_foreign_things_are_reported(agent: str, tmp_path: Path) -> None:
    report = transcripts.write(session(), tmp_path / "session", agent)
    reported = {loss.path for loss in report.entries}
    assert "$.messages[0]" in reported or agent == "pi"


def test_a_line_that_was_edited_by_hand_wins(agent: str, tmp_path: Path) -> None:
    path = written(agent, tmp_path)
    path.write_bytes(path.read_bytes().replace(b"It has risen.", b"It has not."))
    texts = [message.text for message in transcripts.read(path).messages]
    assert "It has not." in texts
    assert "It has risen." not in texts


def test_the_same_bytes_go_home(agent: str, tmp_path: Path) -> None:
    path = written(agent, tmp_path)
    home = tmp_path / "home" / path.name
    report = transcripts.write(transcripts.read(path), home, agent)
    assert home.read_bytes() == path.read_bytes()
    assert not report.entries


def test_a_message_that_was_changed_changes_its_lines_alone(agent: str, tmp_path: Path) -> None:
    path = written(agent, tmp_path)
    arrived = transcripts.read(path)
    at = next(i for i, m in enumerate(arrived.messages) if m.text == "Gladly. 🥖")
    changed = arrived.messages[at].replace(content=(il.TextBlock("Any time."),))
    edited = arrived.replace(
        messages=(*arrived.messages[:at], changed, *arrived.messages[at + 1 :])
    )
    home = tmp_path / "home" / path.name
    transcripts.write(edited, home, agent)
    again = transcripts.read(home)
    assert [m.text for m in again.messages] == [m.text for m in edited.messages]
    if format_of(agent).patch is not None:
        old, new = path.read_bytes().split(b"\n"), home.read_bytes().split(b"\n")
        assert len(old) == len(new)
        assert sum(first != second for first, second in zip(old, new, strict=True)) == 1


def test_a_message_that_was_added_comes_behind_the_last(agent: str, tmp_path: Path) -> None:
    path = written(agent, tmp_path)
    arrived = transcripts.read(path)
    longer = arrived.replace(messages=(*arrived.messages, Message.user("One more thing.")))
    home = tmp_path / "home" / path.name
    transcripts.write(longer, home, agent)
    again = transcripts.read(home)
    assert again.messages[-1].text == "One more thing."
    assert len(again.messages) == len(longer.messages)
    if format_of(agent).append is not None:
        assert home.read_bytes().startswith(path.read_bytes())


def test_a_file_that_is_there_is_not_overwritten(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "there.jsonl"
    path.write_text("mine")
    with pytest.raises(TranscriptError, match="the file exists"):
        transcripts.write(session(), path, agent)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("keep", [0, 1, 40, 200, 0.3, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_gives_what_can_be_read(
    agent: str, keep: float, tmp_path: Path
) -> None:
    data = written(agent, tmp_path).read_bytes()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    try:
        arrived = transcripts.read(cut, agent)
    except il.InterlinguaError:
        return  # said with words
    whole = [message.text for message in transcripts.read(written(agent, tmp_path / "w")).messages]
    assert {message.text for message in arrived.messages} <= {*whole, ""}


@pytest.mark.parametrize(
    "garbage", [b"\xff\xfe", b"{", b"[1, 2]", b"null", b'{"type": 7}', b"\x00"]
)
def test_garbled_lines_are_named_and_left_out(agent: str, garbage: bytes, tmp_path: Path) -> None:
    if agent == "opencode":
        pytest.skip("its exports are one JSON value and not lines")
    path = written(agent, tmp_path)
    lines = path.read_bytes().split(b"\n")
    middle = len(lines) // 2
    lines.insert(middle, garbage)
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b"\n".join(lines))
    arrived = transcripts.read(odd, agent)
    assert said(arrived) == said(session())
    named = [loss.path for loss in arrived.report.entries if loss.severity == "error"]
    assert named == ([f"line {middle + 1}"] if garbage != b'{"type": 7}' else [])


@pytest.mark.parametrize("name", ["codex", "pi"])
def test_an_agents_file_is_opened_without_loading_other_formats(name: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    transcripts.write(session(), path, name)
    program = (
        "import sys; from interlingua import transcripts; "
        f"assert transcripts.read({str(path)!r}).format == {name!r}; "
        "print('interlingua.transcripts.otel' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_lines_of_claude_code_need_no_session_id(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    transcripts.write(session(), path, "claude-code")
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    for line in lines:
        del line["sessionId"]
    path.write_text("\n".join(json.dumps(line, separators=(",", ":")) for line in lines))
    assert transcripts.detect(path).format == "claude-code"
    assert said(transcripts.read(path)) == said(session())
