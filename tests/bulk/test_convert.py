"""One part of a run: its rows converted, those that cannot be read put aside."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import interlingua as il
from interlingua.bulk import Job, arrow
from interlingua.bulk.run import convert_files
from tests.bulk.rows import SMALL, TO_ANTHROPIC, body, lines, wires


def test_bad_rows_have_a_file_of_their_own_with_line_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(10) + b"{broken\n\n" + lines(10) + b'{"model": "m"}\n\xff\n' + lines(1))
    summary = convert_files([path], tmp_path / "out.jsonl", TO_ANTHROPIC, jobs=1, part=SMALL)
    assert (summary.rows, summary.converted, summary.bad) == (24, 21, 3)
    bad = wires(Path(summary.bad_file or ""))
    assert [row["line"] for row in bad] == [11, 23, 24]
    assert bad[0] == {
        "file": str(path),
        "line": 11,
        "reason": bad[0]["reason"],
        "row": "{broken",
    }
    assert "messages" in bad[1]["reason"]
    assert bad[2]["row"] == "\\xff"
    assert len(wires(tmp_path / "out.jsonl")) == 21


def test_a_format_may_be_found_out_row_by_row(tmp_path: Path) -> None:
    anthropic = il.convert(body(1), "openai-chat", "anthropic").json()
    (tmp_path / "mixed.jsonl").write_bytes(lines(1) + anthropic + b"\n")
    summary = convert_files([tmp_path / "mixed.jsonl"], tmp_path / "o.jsonl", Job("gemini"))
    assert (summary.rows, summary.bad) == (2, 0)


def test_sessions_and_transcripts_are_written_as_requests(tmp_path: Path) -> None:
    from tests.transcripts.made import session

    with il.open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        row = store.create_session(str(tmp_path), active_model="acme:m-1")
        store.append(row.id, [il.Message.user("Look.")])
        stored = list(arrow.sessions_in(store))
    table = pa.Table.from_batches(arrow.to_batches([*stored, session()]))
    pq.write_table(table, tmp_path / "a.parquet")
    summary = convert_files([tmp_path / "a.parquet"], tmp_path / "o.jsonl", Job("openai-chat"))
    assert (summary.rows, summary.bad) == (2, 0)
    first, second = wires(tmp_path / "o.jsonl")
    assert (first["model"], first["messages"][0]["content"]) == ("m-1", "Look.")
    assert len(second["messages"]) > 3


def test_what_a_request_cannot_hold_of_a_transcript_is_a_loss(tmp_path: Path) -> None:
    from interlingua.transcripts import Branch, SubAgent
    from tests.transcripts.made import session

    one = session()
    other = Branch("tip", one.messages[:2])
    whole = one.replace(branches=(*one.branches, other), subagents=(SubAgent(one),))
    pq.write_table(pa.Table.from_batches(arrow.to_batches([whole])), tmp_path / "a.parquet")
    convert_files([tmp_path / "a.parquet"], tmp_path / "o.parquet", Job("openai-chat"), jobs=1)
    [row] = pq.read_table(tmp_path / "o.parquet").to_pylist()
    paths = {loss["path"] for loss in row["losses"]}
    assert {"$.branches", "$.subagents"} <= paths
