"""Providers' own lists of models, as rules."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.profiles.profile import Profile, Profiles
from interlingua.profiles.provider_lists import as_toml, rules_from_list
from interlingua.profiles.reading import read_rules
from tests.client.lists import claude


def one(key: str, *entries: dict[str, Any], model: str) -> Profile:
    """The profile that a list makes, with nothing under it."""
    return Profiles(rules_from_list(key, entries, "2026-11-17")).of(model, key)


def test_anthropic_tells_efforts_ways_of_thinking_media_and_limits() -> None:
    found = one("anthropic", claude("claude-opus-7"), model="claude-opus-7-20270101")
    assert found.reasoning.efforts == ("low", "medium", "high", "max")
    assert found.reasoning.carrier == "adaptive"
    assert (found.reasoning.off, found.reasoning.off_as) == (False, "between_tools")
    assert (found.media.image, found.media.pdf) == (True, False)
    assert (found.limits.output, found.limits.context) == (64_000, 500_000)
    assert found.output.schema == "native"
    rule = found.rule("limits.output")
    assert rule is not None
    assert (rule.id, rule.sure, rule.since) == (
        "anthropic says of claude-opus-7",
        "documented",
        "2026-11-17",
    )


def test_ollama_tells_tools_pictures_and_thinking_of_each_tag() -> None:
    plain = {"model": "qwen3:8b", "capabilities": ["completion", "tools", "thinking"]}
    seeing = {"model": "qwen3:vl", "capabilities": ["completion", "vision"]}
    window = {"model_info": {"qwen3.context_length": 40_960}}
    found = one("ollama", {**plain, **window}, seeing, model="qwen3:8b")
    assert (found.tools.calls, found.media.image) == (True, False)
    assert found.reasoning.carrier == "toggle"
    assert found.limits.context == 40_960
    other = one("ollama", {**plain, **window}, seeing, model="qwen3:vl")
    assert (other.tools.calls, other.media.image) == (False, True)
    assert other.reasoning.carrier == "none"


def test_gemini_tells_limits_and_whether_it_thinks() -> None:
    flash = {
        "name": "models/gemini-9-flash",
        "inputTokenLimit": 1000,
        "outputTokenLimit": 100,
        "maxTemperature": 2.0,
        "thinking": False,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }
    drawing = {"name": "models/imagen-9", "supportedGenerationMethods": ["predict"]}
    found = one("gemini", drawing, flash, model="gemini-9-flash")
    assert (found.limits.context, found.limits.output) == (1000, 100)
    assert found.sampling.temperature_range == (0, 2)
    assert found.reasoning.carrier == "none"
    assert len(rules_from_list("gemini", [drawing, flash], "x")) == 1


def test_openrouter_tells_which_parameters_a_model_takes() -> None:
    entry = {
        "id": "acme/large-2",
        "context_length": 9000,
        "top_provider": {"max_completion_tokens": None},
        "architecture": {"input_modalities": ["text", "image", "file"]},
        "supported_parameters": ["temperature", "tools", "reasoning", "response_format"],
        "reasoning": {"mandatory": True, "supported_efforts": ["high", "low"]},
    }
    found = one("openrouter", entry, model="acme/large-2:nitro")
    assert (found.sampling.temperature, found.sampling.top_k) == ("always", "never")
    assert found.tools.choice == ("auto",)
    assert found.output.schema == "json"
    assert found.reasoning.efforts == ("low", "high")
    assert (found.reasoning.off, found.reasoning.off_as) == (False, "lowest")
    assert (found.media.image, found.media.audio, found.media.pdf) == (True, False, True)
    assert (found.limits.output, found.limits.stop) == (None, 0)


def test_mistral_groq_and_bedrock_tell_what_they_do() -> None:
    able = {"completion_chat": True, "function_calling": True, "vision": False, "reasoning": False}
    entry = {"id": "mistral-x-2611", "aliases": ["mistral-x-latest"], "capabilities": able}
    found = one("mistral", entry, model="mistral-x-latest")
    assert (found.tools.calls, found.media.image) == (True, False)
    assert found.reasoning.carrier == "none"
    window = {"id": "acme/m", "context_window": 10, "max_completion_tokens": 5}
    assert one("groq", window, model="acme/m").limits.output == 5
    nova = {"modelId": "amazon.nova-9-v1:0", "inputModalities": ["TEXT", "IMAGE"]}
    found = one("bedrock", nova, model="eu.amazon.nova-9-v1:0")
    assert (found.media.image, found.media.video) == (True, False)


@pytest.mark.parametrize("key", ["anthropic", "bedrock", "gemini", "groq", "mistral", "ollama"])
def test_entries_that_say_nothing_or_nonsense_make_no_rule(key: str) -> None:
    name = {"id": "m", "name": "m", "model": "m", "modelId": "m"}
    odd = {"capabilities": 3, "max_tokens": "x", "context_window": -1, "inputTokenLimit": True}
    assert rules_from_list(key, [None, 3, {}, name, {**name, **odd}], "x") == []


def test_told_rules_are_a_file_that_is_read_again() -> None:
    rules = rules_from_list(
        "anthropic", [claude('odd"\\ name\n'), claude("claude-x-1")], "2026-11-17"
    )
    assert list(read_rules(as_toml(rules, "a\nb").encode(), "f")) == rules
