"""`interlingua convert` of many files: what the command hands over, and what it tells."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from interlingua.bulk import arrow
from interlingua.streams import packed
from tests.bulk.rows import expected, lines, wires
from tests.cli.running import run


def test_lines_become_a_table_and_lines_again(chat: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "talks.parquet", tmp_path / "talks.jsonl.zst"
    done = run("convert", chat, "-f", "openai-chat", "-t", "canonical", "-o", table, "--jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert "40 rows, 0 unreadable, 0 losses" in done.stderr
    assert len(list(arrow.from_batches(pq.read_table(table)))) == 40
    done = run("convert", table, "-t", "anthropic", "-o", out, "--jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert [wire["messages"] for wire in wires(out)] == [wire["messages"] for wire in expected()]


def test_losses_are_told_by_kind_and_bad_rows_by_their_file(tmp_path: Path) -> None:
    path, report = tmp_path / "chat.jsonl", tmp_path / "report.json"
    path.write_bytes(lines(3) + b"{broken\n")
    arguments = ("-f", "openai-chat", "-t", "anthropic", "--jobs", "1", "--report", report)
    done = run("convert", path, *arguments, "-o", tmp_path / "o.parquet")
    assert done.exit_code == 1
    assert "4 rows, 1 unreadable, 3 losses" in done.stderr
    assert "dropped: 3" in done.stderr
    assert "3 x warning: $.seed: seed dropped" in done.stderr
    assert str(tmp_path / "o.parquet.bad.jsonl") in done.stderr
    parsed = json.loads(report.read_bytes())
    assert (parsed["rows"], parsed["bad"], parsed["losses"]) == (4, 1, {"dropped": 3})


def test_folders_go_to_a_folder_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(lines(3))
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(packed.packed(lines(2), "b.jsonl.gz"))
    arguments = ("-f", "openai-chat", "-t", "anthropic", "--jobs", "1", "--as", "parquet")
    done = run("convert", tmp_path / "in", *arguments, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert pq.read_table(tmp_path / "out").num_rows == 5
    strict = run(
        "convert", f"{tmp_path}/in/*.jsonl", *arguments, "-o", tmp_path / "x.jsonl", "--strict"
    )
    assert strict.exit_code == 3


def test_wrong_usage_of_many_files_is_reported(chat: Path, tmp_path: Path) -> None:
    into_one = run("convert", chat, f"{chat}.gz", "-t", "gemini", "-o", tmp_path / "o.json")
    assert into_one.exit_code == 1  # one of them is missing
    (tmp_path / "b.jsonl").write_bytes(chat.read_bytes())
    into_one = run("convert", chat, tmp_path / "b.jsonl", "-t", "gemini", "-o", tmp_path / "o.json")
    assert into_one.exit_code == 2
    assert "name a folder (o/) or o.jsonl" in into_one.stderr
    nothing = run("convert", tmp_path / "*.parquet", "-t", "gemini", "-o", tmp_path / "o.jsonl")
    assert nothing.exit_code == 1
    assert "no such file" in nothing.stderr
    missing = run("convert", tmp_path / "no.json", "-t", "gemini")
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr
    stream = run("convert", chat, chat, "-t", "gemini", "-o", tmp_path, "--kind", "stream")
    assert stream.exit_code == 2


def test_a_damaged_packed_file_is_refused_with_words(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    data = bytearray(packed.packed(lines(300), "chat.jsonl.gz"))
    data[20:40] = b"\xff" * 20
    path.write_bytes(data)
    done = run(
        "convert", path, "-f", "openai-chat", "-t", "anthropic", "-o", tmp_path / "o.parquet"
    )
    assert done.exit_code == 1
    assert "cannot decompress it" in done.stderr
