"""The almanac: each word has what becomes of it, a reason, a source and a date."""

from __future__ import annotations

import re

from interlingua.profiles.almanac import reasons, rules, surfaces, words
from tools import wire_gaps


def test_every_surface_of_the_sdks_is_in_it() -> None:
    assert set(surfaces()) == set(wire_gaps.SURFACES)


def test_every_word_has_a_status_a_source_and_a_reason_where_it_is_not_mapped() -> None:
    for surface in surfaces():
        for each in words(surface):
            assert each.status in ("mapped", "raw", "refused"), each
            assert each.why or each.status == "mapped", each
            assert re.fullmatch(r"[\w-]+ \d[\w.]*", each.since), each
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", reasons()["read"])


def test_words_are_those_of_the_table() -> None:
    found = {each.word: each for each in words("ollama")}
    assert found["num_ctx"].kind == "field"
    assert found["num_ctx"].since.startswith("ollama ")


def test_every_rule_has_a_source() -> None:
    assert [rule.id for rule in rules() if not rule.sources] == []
