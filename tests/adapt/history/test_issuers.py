"""Who can verify a signature, and read what is sealed."""

from __future__ import annotations

import pytest

import interlingua as il
from tests.adapt.history.conversations import (
    SIGNED,
    USER,
    assistant,
    by_host,
    call,
    losses,
    result,
    target,
    told,
)


@pytest.mark.requirement("P1", "P2", "P6")
def test_own_thinking_goes_back_unchanged_and_in_place() -> None:
    empty = il.ThinkingBlock("", "c2lnMg")
    message = assistant(SIGNED, empty, il.TextBlock("yes"), call(), protocol="anthropic")
    out = told([USER, message, result()], target())
    assert out.value == (USER, message, result())
    assert out.report.entries == []


@pytest.mark.requirement("P5")
def test_the_signing_family_may_read_it_and_strictness_narrows_that() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="bedrock")
    assert told([USER, message], target()).value[1] == message
    strict = told([USER, message], target(), strict_issuer=True)
    assert losses(strict) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.requirement("P4", "P43", "S002-86")
def test_foreign_thinking_is_left_out_and_never_becomes_text() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="openai-responses")
    out = told([USER, message], target())
    assert out.value[1].content == (il.TextBlock("yes"),)
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


def test_another_model_of_the_same_family_cannot_read_it() -> None:
    message = assistant(SIGNED, il.TextBlock("yes"), protocol="anthropic", model="anthropic:opus")
    assert told([USER, message], target(), model="opus").report.entries == []
    out = told([USER, message], target(), model="sonnet")
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.requirement("P7", "S003-12")
def test_foreign_signatures_on_text_and_calls_go_and_the_rest_stays() -> None:
    message = assistant(il.TextBlock("yes", "s1"), call(signature="s2"), protocol="gemini")
    out = told([USER, message, result()], target())
    assert out.value[1].content == (il.TextBlock("yes"), call())
    assert losses(out) == [
        ("dropped", "$.messages[1].content[0].signature"),
        ("dropped", "$.messages[1].content[1].signature"),
    ]


@pytest.mark.requirement("P8")
def test_an_aggregator_gets_back_what_it_was_given_and_so_does_the_issuer_it_names() -> None:
    detail = {"openrouter": {"format": "anthropic-claude-v1"}}
    message = assistant(SIGNED.replace(raw=detail), call(), protocol="openrouter")
    history = [USER, message, result()]
    assert told(history, target("openrouter", family="openrouter")).value[1] == message
    assert told(history, target()).value[1] == message
    assert losses(told(history, target("gemini", family="google"))) == [
        ("dropped", "$.messages[1].content[0]")
    ]


@pytest.mark.requirement("S002-86")
def test_redacted_thinking_stays_with_its_issuer() -> None:
    message = assistant(il.RedactedThinkingBlock("xx"), il.TextBlock("a"), protocol="anthropic")
    assert told([USER, message], target()).report.entries == []
    out = told([USER, message], target("gemini", family="google"))
    assert losses(out) == [("dropped", "$.messages[1].content[0]")]


UNSIGNED = il.ThinkingBlock("hm")


def test_a_host_that_signs_nothing_gets_its_own_thinking_back() -> None:
    chat = target("openai-chat", family=None)
    history = [USER, by_host(UNSIGNED, call()), result()]
    own = told(history, chat, model="thinker", provider="deepseek")
    assert own.value == tuple(history)
    assert own.report.entries == []
    for other in ({"model": "other", "provider": "deepseek"}, {"provider": "groq"}):
        assert losses(told(history, chat, **other)) == [("dropped", "$.messages[1].content[0]")]


def test_sealed_thinking_goes_back_by_whoever_handed_it_on() -> None:
    chat = target("openai-chat", family=None)
    sealed = il.RedactedThinkingBlock("xx", raw={"openai-chat": {"format": "openai-responses-v1"}})
    message = by_host(sealed, il.TextBlock("a"), provider="vercel")
    assert told([USER, message], chat, provider="vercel").report.entries == []
    openai = target("openai-responses", family="openai")
    assert told([USER, message], openai).report.entries == []
    assert losses(told([USER, message], target())) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.parametrize(
    "named",
    [
        "claude-sonnet-4-5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
    ],
)
def test_a_model_is_itself_under_all_of_its_names(named: str) -> None:
    content = assistant(
        SIGNED, protocol="bedrock", model="bedrock:anthropic.claude-sonnet-4-5-v1:0"
    )
    assert told([USER, content], target(), model=named).report.entries == []


def test_a_tag_of_ollama_is_no_provider() -> None:
    content = assistant(UNSIGNED, protocol="ollama", model="ollama:qwen3:8b", provider="ollama")
    ollama = target("ollama", family=None)
    assert told([USER, content], ollama, model="qwen3:8b", provider="ollama").report.entries == []
    assert losses(told([USER, content], ollama, model="llama3:8b", provider="ollama")) != []


def test_from_claude_5_on_thinking_is_bound_to_the_account() -> None:
    new, old = "claude-opus-5", "claude-opus-4-1"
    for model, paths in ((new, ["$.messages[1].content[0]"]), (old, [])):
        content = assistant(
            SIGNED,
            il.TextBlock("yes"),
            protocol="bedrock",
            provider="bedrock",
            model=f"bedrock:{model}",
        )
        abroad = told([USER, content], target(), model=model, provider="anthropic")
        assert [path for _, path in losses(abroad)] == paths
        vertex = assistant(
            SIGNED,
            il.TextBlock("yes"),
            protocol="anthropic",
            provider="vertex",
            model=f"vertex:{model}",
        )
        other = told([USER, vertex], target(), model=model, provider="anthropic")
        assert [path for _, path in losses(other)] == paths
        own = told([USER, vertex], target(), model=model, provider="vertex")
        assert own.report.entries == []
