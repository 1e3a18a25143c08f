"""The developers' comparison of our rules with other tools' data, on data that are made up."""

from __future__ import annotations

from bench.profiles.peers import genai_prices, litellm, pi_ai
from bench.profiles.refresh import compared, disagreements, is_unknown, summary

LITELLM = {
    "claude-opus-4-6": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "max_output_tokens": 128_000,
        "supports_assistant_prefill": True,
        "supports_forced_tool_use": False,
    },
    "gemini/gemini-2.5-pro": {
        "litellm_provider": "gemini",
        "mode": "chat",
        "max_output_tokens": 1,
    },
    "text-embedding-9": {"litellm_provider": "openai", "mode": "embedding"},
    "ft:gpt-4o": {"litellm_provider": "openai", "mode": "chat"},
}
PI = {
    "anthropic": {
        "anthropic-messages": {
            "chat:claude-opus-4-6": {
                "id": "claude-opus-4-6",
                "api": "anthropic-messages",
                "input": ["text"],
                "maxTokens": 64_000,
                "thinkingLevelMap": {"off": None, "low": "low", "medium": "medium", "high": "high"},
            }
        }
    }
}
GENAI = b"""
providers = [Provider(id='groq', models=[ModelInfo(id='acme/m', context_window=7), 3]), run()]
"""


def test_what_differs_is_told_with_the_rule_of_ours() -> None:
    facts = [*litellm(LITELLM), *pi_ai(PI)]
    lines = {(line.model, line.field, line.source): line for line in compared(facts)}
    prefill = lines["claude-opus-4-6", "turns.prefill", "litellm"]
    assert (prefill.ours, prefill.theirs, prefill.rule) == ("no", "yes", "claude-no-prefill")
    assert "ours no (claude-no-prefill)  litellm yes" in str(prefill)
    assert ("gemini-2.5-pro", "limits.output", "litellm") in lines
    assert ("claude-opus-4-6", "reasoning.efforts", "pi-ai") in lines
    assert ("claude-opus-4-6", "limits.output", "litellm") not in lines  # they agree with us
    assert ("claude-opus-4-6", "tools.choice", "litellm") not in lines  # we say nothing
    assert all(line.model in ("claude-opus-4-6", "gemini-2.5-pro") for line in lines.values())


def test_sources_that_differ_among_themselves_are_counted() -> None:
    facts = [*litellm(LITELLM), *pi_ai(PI)]
    assert disagreements(facts) == [("anthropic", "claude-opus-4-6", "limits.output")]
    assert summary(facts, compared(facts))[0].startswith("3 models told, ")


def test_data_that_are_code_are_read_and_not_run() -> None:
    (fact,) = genai_prices(GENAI)
    assert (fact.provider, fact.model, fact.said) == ("groq", "acme/m", {"limits.context": 7})
    assert is_unknown(fact)
