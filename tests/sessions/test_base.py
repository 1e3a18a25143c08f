"""Sessions go on where they were left."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.sessions import TurnError
from interlingua.store.base import Store
from tests.sessions.talk import new_session, opened, results_of, take_turn, types
from tests.sessions.wires import answer


def test_resuming_after_a_crash_between_call_and_result(store: Store) -> None:
    first = new_session(store)
    first.begin("hi").call().complete(answer("anthropic", 1, calls=True))
    session = opened(store, first.id)
    assert list(session.unanswered().values()) == ["read_file", "get_weather"]
    turn = session.resume()
    with pytest.raises(TurnError):
        turn.call()
    turn.results(*results_of(turn))
    call = turn.call()
    ids = [
        block["tool_use_id"]
        for message in call.wire["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert ids == ["toolu_0000000000000000000010", "toolu_0000000000000000000011"]
    call.complete(answer("anthropic", 2))
    assert turn.ended
    assert il.validate(session.messages()) == []
    assert {row.status for row in store.tool_calls(session.id) if row.executor == "client"} == {
        "succeeded"
    }


def test_resuming_after_a_crash_between_result_and_answer(store: Store) -> None:
    first = new_session(store)
    turn = first.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    turn.results(*results_of(turn))
    session = opened(store, first.id)
    turn = session.resume()
    turn.call().complete(answer("anthropic", 2))
    assert turn.ended
    roles = [message.role.value for message in session.messages()]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    assert types(store, session).count("route.decided") == 2, "one for each turn"


def test_resuming_after_a_question_without_an_answer(store: Store) -> None:
    first = new_session(store)
    first.begin("hi")
    session = opened(store, first.id)
    turn = session.resume()
    turn.call().complete(answer("anthropic", 2))
    assert [m.role.value for m in session.messages()] == ["user", "assistant"]


def test_there_is_nothing_to_resume_after_a_whole_turn(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(TurnError, match="nothing to resume"):
        session.resume()
    take_turn(session, "hi", 1)
    with pytest.raises(TurnError, match="nothing to resume"):
        opened(store, session.id).resume()
    assert not session.in_turn


def test_calls_that_were_given_up_earlier_are_not_resumed(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    turn.end()
    take_turn(session, "never mind", 2)
    with pytest.raises(TurnError, match="nothing to resume"):
        session.resume()
    assert len(session.unanswered()) == 2, "they can still be answered"


def test_an_answer_that_paused_is_resumed(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    paused = answer("anthropic", 1)
    paused["stop_reason"] = "pause_turn"
    turn.call().complete(paused)
    assert session.in_turn, "the model is to go on by itself"
    again = opened(store, session.id)
    turn = again.resume()
    call = turn.call()
    assert [m["role"] for m in call.wire["messages"]] == ["user", "assistant"]
    call.complete(answer("anthropic", 2))
    assert turn.ended
