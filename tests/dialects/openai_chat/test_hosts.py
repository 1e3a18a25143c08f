"""Requests for services that differ from OpenAI's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat.hosts import host_differs
from interlingua.dialects.openai_chat.request import write_request
from interlingua.dialects.openai_chat.tables import HOSTS, SWITCHES
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.losses import Report
from interlingua.model.message import Message
from tests.dialects.openai_chat.wires import assistant, losses, made, result, text


def sent(host: str, *messages: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    request = Request(messages, "model", **more)
    scribe = LossRecorder("openai-chat", request, Report("openai-chat"))
    return write_request(request, scribe, host), scribe.report


CALLING = made(ThinkingBlock("Hm."), ToolUseBlock("toolu_1", "f", {}))
TALKING = made(ThinkingBlock("Hm."), TextBlock("Hi"))


@pytest.mark.parametrize(
    ("host", "limit", "seed", "user"),
    [
        ("openai", "max_completion_tokens", "seed", "safety_identifier"),
        ("mistral", "max_tokens", "random_seed", None),
        ("deepseek", "max_tokens", None, None),
        ("xai", "max_completion_tokens", "seed", "user"),
    ],
)
def test_options_have_the_hosts_names(
    host: str, limit: str, seed: str | None, user: str | None
) -> None:
    options = Options(max_output_tokens=9, seed=7, user="u1")
    wire, report = sent(host, Message.user("a"), options=options)
    own = {limit: 9, **({seed: 7} if seed else {}), **({user: "u1"} if user else {})}
    assert wire.items() >= own.items()
    names = [name for name, word in (("user", user), ("seed", seed)) if word is None]
    assert losses(report) == [("dropped", f"$.options.{name}") for name in names]


@pytest.mark.requirement("P15", "P16")
def test_mistral_takes_ids_of_nine_letters_and_digits() -> None:
    wire, _ = sent("mistral", CALLING, Message.tool_result("toolu_1", "ok"))
    id = wire["messages"][0]["tool_calls"][0]["id"]
    assert len(id) == 9
    assert id.isalnum()
    assert wire["messages"][1] == result("ok", id)


@pytest.mark.parametrize("host", ["mistral", "deepseek"])
def test_where_there_is_no_developer_he_is_the_system(host: str) -> None:
    wire, report = sent(host, Message.developer("Be kind."))
    assert wire["messages"][0]["role"] == "system"
    assert losses(report) == [("downgraded", "$.messages[0].role")]


@pytest.mark.requirement("P44")
def test_deepseek_gets_its_thinking_back_with_calls_and_only_then() -> None:
    wire, report = sent("deepseek", CALLING, TALKING, made(ToolUseBlock("toolu_2", "f", {})))
    calling, talking, silent = wire["messages"]
    assert calling["reasoning_content"] == "Hm."
    assert talking == assistant("Hi")
    assert silent["reasoning_content"] == ""
    assert losses(report) == [("dropped", "$.messages[1].content[0]")]


@pytest.mark.parametrize(("host", "key"), [("groq", "reasoning"), ("xai", "reasoning_content")])
def test_some_hosts_may_have_thinking_back(host: str, key: str) -> None:
    wire, report = sent(host, TALKING)
    assert wire["messages"] == [assistant("Hi", **{key: "Hm."})]
    assert not report.entries


@pytest.mark.parametrize("host", ["openai", "azure"])
def test_others_must_not(host: str) -> None:
    assert sent(host, TALKING)[0]["messages"] == [assistant("Hi")]


def test_mistral_has_thinking_among_the_text() -> None:
    wire, report = sent("mistral", TALKING)
    thinking = {"type": "thinking", "thinking": [text("Hm.")]}
    assert wire["messages"] == [assistant([thinking, text("Hi")])]
    assert not report.entries


def test_every_host_takes_some_ids() -> None:
    assert all(host.ids.fit("a|b" * 40) for host in HOSTS.values() if host.ids is not None)


VALUES: dict[str, Any] = {
    **dict.fromkeys(("n", "top_k", "logprobs", "top_logprobs", "seed", "random_seed"), 2),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "top_logprobs"), 9),
    **dict.fromkeys(("temperature", "top_p", "min_p", "repetition_penalty"), 0.5),
    **dict.fromkeys(("frequency_penalty", "presence_penalty"), 0.5),
    "logprobs": True,
    "parallel_tool_calls": False,
    "functions": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
    "function_call": {"name": "f"},
    "logit_bias": {"5": 1},
    "metadata": {"a": "b"},
    "modalities": ["text", "audio"],
    "reasoning": {"effort": "high"},
    "reasoning_effort": "high",
    "service_tier": "flex",
    "stream_options": {"include_usage": True},
    "thinking": {"type": "enabled"},
    "enable_thinking": True,
    "chat_template_kwargs": {"enable_thinking": True},
    "prompt_cache_options": {"mode": "explicit"},
    "prompt_cache_retention": "24h",
    "verbosity": "low",
    "cache_control": {"type": "ephemeral"},
    "user": "u",
    "safety_identifier": "u",
    "prompt_cache_key": "k",
}
"""A value of each key that is read; any does for the others."""
OTHER_WORDS = {
    "functions": {"tools"},
    "function_call": {"tool_choice"},
    "max_completion_tokens": {"max_tokens"},
    "random_seed": {"seed"},
    "seed": {"random_seed"},
    "safety_identifier": {"user"},
    **{key: {"reasoning_effort", "thinking", "reasoning"} for key in ("reasoning", *SWITCHES)},
}
"""Under which keys a host may take what another calls by a word of its own."""


@pytest.mark.parametrize("target", HOSTS)
def test_each_word_of_each_host_arrives_or_is_reported(target: str) -> None:
    for key in sorted(set().union(*(host.lacks for host in HOSTS.values())) - IN_MESSAGES):
        value = VALUES.get(key, "x")
        beside = {"logprobs": True} if key == "top_logprobs" else {}
        body = {"model": "m", "messages": [{"role": "user", "content": "a"}], key: value, **beside}
        request = il.dialect("openai-chat").read_request(body)
        scribe = LossRecorder("openai-chat", request, Report("openai-chat"))
        wire = write_request(request, scribe, target)
        renamed = OTHER_WORDS.get(key, set()) & wire.keys()
        if key in HOSTS[target].lacks:
            assert key not in wire, (key, target)
            assert renamed or scribe.report.entries, (key, target)
        else:
            assert wire.get(key) == value or renamed, (key, target)


IN_MESSAGES = frozenset({"annotations", "refusal", "prefix", "partial", "executed_tools"})


@pytest.mark.parametrize("target", HOSTS)
def test_words_of_hosts_in_messages(target: str) -> None:
    lacks = HOSTS[target].lacks
    turn = {"role": "assistant", "content": "a", "prefix": True, "partial": True}
    empty = {"refusal": None, "annotations": [], "function_call": None, "audio": None}
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}, {**turn, **empty}]}
    result = il.convert(body, "openai-chat", target="openai-chat", model=f"{target}:m")
    assert lacks.isdisjoint(result.wire["messages"][1])
    at = [loss.at for loss in result.report]
    assert at == [(f"$.messages[1].{key}",) for key in ("prefix", "partial") if key in lacks]


def test_the_call_of_a_function_is_one_of_a_tool_where_there_are_no_functions() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "b"}
    body = {"messages": [{"role": "user", "content": "a"}, call, answer]}
    _, called, answered = il.convert(body, "openai-chat", to="mistral").wire["messages"]
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert (answered["role"], "function_call" in called) == ("tool", False)


def test_what_no_host_is_known_to_have_is_passed_on() -> None:
    body = {"messages": [{"role": "user", "content": "a"}], "newest": 1}
    result = il.convert(body, "openai-chat", to="groq")
    assert (result.wire["newest"], bool(result.report)) == (1, False)


def test_two_seeds_that_differ_are_not_one() -> None:
    body = {"messages": [{"role": "user", "content": "a"}], "seed": 1, "random_seed": 2}
    result = il.convert(body, "openai-chat", to="groq")
    assert result.wire["seed"] == 1
    assert [loss.at for loss in result.report] == [("$.random_seed",)]


@pytest.mark.parametrize(
    ("host", "body", "differs"),
    [
        ("groq", {"random_seed": 1}, True),
        ("groq", {"seed": 1}, False),
        ("mistral", {"seed": 1}, True),
        ("openai", {"safe_prompt": True}, True),
        ("openai", {"newest": True}, False),
    ],
)
def test_a_gateway_knows_bodies_with_words_of_other_hosts(
    host: str, body: dict[str, Any], differs: bool
) -> None:
    assert host_differs(HOSTS[host], json.dumps({"model": "m", **body}).encode()) is differs
