"""What a request is adapted to: a dialect, the rules of a model, and who serves it."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.sessions.adapters.adapter import Adapter
from tests.adapt.writing import written_for

CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "temperature": 0.3,
    "reasoning_effort": "xhigh",
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-opus-4-6",
        "openai:gpt-5.6",
        "gemini:gemini-2.5-pro",
        "bedrock:us.amazon.nova-2-lite-v1:0",
        "mistral:mistral-medium-3-5",
        "deepseek:deepseek-v4-pro",
        "openrouter:openai/gpt-5",
        "ollama:qwen3",
    ],
)
@pytest.mark.parametrize("asked", [CHAT, {"messages": CHAT["messages"]}])
def test_conversions_clients_and_sessions_say_the_same(model: str, asked: dict[str, Any]) -> None:
    provider = model.partition(":")[0]
    targets = Targets(environ={}, keys={provider: "k"}, profiles=())
    target = targets.find(model)
    dialect = target.dialect.name
    request = il.dialect("openai-chat").read_request(asked)
    client = written_for(request, target, None, "canonical")
    session = Adapter(model, dialect).to_wire(request.messages, options=request.options)
    converted = il.convert(il.dumps(request), "canonical", dialect, model=model)
    assert client.wire == session.wire == converted.wire
    assert client.report == session.report == converted.report


@pytest.mark.parametrize("dialect", il.dialects())
def test_a_provider_is_no_host_of_other_dialects_than_chat(dialect: str) -> None:
    asked = {"model": "m", "max_tokens": 9, "messages": CHAT["messages"]}
    for provider in ("openai", "mistral", "deepseek", "xai"):
        result = il.convert(asked, "anthropic", dialect, model=f"{provider}:m")
        assert result.model in (None, "m")


def test_a_bare_name_is_one_of_the_dialects_own_provider() -> None:
    bare = il.convert(CHAT, "openai-chat", "anthropic", model="claude-opus-4-8")
    whole = il.convert(CHAT, "openai-chat", "anthropic", model="anthropic:claude-opus-4-8")
    assert bare.wire == whole.wire
    assert bare.wire["model"] == "claude-opus-4-8"
    assert "temperature" not in bare.wire


def test_without_a_profile_nothing_is_fitted() -> None:
    result = il.convert(CHAT, "openai-chat", "anthropic", model="claude-opus-4-6", profile=False)
    assert result.wire["output_config"] == {"effort": "xhigh"}
    assert not [loss for loss in result.report.entries if loss.rule]


def test_the_way_home_is_never_fitted() -> None:
    assert il.convert(CHAT, "openai-chat", "openai-chat", model="gpt-5").wire == {
        **CHAT,
        "model": "gpt-5",
    }


def test_instructions_can_be_put_in_front() -> None:
    later = [*CHAT["messages"], {"role": "system", "content": "be brief"}, CHAT["messages"][0]]
    for target in ("anthropic", "gemini", "openai-chat"):
        body = {"messages": later, "max_tokens": 9}
        result = il.convert(body, "openai-chat", target, instructions="hoist")
        request = il.dialect(target).read_request(result.wire)
        assert [each.role.value for each in request.messages][:2] == ["system", "user"]
        assert [loss.kind for loss in result.report.entries if loss.path != "$.model"] == ["moved"]


def test_a_plan_of_messages_tells_of_messages_only() -> None:
    items = [il.Message.user("hi"), il.Message.assistant("ho")]
    assert not il.plan(items, "anthropic", "claude-opus-4-8")
    later = [*items, il.Message.system("be brief")]
    (loss,) = il.plan(later, "anthropic", "claude-opus-4-7")
    assert loss.rule == "claude-mid-system-no"
