"""`interlingua convert` of many: lines, batches, sessions of other agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.samples import (
    ANSWER,
    BATCHES,
    CHUNKS,
    CODEX,
    PLAIN,
    SEEDED,
    SHAREGPT,
    lines_of,
    run,
)


def test_lines_give_the_target_format_a_line_each() -> None:
    for more in ((), ("--lines",)):
        done = run("convert", "-t", "anthropic", *more, stdin=lines_of(SEEDED, PLAIN, ANSWER))
        assert done.exit_code == 0, done.stderr
        wires = [json.loads(line) for line in done.stdout.splitlines()]
        assert [wire.get("type", "request") for wire in wires] == ["request", "request", "message"]
        assert "3 lines, 0 unreadable" in done.stderr
        assert "1 x warning: $.seed: seed dropped" in done.stderr


def test_a_line_that_cannot_be_read_is_told_and_the_others_are_converted(tmp_path: Path) -> None:
    file, report = tmp_path / "talks.jsonl", tmp_path / "report.jsonl"
    file.write_bytes(lines_of(SEEDED) + b"\n{oops}\n" + lines_of(PLAIN))
    done = run("convert", file, "-t", "anthropic", "--report", report)
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 2
    assert f"{file}, line 3: column 2: invalid JSON: " in done.stderr
    parsed = [json.loads(line) for line in report.read_bytes().splitlines()]
    assert [each["line"] for each in parsed] == [1, 3]
    assert parsed[0]["losses"][0]["path"] == "$.options.seed"
    assert "error" in parsed[1]


def test_the_envelope_has_the_losses_and_flaws_beside_each_line() -> None:
    data = lines_of(SEEDED) + b"{oops}\n"
    done = run("convert", "-t", "anthropic", "--envelope", "--lines", stdin=data)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["ok"] is True
    assert first["wire"]["messages"]
    assert first["losses"][0]["path"] == "$.options.seed"
    assert second["ok"] is False
    assert second["error"]


def test_a_value_over_several_lines_is_one_line_too() -> None:
    data = json.dumps(PLAIN, indent=2).encode()
    done = run("convert", "-t", "anthropic", "--envelope", stdin=data)
    assert done.exit_code == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert json.loads(line)["ok"] is True


def test_strict_lines_fail_on_a_loss_and_only_then() -> None:
    arguments = ("convert", "-t", "anthropic", "--strict")
    assert run(*arguments, stdin=lines_of(SEEDED, PLAIN)).exit_code == 3
    assert run(*arguments, stdin=lines_of(PLAIN, PLAIN)).exit_code == 0


@pytest.mark.parametrize("name", list(BATCHES))
def test_rows_of_batches_are_converted_and_what_stood_around_them_is_reported(name: str) -> None:
    [row] = BATCHES[name]
    for data in (lines_of(row), lines_of(row, row), json.dumps([row, row], indent=2).encode()):
        done = run("convert", "-t", "gemini", stdin=data)
        assert done.exit_code == 0, done.stderr
        key = "contents" if name.endswith("request") else "error"
        wire = json.loads(done.stdout.splitlines()[0])
        assert (key in wire) is not name.endswith("response")
        assert "warning: custom_id dropped" in done.stderr


def test_a_list_of_conversations_gives_a_line_each() -> None:
    done = run("convert", "-t", "anthropic", stdin=json.dumps([PLAIN, SEEDED], indent=2).encode())
    assert done.exit_code == 0, done.stderr
    assert [json.loads(line)["max_tokens"] for line in done.stdout.splitlines()] == [9, 9]


@pytest.mark.parametrize(
    ("name", "data", "count"),
    [("codex", CODEX, 1), ("sharegpt", lines_of(SHAREGPT, SHAREGPT), 2)],
)
def test_sessions_of_other_tools_are_requests_that_go_on_with_them(
    name: str, data: bytes, count: int, tmp_path: Path
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(data)
    for done in (
        run("convert", file, "-t", "anthropic", "-m", "claude-sonnet-4-6"),
        run("convert", "-t", "anthropic", "-m", "claude-sonnet-4-6", stdin=data),
        run("convert", file, "-f", name, "-t", "anthropic", "-m", "claude-sonnet-4-6"),
    ):
        assert done.exit_code == 0, done.stderr
        assert f"read as {name} transcript" in done.stderr
        wires = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(wires) == count
        assert wires[0]["model"] == "claude-sonnet-4-6"
        assert wires[0]["messages"][0]["content"][0]["text"] == "hi"


def test_a_file_of_lines_is_what_it_is_wherever_its_output_goes(tmp_path: Path) -> None:
    [row] = BATCHES["openai-chat request"]
    remaining = {
        "batch": lines_of(row, row),
        "session": CODEX,
        "stream": lines_of(*CHUNKS),
    }
    for name, data in remaining.items():
        file, out = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.out.jsonl"
        file.write_bytes(data)
        shown = run("convert", file, "-t", "openai-responses")
        assert shown.exit_code == 0, shown.stderr
        written = run("convert", file, "-t", "openai-responses", "-o", out)
        assert written.exit_code == 0, written.stderr
        assert out.read_text(encoding="utf-8") == shown.stdout
