"""A change of model: planned, refused, queued; and the order of one message."""

from __future__ import annotations

import base64
from decimal import Decimal
from pathlib import Path

import pytest

import interlingua as il
from interlingua.routing.decision import OverrideError, SwapError
from interlingua.sessions import Session
from interlingua.store.base import Store
from tests.sessions.talk import (
    dumped,
    new_session,
    opened,
    results_of,
    take_turn,
    trace,
    types,
)
from tests.sessions.wires import MODELS, PIXEL, TOOLS, answer, image

SONNET = MODELS["anthropic"]
BLIND = "openai:gpt-4"


def with_image(store: Store) -> Session:
    session = new_session(store)
    take_turn(session, [il.TextBlock("What is this?"), image()], 1)
    return session


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
    told = trace(store, session)[-1]
    assert told.type == "routing.constraint_failure"
    assert (told.payload["model"], told.payload["code"]) == (BLIND, "no_vision_support")
    assert told.payload["active_model"] == SONNET
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


def test_an_unknown_model_is_refused_and_nothing_changes(store: Store) -> None:
    session = new_session(store)
    before = types(store, session)
    for name in ("nobody", "nowhere:model"):
        with pytest.raises(OverrideError):
            session.swap(name)
    assert session.model == SONNET
    assert types(store, session) == before


def test_a_plan_tells_what_is_lost_and_what_it_costs_and_changes_nothing(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = new_session(store)
    take_turn(session, "hi", 1, calls=True)
    before, events = dumped(session), types(store, session)
    caplog.clear()
    plan = session.plan("openai:gpt-5")
    assert caplog.records == []
    assert plan.refusal is None
    kinds = sorted({loss.block_type for loss in plan.report if loss.block_type})
    assert kinds == ["redacted_thinking", "thinking", "tool_result", "tool_use"]
    assert plan.input_tokens > 50
    assert plan.cost_usd == plan.input_tokens * Decimal("1.25") / 1_000_000
    assert plan.present_model == SONNET
    assert plan.present_cost_usd is not None
    assert plan.present_cost_usd > plan.cost_usd
    assert "openai:gpt-5" in plan.text
    assert "dropped thinking" in plan.text
    assert dumped(session) == before
    assert types(store, session) == events
    assert session.model == SONNET
    assert session.swap("openai:gpt-5") is False
    call = session.begin("next").call()
    lost = [(loss.kind, loss.path, loss.block_type) for loss in call.report]
    assert lost == [(loss.kind, loss.path, loss.block_type) for loss in plan.report]


def test_a_plan_for_the_model_in_use_loses_nothing(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "hi", 1, calls=True)
    plan = session.plan(SONNET)
    assert list(plan.report) == []
    assert "Nothing of the history is lost" in plan.text


def test_a_plan_knows_that_files_of_the_workspace_are_sent(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))
    session = Session.create(store, str(tmp_path), model=SONNET)
    picture = il.ImageBlock(il.Source("file_ref", "a.png"))
    call = take_turn(session, [il.TextBlock("What is this?"), picture], 1)[0]
    assert PIXEL in il.dumps(call.wire).decode()
    assert list(session.plan(SONNET).report) == []
    session.plan("openai:gpt-5")
    kept = session.messages()[0].content[1]
    assert kept == picture, "what is stored refers to it still"


def test_a_plan_says_why_a_swap_would_be_refused(store: Store) -> None:
    session = with_image(store)
    plan = session.plan(BLIND)
    assert plan.refusal is not None
    with pytest.raises(SwapError) as refused:
        session.swap(BLIND)
    assert plan.text == str(refused.value)


def test_a_plan_for_a_model_without_a_price_says_so(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "hi", 1)
    plan = session.plan("azure:my-own-deployment")
    assert plan.cost_usd is None
    assert "price unknown" in plan.text


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
    told = [e.payload for e in trace(store, session) if e.type == "route.overridden"]
    assert [each["queued"] for each in told] == [True, True]
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
    said = again.messages()[-1].metadata.routing
    assert said is not None
    assert said.mode is il.RoutingMode.DEFAULT


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
    said = turn.call().complete(answer("gemini", 1))
    assert said.metadata.routing is not None
    assert said.metadata.routing.mode is il.RoutingMode.OVERRIDE
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


def test_a_model_may_be_called_by_its_alias(store: Store) -> None:
    session = Session.create(store, model="sonnet", tools=TOOLS)
    assert session.model == "anthropic:claude-sonnet-5-5"
    session.swap("gpt-oss")
    assert session.model == "groq:openai/gpt-oss-120b"
    assert store.session(session.id).active_model == "groq:openai/gpt-oss-120b"
