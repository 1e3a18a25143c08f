"""Identifiers say what a thing is: words that say little (`said`, `told`, `kept`) are rare."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "interlingua"
WORDS = ("said", "told", "kept", "given", "mine", "scribe", "spoken")
MOST = 8
"""How often each may be an identifier."""


@cache
def counts() -> Counter[str]:
    """Identifiers of the package that are, or are made with, one of the words."""
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.NAME and token.string in WORDS:
                found[token.string] += 1
    return found


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_says_little_is_rare(word: str) -> None:
    count = counts()[word]
    assert count <= MOST, f"{word!r}: {count} uses; choose a name that says what the thing is"
