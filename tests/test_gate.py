"""The gate runs every test once, and says what failed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests import effort, gate


def test_every_test_file_is_in_one_group_and_no_group_is_empty() -> None:
    found = gate.groups()
    files = Counter(file for files in found.values() for file in files)
    there = {str(path.relative_to(gate.ROOT)) for path in gate.TESTS.rglob("test_*.py")}
    assert set(files) == there
    assert set(files.values()) == {1}
    assert [name for name, files in found.items() if not files] == []


def test_a_narrow_pattern_stands_before_a_wide_one() -> None:
    assert "tests/gateway/sdks/test_local.py" in gate.groups()["local"]
    assert "tests/gateway/page/test_browser.py" in gate.groups()["page"]


def run(*steps: gate.Step) -> list[gate.Run]:
    return list(gate.run_all(steps, 2, lambda: None))


def test_what_fails_is_told_with_its_output() -> None:
    command = [sys.executable, "-c", "print('why'); raise SystemExit(3)"]
    [odd] = run(gate.Step("odd", command=command))
    assert (odd.code, odd.output.strip()) == (3, "why")


def test_a_second_try_counts(tmp_path: Path) -> None:
    flag = tmp_path / "tried"
    command = ["sh", "-c", f"echo why; test -e {flag} || {{ touch {flag}; exit 1; }}"]
    [second] = run(gate.Step("page", command=command, tries=3))
    assert (second.code, second.tries, second.output) == (0, 2, "why\nwhy\n")
    [failed] = run(gate.Step("other", command=["false"], tries=2))
    assert (failed.code, failed.tries) == (1, 2)


def test_tests_run_in_a_fork_that_tells_what_they_said(tmp_path: Path) -> None:
    """In a process of its own, as the gate is."""
    tests = tmp_path / "test_one.py"
    tests.write_text("def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    program = f"""
from tests import gate
steps = [gate.Step("tests", [{str(tests)!r}]), gate.Step("fine", [{f"{tests}::test_good"!r}])]
for run in gate.run_all(steps, 2, lambda: None):
    print(run.step.name, run.code, "assert 1 == 2" in run.output, run.busy > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=gate.ROOT, capture_output=True, text=True, timeout=120
    )
    assert sorted(done.stdout.splitlines()) == ["fine 0 False True", "tests 1 True True"]


def test_a_part_is_tried_and_all_of_it_if_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "THOROUGH", False)
    assert [effort.examples(n) for n in (5, 12, 60, 300)] == [5, 10, 20, 100]
    assert [len(effort.seeds(n)) for n in (2, 4, 12)] == [1, 1, 4]
    some = [n for n in range(300) if effort.is_tried(str(n), 3)]
    assert 60 < len(some) < 140
    monkeypatch.setattr(effort, "THOROUGH", True)
    assert (effort.examples(60), len(effort.seeds(12))) == (60, 12)
    assert all(effort.is_tried(str(n), 3) for n in range(9))


def test_files_are_in_memory_where_there_is_room_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/before")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(gate, "_is_good", lambda place: True)
    with gate.files_in_memory(tmp_path):
        made = tempfile.mkdtemp()
        assert Path(made).is_relative_to(tmp_path)
        assert os.environ["TMPDIR"] == tempfile.gettempdir()
    assert os.environ["TMPDIR"] == "/before"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(gate, "_is_good", lambda place: False)
    with gate.files_in_memory(tmp_path):
        assert os.environ["TMPDIR"] == "/before"
