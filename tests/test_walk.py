"""The road of a request stays short: how many functions it passes through, in how many files. The
figures may only fall; `python -m tools.walk` shows where a call comes from."""

from __future__ import annotations

import pytest

from tools import walk

MOST = {"plain": (37, 17), "tools": (170, 42), "thinking": (350, 64), "turn": (735, 86)}
"""Calls and files."""
MOST_RELAYED = (180, 48)
"""The same for a request through the gateway."""


@pytest.mark.parametrize("name", MOST)
def test_a_request_takes_no_more_steps_than_before(name: str) -> None:
    found = walk.WALKS[name]()
    calls, files = MOST[name]
    assert found.calls <= calls, found.line()
    assert found.files <= files, found.line()


def test_a_request_through_the_gateway_takes_no_more_steps_than_before() -> None:
    found = walk.gateway()
    calls, files = MOST_RELAYED
    assert found.calls <= calls, found.line()
    assert found.files <= files, found.line()


def test_a_walk_names_each_call_by_file_and_depth(capsys: pytest.CaptureFixture[str]) -> None:
    walk.main(["plain", "--tree"])
    first, second, third = capsys.readouterr().out.splitlines()[:3]
    assert first.startswith("plain: ")
    assert second.startswith("adapt/convert.py:")
    assert third.startswith("  adapt/convert.py:")
