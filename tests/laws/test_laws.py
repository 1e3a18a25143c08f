"""The laws of the dialects over generated values, and over recorded traffic where it is there.

The whole of the recorded traffic with all laws is `make laws`; here all of it goes home, and a part
of it goes abroad.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from tests.effort import examples
from tests.laws import acceptable, laws, run, strategies
from tests.laws.corpus import corpus_or_skip

DIALECTS = il.dialects()


def told(value: Any, name: str) -> Any:
    """A generated value as this dialect says it: written, and what stood there read again."""
    writer = il.dialect(name)
    retold = il.retell(value, writer)
    kind = "request" if isinstance(value, il.Request) else "response"
    written = laws.write(writer, retold.value, retold.recorder)
    return kind, written, laws.read(writer, kind, written.wire, getattr(value, "model", None))


def from_elsewhere(value: Any, name: str) -> Any:
    """The value with no turn that this dialect made itself: what a host said, ids and all, goes
    back to it as it is."""

    def other(message: il.Message) -> il.Message:
        if message.metadata.protocol != name:
            return message
        return message.replace(metadata=message.metadata.replace(protocol=None))

    if isinstance(value, il.Request):
        return value.replace(messages=tuple(map(other, value.messages)))
    others = tuple(map(other, value.alternatives))
    return value.replace(message=other(value.message), alternatives=others)


EXCHANGES = strategies.requests() | strategies.responses()


# To make a value up takes longer than to judge it: each is judged by every dialect.


@given(value=EXCHANGES)
@settings(max_examples=examples(60))
@pytest.mark.requirement("S002-85")
def test_l3_abroad_everything_missing_is_in_the_report(value: Any) -> None:
    for name in DIALECTS:
        assert laws.abroad(value, il.dialect(name)) == [], name


@given(value=EXCHANGES)
@settings(max_examples=examples(60))
def test_l4_what_is_written_abroad_is_acceptable(value: Any) -> None:
    for name in DIALECTS:
        kind, written, _ = told(from_elsewhere(value, name), name)
        assert acceptable.problems(name, kind, written.wire) == [], name


@given(value=EXCHANGES)
@settings(max_examples=examples(60))
@pytest.mark.requirement("S002-2")
def test_l1_and_l9_what_a_dialect_says_goes_home_unchanged(value: Any) -> None:
    model = getattr(value, "model", None)
    for name in DIALECTS:
        kind, written, _ = told(value, name)
        assert laws.home(il.dialect(name), kind, written.wire, model) == [], name
        assert laws.pure(il.dialect(name), kind, written.wire, model) == [], name


@given(value=EXCHANGES, data=st.data())
@settings(max_examples=examples(60))
def test_l2_edits_win(value: Any, data: st.DataObject) -> None:
    for name in DIALECTS:
        _, _, home = told(value, name)
        every = list(laws.edits(home))
        if every:
            # A place in the list: to pick from values, hypothesis would take the digest of each.
            _, path, changed = every[data.draw(st.integers(0, len(every) - 1))]
            assert laws.edited(il.dialect(name), home, path, changed) == [], name


@given(value=strategies.requests())
@settings(max_examples=examples(60))
def test_l7_a_growing_history_repeats_what_was_written(value: Any) -> None:
    for name in DIALECTS:
        retold = il.retell(value, name).value
        assert laws.stable_prefix(il.dialect(name), retold) == [], name


@given(value=strategies.requests(), names=st.lists(st.sampled_from(DIALECTS), max_size=3))
@settings(max_examples=examples(60))
@pytest.mark.requirement("S003-12")
def test_l6_speaking_other_dialects_changes_nothing_that_is_kept(
    value: il.Request, names: list[str]
) -> None:
    before = il.dumps(value)
    for name in names:
        told(value, name)
    assert il.dumps(value) == before


@pytest.mark.parametrize("name", DIALECTS)
def test_l1_l5_and_l13_every_recorded_body_and_stream_goes_home(name: str) -> None:
    """Streams fold, and a model's own history goes back to it, too: each is read once for all."""
    corpus_or_skip()
    allowed = run.excepted()
    failed = [
        f"{case.record} {case.kind} {law}: {found[0]}"
        for case in run.cases(name)
        for law, found in run.examine(case, ["L1", "L5", "L13"]).problems.items()
        if (case.record, case.kind, law) not in allowed
    ]
    assert failed == []


@pytest.mark.parametrize("name", DIALECTS)
def test_all_laws_over_a_part_of_the_recorded_bodies(name: str) -> None:
    corpus_or_skip()
    allowed = run.excepted()
    part = list(run.cases(name))[::40]
    failed = [
        f"{case.record} {case.kind} {law}: {found[0]}"
        for case in part
        for law, found in run.examine(case).problems.items()
        if (case.record, case.kind, law) not in allowed
    ]
    assert failed == []
