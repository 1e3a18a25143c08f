"""Which files are read."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

import interlingua as il
from interlingua import bulk
from interlingua.bulk.run import convert_files
from tests.bulk.rows import SMALL, TO_ANTHROPIC, expected, lines, wires


def test_folders_and_patterns_are_read_and_a_folder_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.jsonl").write_bytes(lines(20))
    (tmp_path / "in" / "a.jsonl.gz").write_bytes(gzip.compress(lines(20)))
    (tmp_path / "in" / "note.txt").write_text("no rows")
    (tmp_path / "in" / "_own.jsonl").write_text("nothing of ours")
    output = tmp_path / "in" / "out"
    collected = {"suffix": ".jsonl.zst", "part": SMALL}
    summary = convert_files([str(tmp_path / "in")], output, TO_ANTHROPIC, **collected)  # type: ignore[arg-type]
    assert (summary.files, summary.rows, summary.bad) == (2, 40, 0)
    made = sorted(output.rglob("*.jsonl.zst"))
    assert len(made) > 4
    assert [wire for path in made for wire in wires(path)] == [*expected(20), *expected(20)]
    again = convert_files([str(tmp_path / "in")], output, TO_ANTHROPIC, **collected)  # type: ignore[arg-type]
    assert again == summary
    pattern = str(tmp_path / "in" / "**" / "[a-z]*.jsonl")
    one = convert_files([pattern], tmp_path / "b.jsonl", TO_ANTHROPIC)
    assert one.rows == 20


def test_what_is_not_there_or_cannot_be_unpacked_is_said(
    chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(bulk.BulkError, match="no such file"):
        convert_files([tmp_path / "*.parquet"], tmp_path / "o.jsonl", TO_ANTHROPIC)
    (tmp_path / "a.parquet").write_text("no table")
    with pytest.raises(il.ReadError, match="Parquet"):
        convert_files([tmp_path / "a.parquet"], tmp_path / "o.jsonl", TO_ANTHROPIC, jobs=1)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(il.MissingExtraError, match=r"interlingua\[zstd\]"):
        convert_files([chat], tmp_path / "o.jsonl.zst", TO_ANTHROPIC)
