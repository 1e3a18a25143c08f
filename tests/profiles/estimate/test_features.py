"""What can be counted in a request without a tokenizer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.profiles.estimate import estimate_input_tokens, features
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


ALPHABETS = (
    *("abcXYZ01.,- \n", "aB \n\t_{}\"'12", "aé \n1.", "\n \t", "ab \n\r\x0b\x0c", "a\0 \n"),
    *("aé\u3000 \n\xa0中b1.\x1c", "ab中\x85\n ", "ab. \n" * 30 + "\u3000\u2028\xa0é"),
    "abcdefgh" * 9 + " \n\té.\xa0",
    "".join(map(chr, range(128))),
)


def test_long_texts_are_counted_as_if_they_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    monkeypatch.setattr(features, "_BLOCK", 20)
    for _ in range(5000):
        alphabet = chance.choice(ALPHABETS)
        text = "".join(chance.choices(alphabet, k=chance.randrange(1, 70)))
        cut, counted = Pieces(), Pieces()
        monkeypatch.setattr(features, "_LONG", 1000)
        cut.add(text)
        monkeypatch.setattr(features, "_LONG", 0)
        counted.add(text)
        assert counted == cut, repr(text)


def test_the_weights_of_pieces_that_are_kept_are_not_the_first_for_ever() -> None:
    weights = features.PieceWeights({"words": 1.0})
    most = features._MOST_PIECES
    for number in range(most + 1):
        assert weights[f"a{number}"] == 1.0
    assert 0 < len(weights) <= most
    assert f"a{most}" in weights
