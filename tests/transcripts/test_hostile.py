"""A few hostile files of each kind; `make hostile-files` tries many more."""

from __future__ import annotations

from tests.effort import THOROUGH
from tests.transcripts.hostile import tried


def test_hostile_files_are_read_or_refused_with_words() -> None:
    failures, outcomes = tried(1500 if THOROUGH else 90, seed=1)
    assert not failures, "\n".join(map(str, failures))
    assert outcomes["read"] > 10
    assert outcomes["refused"] > 10
