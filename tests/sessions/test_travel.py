"""Conversations that go from model to model: nothing breaks, nothing of anybody's is lost."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.adapt.fit.turns import GO_ON
from interlingua.model.message import rewrite
from interlingua.sessions import Call, Session
from interlingua.sessions.pruning import sendable
from interlingua.store.base import Store
from interlingua.store.open import open_store
from tests.effort import THOROUGH, examples
from tests.laws import strategies
from tests.laws.acceptable import problems
from tests.laws.corpus import corpus_or_skip, records
from tests.laws.laws import prefix_difference
from tests.sessions.talk import (
    dumped,
    new_session,
    opened,
    results_of,
    spoken,
    take_turn,
    turn_with_everything,
)
from tests.sessions.wires import MODELS, PIXEL, answer, image
from tests.store.conftest import ENGINES

ROOT = Path(__file__).parents[2]
DIALECTS = sorted(MODELS)
PAIRS = list(itertools.permutations(DIALECTS, 2))
ON_ENGINES = [
    (engine, *pair)
    for number, pair in enumerate(PAIRS)
    for engine in (ENGINES if THOROUGH else [ENGINES[number % 2]])
]
"""The gate tries each pair on one of the engines."""
LISTS = ("messages", "contents", "input")


def unacceptable(call: Call) -> list[str]:
    return problems(spoken(call), "request", _without_host_words(call))


def _without_host_words(call: Call) -> Any:
    """The body as OpenAI's own types have it: they do not know Groq's key for thinking."""
    if spoken(call) != "openai-chat":
        return call.wire
    messages = [
        {key: item for key, item in message.items() if key != "reasoning"}
        for message in call.wire["messages"]
    ]
    return {**call.wire, "messages": messages}


def unacceptable_without_tools(call: Call) -> list[str]:
    """The same for a session that offers no tools though its history has calls, which one
    dialect wants to be named."""
    return [each for each in unacceptable(call) if "toolConfig" not in each]


def unresolved(messages: Sequence[il.Message]) -> list[str]:
    """Results whose call is not there, and calls of ours without a result."""
    calls = {c.id for m in messages for c in m.tool_calls if c.executor == "client"}
    answers = Counter(
        block.tool_use_id
        for m in messages
        if m.role is il.Role.TOOL
        for block in m.content
        if isinstance(block, il.ToolResultBlock)
    )
    return [*(calls - answers.keys()), *(id for id in answers if id not in calls)]


# The other process: opens the session, goes on with the sixth dialect, says what it wrote.
CONTINUE = """
import json, sys
from interlingua.store.open import open_store
from tests.sessions.talk import opened, turn_with_everything

address, id, model = sys.argv[1:]
with open_store(address) as store:
    session = opened(store, id)
    found = len(session.messages())
    calls = [call for number in (20, 21) for call in turn_with_everything(session, model, number)]
    print(json.dumps({"found": found, "wires": [call.wire for call in calls]}))
"""
PLACES = [("sqlite", dialect) for dialect in DIALECTS] + [("postgres", "gemini")]


@pytest.mark.requirement("S002-105", "S002-68")
@pytest.mark.parametrize(("kind", "sixth"), PLACES)
def test_turns_over_five_dialects_go_on_in_another_process_on_a_sixth(
    new_address: Callable[[str], str], kind: str, sixth: str
) -> None:
    address = new_address(kind)
    five = [dialect for dialect in DIALECTS if dialect != sixth][:5]
    with open_store(address) as store:
        session = new_session(store, five[0], system="Be brief.")
        for number, dialect in enumerate([*five, *five[:2]]):
            for call in turn_with_everything(session, MODELS[dialect], number):
                assert unacceptable(call) == []
        before = dumped(session)
    command = [sys.executable, "-c", CONTINUE, address, session.id, MODELS[sixth]]
    done = subprocess.run(command, capture_output=True, timeout=120, cwd=ROOT, text=True)
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert parsed["found"] == len(before)
    assert len(parsed["wires"]) == 4
    for wire in parsed["wires"]:
        assert problems(sixth, "request", wire) == []
    with open_store(address) as store:
        again = opened(store, session.id)
        assert dumped(again)[: len(before)] == before
        assert unresolved(again.messages()) == []
        assert il.validate(again.messages()) == []
        for dialect in five[:2]:
            for call in turn_with_everything(again, MODELS[dialect], 31):
                assert unacceptable(call) == []


# -- L6: there and back -----------------------------------------------------------------------


def wire_now(session: Session, dialect: str) -> Any:
    """What would be written to a model now, if it were its turn."""
    adapter = session.adapter(MODELS[dialect])
    messages = sendable(session.messages(), adapter.dialect.name)
    wire = adapter.to_wire(messages, session._core.tools).wire
    if GO_ON in json.dumps(entries(wire)[-1]):
        entries(wire).pop()  # stands for the turn that will follow
    return wire


def entries(wire: Any) -> list[Any]:
    (name,) = [name for name in LISTS if name in wire]
    found: list[Any] = wire[name]
    return found


@pytest.mark.requirement("S002-75", "S002-66")
@pytest.mark.parametrize(("long_store", "here", "there"), ON_ENGINES, indirect=["long_store"])
def test_there_and_back_a_dialect_finds_all_that_was_its_own(
    store: Store, here: str, there: str
) -> None:
    session = new_session(store, here)
    take_turn(session, [il.TextBlock("One"), image()], 1, calls=True, failing=True)
    stored, own = dumped(session), wire_now(session, here)
    session.swap(MODELS[there])
    assert dumped(session) == stored
    for number in (2, 3):
        for call in take_turn(session, "Two", number, calls=True):
            assert unacceptable(call) == []
    assert dumped(session)[: len(stored)] == stored, "having spoken to another changes nothing"
    session.swap(MODELS[here])
    call = take_turn(session, "Three", 4, calls=True)[0]
    assert unacceptable(call) == []
    assert prefix_difference(own, call.wire) is None
    same = len(entries(own)) - 1  # the next message may join the last turn
    assert json.dumps(entries(call.wire)[:same]) == json.dumps(entries(own)[:same])
    assert dumped(session)[: len(stored)] == stored
    again = opened(store, session.id)
    assert prefix_difference(own, wire_now(again, here)) is None


@cache
def recorded(dialect: str) -> tuple[dict[str, Any], ...]:
    """Recorded answers of a dialect, of as many kinds as there are."""
    best: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in records(dialect):
        if record.accepted and isinstance(record.response, dict):
            best.setdefault(tuple(sorted(record.features)), record.response)
    return tuple(best.values())


@pytest.mark.requirement("S002-75")
@pytest.mark.parametrize("here", DIALECTS)
def test_there_and_back_with_recorded_answers(quick_folder: Path, here: str) -> None:
    corpus_or_skip()
    answers = recorded(here)
    assert answers, f"no recorded answers of {here}"
    others = [dialect for dialect in DIALECTS if dialect != here]
    with open_store(quick_folder / f"{here}.db") as store:
        tried = 0
        for number, wire in enumerate(answers[: examples(60)]):
            session = new_session(store, here, tools=None)
            turn = session.begin("One")
            made = turn.call().complete(wire)
            if made.metadata.status is not il.MessageStatus.COMPLETE:
                continue
            if turn.open_calls():
                turn.results(*results_of(turn))
            turn.end()
            stored, own = dumped(session), wire_now(session, here)
            there = others[number % len(others)]
            assert unacceptable_without_tools(say(session, there)) == [], (number, there)
            assert dumped(session)[: len(stored)] == stored
            call = say(session, here)
            assert prefix_difference(own, call.wire) is None, (number, there)
            tried += 1
    assert tried > 2


def say(session: Session, dialect: str) -> Call:
    """A turn without calls on another model."""
    turn = session.begin("Go on", override=MODELS[dialect])
    assert turn.model == MODELS[dialect]
    call = turn.call()
    call.complete(answer(dialect, 90))
    return call


# -- L7: what was said is said again the same -------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_request_repeats_the_one_before_it(store: Store, dialect: str) -> None:
    session = new_session(store, dialect, system={"base": "Be brief.", "memory": "Tea."})
    calls = []
    for number in range(4):
        if number == 2:
            session.compose({"memory": "Coffee."})
        text: list[il.Block] = [il.TextBlock(f"Question {number}"), image()]
        calls += take_turn(session, text, number, calls=number % 2 == 0, failing=True)
    for one, other in itertools.pairwise(calls):
        assert prefix_difference(one.wire, other.wire) is None
        assert one.wire.get("system") == other.wire.get("system")
        assert one.wire.get("systemInstruction") == other.wire.get("systemInstruction")
        assert len(entries(other.wire)) > len(entries(one.wire))
    again = opened(store, session.id)
    assert prefix_difference(calls[-1].wire, take_turn(again, "More", 9)[0].wire) is None


# -- generated conversations ------------------------------------------------------------------


def without_files(message: il.Message) -> il.Message:
    """The same with data in place of references to files, which are not there."""

    def inlined(block: Any) -> Any:
        if isinstance(block, il.ToolResultBlock):
            return block.replace(content=tuple([inlined(each) for each in block.content]))
        source = getattr(block, "source", None)
        if source is None or source.kind != "file_ref":
            return block
        return block.replace(source=il.Source("base64", PIXEL))

    return rewrite(message, lambda block: (inlined(block),))


ONE = settings(
    max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ONE
@given(history=strategies.conversations(failures=True), data=st.data())
def test_any_history_is_kept_and_told_to_every_model(
    store: Store, history: tuple[il.Message, ...], data: st.DataObject
) -> None:
    session = new_session(store, tools=None)
    history = tuple([without_files(message) for message in history])
    added = session.append(*history)
    assert len(added) == len(history)
    stored = dumped(session)
    assert [il.dumps(message) for message in added] == stored
    for one, other in zip(history, added, strict=True):
        assert one.text == other.text
        assert [type(block) for block in one.content] == [type(block) for block in other.content]
    model = MODELS[data.draw(st.sampled_from(DIALECTS))]
    assume(session.plan(model).refusal is None)  # some take no such images
    call = session.begin("Go on", override=model).call()
    assert unacceptable_without_tools(call) == []
    call.complete(answer(spoken(call), 5))
    assert dumped(session)[: len(stored)] == stored
    assert dumped(opened(store, session.id)) == dumped(session)
    store.delete_session(session.id)


@ONE
@given(
    made=st.lists(strategies.responses(errors=False), min_size=1, max_size=3),
    here=st.sampled_from(DIALECTS),
    there=st.sampled_from(DIALECTS),
)
def test_any_answers_survive_the_way_there_and_back(
    store: Store, made: list[il.Response], here: str, there: str
) -> None:
    session = new_session(store, here, tools=None)
    home = il.dialect(here)
    for response in made:
        assume(session.plan(MODELS[here]).refusal is None)
        turn = session.begin("What?", override=MODELS[here])
        call = turn.call()
        wire = home.write_response(response.replace(alternatives=())).wire
        stored = call.complete(wire)
        if stored.metadata.status is not il.MessageStatus.COMPLETE:
            turn.end()
            continue
        if turn.open_calls():
            turn.results(*results_of(turn))
        turn.end()
    assume(session.plan(MODELS[here]).refusal is None)
    assume(session.plan(MODELS[there]).refusal is None)
    retained, own = dumped(session), wire_now(session, here)
    say(session, there)
    assert dumped(session)[: len(retained)] == retained
    back = say(session, here)
    assert prefix_difference(own, back.wire) is None
    assert unresolved(session.messages()) == []
    assert dumped(opened(store, session.id)) == dumped(session)
    store.delete_session(session.id)


@ONE
@given(history=strategies.conversations(with_raw=True, failures=True))
def test_what_only_its_dialect_understands_is_kept_to_the_byte(
    store: Store, history: tuple[il.Message, ...]
) -> None:
    session = new_session(store, tools=None)
    added = session.append(*history)
    remaining = [il.dumps(message) for message in added]
    assert dumped(session) == remaining
    again = opened(store, session.id)
    assert [il.dumps(message) for message in again.messages()] == remaining
    for one, other in zip(history, added, strict=True):
        assert [block.raw for block in one.content] == [block.raw for block in other.content]
        assert one.metadata.provider_raw == other.metadata.provider_raw
    fork = session.fork()
    for one, other in zip(added, fork.messages(), strict=True):
        assert [block.raw for block in one.content] == [block.raw for block in other.content]
    store.delete_session(fork.id)
    store.delete_session(session.id)


def test_the_helper_finds_what_does_not_resolve() -> None:
    call = il.ToolUseBlock("tu_1", "add", {})
    assert unresolved([il.Message.assistant([call])]) == ["tu_1"]
    assert unresolved([il.Message.tool_result("tu_2", "x")]) == ["tu_2"]
