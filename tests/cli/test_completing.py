"""Completion in shells: the scripts, and the values that are offered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from interlingua.model.message import Message
from interlingua.store.base import Store
from tests.cli.running import SOURCE, ok, run


def offered(line: str) -> list[str]:
    """What bash is offered at the end of a line."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - (not line.endswith(" "))),
        "_INTERLINGUA_COMPLETE": "bash_complete",
    }
    command = [sys.executable, "-c", "from interlingua.cli.main import main; main()"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    return [each.partition(",")[2] for each in done.stdout.decode().splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    script = ok("completion", shell)
    assert f"_INTERLINGUA_COMPLETE={shell}_complete" in script
    assert "interlingua" in script


@pytest.mark.skipif(which("bash") is None, reason="bash is not installed here")
@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("interlingua chat -m anthropic : claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("interlingua chat -m anthropic :", "claude-sonnet-4-6"),
        ("interlingua chat -m claude-sonnet-4-6", "claude-sonnet-4-6"),
        ("interlingua convert --to gemin", "gemini"),
    ],
)
def test_bash_splits_words_at_colons(words: str, reply: str, tmp_path: Path) -> None:
    command = tmp_path / "interlingua"
    program = f"#!{sys.executable}\nfrom interlingua.cli.main import main; main()\n"
    command.write_text(program)
    command.chmod(0o755)
    script = f"""{ok("completion", "bash").replace("complete -o", ": complete -o")}
        COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _interlingua_completion {command}; printf '%s\\n' "${{COMPREPLY[@]}}" """
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, timeout=60)
    assert reply in done.stdout.decode().splitlines(), done.stderr.decode()


def test_another_shell_is_refused() -> None:
    assert run("completion", "tcsh").exit_code == 2


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("interlingua conv", "convert"),
        ("interlingua convert --to ge", "gemini"),
        ("interlingua convert --to cla", "claude"),
        ("interlingua chat -m son", "sonnet"),
        ("interlingua chat --model claude-sonnet-4", "claude-sonnet-4-6"),
        ("interlingua resume latest --in co", "codex"),
        ("interlingua transcripts show la", "latest"),
    ],
)
def test_values_are_completed(line: str, value: str) -> None:
    assert value in offered(line)


BODY = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]})


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("convert FILE -t anthropic", "--from"),
        ("convert FILE", "--to"),
        ("convert FILE -t anthropic", "--model"),
        ("inspect FILE", "--from"),
        ("check FILE", "--from"),
        ("dialects", "--from"),
        ("dialects --from anthropic", "--to"),
        ("transcripts list", "--from"),
        ("transcripts search x", "--from"),
        ("transcripts show latest", "--from"),
        ("transcripts convert latest", "--to"),
        ("resume latest", "--in"),
        ("resume latest --in codex", "--from"),
        ("import FILE", "--from"),
        ("export nothing", "--to"),
        ("sessions export nothing", "--to"),
        ("cost --transcripts", "--from"),
    ],
)
def test_each_value_that_is_offered_is_taken(tmp_path: Path, command: str, option: str) -> None:
    file, words = tmp_path / "body.json", command.split()
    file.write_text(BODY)
    called = [word for word in words if word not in ("FILE", "latest", "nothing", "x")]
    path = " ".join(called[: 2 if called[0] in ("transcripts", "sessions") else 1])
    values = offered(f"interlingua {path} {option} ")
    assert len(values) > 5
    arguments = [str(file) if word == "FILE" else word for word in words]
    for value in values:
        done = run(*arguments, option, value)
        assert done.exit_code != 2, (value, done.stderr)
        assert "unknown format" not in done.stderr, (value, done.stderr)


@pytest.mark.parametrize("command", ["inspect", "check", "import"])
def test_aliases_of_formats_are_taken_by_each_command(tmp_path: Path, command: str) -> None:
    file = tmp_path / "body.json"
    file.write_text(BODY)
    assert run(command, file, "--from", "openai").exit_code == 0
    assert run(command, file, "--from", "groq").exit_code == 0


def test_sessions_are_completed_and_keys_are_not_taken_for_them(store: Store) -> None:
    row = store.create_session("/w", name="About bread")
    store.append(row.id, [Message.user("Which flour?")])
    assert offered(f"interlingua sessions show {row.id[:4]}") == [row.id]
    assert row.id not in offered(f"interlingua keys revoke {row.id[:4]}")
