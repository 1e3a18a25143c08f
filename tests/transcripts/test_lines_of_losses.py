"""Losses of a session that is written in another format name the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlingua import transcripts
from interlingua.model.blocks import ThinkingBlock
from tests.transcripts.made import session


@pytest.mark.parametrize("format", ["claude-code", "codex", "pi"])
def test_a_loss_names_the_line_that_its_block_is_on(format: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    transcripts.write(session(), path, format)
    read = transcripts.read(path, format)
    report = transcripts.draft(read, "gemini-cli" if format != "gemini-cli" else "pi").report
    placed = [entry for entry in report.located() if entry.path.startswith("$.messages")]
    assert placed
    lines = path.read_bytes().splitlines()
    for entry in placed:
        (place,) = entry.at
        name, _, numbers = place.rpartition(":")
        assert name == "session.jsonl"
        for number in numbers.split("-"):
            assert json.loads(lines[int(number) - 1])


def test_the_line_of_a_block_is_the_one_with_its_text(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    transcripts.write(session(), path, "claude-code")
    read = transcripts.read(path, "claude-code")
    report = transcripts.draft(read, "codex").report
    losses = [entry for entry in report.losses if entry.block_type == "thinking"]
    assert losses
    for loss in losses:
        index = int(loss.path.partition("[")[2].partition("]")[0])
        (block,) = [each for each in read.messages[index].content if type(each) is ThinkingBlock]
        line = path.read_text().splitlines()[int(loss.at[0].rpartition(":")[2]) - 1]
        assert json.dumps(block.text)[1:-1] in line


def test_a_session_without_files_has_no_places() -> None:
    report = transcripts.draft(session(), "codex").report
    assert {entry.at for entry in report.located()} == {()}
