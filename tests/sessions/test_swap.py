"""A change of model: planned, refused, queued; and the order of one message."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.routing.decision import OverrideError, SwapError
from interlingua.store.base import Store
from tests.sessions.swaps import BLIND, SONNET, with_image
from tests.sessions.talk import (
    dumped,
    new_session,
    opened,
    results_of,
    take_turn,
    trace,
    types,
)
from tests.sessions.wires import answer, image


@pytest.mark.requirement("S002-92", "S002-106")
def test_a_model_that_cannot_see_is_refused_a_history_with_images(store: Store) -> None:
    session = with_image(store)
    row, before = store.session(session.id), dumped(session)
    with pytest.raises(SwapError) as refused:
        session.swap(BLIND)
    text = str(refused.value)
    assert BLIND in text
    assert "image" in text
    assert "unchanged" in text
    assert SONNET in text
    assert session.model == SONNET
    after = store.session(session.id)
    assert (after.active_model, after.routing_policy) == (row.active_model, row.routing_policy)
    assert dumped(session) == before
    result = trace(store, session)[-1]
    assert result.type == "routing.constraint_failure"
    assert (result.payload["model"], result.payload["code"]) == (BLIND, "no_vision_support")
    assert result.payload["active_model"] == SONNET
    assert "route.overridden" not in types(store, session)
    assert take_turn(session, "go on", 2)[0].adapter.model == SONNET


@pytest.mark.requirement("S002-92")
def test_images_count_wherever_they_stand_and_so_does_their_kind(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    first, second = turn.open_calls()
    picture = il.ToolResultBlock(first, (image(),))
    turn.results(picture, il.Message.tool_result(second, "rain"))
    turn.call().complete(answer("anthropic", 2))
    with pytest.raises(SwapError, match="image"):
        session.swap(BLIND)
    other = new_session(store, "gemini")
    drawn = il.ImageBlock(il.Source("base64", "AAAA"), media_type="image/heic")
    take_turn(other, [il.TextBlock("What is this?"), drawn], 1)
    with pytest.raises(SwapError, match="image/heic"):
        other.swap(SONNET)


@pytest.mark.requirement("S002-92", "S002-82")
def test_tools_and_the_window_are_checked_too(store: Store) -> None:
    session = new_session(store)
    with pytest.raises(SwapError, match="tool"):
        session.swap("openrouter:microsoft/phi-4")
    talk = new_session(store, tools=None)
    take_turn(talk, "word " * 12_000, 1)
    with pytest.raises(SwapError, match="do not fit into its window"):
        talk.swap(BLIND)
    assert talk.model == SONNET
    assert talk.swap("openai:gpt-4.1") is False


def test_a_swap_during_a_turn_waits_and_the_last_one_wins(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    assert session.swap("openai:gpt-5") is True
    assert session.swap("gemini:gemini-2.5-pro") is True
    assert session.model == SONNET
    turn.results(*results_of(turn))
    call = turn.call()
    assert call.adapter.model == SONNET, "the model of a turn is chosen once"
    assert store.session(session.id).active_model == SONNET
    call.complete(answer("anthropic", 2))
    assert session.model == "gemini:gemini-2.5-pro"
    assert store.session(session.id).active_model == "gemini:gemini-2.5-pro"
    collected = [e.payload for e in trace(store, session) if e.type == "route.overridden"]
    assert [each["queued"] for each in collected] == [True, True]
    assert take_turn(session, "next", 2)[0].adapter.model == "gemini:gemini-2.5-pro"
    assert opened(store, session.id).model == "gemini:gemini-2.5-pro"


def test_going_back_to_the_default_waits_too(store: Store) -> None:
    session = new_session(store)
    session.swap("openai:gpt-5")
    turn = session.begin("hi")
    assert session.swap(None) is True
    assert session.model == "openai:gpt-5"
    turn.call().complete(answer("openai-chat", 1))
    assert session.model == SONNET
    again = opened(store, session.id)
    assert again.model == SONNET
    take_turn(again, "next", 2)
    content = again.messages()[-1].metadata.routing
    assert content is not None
    assert content.mode is il.RoutingMode.DEFAULT


def test_a_swap_that_no_longer_fits_at_the_end_of_the_turn_leaves_the_model(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    assert session.swap(BLIND) is True
    first, second = turn.open_calls()
    turn.results(il.ToolResultBlock(first, (image(),)), il.Message.tool_result(second, "rain"))
    turn.call().complete(answer("anthropic", 2))
    assert turn.ended
    assert session.model == SONNET
    assert store.session(session.id).active_model == SONNET
    assert types(store, session)[-2:] == ["turn.completed", "routing.constraint_failure"]
    assert take_turn(session, "next", 2)[0].adapter.model == SONNET


def test_a_queued_swap_holds_after_a_cancelled_turn(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    session.swap("openai:gpt-5")
    turn.cancel()
    assert session.model == "openai:gpt-5"
    assert opened(store, session.id).model == "openai:gpt-5"


def test_the_choice_survives_a_restart_and_stays_one_that_was_made(store: Store) -> None:
    session = new_session(store)
    session.swap("openai:gpt-5")
    again = opened(store, session.id)
    assert again.model == "openai:gpt-5"
    turn = again.begin("hi")
    assert turn.decision.record().mode is il.RoutingMode.MANUAL
    turn.cancel()
    again.swap(None)
    assert again.model == SONNET


def test_an_order_at_the_start_of_a_message_holds_for_one_turn(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("@gemini-flash hello there")
    assert turn.model == "gemini:gemini-3.8-flash"
    assert session.messages()[-1].text == "hello there"
    content = turn.call().complete(answer("gemini", 1))
    assert content.metadata.routing is not None
    assert content.metadata.routing.mode is il.RoutingMode.OVERRIDE
    assert session.model == SONNET
    assert take_turn(session, "and now?", 2)[0].adapter.model == SONNET
    assert store.session(session.id).active_model == SONNET


def test_the_field_beats_the_text(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("@gemini-flash hello", override="openai:gpt-5")
    assert turn.model == "openai:gpt-5"
    assert session.messages()[-1].text == "hello"


def test_a_backslash_makes_it_plain_text(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("\\@gemini-flash is a word")
    assert turn.model == SONNET
    assert session.messages()[-1].text == "@gemini-flash is a word"
    turn.cancel()
    turn = session.begin("write to me@example.com")
    assert turn.model == SONNET


@pytest.mark.parametrize("text", ["@nobody hello", "@gemini-flash", "@gemini-flash   "])
def test_an_order_that_cannot_be_followed_starts_nothing(store: Store, text: str) -> None:
    session = new_session(store)
    before = types(store, session)
    with pytest.raises(OverrideError):
        session.begin(text)
    assert session.messages() == []
    assert types(store, session) == before
    assert not session.in_turn
    take_turn(session, "hello", 1)


def test_what_model_show_prints(store: Store) -> None:
    session = new_session(store)
    assert session.show() == "No turn has been routed yet."
    session.swap("openai:gpt-5")
    take_turn(session, "hi", 1)
    text = session.show()
    assert "openai:gpt-5" in text
    assert "manual_sticky" in text
    assert "/model openai:gpt-5" in text
