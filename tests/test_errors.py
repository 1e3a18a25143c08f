"""Errors keep what they know on their way between processes."""

from __future__ import annotations

import pickle

import pytest

import interlingua as il

ERRORS = [
    il.ReadError("anthropic request", "$.messages", "a list", "12"),
    il.MissingExtraError("tables", "arrow"),
    il.DetectError("nobody can tell", ["anthropic", "bedrock"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_that_was_pickled_says_and_knows_the_same(error: il.InterlinguaError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
