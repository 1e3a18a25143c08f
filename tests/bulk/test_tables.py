"""Parquet files of a run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import interlingua as il
from interlingua.bulk import Job, arrow
from interlingua.bulk.run import convert_files
from tests.bulk.rows import SMALL, body, wires


def test_a_canonical_parquet_file_holds_what_was_read(chat: Path, tmp_path: Path) -> None:
    convert_files([chat], tmp_path / "a.parquet", Job("canonical", "openai-chat"), part=SMALL)
    read = il.dialect("openai-chat").read_request
    found = list(arrow.from_batches(pq.read_table(tmp_path / "a.parquet")))
    assert [il.dumps(value) for value in found] == [il.dumps(read(body(n))) for n in range(40)]


def test_a_bad_row_of_a_table_does_not_take_others_with_it(tmp_path: Path) -> None:
    good = [il.Request((il.Message.user(f"{number}"),), "m") for number in range(5)]
    rows = pa.Table.from_batches(arrow.to_batches(good)).to_pylist()
    rows[2]["messages"][0]["content"][0]["type"] = "poem"
    pq.write_table(pa.Table.from_pylist(rows, arrow.SCHEMA), tmp_path / "a.parquet")
    summary = convert_files([tmp_path / "a.parquet"], tmp_path / "o.jsonl", Job("openai-chat"))
    assert (summary.rows, summary.bad) == (5, 1)
    [bad] = wires(tmp_path / "o.jsonl.bad.jsonl")
    assert bad["line"] == 3
    assert "poem" in bad["reason"]
    items = [wire["messages"][0]["content"] for wire in wires(tmp_path / "o.jsonl")]
    assert items == ["0", "1", "3", "4"]


def test_rows_of_other_tables_are_bodies_without_their_padding(tmp_path: Path) -> None:
    rows = [body(1), {key: item for key, item in body(2).items() if key != "tools"}]
    plain = [{**row, "messages": row["messages"][:2]} for row in rows]
    pq.write_table(pa.Table.from_pylist(plain), tmp_path / "a.parquet")
    convert_files([tmp_path / "a.parquet"], tmp_path / "o.jsonl", Job("anthropic", "openai-chat"))
    result = [il.convert(each, "openai-chat", "anthropic").wire for each in plain]
    found = wires(tmp_path / "o.jsonl")
    assert [wire["messages"] for wire in found] == [wire["messages"] for wire in result]
