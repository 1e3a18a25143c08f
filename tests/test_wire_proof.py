"""What the almanac says of a word is what becomes of it, in bodies made of the SDKs' types."""

from __future__ import annotations

from zlib import crc32

import pytest

from tools import wire_gaps, wire_proof

ONE_OF = 24
"""The gate looks at every so many-th word; `python -m tools.wire_proof` at all of them."""


def _some(word: str) -> bool:
    return crc32(word.encode()) % ONE_OF == 0


@pytest.mark.parametrize("surface", wire_proof.ROOTS)
def test_words_are_what_the_almanac_says(surface: str) -> None:
    if not wire_gaps.SURFACES[surface].is_installed:
        pytest.skip(f"{wire_gaps.SURFACES[surface].package} is not installed: run make venv")
    assert wire_proof.untrue(surface, _some) == [], "run python -m tools.wire_proof --settle"


def test_every_surface_is_proved() -> None:
    assert wire_proof.ROOTS.keys() | {"gemini-live"} == wire_gaps.SURFACES.keys()


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("temperature", "mapped"),
        ("num_gpu", "named"),
        ("model", "mapped"),
    ],
)
def test_what_becomes_of_a_word_of_ollama(word: str, verdict: str) -> None:
    found = wire_proof.prove("ollama", lambda each: each == word)
    assert found["field", word].verdict == verdict


@pytest.mark.parametrize(
    ("word", "status", "group"), [("num_gpu", "mapped", ""), ("temperature", "raw", "option")]
)
def test_a_word_that_is_not_what_the_almanac_says_is_found(
    monkeypatch: pytest.MonkeyPatch, word: str, status: str, group: str
) -> None:
    old = wire_gaps.lines_of("ollama")
    key = ("field", word)
    wrong = {**old, key: old[key]._replace(status=status, group=group)}
    monkeypatch.setattr(wire_gaps, "lines_of", lambda _: wrong)
    (problem,) = wire_proof.untrue("ollama", lambda each: each == word)
    assert problem.startswith(f"field {word} is called {status}")


def test_a_word_that_makes_a_block_unknown_is_not_mapped() -> None:
    found = wire_proof.prove("bedrock", lambda word: word in ("serverName", "toolAddition"))
    assert found["field", "serverName"].verdict == "whole"
    assert found["field", "toolAddition"].verdict == "mapped"
