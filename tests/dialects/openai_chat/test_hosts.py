"""Requests for services that differ from OpenAI's own."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat.request import write_request
from interlingua.dialects.openai_chat.tables import HOSTS
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
        ("deepseek", "max_tokens", "seed", None),
        ("xai", "max_completion_tokens", "seed", "user"),
    ],
)
def test_options_have_the_hosts_names(host: str, limit: str, seed: str, user: str | None) -> None:
    options = Options(max_output_tokens=9, seed=7, user="u1")
    wire, report = sent(host, Message.user("a"), options=options)
    assert (wire[limit], wire[seed]) == (9, 7)
    assert wire[user] == "u1" if user else losses(report) == [("dropped", "$.options.user")]


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
    assert all(host.ids is not None and host.ids.fit("a|b" * 40) for host in HOSTS.values())
