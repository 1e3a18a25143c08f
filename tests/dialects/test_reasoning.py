"""What each dialect makes of the wish to think: said, said nearly, or reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.openai_chat.request import write_request
from interlingua.dialects.registry import dialects
from interlingua.model import codec
from interlingua.model.exchange import Options, Reasoning, Request
from interlingua.model.losses import Report
from interlingua.model.message import Message

THINKING = ("additionalModelRequestFields", "thinking")
PLACES: dict[str, tuple[str, ...]] = {
    "anthropic": ("thinking",),
    "bedrock": THINKING,
    "cohere": ("thinking",),
    "gemini": ("generationConfig", "thinkingConfig"),
    "gemini-interactions": ("generation_config", "thinking_level"),
    "ollama": ("think",),
    "openai-chat": ("reasoning_effort",),
    "openai-responses": ("reasoning",),
    "openrouter": ("reasoning",),
}
NEAR = ("approximated", "$.options.reasoning.mode")
GONE = ("dropped", "$.options.reasoning")
NO_EFFORT = ("dropped", "$.options.reasoning.effort")
CLAUDE: dict[Any, Any] = {"type": "adaptive"}

SAID: list[tuple[Reasoning, dict[str, tuple[Any, list[tuple[str, str]]]]]] = [
    (
        Reasoning(),
        {
            "anthropic": (CLAUDE, []),
            "bedrock": (CLAUDE, []),
            "cohere": ({"type": "enabled"}, []),
            "gemini": ({"thinkingBudget": -1}, []),
            "gemini-interactions": (None, [GONE]),
            "ollama": (True, []),
            "openai-chat": (None, [GONE]),
            "openai-responses": (None, [GONE]),
            "openrouter": ({"enabled": True}, []),
        },
    ),
    (
        Reasoning(mode="on"),
        {
            "anthropic": (CLAUDE, [NEAR]),
            "bedrock": (CLAUDE, [NEAR]),
            "cohere": ({"type": "enabled"}, []),
            "gemini": ({"thinkingBudget": -1}, [NEAR]),
            "gemini-interactions": (None, [GONE]),
            "ollama": (True, []),
            "openai-chat": (None, [GONE]),
            "openai-responses": (None, [GONE]),
            "openrouter": ({"enabled": True}, []),
        },
    ),
    (
        Reasoning(mode="adaptive"),
        {
            "anthropic": (CLAUDE, []),
            "bedrock": (CLAUDE, []),
            "cohere": ({"type": "enabled"}, [NEAR]),
            "gemini": ({"thinkingBudget": -1}, []),
            "gemini-interactions": (None, [GONE]),
            "ollama": (True, [NEAR]),
            "openai-chat": (None, [GONE]),
            "openai-responses": (None, [GONE]),
            "openrouter": ({"enabled": True}, [NEAR]),
        },
    ),
    (
        Reasoning(mode="between_tools"),
        {
            "anthropic": ({"type": "between_tools"}, []),
            "bedrock": ({"type": "between_tools"}, []),
            "cohere": ({"type": "enabled"}, [NEAR]),
            "gemini": ({"thinkingBudget": -1}, [NEAR]),
            "gemini-interactions": (None, [GONE]),
            "ollama": (True, [NEAR]),
            "openai-chat": (None, [GONE]),
            "openai-responses": (None, [GONE]),
            "openrouter": ({"enabled": True}, [NEAR]),
        },
    ),
    (
        Reasoning(mode="off"),
        {
            "anthropic": ({"type": "disabled"}, []),
            "bedrock": ({"type": "disabled"}, []),
            "cohere": ({"type": "disabled"}, []),
            "gemini": ({"thinkingBudget": 0}, []),
            "gemini-interactions": ("minimal", [NEAR]),
            "ollama": (False, []),
            "openai-chat": ("none", []),
            "openai-responses": ({"effort": "none"}, []),
            "openrouter": ({"effort": "none"}, []),
        },
    ),
    (
        Reasoning("high", mode="adaptive"),
        {
            "anthropic": (CLAUDE, []),
            "bedrock": (CLAUDE, []),
            "cohere": ({"type": "enabled"}, [NO_EFFORT, NEAR]),
            "gemini": ({"thinkingLevel": "HIGH"}, [NEAR]),
            "gemini-interactions": ("high", [NEAR]),
            "ollama": ("high", [NEAR]),
            "openai-chat": ("high", [NEAR]),
            "openai-responses": ({"effort": "high"}, [NEAR]),
            "openrouter": ({"enabled": True, "effort": "high"}, [NEAR]),
        },
    ),
    (
        Reasoning("high", mode="off"),
        {
            "anthropic": ({"type": "disabled"}, []),
            "bedrock": ({"type": "disabled"}, []),
            "cohere": ({"type": "disabled"}, [NO_EFFORT]),
            "gemini": ({"thinkingBudget": 0}, [("approximated", "$.options.reasoning.effort")]),
            "gemini-interactions": ("minimal", [("dropped", "$.options.reasoning.effort"), NEAR]),
            "ollama": (False, [("dropped", "$.options.reasoning.effort")]),
            "openai-chat": ("none", [("dropped", "$.options.reasoning.effort")]),
            "openai-responses": (
                {"effort": "none"},
                [("dropped", "$.options.reasoning.effort")],
            ),
            "openrouter": ({"enabled": False, "effort": "high"}, []),
        },
    ),
]


def asking(reasoning: Reasoning) -> Request:
    options = Options(max_output_tokens=9, reasoning=reasoning)
    return Request((Message.user("hi"),), "m", options=options)


def at(wire: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        wire = wire.get(key) or {} if key != place[-1] else wire.get(key)
    return wire


@pytest.mark.parametrize("name", dialects())
@pytest.mark.parametrize(("reasoning", "expected"), SAID, ids=[str(each) for each, _ in SAID])
def test_every_way_to_think_is_said_or_reported(
    name: str, reasoning: Reasoning, expected: dict[str, tuple[Any, Any]]
) -> None:
    written = il.dialect(name).write_request(asking(reasoning))
    losses = [(loss.kind, loss.path) for loss in written.report.entries]
    assert (at(written.wire, PLACES[name]), losses) == expected[name]


@pytest.mark.parametrize("name", dialects())
@pytest.mark.parametrize("reasoning", [each for each, _ in SAID], ids=str)
def test_what_is_written_without_a_loss_is_read_again(name: str, reasoning: Reasoning) -> None:
    written = il.dialect(name).write_request(asking(reasoning))
    if not written.report.entries and reasoning != Reasoning():
        back = il.dialect(name).read_request(written.wire, "m").options.reasoning
        assert back is not None
        assert (back.effort, back.mode) == (reasoning.effort, reasoning.mode)


def test_switched_off_has_one_spelling() -> None:
    assert Reasoning("none") == Reasoning(mode="off")
    assert codec.dumps(Reasoning("none")) == b'{"mode":"off"}'
    assert codec.loads(b'{"effort":"none"}', Reasoning) == Reasoning(mode="off")
    assert Reasoning("high", mode="off").replace(effort="none") == Reasoning(mode="off")


def test_on_is_not_said_twice() -> None:
    assert Reasoning("high", mode="on") == Reasoning("high")
    assert Reasoning(budget_tokens=2000, mode="on").mode is None
    assert Reasoning(visible=True, mode="on").mode == "on"


def test_an_edited_mode_wins() -> None:
    off = il.dialect("openai-responses").read_request(
        {"model": "m", "input": "hi", "reasoning": {"effort": "none"}}
    )
    assert off.options.reasoning is not None
    wanted = off.options.reasoning.replace(mode=None, effort="high")
    edited = off.replace(options=off.options.replace(reasoning=wanted))
    wire = il.dialect("openai-responses").write_request(edited).wire
    assert wire["reasoning"] == {"effort": "high"}


def test_a_host_with_a_switch_is_told_by_it() -> None:
    def told(reasoning: Reasoning) -> dict[str, Any]:
        request = asking(reasoning)
        scribe = LossRecorder("openai-chat", request, Report("openai-chat"))
        wire: dict[str, Any] = write_request(request, scribe, "deepseek")
        return {key: wire[key] for key in ("thinking", "reasoning_effort") if key in wire}

    assert told(Reasoning()) == told(Reasoning(mode="on")) == {"thinking": {"type": "enabled"}}
    assert told(Reasoning("none")) == {"thinking": {"type": "disabled"}}
    assert told(Reasoning("high")) == {"reasoning_effort": "high"}


@pytest.mark.parametrize("target", [name for name in dialects() if name != "anthropic"])
def test_adaptive_thinking_never_vanishes(target: str) -> None:
    wire = {
        "model": "m",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "adaptive"},
    }
    done = il.convert(wire, "anthropic", target)
    result = json.dumps(done.wire)
    assert "hink" in result or "reasoning" in result or done.report


def test_a_switch_crosses() -> None:
    hello = [{"role": "user", "content": "hi"}]
    on = {"model": "m", "messages": hello, "thinking": {"type": "enabled"}}
    assert il.convert(on, "openai-chat", "ollama").wire["think"] is True
    adaptive = {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "additionalModelRequestFields": {"thinking": {"type": "adaptive"}},
    }
    done = il.convert(adaptive, "bedrock", "anthropic", model="m")
    assert done.wire["thinking"] == {"type": "adaptive"}
