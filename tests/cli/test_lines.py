"""The lines of a file that losses and odd places are on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlingua.cli import documents
from interlingua.cli.documents import lines_of
from tests.cli.samples import run

REQUEST = """{
  "model": "gpt-5",
  "stop": ["a", "b"],
  "seed": 7,
  "messages": [
    {"role": "user", "content": "Say \\"}\\n\\" and [hi"},
    {"role": "tool",
     "tool_call_id": "none", "content": "b"}
  ]
}
"""
TO_CLAUDE = ("--to", "anthropic", "--model", "claude-sonnet-4-6")

_KEYS = st.text(max_size=3) | st.sampled_from(['"', "a.b", "\\", "{", "0"])
_JSON = st.recursive(
    st.none() | st.integers() | _KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4),
)


def _written(value: Any, place: tuple[str | int, ...], line: int) -> tuple[list[Any], int]:
    """All places of a value with the lines that `json.dumps` gives them, and its last line."""
    found: list[Any] = [(place, line)]
    if not isinstance(value, (dict, list)) or not value:
        return found, line
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        more, line = _written(item, (*place, key), line + 1)
        found += more
    return found, line + 1


@given(_JSON, st.booleans())
def test_every_place_has_its_line(value: Any, ascii: bool) -> None:
    expected, _ = _written(value, (), 1)
    data = json.dumps(value, indent=1, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    assert lines_of(data, [place for place, _ in expected]) == [line for _, line in expected]


def test_a_missing_place_has_the_line_of_its_holder() -> None:
    assert lines_of(REQUEST.encode(), [("messages", 1, "name"), ("user",)]) == [7, 1]


def test_of_a_repeated_key_the_last_counts_as_for_readers() -> None:
    assert lines_of(b'{"a": 1,\n"a": 2}', [("a",)]) == [2]


def test_large_and_broken_files_have_no_wrong_lines() -> None:
    assert lines_of(b" " * (documents.MOST_BYTES + 1), [("a",)]) == [None]
    for broken in (b"", b"]]}", b'{"a', b"{,,", b'{"\xff": 1}'):
        assert lines_of(broken, [("a",)]) == [1]


def test_convert_names_the_line_and_reports_codes(tmp_path: Path) -> None:
    file, report = tmp_path / "request.json", tmp_path / "report.json"
    file.write_text(REQUEST)
    done = run("convert", file, *TO_CLAUDE, "--report", report)
    assert f"{file}:4 $.seed: seed dropped: Anthropic has no equivalent" in done.stderr
    assert f"{file}:7 $.messages[1]: " in done.stderr
    seed = [
        loss for loss in json.loads(report.read_bytes())["losses"] if loss.get("at") == ["$.seed"]
    ]
    assert [(loss["code"], loss["severity"]) for loss in seed] == [("seed_unsupported", "warning")]


def test_a_report_of_lines_has_the_line_of_each_record(tmp_path: Path) -> None:
    file, report = tmp_path / "requests.jsonl", tmp_path / "report.jsonl"
    file.write_text(json.dumps({"model": "gpt-5", "messages": []}) + "\n")
    with file.open("a") as out:
        out.write(json.dumps(json.loads(REQUEST)) + "\n")
    run("convert", file, *TO_CLAUDE, "--lines", "--report", report)
    rows = [json.loads(row) for row in report.read_text().splitlines()]
    (row,) = [row for row in rows if row["line"] == 2]
    assert ["$.seed"] in [loss.get("at") for loss in row["losses"]]
    assert all(loss["code"] and loss["severity"] for loss in row["losses"])


def test_check_and_inspect_begin_with_the_place(tmp_path: Path) -> None:
    file, many = tmp_path / "request.json", tmp_path / "requests.jsonl"
    file.write_text(REQUEST)
    many.write_text((json.dumps(json.loads(REQUEST)) + "\n") * 2)
    words = "$.messages[1].tool_call_id: no earlier call has this id (rule "
    for name in ("check", "inspect"):
        assert f"\n{file}:8 {words}" in "\n" + run(name, file).stdout
        assert f"\n{many}:2 {words}" in "\n" + run(name, many).stdout
        both = run(name, file, many).stdout.splitlines()
        assert sum(words in line for line in both) == 3
        assert all(line.startswith(str(tmp_path)) for line in both if words in line)


def test_check_names_the_line_of_a_difference() -> None:
    from interlingua.cli.documents import Body, changed_line

    body = Body(REQUEST.encode())
    assert changed_line("changed", "/stop/1: b / c", "f", body, False).startswith("f:3: changed: ")
    alone = Body(b'[\n{"role": 1}]')
    found = changed_line("changed", "/messages/0/role: 1 / 2", "f", alone, True)
    assert found == "f:2: changed: /messages/0/role: 1 / 2"
