"""The command line as a user meets it: processes, standard streams, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from interlingua.cli.demo import example
from interlingua.cli.main import COMMANDS, command_of, for_commands, shown
from interlingua.model.base import same
from interlingua.views import VIEWS
from tests.cli.running import forked
from tests.cli.running import run as run_here

SOURCE = Path(__file__).parents[2] / "src"
FLAT = [{"role": "user", "content": "h\u00e9llo"}]
PARTS = [{"role": "USER", "content": [{"kind": "TEXT", "text": "h\u00e9llo"}]}]
LOSSY = [{"role": "tool", "call_id": "c", "name": "f", "content": "x"}]


def python(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)


def run(*arguments: str, stdin: Any = None) -> subprocess.CompletedProcess[bytes]:
    data = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
    return forked(*arguments, stdin=data)


def one_line(stderr: bytes) -> str:
    [line] = stderr.decode().splitlines()
    return line


def test_help_lists_every_command() -> None:
    done = python("-m", "interlingua", "--help")
    assert done.returncode == 0
    assert all(name in done.stdout.decode() for name in COMMANDS)


def test_help_begins_with_what_the_command_does() -> None:
    lines = run("--help").stdout.decode().splitlines()
    assert (
        lines[2].strip().startswith("Converts conversations between the formats of LLM providers")
    )


def test_a_command_that_does_not_exist_is_wrong_usage() -> None:
    assert run("translate").returncode == 2


def test_every_command_that_is_listed_can_be_loaded() -> None:
    for name in COMMANDS:
        command = command_of(name)
        assert command.name == name
        assert command.help


def test_without_click_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['click'] = None; from interlingua.cli.main import main; main()"
    )
    done = python("-c", program)
    assert done.returncode == 1
    assert "interlingua[cli]" in one_line(done.stderr)


# Conversion


@pytest.mark.parametrize("module", ["interlingua.cli.main", "interlingua.errors", "click"])
def test_an_interrupt_while_modules_are_loaded_is_exit_130_without_a_traceback(module: str) -> None:
    program = f"""
import runpy, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
runpy.run_module("interlingua", run_name="__main__", alter_sys=True)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def test_the_entry_point_is_the_module_that_is_interrupted_quietly() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'interlingua = "interlingua.__main__:main"' in project


def test_convert_reads_stdin_and_writes_stdout() -> None:
    done = run("convert", "--from", "flat", "--to", "parts", stdin=FLAT)
    assert done.returncode == 0
    assert json.loads(done.stdout) == PARTS
    assert done.stderr == b""


def test_convert_reads_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "flat.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(FLAT, ensure_ascii=False).encode())
    done = run("convert", str(file), "--from", "flat", "--to", "parts")
    assert json.loads(done.stdout) == PARTS


@pytest.mark.parametrize("name", list(VIEWS))
def test_the_example_through_a_view_and_back(name: str, tmp_path: Path) -> None:
    source = str(files("interlingua.cli").joinpath("examples/conversation.json"))
    there = run("convert", source, "--from", "canonical", "--to", name)
    assert there.returncode == 0, there.stderr.decode()
    assert same(json.loads(there.stdout), VIEWS[name].write(example()).wire)
    back = run("convert", "--from", name, "--to", "canonical", stdin=there.stdout)
    assert back.returncode == 0, back.stderr.decode()
    assert len(json.loads(back.stdout)["messages"]) == 5


def test_losses_are_told_on_stderr_and_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    arguments = ("convert", "--from", "flat", "--to", "parts", "--report", str(file))
    done = run(*arguments, stdin=LOSSY)
    assert done.returncode == 0
    assert "tool_name dropped: parts has no equivalent" in done.stderr.decode()
    report = json.loads(file.read_bytes())
    assert report["target"] == "parts"
    [loss] = report["losses"]
    assert loss["path"].endswith("[0].content[0].tool_name")


def test_strict_fails_on_a_loss_and_only_then() -> None:
    arguments = ("convert", "--from", "flat", "--to", "parts", "--strict")
    assert run(*arguments, stdin=LOSSY).returncode == 3
    assert run(*arguments, stdin=FLAT).returncode == 0


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[3]", b'[{"role": "user", "content": 3}]'])
def test_input_that_cannot_be_read_is_one_line_and_exit_1(data: bytes) -> None:
    done = run("convert", "--from", "flat", "--to", "parts", stdin=data)
    assert done.returncode == 1
    assert done.stdout == b""
    assert one_line(done.stderr).startswith("interlingua: ")


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    done = run("convert", "--from", "flat", "--to", "parts", stdin=b"[" * 100_000)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--to", "parts"), ("--from", "flat"), ("--from", "flat", "--to", "nothing")],
    ids=["detected", "no target", "unknown target"],
)
def test_wrong_usage_is_exit_2(arguments: tuple[str, ...]) -> None:
    expected = 1 if arguments == ("--to", "parts") else 2  # nothing to detect a dialect by
    assert run("convert", *arguments, stdin=[]).returncode == expected


def test_control_characters_reach_no_terminal() -> None:
    wire = [{"role": "\x1b[2J\u202e", "content": ""}]
    done = run("convert", "--from", "flat", "--to", "parts", stdin=wire)
    assert done.returncode == 1
    text = done.stderr.decode()
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_shown_text_keeps_letters_and_escapes_controls() -> None:
    assert shown("h\u00e9llo \u4e16\u754c") == "h\u00e9llo \u4e16\u754c"
    assert shown("a\x1b[0m\x9b\u202e\x07") == "a\\x1b[0m\\x9b\\u202e\\x07"


# The page

DESCRIBED = (
    "models",
    "sessions",
    "cost",
    "reprice",
    "rules",
    "export",
    "import",
    "transcripts",
    "resume",
)


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_page_of_commands_has_each_with_its_options(name: str) -> None:
    page = (SOURCE.parent / "docs" / "commands.md").read_text(encoding="utf-8")
    command = command_of(name)
    parts = getattr(command, "commands", {}).values()
    for words in [f"{name} {part.name}" for part in parts] or [name]:
        assert f"interlingua {words}" in page
    for option in [option for part in (command, *parts) for option in part.params]:
        for word in option.opts:
            assert not word.startswith("--") or f"`{word}" in page or f" {word}" in page, word


def test_an_unknown_command_is_answered_with_the_nearest_one() -> None:
    for arguments, near in ((["conver"], "convert"), (["sessions", "lst"], "list")):
        done = run_here(*arguments)
        assert done.exit_code == 2
        assert f"did you mean {near!r}?" in done.stderr
    assert "--help lists all of them" in run_here("xyzzy").stderr


def test_help_is_in_groups() -> None:
    text = run_here("--help").stdout
    for title in ("Convert:", "Talk to models:", "Sessions and agents:", "Spending:", "Gateway:"):
        assert f"\n{title}\n" in text


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("pass model=, such as 'x'", "use -m, such as 'x'"),
        ("pass model='x'", "use -m x"),
        ("pass source= if you know it", "use --from if you know it"),
        ("pass source='openai-chat', or another", "use --from openai-chat, or another"),
    ],
)
def test_remedies_are_options_of_commands(text: str, option: str) -> None:
    assert for_commands(text) == option
