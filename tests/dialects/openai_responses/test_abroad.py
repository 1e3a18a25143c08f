"""Generated conversations: what is written is acceptable, and what is missing is reported."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.adapt.history.retell import retell
from interlingua.dialects.openai_responses import DIALECT
from interlingua.dialects.record import Written
from interlingua.model.blocks import Cache, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from tests.effort import examples
from tests.laws import acceptable, laws, strategies

some = settings(max_examples=examples(60))
EXCHANGES = strategies.requests(failures=True) | strategies.responses()
RAW = strategies.requests(with_raw=True, failures=True) | strategies.responses(with_raw=True)


def kind_of(value: Request | Response) -> str:
    return "request" if isinstance(value, Request) else "response"


def told(value: Any) -> Written:
    retold = retell(value, DIALECT)
    return laws.write(DIALECT, retold.value, retold.recorder)


def missing(value: Any, written: Written) -> list[str]:
    """Facts that are gone and not reported, or reported as dropped and still there; equal facts
    are counted together."""
    back = laws.read(DIALECT, kind_of(value), written.wire)
    there = Counter(fact for _, fact in laws.facts(back))
    paths = defaultdict(list)
    for path, fact in laws.facts(value):
        paths[fact].append(path)
    listed = {loss.path for loss in written.report.entries}
    dropped = {loss.path for loss in written.report.entries if loss.kind == "dropped"}
    found = []
    for fact, places in paths.items():
        gone = 0 if laws.says_nothing(fact) else max(len(places) - there[fact], 0)
        if gone > sum(any(laws.is_under(place, each) for each in listed) for place in places):
            found.append(f"lost without a word: {places}")
        if gone < sum(place in dropped for place in places):
            found.append(f"false alarm: {places}")
    return found


@given(EXCHANGES)
@some
def test_what_is_missing_is_reported(value: Any) -> None:
    assert missing(value, told(value)) == []


@given(EXCHANGES | RAW)
@some
def test_anything_can_be_written_as_it_is(value: Any) -> None:
    assert missing(value, laws.write(DIALECT, value)) == []


@given(EXCHANGES)
@some
def test_what_is_written_is_acceptable_and_goes_home(value: Any) -> None:
    wire = told(value).wire
    assert acceptable.problems(DIALECT.name, kind_of(value), wire) == []
    assert laws.home(DIALECT, kind_of(value), wire) == []
    assert laws.pure(DIALECT, kind_of(value), wire) == []


@given(EXCHANGES, st.randoms(use_true_random=False))
@some
def test_edits_win(value: Any, chance: Any) -> None:
    read = laws.read(DIALECT, kind_of(value), told(value).wire)
    edits = list(laws.edits(read))
    for _, path, changed in chance.sample(edits, min(len(edits), 5)):
        assert laws.edited(DIALECT, read, path, changed) == []


@given(strategies.requests())
@some
def test_what_was_said_is_repeated_when_the_history_grows(request: Request) -> None:
    assert laws.stable_prefix(DIALECT, retell(request, DIALECT).value) == []


def test_a_hosted_result_that_must_stand_by_itself_is_told_of() -> None:
    call = ToolUseBlock("call_1", "web_search", {}, executor="provider")
    result = ToolResultBlock("call_1", (), True, cache=Cache(), raw={"openai-responses": {"x": 1}})
    value = Request((Message.user("a"), Message.assistant([call, result, "b"])), "m")
    assert missing(value, laws.write(DIALECT, value)) == []
