"""Runs over files: every kind in and out, bad rows aside, the same bytes however often killed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import interlingua as il
from interlingua import bulk
from interlingua.bulk import Job, arrow
from interlingua.bulk.run import convert_files
from interlingua.streams import packed

TO_ANTHROPIC = Job("anthropic", "openai-chat")
SMALL = 2000
"""Bytes of a part, so that a small file has many."""


def body(number: int) -> dict[str, Any]:
    call = {"name": "look", "arguments": json.dumps({"where": number})}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    return {
        "model": "some-model",
        "max_tokens": 100,
        "seed": number,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"Où est {number}? " + "Bitte. " * (number % 7)},
            {
                "role": "assistant",
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "here"},
        ],
        "tools": [tool],
    }


def lines(count: int) -> bytes:
    return b"".join(json.dumps(body(number)).encode() + b"\n" for number in range(count))


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(40))
    return path


def wires(path: Path) -> list[Any]:
    with packed.opened(path) as file:
        return [json.loads(line) for line in file]


def expected(count: int = 40) -> list[Any]:
    return [il.convert(body(n), "openai-chat", "anthropic").wire for n in range(count)]


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


def test_a_canonical_parquet_file_holds_what_was_read(chat: Path, tmp_path: Path) -> None:
    convert_files([chat], tmp_path / "a.parquet", Job("canonical", "openai-chat"), part=SMALL)
    read = il.dialect("openai-chat").read_request
    found = list(arrow.from_batches(pq.read_table(tmp_path / "a.parquet")))
    assert [il.dumps(value) for value in found] == [il.dumps(read(body(n))) for n in range(40)]


def test_losses_are_a_column_and_counted_by_kind(chat: Path, tmp_path: Path) -> None:
    summary = convert_files([chat], tmp_path / "a.parquet", TO_ANTHROPIC, part=SMALL)
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    told = il.convert(body(3), "openai-chat", "anthropic")
    assert json.loads(rows[3]["wire"]) == told.wire
    assert [loss["reason"] for loss in rows[3]["losses"]] == [x.reason for x in told.report]
    assert summary.losses["dropped"] == 40  # the seed
    assert next(iter(summary.tally.values())) == 40
    assert sum(summary.tally.values()) == sum(summary.losses.values())


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
    said = [wire["messages"][0]["content"] for wire in wires(tmp_path / "o.jsonl")]
    assert said == ["0", "1", "3", "4"]


def test_rows_of_other_tables_are_bodies_without_their_padding(tmp_path: Path) -> None:
    rows = [body(1), {key: item for key, item in body(2).items() if key != "tools"}]
    plain = [{**row, "messages": row["messages"][:2]} for row in rows]
    pq.write_table(pa.Table.from_pylist(plain), tmp_path / "a.parquet")
    convert_files([tmp_path / "a.parquet"], tmp_path / "o.jsonl", Job("anthropic", "openai-chat"))
    told = [il.convert(each, "openai-chat", "anthropic").wire for each in plain]
    found = wires(tmp_path / "o.jsonl")
    assert [wire["messages"] for wire in found] == [wire["messages"] for wire in told]


def test_folders_and_patterns_are_read_and_a_folder_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "deep"
    folder.mkdir(parents=True)
    (folder / "b.jsonl").write_bytes(lines(20))
    (tmp_path / "in" / "a.jsonl.gz").write_bytes(gzip.compress(lines(20)))
    (tmp_path / "in" / "note.txt").write_text("no rows")
    (tmp_path / "in" / "_own.jsonl").write_text("nothing of ours")
    output = tmp_path / "in" / "out"
    told = {"suffix": ".jsonl.zst", "part": SMALL}
    summary = convert_files([str(tmp_path / "in")], output, TO_ANTHROPIC, **told)  # type: ignore[arg-type]
    assert (summary.files, summary.rows, summary.bad) == (2, 40, 0)
    made = sorted(output.glob("*.jsonl.zst"))
    assert len(made) > 4
    assert [wire for path in made for wire in wires(path)] == [*expected(20), *expected(20)]
    again = convert_files([str(tmp_path / "in")], output, TO_ANTHROPIC, **told)  # type: ignore[arg-type]
    assert again == summary
    pattern = str(tmp_path / "in" / "**" / "[a-z]*.jsonl")
    one = convert_files([pattern], tmp_path / "b.jsonl", TO_ANTHROPIC)
    assert one.rows == 20


def test_a_format_may_be_found_out_row_by_row(tmp_path: Path) -> None:
    anthropic = il.convert(body(1), "openai-chat", "anthropic").json()
    (tmp_path / "mixed.jsonl").write_bytes(lines(1) + anthropic + b"\n")
    summary = convert_files([tmp_path / "mixed.jsonl"], tmp_path / "o.jsonl", Job("gemini"))
    assert (summary.rows, summary.bad) == (2, 0)


def killed(chat: Path, output: Path, jobs: int, after: int) -> None:
    """Begin a run and kill it as soon as some more parts are done."""
    parts = output.with_name(f"{output.name}.parts") / "_interlingua"
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
    told = convert_files([chat], whole, TO_ANTHROPIC, jobs=1, part=SMALL)
    output = tmp_path / f"out{suffix}"
    for _ in range(10):
        killed(chat, output, 1, after=2)
    summary = convert_files([chat], output, TO_ANTHROPIC, jobs=1, part=SMALL)
    assert output.read_bytes() == whole.read_bytes()
    assert (summary.rows, summary.bad, summary.losses) == (141, 1, told.losses)
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


def test_sessions_and_transcripts_are_said_as_requests(tmp_path: Path) -> None:
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
    assert {"$.name", "$.branches", "$.subagents"} <= paths
