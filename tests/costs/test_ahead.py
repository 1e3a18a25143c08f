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
        assert "written to the cache" in found.text
    assert (
        "the last prompt was sent 6 minutes ago"
        in ahead(request(timedelta(minutes=6)), SONNET, NOW).text
    )


def test_what_is_too_short_is_fresh() -> None:
    found = ahead(il.Request((il.Message.user("Why?"),), SONNET), SONNET, NOW)
    assert (found.cached, found.written) == (0, 0)
    assert found.text.endswith(
        "none of them cached (the model caches prompts of 1,024 tokens or more)"
    )


def test_a_turn_of_many_blocks_is_found_at_the_mark_before_it() -> None:
    known = request(timedelta(minutes=2))
    parts = tuple(il.TextBlock(f"part {number}") for number in range(30))
    many = known.replace(messages=(*known.messages[:-1], il.Message.user(parts)))
    assert ahead(many, SONNET, NOW).cached >= 3990
    assert ahead(many, SONNET, NOW, caching="pass").cached == 0


def test_the_mode_decides_what_is_marked() -> None:
    known = request(timedelta(minutes=2))
    for mode in ("pass", "off"):
        found = ahead(known, SONNET, NOW, caching=mode)
        assert (found.cached, found.written) == (0, 0)
        assert "no breakpoints" in found.text
    longer = known.replace(options=il.Options(cache_ttl="24h"))
    dear = ahead(longer, SONNET, NOW + timedelta(minutes=30))
    cheap = ahead(longer, SONNET, NOW + timedelta(minutes=90))
    assert dear.cached >= 3990
    assert cheap.cached == 0
    assert cheap.cost_usd is not None
    assert cheap.cost_usd > Decimal("6e-6") * cheap.written * Decimal("0.99")  # twice as much


def test_what_is_not_known_is_named() -> None:
    asked = request(timedelta(minutes=2))
    assert ahead(asked, SONNET, NOW).unknown == ()
    found = ahead(asked, "acme:large", NOW)
    assert found.cost_usd is None
    assert [each.partition(" (")[0] for each in found.unknown] == [
        "how many tokens the prompt has",
        "how acme:large caches",
        "the cost",
    ]
    answer = asked.messages[2]
    gpt = answer.replace(metadata=answer.metadata.replace(model="openai:gpt-4o"))
    other = asked.replace(messages=(*asked.messages[:2], gpt, asked.messages[3]))
    assert ahead(other, "openai:gpt-4o", NOW).unknown == (
        "whether the prompt is still cached (openai promises no hit)",
    )
    cold = ahead(asked, "openai:gpt-4o", NOW).unknown
    assert cold[1] == "whether earlier requests of other conversations are still in the cache"
