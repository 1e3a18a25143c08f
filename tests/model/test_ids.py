"""Ids: they rise whatever the clock does, and foreign ones fit without meeting each other."""

from __future__ import annotations

import os
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.model.ids import (
    IdGrammar,
    Ulids,
    is_synthetic_tool_id,
    is_tool_id,
    is_ulid,
    new_tool_id,
    now_ms,
    synthetic_tool_id,
    ulid_time_ms,
)

NOON = 1_790_000_000_000
GREATEST = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"

WORD = IdGrammar("[a-zA-Z0-9_-]", 1, 64)
SHORT_WORD = IdGrammar("[a-zA-Z0-9_-]", 1, 40)
NINE = IdGrammar("[a-zA-Z0-9]", 9, 9)
GRAMMARS = [
    WORD,
    SHORT_WORD,
    NINE,
    IdGrammar("[0-9]", 1, 64),
    IdGrammar("[a-f0-9-]", 30, 36),
    IdGrammar("[^|]", 50, 50),
    IdGrammar("[A-Z]", 12, 200),
]

any_text = st.text(st.characters(exclude_categories=[]))
awkward_ids = any_text | st.text(string.ascii_letters + "_-|", min_size=30, max_size=90)
grammars = st.sampled_from(GRAMMARS)


def at(ms: int) -> Callable[[], int]:
    return lambda: ms


def zeros(size: int) -> bytes:
    return bytes(size)


def ones(size: int) -> bytes:
    return b"\xff" * size


def jumping_clock(seed: int) -> Callable[[], int]:
    """Stands still, ticks, leaps ahead, and falls back by up to a day."""
    chance = random.Random(seed)
    now = NOON

    def read() -> int:
        nonlocal now
        day = 86_400_000
        now += chance.choice([0, 0, 0, 1, 2, 1000, -1, -1000, chance.randint(-day, day)])
        return now

    return read


@pytest.mark.requirement("S002-13")
def test_an_id_is_26_crockford_characters_that_hold_the_time() -> None:
    ulid = Ulids(clock=at(NOON)).new()
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", ulid)
    assert is_ulid(ulid)
    assert ulid_time_ms(ulid) == NOON


def test_the_spelling_is_that_of_the_ulid_specification() -> None:
    first = Ulids(clock=at(1469918176385), random=zeros).new()
    assert first == "01ARYZ6S410000000000000000"
    assert Ulids(clock=at((1 << 48) - 1), random=ones).new() == GREATEST


def test_the_clock_is_the_machines_unless_one_is_given() -> None:
    before = now_ms()
    made = ulid_time_ms(Ulids().new())
    assert before <= made <= now_ms()


@pytest.mark.requirement("S002-13", "S002-64")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_thousand_ids_rise_under_a_jumping_clock(seed: int) -> None:
    ulids = Ulids(clock=jumping_clock(seed))
    made = [ulids.new() for _ in range(100_000)]
    assert all(a < b for a, b in pairwise(made))
    assert len(set(made)) == len(made)
    assert all(map(is_ulid, made))


@pytest.mark.requirement("S002-64")
def test_ids_rise_inside_one_millisecond_and_keep_its_time() -> None:
    ulids = Ulids(clock=at(NOON))
    made = [ulids.new() for _ in range(1000)]
    assert made == sorted(set(made))
    assert {ulid_time_ms(ulid) for ulid in made} == {NOON}


@pytest.mark.requirement("S002-64")
def test_a_full_millisecond_carries_into_the_next() -> None:
    ulids = Ulids(clock=at(NOON), random=ones)
    first, second = ulids.new(), ulids.new()
    assert first < second
    assert (ulid_time_ms(first), ulid_time_ms(second)) == (NOON, NOON + 1)


def test_a_clock_that_steps_back_keeps_the_time_of_the_last_id() -> None:
    times = iter([NOON, NOON - 3_600_000, NOON + 1])
    ulids = Ulids(clock=lambda: next(times))
    assert [ulid_time_ms(ulids.new()) for _ in range(3)] == [NOON, NOON, NOON + 1]


@pytest.mark.requirement("S002-64")
def test_a_session_continues_after_its_last_stored_id() -> None:
    stored = Ulids(clock=at(NOON + 86_400_000)).new()
    resumed = Ulids(clock=at(NOON), after=stored)
    made = [stored, *(resumed.new() for _ in range(1000))]
    assert made == sorted(set(made))


def test_two_processes_that_continue_after_one_id_do_not_meet() -> None:
    stored = Ulids(clock=at(NOON)).new()
    sources = [Ulids(clock=at(NOON), after=stored) for _ in range(100)]
    made = [ulids.new() for ulids in sources for _ in range(100)]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("wrong", ["", "x", "tu_01ARYZ6S410000000000000000", GREATEST.lower()])
def test_continuing_after_something_else_is_an_error(wrong: str) -> None:
    with pytest.raises(ValueError, match="not a ULID"):
        Ulids(after=wrong)


def test_there_is_an_error_when_no_id_is_left() -> None:
    with pytest.raises(OverflowError):
        Ulids(after=GREATEST).new()


@pytest.mark.parametrize("ms", [-5, 1 << 60])
def test_a_clock_outside_the_range_still_gives_ids(ms: int) -> None:
    ulids = Ulids(clock=at(ms), random=zeros)
    first, second = ulids.new(), ulids.new()
    assert is_ulid(first)
    assert first < second


_FORKS = """
import os
from interlingua.model.ids import Ulids
source = Ulids(clock=lambda: 1)
source.new()  # so that random bytes are at hand
for _ in range(3):
    if os.fork() == 0:
        print(source.new(), flush=True)
        os._exit(0)
    os.wait()
print(source.new())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes that fork off here")
def test_processes_that_fork_off_make_other_ids() -> None:
    made = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=60
    )
    ids = made.stdout.split()
    assert len(ids) == 4, made
    assert len(set(ids)) == 4


@pytest.mark.requirement("S002-64")
def test_sixteen_threads_share_one_source() -> None:
    ulids = Ulids(clock=at(NOON))

    def make(_: int) -> list[str]:
        return [ulids.new() for _ in range(1000)]

    with ThreadPoolExecutor(16) as pool:
        batches = list(pool.map(make, range(16)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({ulid for batch in batches for ulid in batch}) == 16_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "01ARYZ6S41000000000000000",
        "01ARYZ6S4100000000000000000",
        "01ARYZ6S41000000000000000I",
        "01ARYZ6S41000000000000000L",
        "01ARYZ6S41000000000000000O",
        "01ARYZ6S41000000000000000U",
        "81ARYZ6S410000000000000000",
        "01aryz6s410000000000000000",
        "01ARYZ6S410000000000000000\n",
    ],
)
def test_other_texts_are_no_ulids(text: str) -> None:
    assert not is_ulid(text)
    with pytest.raises(ValueError, match="not a ULID"):
        ulid_time_ms(text)


@pytest.mark.requirement("S002-52", "S002-65")
def test_a_tool_id_is_tu_and_a_ulid_of_ours() -> None:
    ulids = Ulids(clock=at(NOON))
    made = [new_tool_id(ulids) for _ in range(1000)]
    assert made == sorted(set(made))
    assert all(id.startswith("tu_") and is_ulid(id[3:]) and is_tool_id(id) for id in made)
    assert all(grammar.fit(id) == id for id in made for grammar in (WORD, SHORT_WORD))


@pytest.mark.parametrize(
    "text", ["", "tu_", "toolu_01ARYZ6S410000000000000000", "tu_01ARYZ", GREATEST]
)
def test_other_texts_are_no_tool_ids(text: str) -> None:
    assert not is_tool_id(text)


@pytest.mark.requirement("P19")
def test_a_synthetic_id_is_the_same_in_every_process() -> None:
    code = (
        "from interlingua.model.ids import synthetic_tool_id as s; print(s('resp_1', 0, 'wéather'))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code], capture_output=True, text=True, check=True
    )
    here = synthetic_tool_id("resp_1", 0, "wéather")
    assert elsewhere.stdout.strip() == here
    assert re.fullmatch("il_[0-9a-f]{16}", here)
    assert is_synthetic_tool_id(here)


def test_other_texts_are_no_synthetic_ids() -> None:
    for text in ["", "il_", "il_0123456789ABCDEF", "il_0123456789abcdef0", "call_0123456789abcdef"]:
        assert not is_synthetic_tool_id(text)


def test_the_parts_of_a_synthetic_id_are_distinguished() -> None:
    parts: list[tuple[object, ...]] = [
        (),
        ("",),
        ("", ""),
        ("ab", "c"),
        ("a", "bc"),
        ("a,b",),
        ("a", "b"),
        ('a","b',),
        (1,),
        ("1",),
        (None,),
        ("null",),
        (True,),
        ("\ud83d\ude00",),
        ("😀",),
        ("\\ud83d",),
        ("\ud83d",),
    ]
    assert len({synthetic_tool_id(*each) for each in parts}) == len(parts)


@given(st.lists(st.tuples(any_text, st.integers(), any_text), unique=True))
def test_different_parts_give_different_synthetic_ids(parts: list[tuple[object, ...]]) -> None:
    assert len({synthetic_tool_id(*each) for each in parts}) == len(parts)


@given(grammars, awkward_ids)
def test_a_fitted_id_is_legal_and_always_the_same(grammar: IdGrammar, id: str) -> None:
    fitted = grammar.fit(id)
    assert grammar.legal(fitted)
    assert grammar.shortest <= len(fitted) <= grammar.longest
    assert grammar.fit(id) == fitted
    assert grammar.fit(fitted) == fitted


@given(st.data(), grammars)
def test_a_legal_id_is_left_alone(data: st.DataObject, grammar: IdGrammar) -> None:
    pattern = f"{grammar.alphabet}{{{grammar.shortest},{grammar.longest}}}"
    id = data.draw(st.from_regex(pattern, fullmatch=True))
    assert grammar.legal(id)
    assert grammar.fit(id) == id


@pytest.mark.requirement("P15")
@given(grammars, st.sets(awkward_ids, min_size=2))
def test_different_ids_stay_different(grammar: IdGrammar, ids: set[str]) -> None:
    assert len({grammar.fit(id) for id in ids}) == len(ids)


@pytest.mark.requirement("P15")
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_long_ids_with_a_common_start_stay_different(grammar: IdGrammar) -> None:
    ids = ["call_" + "x" * 450 + str(number) for number in range(5000)]
    assert len({grammar.fit(id) for id in ids}) == len(ids)


@pytest.mark.requirement("P15")
def test_a_fitted_id_is_no_beginning_of_the_long_one() -> None:
    id = "call_" + "a" * 60
    for grammar in (SHORT_WORD, NINE):
        assert not id.startswith(grammar.fit(id))


def test_a_fitted_id_begins_readably_where_there_is_room() -> None:
    assert WORD.fit("fc_68a1|call_9" * 40).startswith("fc_68a1_call_9")
    assert SHORT_WORD.fit("call_abc|fc_1").startswith("call_abc_fc_1_")
    assert re.fullmatch("[a-zA-Z0-9]{9}", NINE.fit("call_abc|fc_1"))
    assert re.fullmatch("[a-zA-Z0-9]{22}", WORD.fit("||||"))


def test_an_empty_or_short_id_grows_to_the_shortest() -> None:
    assert len(WORD.fit("")) == 22
    assert len(NINE.fit("a")) == 9
    assert len(IdGrammar("[a-z]", 100, 120).fit("a")) == 100


def test_fitted_ids_do_not_change_between_releases() -> None:
    # Conversations stored elsewhere hold these ids: another spelling would break a cached prefix.
    assert WORD.fit("call|1") == "call_1_5T09bgVAwimYZdBTScsVig"
    assert NINE.fit("call|1") == "GuEneMjGL"


@pytest.mark.parametrize("alphabet", ["[_-]", "[a]"])
def test_an_alphabet_too_small_to_hash_into_is_an_error(alphabet: str) -> None:
    grammar = IdGrammar(alphabet, 1, 8)
    with pytest.raises(ValueError, match="two letters or digits"):
        grammar.fit("?")
