"""What sessions would have cost on other models."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from interlingua.costs.cost import cost_of, total
from interlingua.costs.elsewhere import Asked, Elsewhere, estimate_error
from interlingua.costs.table import bundled
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage

SONNET = "anthropic:claude-sonnet-4-6"
OLDER = "anthropic:claude-sonnet-4-5"
SOL = "openai:gpt-6.1-sol"
START = datetime(2026, 11, 10, 12, tzinfo=UTC)
WORDS = "The miller weighs the flour and writes the number into his book. " * 12


def session(
    requests: int = 12, head: int = 15_000, gap: int = 30, model: str = SONNET
) -> list[Asked]:
    """Claude as it is really used: each prompt reads the one before it and writes what is new."""
    asked, prompt, at = [], head, START
    for number in range(requests):
        grown = 300
        fresh, cached, written = (0, 0, prompt + grown) if not number else (0, prompt, grown)
        prompt += grown
        at += timedelta(seconds=gap)
        usage = Usage(fresh, 80, cached, written)
        answer = Message.assistant(WORDS[:300], MessageMetadata(model=model, usage=usage))
        added = [Message.user(f"{number}: {WORDS}")]
        if asked:
            added = [asked[-1].answer, *added]
        asked.append(Asked(added, answer.replace(created_at=at)))
    return asked


def recorded(asked: list[Asked], model: str = SONNET) -> Decimal:
    usages = [each.answer.metadata.usage or Usage() for each in asked]
    return total(*(cost_of(usage, model).total for usage in usages))


def replayed(asked: list[Asked], *models: str) -> Elsewhere:
    costs = Elsewhere(models, bundled())
    costs.replay(asked)
    return costs


def test_the_model_that_was_used_costs_what_was_recorded() -> None:
    asked = session()
    spent = replayed(asked, SONNET).spent[SONNET]
    assert spent.cost_usd == spent.low_usd == spent.high_usd == recorded(asked)


def test_a_sibling_at_the_same_price_costs_nearly_the_same() -> None:
    asked = session(40)
    costs = replayed(asked, OLDER)
    spent = costs.spent[OLDER]
    assert spent.cost_usd is not None
    assert abs(spent.cost_usd / recorded(asked) - 1) < Decimal("0.05")
    assert spent.low_usd is not None
    assert spent.high_usd is not None
    assert spent.low_usd < recorded(asked) < spent.high_usd
    assert costs.hidden / 40 > 14_000  # what no message holds


def test_an_hour_between_requests_empties_the_cache() -> None:
    quick, slow = (replayed(session(gap=gap), SOL).spent[SOL] for gap in (30, 3600))
    assert quick.cached > 0
    assert slow.cached == 0
    assert slow.cost_usd is not None
    assert quick.cost_usd is not None
    assert slow.cost_usd > 2 * quick.cost_usd


def test_a_prompt_that_begins_anew_reads_its_instructions_only() -> None:
    asked = session()
    summary = Message.user("Summary: the flour was weighed.")
    last = asked[-1]
    usage = Usage(0, 80, 15_000, 900)
    answer = last.answer.replace(metadata=MessageMetadata(model=SONNET, usage=usage))
    spent = replayed(asked, SOL).spent[SOL]
    more = replayed([*asked, Asked([summary], answer, restart=True)], SOL).spent[SOL]
    grown = more.prompt - spent.prompt
    assert 0.7 * 15_900 < grown < 1.2 * 15_900
    assert 0 < more.cached - spent.cached < grown


def test_what_changed_unseen_changes_elsewhere_too() -> None:
    """Claude promises a hit; where it reported none, the prompt was another."""
    asked = session()
    broken = asked[6].answer
    usage = Usage(0, 80, 0, (broken.metadata.usage or Usage()).prompt_tokens)
    asked[6] = asked[6]._replace(
        answer=broken.replace(metadata=broken.metadata.replace(usage=usage))
    )
    whole, missed = replayed(session(), SOL).spent[SOL], replayed(asked, SOL).spent[SOL]
    assert missed.written - whole.written > 10_000
    assert abs(missed.prompt - whole.prompt) < 100


def test_what_the_first_request_read_was_there_elsewhere_too() -> None:
    asked = session()
    first = asked[0].answer
    usage = Usage(0, 80, 14_000, 1_300)
    asked[0] = asked[0]._replace(answer=first.replace(metadata=first.metadata.replace(usage=usage)))
    warm, cold = replayed(asked, SOL).spent[SOL], replayed(session(), SOL).spent[SOL]
    assert warm.cached > cold.cached + 10_000


def test_sessions_without_usage_are_estimated() -> None:
    asked = [
        each._replace(answer=each.answer.replace(metadata=MessageMetadata(model=SONNET)))
        for each in session()
    ]
    costs = replayed(asked, SOL)
    assert (costs.unanchored, costs.hidden) == (12, 0)
    spent = costs.spent[SOL]
    assert spent.cost_usd is not None
    assert spent.low_usd is not None
    assert 0 < spent.low_usd < spent.cost_usd
    assert costs.recorded.cost_usd is None  # never silently 0
    assert costs.recorded.unpriced == 12


def test_copies_are_part_of_prompts_and_not_of_costs() -> None:
    asked = session()
    copied = [each._replace(counts=number >= 6) for number, each in enumerate(asked)]
    costs = replayed(copied, SOL)
    assert costs.recorded.requests == costs.spent[SOL].requests == 6
    assert costs.spent[SOL].cached > 0.8 * costs.spent[SOL].prompt


def test_a_model_without_a_price_is_unpriced() -> None:
    costs = replayed(session(model="acme:large"), SOL)
    assert costs.recorded.cost_usd is None
    assert costs.recorded.unpriced == 12
    assert costs.spent[SOL].cost_usd is not None


def test_a_tool_without_a_price_is_named() -> None:
    asked = session()
    first = asked[0].answer
    usage = Usage(10, 80, tool_uses={"web_search": 2})
    asked[0] = asked[0]._replace(answer=first.replace(metadata=first.metadata.replace(usage=usage)))
    costs = replayed(asked, SOL, "deepseek:deepseek-v4-pro")
    assert [(each.unpriced, [*each.lacks]) for each in costs.spent.values()] == [
        (0, []),
        (1, ["web_search"]),
    ]
    assert costs.spent["deepseek:deepseek-v4-pro"].cost_usd is not None


def test_errors_are_known_for_every_family() -> None:
    models = (SONNET, SOL, "gemini:gemini-3-flash-preview", "acme:large")
    assert [estimate_error(model) for model in models] == [0.051, 0.046, 0.084, 0.1]
