"""What docs/tools.md shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlingua.tools.handlers import AUTOMATIC, GRACE, Timeouts
from interlingua.tools.mcp_link import CALL_WAIT, FIRST_WAIT, LONGEST_WAIT, TRIES
from interlingua.tools.results import Limits
from interlingua.tools.workspace import READ_LIMIT

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "tools.md", "exec"), names)
    assert capsys.readouterr().out.strip().endswith("True")
    assert {"dispatcher", "confirm", "servers"} <= names.keys()


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert (Timeouts().usual, Timeouts().slow, Timeouts().confirmation) == (60, 600, 300)
    assert Limits() == (200_000, 20 * 1024 * 1024, 100)
    assert (GRACE, READ_LIMIT) == (1, 20 * 1024 * 1024)
    assert {"none", "read"} == AUTOMATIC
    assert (FIRST_WAIT, LONGEST_WAIT, TRIES, CALL_WAIT) == (0.5, 30, 8, 15)
