"""What OpenRouter's chat says in another way than OpenAI, and what it adds."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.exchange import Options, Reasoning, ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_chat.wires import SCHEMA, body, losses, made
from tests.dialects.openrouter.wires import read, write


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ({"max_tokens": 9}, {"max_output_tokens": 9}),
        ({"user": "u1"}, {"user": "u1"}),
        ({"top_k": 40, "min_p": 0.5}, {"top_k": 40.0, "min_p": 0.5}),
        ({"repetition_penalty": 1.5}, {"repetition_penalty": 1.5}),
        ({"logit_bias": {"5": 0.5}}, {"logit_bias": {"5": 0.5}}),
        ({"modalities": ["text", "image"]}, {"modalities": ("text", "image")}),
        ({"reasoning": {"effort": "low"}}, {"reasoning": Reasoning("low")}),
        (
            {"reasoning": {"max_tokens": 9, "exclude": True}},
            {"reasoning": Reasoning(None, 9, False)},
        ),
    ],
)
def test_each_option_both_ways(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    assert read(body(**keys)).options == Options(**fields)
    wire, report = write(Message.user("a"), options=Options(**fields))
    assert {key: wire[key] for key in keys} == keys
    assert not report.entries


@pytest.mark.parametrize(
    "keys",
    [
        {"reasoning": {}},
        {"reasoning": {"enabled": True, "effort": None}},
        {"reasoning_effort": "high"},
        {"reasoning": {"effort": "high"}, "reasoning_effort": "high"},
        {"reasoning": {"effort": "high"}, "reasoning_effort": "low"},
        {"n": 2, "verbosity": "low"},
        {"max_completion_tokens": 9, "top_a": 0.5},
        {
            "provider": {"order": ["x"]},
            "models": ["a"],
            "transforms": [],
            "plugins": [{"id": "web"}],
        },
        {"usage": {"include": True}, "include_reasoning": True},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
    ],
)
def test_other_keys_go_home(keys: dict[str, Any]) -> None:
    read(body(**keys))


def test_what_openrouter_does_not_have_is_reported() -> None:
    options = Options(n=2, verbosity="low", tool_choice=ToolChoice("any", ("f", "g")))
    custom = ToolDefinition("g", kind="custom")
    wire, report = write(
        made(ToolUseBlock("call_1", "g", {"input": "x"}, call_type="custom")),
        tools=(custom,),
        options=options,
    )
    assert wire["tool_choice"] == "required"
    assert wire["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert sorted(losses(report)) == [
        ("downgraded", "$.messages[0].content[0].call_type"),
        ("downgraded", "$.tools[0].kind"),
        ("dropped", "$.options.n"),
        ("dropped", "$.options.tool_choice.names"),
        ("dropped", "$.options.verbosity"),
    ]


def test_server_tools_are_run_by_the_provider() -> None:
    tool = {"type": "openrouter:web_search", "parameters": {"max_results": 3}}
    choice = {"type": "openrouter:web_search"}
    request = read(body(tools=[tool], tool_choice=choice))
    assert (request.tools[0].executor, request.tools[0].kind) == ("provider", tool["type"])
    assert request.options.tool_choice == ToolChoice("any", ("openrouter:web_search",))
    plain = ToolDefinition(
        "openrouter:web_search", executor="provider", kind="openrouter:web_search"
    )
    assert write(Message.user("a"), tools=(plain,))[0]["tools"] == [choice]


def test_deferred_tools() -> None:
    tool = ToolDefinition("f", input_schema=SCHEMA, deferred=True)
    wire, report = write(Message.user("a"), tools=(tool,))
    assert wire["tools"][0]["defer_loading"] is True
    assert read(wire).tools == (tool,)
    assert not report.entries
