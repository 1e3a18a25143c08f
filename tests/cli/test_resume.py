"""Going on with a session in another tool."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from interlingua import transcripts
from interlingua.store.base import Store
from interlingua.transcripts import Transcript
from interlingua.transcripts.sessions import agents
from tests.cli.homes import FLOUR, everything, other, settled
from tests.cli.running import ok, run
from tests.transcripts.made import session

PLACES = {
    "claude-code": ".claude/projects/-home-user-mill/*.jsonl",
    "codex": ".codex/sessions/2026/03/02/rollout-2026-03-02T12-00-0?-*.jsonl",
    "copilot": ".copilot/session-state/*/events.jsonl",
    "gemini-cli": ".gemini/tmp/mill/chats/session-2026-03-02T12-00-*.jsonl",
    "opencode": ".local/share/interlingua/opencode/ses_*.json",
    "pi": ".pi/agent/sessions/--home-user-mill--/2026-03-02T12-00-*Z_*.jsonl",
}


@pytest.fixture(autouse=True)
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs, the only one there is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, version: str) -> Path:
    """A tool that tells its version, and notes what else it is asked for."""
    noted = folder / f"{name}.asked"
    text = f"""#!/bin/sh
if [ "$1" = --version ]; then echo "{name} {version}"; exit; fi
echo "$PWD $*" >> {shlex.quote(str(noted))}
"""
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return noted


def test_every_agent_has_a_place_here() -> None:
    assert set(PLACES) == set(agents())


@pytest.mark.parametrize("target", PLACES)
def test_a_session_is_written_where_the_tool_looks_for_it(tmp_path: Path, target: str) -> None:
    source = "pi" if target == "codex" else "codex"
    settled(other(), source, tmp_path)
    before = everything(tmp_path)
    printed = ok("resume", "latest", "--in", target, "--home", tmp_path, "--yes")
    (made,) = tmp_path.glob(PLACES[target])
    read = transcripts.read(made)
    assert read.messages[0].text == FLOUR
    assert printed.startswith("cd /home/user/mill && ")
    assert before <= everything(tmp_path)


@pytest.mark.parametrize("target", [name for name in PLACES if name != "opencode"])
def test_what_was_written_is_found_by_the_id_in_the_command(tmp_path: Path, target: str) -> None:
    settled(other(), "pi" if target != "pi" else "codex", tmp_path)
    how = ("--in", target, "--home", tmp_path, "--yes", "--json")
    done = json.loads(ok("resume", "latest", *how))
    found = {each.id: each.path for each in transcripts.find(tmp_path) if each.format == target}
    assert list(found) == [done["id"]]
    assert str(found[done["id"]]) == done["path"]
    assert any(done["id"] in word for word in done["commands"][-1])
    assert transcripts.read(done["path"]).id == done["id"]


def test_the_second_time_another_session_is_written(tmp_path: Path) -> None:
    path = settled(other(), "pi", tmp_path)
    for _ in range(3):
        before = everything(tmp_path)
        ok("resume", path, "--in", "codex", "--home", tmp_path, "--yes")
        assert before < everything(tmp_path)


def test_there_and_back_leaves_the_original_as_it_was(tmp_path: Path) -> None:
    first = settled(session(), "claude-code", tmp_path)
    data = first.read_bytes()
    ok("resume", first, "--in", "codex", "--home", tmp_path, "--yes")
    (there,) = (tmp_path / ".codex").rglob("*.jsonl")
    ok("resume", there, "--in", "claude-code", "--home", tmp_path, "--yes")
    (back,) = [path for path in (tmp_path / ".claude").rglob("*.jsonl") if path != first]
    assert first.read_bytes() == data
    assert _said(transcripts.read(back)) == _said(transcripts.read(first))


def _said(transcript: Transcript) -> list[object]:
    return [message.content for message in transcript.messages]


def test_what_would_be_lost_is_told_and_asked_about(tmp_path: Path) -> None:
    path = settled(session(), "claude-code", tmp_path)
    before = everything(tmp_path)
    refused = run("resume", path, "--in", "codex", "--home", tmp_path, stdin="n\n")
    assert refused.exit_code == 1
    assert "thinking is sent back to its issuer only" in refused.stderr
    assert f"warning: {path.name}:" in refused.stderr, "the file and the line"
    assert "$.messages" not in refused.stderr
    assert everything(tmp_path) == before
    result = run("resume", path, "--in", "codex", "--home", tmp_path, "--dry-run")
    assert (result.exit_code, result.stdout) == (0, "")
    assert everything(tmp_path) == before
    agreed = run("resume", path, "--in", "codex", "--home", tmp_path, stdin="y\n")
    assert agreed.exit_code == 0
    assert "codex resume " in agreed.stdout


def test_a_session_of_the_tool_itself_is_not_written_again(tmp_path: Path) -> None:
    path = settled(other(), "codex", tmp_path)
    before = everything(tmp_path)
    printed = ok("resume", "latest", "--in", "codex", "--home", tmp_path)
    assert f"codex resume {transcripts.read(path).id}" in printed
    assert everything(tmp_path) == before


def test_a_session_that_lies_elsewhere_comes_home_under_its_own_id(tmp_path: Path) -> None:
    elsewhere = tmp_path / "mail" / "x.jsonl"
    transcripts.write(other(), elsewhere, "codex")
    home = tmp_path / "agents"
    ok("resume", elsewhere, "--in", "codex", "--home", home)
    (made,) = home.rglob("*.jsonl")
    assert other().id is not None
    assert str(other().id) in made.name
    assert made.read_bytes() == elsewhere.read_bytes()


def test_another_folder_can_be_named(tmp_path: Path) -> None:
    path = settled(other(), "pi", tmp_path)
    how = ("--in", "claude-code", "--home", tmp_path, "--folder", tmp_path / "bin")
    printed = ok("resume", path, *how, "--yes")
    (made,) = (tmp_path / ".claude").rglob("*.jsonl")
    assert made.parent.name == "".join(
        char if char.isalnum() else "-" for char in str(tmp_path / "bin")
    )
    assert printed.startswith(f"cd {tmp_path / 'bin'} && claude --resume ")
    assert transcripts.read(made).folder == str(tmp_path / "bin")


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        ("-P", "cd ./-P"),
        ("-", "cd ./-"),
        ("/tmp/a\nrm 'x' \x1b[2J", r"cd $'/tmp/a\U0000000arm \U00000027x\U00000027 \U0000001b[2J'"),
        ("/tmp/it's", "cd '/tmp/it'\"'\"'s'"),
    ],
)
def test_a_hostile_folder_is_one_word_of_one_line(tmp_path: Path, folder: str, step: str) -> None:
    path = tmp_path / "one.jsonl"
    rows = settled(other(), "pi", tmp_path).read_text().splitlines()
    first = json.loads(rows[0]) | {"cwd": folder}
    path.write_text("\n".join([json.dumps(first), *rows[1:]]) + "\n")
    result = run("resume", path, "--in", "claude-code", "--home", tmp_path, "--yes")
    assert result.stdout.startswith(f"{step} && claude --resume "), result.stderr
    assert result.stdout.count("\n") == 1
    (collected,) = [line for line in result.stderr.splitlines() if line.startswith("folder ")]
    assert "does not exist; choose another with --folder" in collected
    assert collected.isprintable()


def test_what_opencode_imports_is_in_the_folder_that_the_environment_names(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = settled(other(), "pi", tmp_path)
    ok("resume", path, "--in", "opencode", "--yes")
    assert [*home.glob("opencode/ses_*.json")]
    assert not (tmp_path / ".local").exists()


def test_the_command_is_run_in_the_folder_of_the_session(tmp_path: Path, no_tools: Path) -> None:
    asked = program(no_tools, "codex", "0.166.0")
    work = tmp_path / "work"
    work.mkdir()
    path = settled(other().replace(folder=str(work)), "pi", tmp_path)
    ok("resume", path, "--in", "codex", "--home", tmp_path, "--yes", "--run")
    (made,) = (tmp_path / ".codex").rglob("*.jsonl")
    assert asked.read_text().split() == [str(work), "resume", transcripts.read(made).id]


def test_a_tool_that_is_not_there_cannot_be_run_and_nothing_is_written(tmp_path: Path) -> None:
    path = settled(other(), "pi", tmp_path)
    before = everything(tmp_path)
    result = run("resume", path, "--in", "codex", "--home", tmp_path, "--yes", "--run")
    assert result.exit_code == 2
    assert "codex is not installed" in result.stderr
    assert everything(tmp_path) == before


def test_a_version_that_nobody_has_tried_is_refused_with_words(
    tmp_path: Path, no_tools: Path
) -> None:
    path = settled(other(), "pi", tmp_path)
    for version in ("0.999.0", "7.0.1"):
        program(no_tools, "codex", version)
        before = everything(tmp_path)
        result = run("resume", path, "--in", "codex", "--home", tmp_path, "--yes")
        assert result.exit_code == 1
        assert f"codex {version}" in result.stderr
        assert "newest tested version" in result.stderr
        assert everything(tmp_path) == before
    ok("resume", path, "--in", "codex", "--home", tmp_path, "--yes", "--untested")


def test_a_repair_of_a_known_version_is_taken(tmp_path: Path, no_tools: Path) -> None:
    path = settled(other(), "pi", tmp_path)
    program(no_tools, "codex", "0.166.999")
    ok("resume", path, "--in", "codex", "--home", tmp_path, "--yes")


def test_a_folder_that_gemini_knows_keeps_its_name(tmp_path: Path) -> None:
    gemini = tmp_path / ".gemini"
    (gemini / "tmp" / "mill").mkdir(parents=True)
    (gemini / "tmp" / "mill" / ".project_root").write_text("/another/mill")
    path = settled(other(), "pi", tmp_path)
    ok("resume", path, "--in", "gemini-cli", "--home", tmp_path, "--yes")
    (made,) = (gemini / "tmp" / "mill-1" / "chats").glob("*.jsonl")
    assert (gemini / "tmp" / "mill-1" / ".project_root").read_text() == "/home/user/mill"
    (gemini / "projects.json").write_text('{"projects":{"/home/user/mill":"windmill"}}')
    ok("resume", path, "--in", "gemini-cli", "--home", tmp_path, "--yes")
    assert len(list((gemini / "tmp" / "windmill" / "chats").glob("*.jsonl"))) == 1
    assert transcripts.read(made).folder == "/home/user/mill"


def test_what_goes_on_today_was_touched_today(tmp_path: Path) -> None:
    path = settled(other(), "pi", tmp_path)
    before = datetime.now(UTC) - timedelta(seconds=1)
    ok("resume", path, "--in", "gemini-cli", "--home", tmp_path, "--yes")
    (made,) = (tmp_path / ".gemini").rglob("*.jsonl")
    read = transcripts.read(made)
    assert read.created_at == other().created_at
    assert read.updated_at is not None
    assert read.updated_at > before


def test_in_chat_it_is_a_session_of_the_store(tmp_path: Path, store: Store) -> None:
    path = settled(other(), "codex", tmp_path)
    printed = ok("resume", path, "--in", "chat")
    id = printed.split()[-1]
    assert "interlingua chat --resume" in printed
    assert [message.text for message in store.messages(id)] == [FLOUR, "Wholemeal."]
    back = ok("resume", f"store:{id}", "--in", "pi", "--home", tmp_path / "agents", "--yes")
    (made,) = (tmp_path / "agents").rglob("*.jsonl")
    assert "pi --session" in back
    assert transcripts.read(made).messages[0].text == FLOUR


def test_secrets_stay_at_home(tmp_path: Path) -> None:
    first = other()
    content = first.messages[0].replace(content=first.messages[0].content)
    path = settled(first.replace(messages=(content, *first.messages[1:])), "pi", tmp_path)
    how = ("--in", "codex", "--home", tmp_path, "--yes", "--redact", "--pattern", "grain=rye")
    ok("resume", path, *how)
    (made,) = (tmp_path / ".codex").rglob("*.jsonl")
    assert transcripts.read(made).messages[0].text == FLOUR.replace("rye", "[redacted:grain:1]")
    assert transcripts.read(made).folder == "/home/user/mill"


def test_a_tool_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    result = run("resume", "latest", "--in", "emacs", "--home", tmp_path)
    assert result.exit_code == 2
    assert "claude-code" in result.stderr
