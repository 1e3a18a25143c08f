"""The cache simulator: vendors' rules on sequences of prompts, and on recorded traffic."""

from __future__ import annotations

import re

import pytest

from interlingua.costs.caching import (
    CachePrediction,
    CacheSimulator,
    Prompt,
    cache_rule,
    cache_rules,
    seconds_of,
)
from tests.costs.cache_replay import compared
from tests.laws.corpus import corpus_or_skip

SONNET = "anthropic:claude-sonnet-4-6"
SOL = "openai:gpt-6.1-sol"


def prompt(*parts: int, marks: dict[int, str | None] | None = None, name: str = "a") -> Prompt:
    """A prompt of parts with so many tokens; prompts of one name share what they have in common."""
    ends = [float(sum(parts[: at + 1])) for at in range(len(parts))]
    keys = [(name, parts[: at + 1]) for at in range(len(parts))]
    return Prompt(keys, ends, len(parts), marks or {})


def counts(predicted: CachePrediction) -> tuple[int, int, int]:
    return predicted.cached, predicted.written, predicted.fresh


def test_claude_writes_up_to_the_last_mark_and_reads_it_again() -> None:
    cache = CacheSimulator(SONNET)
    assert counts(cache.send(prompt(2000, 500, 3, marks={2: None}), 0)) == (0, 2500, 3)
    later = prompt(2000, 500, 400, 3, marks={3: None})
    assert counts(cache.send(later, 60)) == (2500, 400, 3)


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (SONNET, 1024),
        ("anthropic:claude-haiku-4-5", 4096),
        ("anthropic:claude-opus-4-7", 2048),
        ("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096),
        ("openrouter:anthropic/claude-fable-5", 512),
        (SOL, 1024),
        ("openai:gpt-4o", 1024),
    ],
)
def test_below_the_minimum_of_the_model_nothing_is_cached(model: str, least: int) -> None:
    for tokens, expected in ((least - 1, False), (least, True)):
        cache = CacheSimulator(model)
        first = cache.send(prompt(tokens, 10, marks={1: None}), 0)
        second = cache.send(prompt(tokens, 20, marks={1: None}), 1)
        assert bool(second.cached) is expected
        assert first.cached == 0


def test_an_entry_ends_with_its_lifetime_and_a_read_begins_it_anew() -> None:
    cache = CacheSimulator(SONNET)
    same = prompt(2000, marks={1: None})
    assert cache.send(same, 0).written == 2000
    assert cache.send(same, 299).cached == 2000
    assert cache.send(same, 299 + 299).cached == 2000
    assert cache.send(same, 299 + 299 + 301).cached == 0
    hour = CacheSimulator(SONNET)
    lasting = prompt(2000, marks={1: "1h"})
    assert hour.send(lasting, 0).long_written == 2000
    assert hour.send(lasting, 3599).cached == 2000


def test_writes_are_counted_by_their_lifetime() -> None:
    predicted = CacheSimulator(SONNET).send(prompt(2000, 700, 5, marks={1: "1h", 2: None}), 0)
    assert (predicted.written, predicted.long_written, predicted.fresh) == (2700, 2000, 5)


def test_claude_looks_back_over_twenty_blocks_only() -> None:
    short, long = [2000, *[10] * 19], [2000, *[10] * 20]
    for parts, cached in ((short, 2000), (long, 0)):
        cache = CacheSimulator(SONNET)
        cache.send(prompt(2000, marks={1: None}), 0)
        assert cache.send(prompt(*parts, marks={len(parts): None}), 1).cached == cached


def test_only_the_last_four_marks_count() -> None:
    cache = CacheSimulator(SONNET)
    cache.send(prompt(2000, 10, 10, 10, 10, marks=dict.fromkeys(range(1, 6))), 0)
    assert cache.send(prompt(2000, 99, marks={1: None}), 1).cached == 0


def test_openai_before_breakpoints_reads_whole_steps_of_what_is_shared() -> None:
    cache = CacheSimulator("openai:gpt-4o")
    assert counts(cache.send(prompt(1370), 0)) == (0, 0, 1370)
    again = cache.send(prompt(1370, 20), 5)
    assert counts(again) == (1280, 0, 110)
    assert not again.sure
    assert cache.send(prompt(1370, 20), 5 + 601).cached == 0


def test_openai_with_breakpoints_writes_the_end_of_each_prompt() -> None:
    cache = CacheSimulator(SOL)
    assert counts(cache.send(prompt(1217), 0)) == (0, 1217, 0)
    assert counts(cache.send(prompt(1217, 100), 1700)) == (1217, 100, 0)
    assert cache.send(prompt(1217, 100), 1700 + 1801).cached == 0


def test_openai_in_explicit_mode_writes_at_marks_only() -> None:
    explicit = prompt(4012, 8, marks={1: None})._replace(explicit=True)
    cache = CacheSimulator(SOL)
    assert counts(cache.send(explicit, 0)) == (0, 4012, 8)
    assert counts(cache.send(explicit, 1)) == (4012, 0, 8)


def test_openai_finds_the_latest_eighty_breakpoints() -> None:
    cache = CacheSimulator(SOL)
    parts = [2000]
    cache.send(prompt(*parts), 0)
    for at in range(1, 81):  # these expire, and stand between the first and the last prompt
        parts.append(at)
        cache.send(prompt(*parts), 0)
    cache.warm(prompt(2000).keys[0], 5000)
    assert cache.send(prompt(*parts, 7), 5000).cached == 0
    assert cache.send(prompt(*parts[:80], 7), 5000).cached == 2000


def test_some_vendors_cache_answers_with_their_prompts() -> None:
    cache = CacheSimulator("deepseek:deepseek-v4-flash")
    cache.send(prompt(300), 0)
    later = prompt(300, 100, 50)
    assert cache.send(later._replace(answers=frozenset({2})), 1).cached == 384
    fresh = CacheSimulator("deepseek:deepseek-v4-flash")
    fresh.send(prompt(300), 0)
    assert fresh.send(later, 1).cached == 256


def test_a_longer_lifetime_that_a_request_asks_for_counts_where_the_vendor_has_it() -> None:
    for model, cached in (("moonshot:kimi-k3", 3840), ("openai:gpt-4o", 0)):
        cache = CacheSimulator(model)
        cache.send(prompt(4000)._replace(lifetime="1h"), 0)
        assert cache.send(prompt(4000, 50), 1800).cached == cached
        assert cache.send(prompt(4000, 50), 9000).cached == 0


def test_other_prompts_share_nothing() -> None:
    for model in (SONNET, SOL, "openai:gpt-4o"):
        cache = CacheSimulator(model)
        cache.send(prompt(5000, marks={1: None}), 0)
        assert cache.send(prompt(5000, marks={1: None}, name="b"), 1).cached == 0


def test_every_rule_says_who_says_so() -> None:
    rules = cache_rules()
    assert rules[-1].match == ""  # every model has a rule
    for rule in rules:
        assert rule.source, rule.id
        assert 0 < rule.realised <= 1
        assert rule.finds == "none" or all(seconds_of(each) > 0 for each in rule.lifetimes)
        re.compile(rule.match)
    assert any("Sonnet 4.6" in text for text in cache_rule(SONNET).differs)
    assert cache_rule("acme:large").finds == "none"


def test_claude_in_recorded_conversations_is_predicted() -> None:
    """Recorded answers of Claude that the rules decide: within five hundredths of the prompt."""
    corpus_or_skip()
    found = [each for each in compared(("anthropic",)) if each.rule.id == "claude"]
    near = [each for each in found if each.verdict == "near"]
    far = [each for each in found if each.verdict == "far" and each.usage.prompt_tokens >= 200]
    assert len(near) >= 40
    assert far == []


@pytest.mark.parametrize(
    ("model", "rule", "minimum", "step", "guess"),
    [
        ("gemini:gemini-2.0-flash", "gemini-before", 0, 1, False),
        ("gemini:gemini-2.5-pro", "gemini-2.5", 2048, 1, True),
        ("vertex:gemini-3.6-flash", "gemini", 4096, 1, True),
        ("moonshot:kimi-k3", "kimi", 256, 256, False),
        ("openrouter:moonshotai/kimi-k3", "open-models", 64, 64, True),
        ("mistral:mistral-small-latest", "mistral", 16, 16, True),
        ("ollama:qwen3", "no-counts", 0, 1, False),
    ],
)
def test_what_vendors_state_and_what_is_guessed(
    model: str, rule: str, minimum: int, step: int, guess: bool
) -> None:
    found = cache_rule(model)
    assert (found.id, found.minimum, found.step, found.guess) == (rule, minimum, step, guess)
