"""What the package's rules say of models whose behaviour is known, and of those that are new."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.exchange import EFFORTS
from interlingua.profiles.capabilities import capabilities, known_models
from interlingua.profiles.names import model_name
from interlingua.profiles.profile import GROUPS, bundled, profile_of

CLAUDE = [
    # name, takes top_p, efforts, budgets, prefill, later instructions, schema, output
    ("claude-3-5-haiku-20241022", True, None, False, "yes", "user", "tool", 8192),
    ("claude-3-7-sonnet-20250219", True, "", True, "yes", "user", "tool", 64_000),
    ("claude-opus-4-1-20250805", True, "", True, "yes", "user", "native", 32_000),
    ("claude-sonnet-4-5", True, "", True, "yes", "user", "native", 64_000),
    ("claude-opus-4-5", True, "low medium high", True, "yes", "user", "native", 64_000),
    ("claude-opus-4-6", True, "low medium high max", True, "no", "user", "native", 128_000),
    ("claude-opus-4-7", False, "low medium high xhigh max", False, "no", "user", "native", 128_000),
    (
        "claude-opus-4-8",
        False,
        "low medium high xhigh max",
        False,
        "no",
        "after-user",
        "native",
        128_000,
    ),
    (
        "claude-fable-5-1",
        False,
        "low medium high xhigh max",
        False,
        "no",
        "after-user",
        "native",
        128_000,
    ),
    (
        "claude-opus-6",
        False,
        "low medium high xhigh max",
        False,
        "no",
        "after-user",
        "native",
        128_000,
    ),
]


@pytest.mark.parametrize(
    ("name", "top_p", "efforts", "budgets", "prefill", "mid", "schema", "output"), CLAUDE
)
def test_claude_by_version(
    name: str,
    top_p: bool,
    efforts: str | None,
    budgets: bool,
    prefill: str,
    mid: str,
    schema: str,
    output: int,
) -> None:
    found = profile_of(name, "anthropic", "anthropic")
    assert (found.sampling.top_p == "always") is top_p
    assert found.reasoning.efforts == (None if efforts is None else tuple(efforts.split()))
    takes = found.reasoning.carrier == "budget" or bool(found.reasoning.budget_too)
    assert takes is budgets
    assert found.turns.prefill == prefill
    assert found.instructions.mid == mid
    assert found.output.schema == schema
    assert found.limits.output == output


@pytest.mark.parametrize(
    ("name", "off", "as_", "forced"),
    [
        ("claude-opus-4-8", True, None, True),
        ("claude-opus-5", True, None, True),
        ("claude-fable-5", False, "low", True),
        ("claude-opus-5-5", False, "low", False),
        ("claude-sonnet-5-5", False, "between_tools", False),
        ("claude-haiku-5-5", True, None, True),
    ],
)
def test_newer_claudes_that_always_think_and_call_nothing_by_force(
    name: str, off: bool, as_: str | None, forced: bool
) -> None:
    found = profile_of(name, "anthropic", "anthropic")
    assert (found.reasoning.off, found.reasoning.off_as) == (off, as_)
    assert (found.tools.choice is None) is forced


@pytest.mark.parametrize(
    ("name", "temperature", "chat", "responses", "tools"),
    [
        ("gpt-4.1", None, None, None, None),
        ("o3", "one", "low medium high", "low medium high", None),
        ("gpt-5-mini", "one", "minimal low medium high", "minimal low medium high", None),
        ("gpt-5.1", "effort-none", "none low medium high", "none low medium high", None),
        (
            "gpt-5.4",
            "effort-none",
            "none low medium high xhigh",
            "none low medium high xhigh",
            "absent",
        ),
        (
            "gpt-5.6",
            "effort-none",
            "none low medium high xhigh",
            "none low medium high xhigh max",
            "none",
        ),
        ("gpt-6.1-sol", "one", "low medium high xhigh", "low medium high xhigh max", "none"),
        (
            "gpt-6.1-terra",
            "effort-none",
            "none low medium high xhigh",
            "none low medium high xhigh max",
            "none",
        ),
    ],
)
def test_openai_by_version(
    name: str, temperature: str | None, chat: str | None, responses: str | None, tools: str | None
) -> None:
    on_chat = profile_of(name, "openai", "openai-chat")
    on_responses = profile_of(name, "openai", "openai-responses")
    assert on_chat.sampling.temperature == temperature
    assert on_chat.reasoning.efforts == (None if chat is None else tuple(chat.split()))
    assert on_responses.reasoning.efforts == (
        None if responses is None else tuple(responses.split())
    )
    assert on_chat.tools.effort == tools
    assert on_responses.tools.effort is None
    newer = name.startswith(("gpt-5.4", "gpt-5.6", "gpt-6"))
    assert on_chat.speaks.tools_dialect == ("openai-responses" if newer else None)


@pytest.mark.parametrize(
    ("name", "carrier", "efforts", "budget", "off"),
    [
        ("gemini-2.0-flash", "none", None, None, None),
        ("gemini-2.5-flash", "budget", "", (0, 24_576), True),
        ("gemini-2.5-flash-lite", "budget", "", (512, 24_576), True),
        ("gemini-2.5-pro", "budget", "", (128, 32_768), False),
        ("gemini-3.5-flash", "level", "minimal low medium high", (0, 24_576), False),
        ("gemini-3-pro-preview", "level", "low high", (0, 24_576), False),
        ("gemini-3.1-pro-preview", "level", "low medium high", (0, 24_576), False),
        ("gemini-3.8-flash", "level", "low medium high", (0, 24_576), False),
        ("gemini-4-argon", "level", "low medium high", (0, 24_576), False),
    ],
)
def test_gemini_by_version(
    name: str, carrier: str, efforts: str | None, budget: Any, off: bool | None
) -> None:
    found = profile_of(name, "gemini", "gemini").reasoning
    assert (found.carrier, found.budget, found.off) == (carrier, budget, off)
    assert found.efforts == (None if efforts is None else tuple(efforts.split()))


@pytest.mark.parametrize(
    ("provider", "dialect", "name", "field", "value"),
    [
        ("bedrock", "bedrock", "us.amazon.nova-2-lite-v1:0", "reasoning.carrier", "nova"),
        ("bedrock", "bedrock", "us.amazon.nova-pro-v1:0", "output.schema", "tool"),
        ("bedrock", "bedrock", "us.meta.llama3-3-70b-instruct-v1:0", "tools.choice", ("auto",)),
        ("bedrock", "bedrock", "openai.gpt-oss-120b-1:0", "limits.stop", 0),
        ("bedrock", "bedrock", "us.anthropic.claude-opus-4-8", "instructions.mid", "user"),
        ("bedrock", "anthropic", "anthropic.claude-opus-4-8", "instructions.mid", "after-user"),
        ("mistral", "openai-chat", "mistral-medium-3-5", "reasoning.efforts", ("none", "high")),
        ("mistral", "openai-chat", "mistral-large-2512", "reasoning.carrier", "none"),
        ("mistral", "openai-chat", "ministral-3b-latest", "sampling.logprobs", "never"),
        ("deepseek", "openai-chat", "deepseek-v4-pro", "reasoning.efforts", ("high", "max")),
        ("deepseek", "openai-chat", "deepseek-v4-flash", "tools.thinking_choice", ("auto", "none")),
        ("deepseek", "openai-chat", "deepseek-v4-pro", "output.schema", "json"),
        (
            "groq",
            "openai-chat",
            "openai/gpt-oss-20b",
            "reasoning.efforts",
            ("low", "medium", "high"),
        ),
        ("groq", "openai-chat", "llama-3.3-70b-versatile", "sampling.n", 1),
        ("xai", "openai-chat", "grok-4.7", "limits.stop", 0),
        ("xai", "openai-chat", "grok-4.6", "sampling.penalties", "never"),
        ("openrouter", "openrouter", "anthropic/claude-opus-4.8", "sampling.temperature", None),
        ("openrouter", "openrouter", "openai/gpt-6.1-sol", "reasoning.efforts", None),
        ("ollama", "ollama", "llama3.2:3b", "reasoning.carrier", "none"),
        ("ollama", "ollama", "qwen3:8b", "reasoning.carrier", None),
        ("ollama", "ollama", "somebodys-own", "reasoning.carrier", None),
        ("somebody", "openai-chat", "gpt-6.1-sol", "reasoning.efforts", None),
    ],
)
def test_other_hosts(provider: str, dialect: str, name: str, field: str, value: Any) -> None:
    group, _, each = field.partition(".")
    assert getattr(getattr(profile_of(name, provider, dialect), group), each) == value


def test_every_rule_says_something_and_means_some_model() -> None:
    for rule in bundled().rules:
        assert any(getattr(rule, group) is not None for group in GROUPS), rule.id
        efforts = rule.reasoning.efforts if rule.reasoning else None
        if efforts:
            assert list(efforts) == sorted(efforts, key=EFFORTS.index), rule.id


def test_what_a_fold_says_goes_together() -> None:
    """Whatever is asked, what stands for `off` can be said, and a budget has its limits."""
    for id in known_models():
        provider, name = model_name(id)
        for dialect in ("anthropic", "openai-chat", "openai-responses", "gemini", "bedrock"):
            content = profile_of(name, provider, dialect).reasoning
            if content.off is False and content.carrier in ("effort", "level", "adaptive"):
                assert content.off_as in (*(content.efforts or ()), "lowest", "between_tools"), id
            if content.carrier == "budget" or content.budget_too:
                assert content.budget is not None, id


def test_a_model_that_cannot_be_told_how_to_think_may_think_all_the_same() -> None:
    found = profile_of("grok-4-1-fast-reasoning", "xai", "openai-responses")
    assert found.reasoning.carrier == "none"
    assert capabilities("xai:grok-4-1-fast-reasoning").supports_thinking
    assert not capabilities("gemini:gemini-2.0-flash").supports_thinking
