"""The gate runs every test once, and says what failed."""

from __future__ import annotations

import sys
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


def test_what_fails_is_told_with_its_output() -> None:
    outcome = gate.run("odd", [[sys.executable, "-c", "print('why'); raise SystemExit(3)"]])
    assert (outcome.code, outcome.output.strip()) == (3, "why")


def test_a_second_try_counts(tmp_path: Path) -> None:
    flag = tmp_path / "tried"
    once = f"import pathlib, sys; p = pathlib.Path({str(flag)!r}); n = p.exists(); p.touch()"
    command = [sys.executable, "-c", f"{once}; sys.exit(0 if n else 1)"]
    second = gate.run("page", [["sh", "-c", "echo why; exit 1"], command, command])
    assert (second.code, second.tries, second.output) == (0, 3, "why\n")
    assert gate.run("other", [[sys.executable, "-c", "raise SystemExit(1)"]] * 2).code == 1


def test_a_part_is_tried_and_all_of_it_if_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "THOROUGH", False)
    assert [effort.examples(n) for n in (5, 12, 60, 300)] == [5, 10, 20, 100]
    some = [n for n in range(300) if effort.is_tried(str(n), 3)]
    assert 60 < len(some) < 140
    monkeypatch.setattr(effort, "THOROUGH", True)
    assert effort.examples(60) == 60
    assert all(effort.is_tried(str(n), 3) for n in range(9))
