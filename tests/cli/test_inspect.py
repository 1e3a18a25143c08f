"""`interlingua inspect`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from interlingua.cli import inspect, terminal
from tests.cli.samples import ANSWER, CUT, PLAIN, SHAREGPT, STREAM, lines_of, run


def test_inspect_shows_a_stream_as_the_answer_that_it_tells() -> None:
    done = run("inspect", stdin=STREAM)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("openai-chat stream: gpt-5, end_turn")
    assert "text: Hi" in done.stdout
    cut = run("inspect", "--kind", "stream", "--from", "openai-chat", stdin=CUT)
    assert "text: Hi" in cut.stdout
    assert "error: stream ended before the message was complete" in cut.stdout
    assert json.loads(run("inspect", "--json", stdin=STREAM).stdout)["message"]["role"]


def test_inspect_shows_each_line() -> None:
    done = run("inspect", stdin=lines_of(PLAIN, ANSWER))
    assert "line 1: openai-chat request: gpt-5" in done.stdout
    assert "line 2: openai-chat response: gpt-5" in done.stdout
    odd = run("inspect", "--lines", stdin=lines_of(PLAIN) + b"{\n" + lines_of(ANSWER))
    assert odd.exit_code == 1
    assert "standard input, at line 2, column 2: invalid JSON: it ends too early" in odd.stderr
    assert "line 3: openai-chat response" in odd.stdout


def test_inspect_names_the_command_for_sessions_of_other_tools(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(json.dumps([SHAREGPT], indent=2).encode())
    done = run("inspect", file)
    assert done.exit_code == 1
    assert "a transcript of sharegpt: interlingua transcripts show" in done.stderr


@pytest.mark.parametrize("command", [inspect.command, inspect.check_command])
def test_progress_is_in_bytes_of_the_files(
    command: click.Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    @contextmanager
    def progress(
        label: str, total: int, quiet: bool = False, unit: str | None = None
    ) -> Iterator[Callable[..., None]]:
        sizes.append(total)
        yield lambda done, rows=1: sizes.append(-done)

    monkeypatch.setattr(terminal, "progress", progress)
    line = json.dumps({"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]})
    (tmp_path / "a.jsonl").write_text(f"{line}\n" * 3)
    (tmp_path / "b.json").write_text(line)
    with pytest.raises(SystemExit):
        command.main([str(tmp_path)])
    assert sizes[0] > 0
    assert len(sizes) == 5
    assert sum(sizes) == 0
