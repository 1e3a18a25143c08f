"""What is in an input: one conversation, or a recorded stream."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlingua as il
from interlingua import transcripts
from tests.cli.samples import CHUNKS, STREAM, lines_of, run
from tests.dialects import everyday


def test_streams_are_recognised_however_they_were_kept() -> None:
    expected = run("convert", "-t", "anthropic", "--kind", "stream", stdin=STREAM).stdout
    assert "event: message_stop" in expected
    for stored in (STREAM, lines_of(*CHUNKS)):
        done = run("convert", "-t", "anthropic", stdin=stored)
        assert done.exit_code == 0, done.stderr
        assert "read as openai-chat stream" in done.stderr
        assert done.stdout == expected


@pytest.mark.parametrize("name", il.dialects())
def test_the_streams_of_every_dialect_are_recognised(name: str, tmp_path: Path) -> None:
    file = tmp_path / "stream"
    there = run("convert", "-t", name, "-o", file, stdin=STREAM)
    assert there.exit_code == 0, there.stderr
    back = run("convert", file, "-t", "openai-chat")
    assert back.exit_code == 0, back.stderr
    known = name if name != "openrouter" else "openai-chat"  # which its frames look like
    assert f"read as {known} stream" in back.stderr
    assert '"content":"Hi"' in back.stdout.replace('": ', '":')


@pytest.mark.parametrize("name", list(everyday.files()))
def test_an_everyday_file_is_not_taken_for_a_conversation(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    file.write_bytes(everyday.files()[name])
    done = run("convert", file, "--to", "anthropic")
    assert done.exit_code == 1, done.stdout
    assert done.stdout == ""
    assert str(file) in done.stderr
    with pytest.raises(il.InterlinguaError):
        transcripts.detect(file)
