"""A whole run: files in, converted in parts on all cores; files out."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

import interlingua as il
from interlingua import bulk
from interlingua.bulk import Job
from interlingua.bulk.run import convert_files
from tests.bulk.rows import SMALL, TO_ANTHROPIC, body, expected, lines, wires


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_are_converted_in_order_whatever_the_number_of_cores(
    chat: Path, tmp_path: Path, jobs: int
) -> None:
    output = tmp_path / "out.jsonl"
    summary = convert_files([chat], output, TO_ANTHROPIC, jobs=jobs, part=SMALL)
    assert wires(output) == expected()
    assert (summary.rows, summary.converted, summary.bad) == (40, 40, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.jsonl", "out.jsonl"]


def test_every_kind_of_file_is_read_and_written(chat: Path, tmp_path: Path) -> None:
    """One after the other, each from what was written before."""
    steps = [
        ("a.parquet", Job("canonical", "openai-chat")),
        ("b.jsonl.zst", Job("openai-chat")),
        ("c.jsonl.gz", Job("canonical", "openai-chat")),
        ("d.parquet", Job("anthropic", "canonical")),
        ("e.jsonl", Job("anthropic", "anthropic")),
    ]
    source = chat
    for name, job in steps:
        summary = convert_files([source], tmp_path / name, job, jobs=1, part=SMALL)
        assert (summary.rows, summary.bad) == (40, 0), name
        source = tmp_path / name
    assert wires(source) == expected()
    assert gzip.decompress((tmp_path / "c.jsonl.gz").read_bytes()).count(b"\n") == 40
    packed_lines = (tmp_path / "b.jsonl.zst").read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(packed_lines, read_across_frames=True)
    assert reader.read().count(b"\n") == 40


def test_losses_are_a_column_and_counted_by_kind(chat: Path, tmp_path: Path) -> None:
    summary = convert_files([chat], tmp_path / "a.parquet", TO_ANTHROPIC, part=SMALL)
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    result = il.convert(body(3), "openai-chat", "anthropic")
    assert json.loads(rows[3]["wire"]) == result.wire
    assert [loss["reason"] for loss in rows[3]["losses"]] == [
        x.reason for x in result.report.entries
    ]
    assert summary.losses["dropped"] == 40  # the seed
    assert next(iter(summary.tally.values())) == 40
    assert sum(summary.tally.values()) == sum(summary.losses.values())


def killed(chat: Path, output: Path, jobs: int, after: int) -> None:
    """Begin a run and kill it as soon as some more parts are done."""
    parts = output.with_name(f"{output.name}.parts") / ".interlingua"
    before = len(list(parts.glob("[0-9]*.json"))) if parts.exists() else 0
    child = os.fork()
    if not child:
        try:
            convert_files([chat], output, TO_ANTHROPIC, jobs=jobs, part=SMALL)
        finally:
            os._exit(0)
    while not os.waitpid(child, os.WNOHANG)[0]:
        if parts.exists() and len(list(parts.glob("[0-9]*.json"))) >= before + after:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.0005)


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like this there")
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst"])
def test_a_run_killed_ten_times_ends_with_the_bytes_of_one_that_was_not(
    chat: Path, tmp_path: Path, suffix: str
) -> None:
    chat.write_bytes(lines(20) + b"{broken\n" + lines(120))
    whole = tmp_path / f"whole{suffix}"
    result = convert_files([chat], whole, TO_ANTHROPIC, jobs=1, part=SMALL)
    output = tmp_path / f"out{suffix}"
    for _ in range(10):
        killed(chat, output, 1, after=2)
    summary = convert_files([chat], output, TO_ANTHROPIC, jobs=1, part=SMALL)
    assert output.read_bytes() == whole.read_bytes()
    assert (summary.rows, summary.bad, summary.losses) == (141, 1, result.losses)
    bad = tmp_path / f"out{suffix}.bad.jsonl"
    assert bad.read_bytes() == (tmp_path / f"whole{suffix}.bad.jsonl").read_bytes()


def test_finished_parts_are_not_done_again(
    chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlingua.bulk import run

    done: list[str] = []
    real = run.convert_part

    def counted(part: Any, job: Job, path: Path) -> Any:
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(path.name)
        return real(part, job, path)

    monkeypatch.setattr(run, "convert_part", counted)
    with pytest.raises(KeyboardInterrupt):
        convert_files([chat], tmp_path / "out.jsonl", TO_ANTHROPIC, jobs=1, part=SMALL)
    first, done[:] = list(done), []

    def noted(part: Any, job: Job, path: Path) -> Any:
        done.append(path.name)
        return real(part, job, path)

    monkeypatch.setattr(run, "convert_part", noted)
    convert_files([chat], tmp_path / "out.jsonl", TO_ANTHROPIC, jobs=1, part=SMALL)
    assert first
    assert not set(first) & set(done)
    assert wires(tmp_path / "out.jsonl") == expected()


def test_parts_of_another_run_are_refused_unless_it_starts_again(
    chat: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    convert_files([chat], folder, TO_ANTHROPIC, part=SMALL)
    with pytest.raises(bulk.BulkError, match="another run"):
        convert_files([chat], folder, Job("gemini", "openai-chat"), part=SMALL)
    chat.write_bytes(lines(5))
    convert_files([chat], folder, TO_ANTHROPIC, part=SMALL, restart=True)
    made = sorted(folder.glob("*.jsonl"))
    assert [wire for path in made if path.name[0] != "_" for wire in wires(path)] == expected(5)


def test_a_file_that_is_there_is_replaced_when_all_is_done(chat: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("earlier")
    (tmp_path / "broken.parquet").write_text("no table")
    with pytest.raises(il.ReadError):
        convert_files([chat, tmp_path / "broken.parquet"], output, TO_ANTHROPIC, jobs=1)
    assert output.read_text() == "earlier"
    convert_files([chat], output, TO_ANTHROPIC, restart=True)
    assert wires(output) == expected()
    with pytest.raises(bulk.BulkError, match="no such file"):
        convert_files([output], output, TO_ANTHROPIC)
