"""Commands on piles of files: many names, folders, names that stay, JSON Lines, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import SOURCE, run


@pytest.fixture
def pile(tmp_path: Path) -> Path:
    """Three requests over several lines, one of them in a folder, and a broken file."""
    folder = tmp_path / "many"
    (folder / "deep").mkdir(parents=True)
    for name in ("r1", "r2", "deep/r3"):
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": name}]}
        (folder / f"{name}.json").write_text(json.dumps(body, indent=2))
    (folder / "bad.json").write_text("{bad")
    return folder


def test_a_folder_of_json_keeps_its_names(pile: Path, tmp_path: Path) -> None:
    done = run("convert", pile, "-t", "anthropic", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "4 rows, 1 unreadable" in done.stderr
    assert f"{pile / 'bad.json'}: " in done.stderr
    out = tmp_path / "out"
    assert sorted(
        str(each.relative_to(out)) for each in out.rglob("*.json*") if _is_data(each)
    ) == [
        "_bad.jsonl",
        "deep/r3.json",
        "r1.json",
        "r2.json",
    ]
    body = json.loads((out / "deep" / "r3.json").read_bytes())
    assert body["messages"][0]["content"][0]["text"] == "deep/r3"


def _is_data(path: Path) -> bool:
    return ".interlingua" not in path.parts


def test_a_folder_takes_more_files_later_and_replaces_none_unasked(
    pile: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for name in ("r1.json", "r2.json"):
        assert run("convert", pile / name, "-t", "anthropic", "-o", f"{out}/").exit_code == 0
    again = run("convert", pile / "r1.json", "-t", "gemini", "-o", out)
    assert again.exit_code == 1
    assert f"{out / 'r1.json'} exists, from another run; --restart replaces it" in again.stderr
    assert run("convert", pile / "r1.json", "-t", "gemini", "-o", out, "--restart").exit_code == 0
    assert "contents" in json.loads((out / "r1.json").read_bytes())


def test_files_of_the_same_name_get_numbers(pile: Path, tmp_path: Path) -> None:
    (pile / "deep" / "r1.json").write_bytes((pile / "r1.json").read_bytes())
    out = tmp_path / "out"
    done = run("convert", pile / "r1.json", pile / "deep/r1.json", "-t", "gemini", "-o", out)
    assert done.exit_code == 0, done.stderr
    assert {each.name for each in out.glob("*.json")} == {"r1.json", "r1-2.json"}


def test_several_files_go_to_standard_output_as_lines(pile: Path) -> None:
    done = run("convert", pile / "r1.json", pile / "bad.json", pile / "r2.json", "-t", "anthropic")
    assert done.exit_code == 1
    parsed = [json.loads(line)["messages"][0]["content"][0]["text"] for line in _lines(done.stdout)]
    assert parsed == ["r1", "r2"]
    assert f"{pile / 'bad.json'}: " in done.stderr


def _lines(text: str) -> list[str]:
    return text.splitlines()


def test_a_json_file_may_be_a_list_or_have_lines(pile: Path, tmp_path: Path) -> None:
    bodies = [json.loads((pile / f"{name}.json").read_bytes()) for name in ("r1", "r2")]
    (tmp_path / "list.json").write_text(json.dumps(bodies))
    (tmp_path / "lines.json").write_text("".join(json.dumps(each) + "\n" for each in bodies))
    out = tmp_path / "out"
    done = run(
        "convert", tmp_path / "list.json", tmp_path / "lines.json", "-t", "gemini", "-o", out
    )
    assert done.exit_code == 0, done.stderr
    assert "4 rows" in done.stderr
    assert len(json.loads((out / "list.json").read_bytes())) == 2


def test_inspect_and_check_take_many_files_and_folders(pile: Path) -> None:
    shown = run("inspect", pile / "r1.json", pile / "r2.json")
    assert shown.exit_code == 0, shown.stderr
    assert f"{pile / 'r1.json'}: openai-chat request: gpt-5" in shown.stdout
    assert f"{pile / 'r2.json'}: openai-chat request: gpt-5" in shown.stdout
    folder = run("inspect", pile)
    assert folder.exit_code == 1
    assert folder.stdout.count("openai-chat request") == 3
    assert f"{pile / 'bad.json'}, at line 1, column 2" in folder.stderr
    checked = run("check", pile)
    assert checked.exit_code == 1
    assert "3 of 4 unchanged after a round trip" in checked.stderr
    assert f"{pile / 'bad.json'}, at line 1" in checked.stdout


def test_inspect_json_of_many_is_a_line_each(pile: Path) -> None:
    done = run("inspect", "--json", pile / "r1.json", pile / "r2.json")
    assert [json.loads(line)["model"] for line in _lines(done.stdout)] == ["gpt-5", "gpt-5"]


def test_an_empty_folder_is_refused_with_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("check", tmp_path / "empty")
    assert done.exit_code == 1
    assert "has no .json, .jsonl" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_an_interrupted_run_says_how_to_continue_and_does(tmp_path: Path) -> None:
    line = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": "hi " * 40}]})
    rows = 60_000
    source, output = tmp_path / "talks.jsonl", tmp_path / "out.jsonl"
    source.write_text(f"{line}\n" * rows)
    command = [sys.executable, "-m", "interlingua", "convert", source, "-f", "openai-chat"]
    command += ["-t", "anthropic", "-o", output]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        ledger = tmp_path / "out.jsonl.parts" / ".interlingua"
        until = time.monotonic() + 30
        while not list(ledger.glob("[0-9]*.json")) and time.monotonic() < until:
            time.sleep(0.005)
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    assert errors.decode() == (
        "interrupted; run the same command again to continue (--restart: start over)\n"
    )
    assert not output.exists()
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    assert f"{rows:,} rows".encode() in done.stderr
    assert output.read_bytes().count(b"\n") == rows


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
@pytest.mark.parametrize("command", ["convert", "inspect"])
def test_one_file_that_is_interrupted_says_what_to_do(tmp_path: Path, command: str) -> None:
    turns = [{"role": ("user", "assistant")[n % 2], "content": f"turn {n}"} for n in range(400_000)]
    source, output = tmp_path / "talk.json", tmp_path / "out.json"
    source.write_text(json.dumps({"model": "gpt-5", "messages": turns}))
    more = ["-t", "anthropic", "-o", output] if command == "convert" else []
    asked = [sys.executable, "-X", "importtime", "-m", "interlingua", command, source, *more]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(asked, env=environment, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        while line := running.stderr.readline():  # until the module that reads is there
            if b"interlingua.dialects.openai_chat.messages" in line:
                break
        running.send_signal(signal.SIGINT)
        errors = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 130, errors
    assert "run the same command again" in errors
    assert "Traceback" not in errors
    assert not output.exists()
