"""What a change of model would lose and cost."""

from __future__ import annotations

import base64
from decimal import Decimal
from pathlib import Path

import pytest

import interlingua as il
from interlingua.routing.decision import SwapError
from interlingua.sessions import Session
from interlingua.store.base import Store
from tests.sessions.swaps import BLIND, SONNET, with_image
from tests.sessions.talk import dumped, new_session, take_turn, types
from tests.sessions.wires import PIXEL


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
    kinds = sorted({loss.block_type for loss in plan.report.entries if loss.block_type})
    assert kinds == ["redacted_thinking", "thinking", "tool_result", "tool_use"]
    assert plan.input_tokens > 50
    assert plan.cost_usd == plan.input_tokens * Decimal("1.25") / 1_000_000
    assert plan.present_model == SONNET
    assert plan.present_cost_usd is not None
    assert plan.present_cost_usd > plan.cost_usd
    assert "openai:gpt-5" in plan.text
    assert plan.ahead is not None
    assert plan.present_ahead is not None
    assert plan.ahead.cached == 0
    assert "The next prompt:" in plan.text
    assert "thinking dropped" in plan.text
    assert dumped(session) == before
    assert types(store, session) == events
    assert session.model == SONNET
    assert session.swap("openai:gpt-5") is False
    call = session.begin("next").call()
    lost = [(loss.kind, loss.path, loss.block_type) for loss in call.report.entries]
    assert lost == [(loss.kind, loss.path, loss.block_type) for loss in plan.report.entries]


def test_a_plan_for_the_model_in_use_loses_nothing(store: Store) -> None:
    session = new_session(store)
    take_turn(session, "hi", 1, calls=True)
    plan = session.plan(SONNET)
    assert list(plan.report.entries) == []
    assert "Nothing of the history is lost" in plan.text


def test_a_plan_knows_that_files_of_the_workspace_are_sent(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))
    session = Session.create(store, str(tmp_path), model=SONNET)
    picture = il.ImageBlock(il.Source("file_ref", "a.png"))
    call = take_turn(session, [il.TextBlock("What is this?"), picture], 1)[0]
    assert PIXEL in il.dumps(call.wire).decode()
    assert list(session.plan(SONNET).report) == []
    session.plan("openai:gpt-5")
    stored = session.messages()[0].content[1]
    assert stored == picture, "what is stored refers to it still"


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
