"""What the next request will read from the cache and cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import interlingua as il
from interlingua.costs.ahead import ahead
from interlingua.model.metadata import MessageMetadata, Usage

SONNET = "anthropic:claude-sonnet-4-6"
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def request(age: timedelta, model: str = SONNET) -> il.Request:
    rules = il.Message.system("Answer as a miller would. " * 400)
    usage = Usage(3, 50, 0, 4000)
    answer = il.Message.assistant("Rye.", MessageMetadata(model=model, usage=usage))
    asked = (rules, il.Message.user("Which?"), answer.replace(created_at=NOW - age))
    return il.Request((*asked, il.Message.user("Why?")), SONNET)


def test_the_last_prompt_is_read_again_while_it_lives() -> None:
    found = ahead(request(timedelta(minutes=2)), SONNET, NOW)
    assert 3990 <= found.cached <= 4010  # as the last usage counted it
    assert 0 < found.written < 60
    assert found.sure
    assert found.cost_usd is not None
    assert Decimal("0.0012") < found.cost_usd < Decimal("0.0016")
    assert "from the cache" in found.text


def test_an_old_prompt_and_that_of_another_model_are_gone() -> None:
    for gone in (request(timedelta(minutes=6)), request(timedelta(0), "openai:gpt-5")):
        found = ahead(gone, SONNET, NOW)
        assert found.cached == 0
        assert found.written > 2000
        assert "written to it" in found.text


def test_what_is_too_short_is_fresh() -> None:
    found = ahead(il.Request((il.Message.user("Why?"),), SONNET), SONNET, NOW)
    assert (found.cached, found.written) == (0, 0)
    assert found.text.endswith("none of them cached")
    assert ahead(il.Request((il.Message.user("?"),)), "acme:large", NOW).cost_usd is None
