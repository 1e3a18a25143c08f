"""What can be counted in a request without a tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.profiles.estimate import estimate_input_tokens
from interlingua.profiles.estimate.estimator import load
from interlingua.profiles.estimate.features import Pieces, PieceWeights, WeighedPieces, count


@given(st.text(max_size=500))
def test_every_character_is_a_part_of_some_piece(text: str) -> None:
    pieces = Pieces()
    pieces.add(text)
    weights = dict.fromkeys(load().weights, 1.0)
    visible = [c for c in text if not c.isspace()]
    assert not visible or pieces.weigh(weights) >= 1


def test_scripts_weigh_differently() -> None:
    def told(text: str) -> int:
        return estimate_input_tokens([il.Message.user(text)], (), "openai:gpt-4o")

    assert told("東京都" * 100) > 150
    assert told("the cat sat " * 25) < told("東京都港区六本木" * 40)
    assert told("1234567890" * 30) > 90


def test_what_a_property_is_called_is_not_taken_for_a_keyword() -> None:
    schema = {"type": "object", "properties": {"description": {"type": "string"}, "enum": {}}}
    counted = count([], [il.ToolDefinition("t", None, schema)])
    assert counted.properties == 2
    assert counted.described.words == 3


@given(st.lists(st.text(max_size=200), max_size=4))
def test_a_text_weighs_what_its_pieces_weigh(texts: list[str]) -> None:
    weights = load().weights
    known = PieceWeights(weights)
    counted, weighed = Pieces(), WeighedPieces(known=known)
    for text in [*texts, "def cacheKey(one_2): \n  return 'extraordinarily'", *texts]:
        counted.add(text)
        weighed.add(text)
    assert weighed.weigh(weights) == pytest.approx(counted.weigh(weights))
    assert "Key" in known
    assert max(map(len, known)) <= 12
