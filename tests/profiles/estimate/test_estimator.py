"""The estimate of the tokens of a prompt."""

from __future__ import annotations

import socket

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.profiles import known_models
from interlingua.profiles.estimate import estimate_input_tokens
from interlingua.profiles.estimate.estimator import family_of, plain_name
from tests.laws.corpus import corpus_or_skip
from tests.profiles.estimate import fit
from tests.profiles.estimate.recorded import LARGE, Sample, is_for_learning, samples
from tests.profiles.estimate.requests import SONNET

GOAL = 0.10

ENOUGH = 10
"""Recorded prompts that a provider needs for its median to mean anything."""

# Services that run open models with templates of their own; nothing is promised for them.
OTHERS = {"doubleword", "venice", "llamacpp", "vercel-gateway"}


@pytest.fixture(scope="module")
def recorded() -> list[Sample]:
    corpus_or_skip()
    return list(samples())


@pytest.mark.requirement("S002-80")
def test_estimates_are_near_what_providers_counted_in_recordings_not_learned_from(
    recorded: list[Sample],
) -> None:
    measured = [s for s in recorded if not is_for_learning(s.source) and s.tokens >= LARGE]
    errors = fit.errors_by_provider(measured)
    judged = {p: e for p, e in errors.items() if len(e) >= ENOUGH and p not in OTHERS}
    assert judged.keys() >= {"anthropic", "openai", "gemini", "bedrock", "openrouter", "deepseek"}
    assert judged.keys() >= {"groq", "mistral", "azure", "ollama", "xai"}
    medians = {provider: fit.quantile(found, 0.5) for provider, found in judged.items()}
    assert not {p: m for p, m in medians.items() if m > GOAL}


def test_the_coefficients_of_the_package_are_those_learned_from_one_half(
    recorded: list[Sample],
) -> None:
    learned = fit.learn([s for s in recorded if is_for_learning(s.source)])
    stored = msgspec.json.decode(fit.TARGET.read_bytes())
    assert stored.keys() == learned.keys()
    for key, value in stored.items():
        assert value == msgspec.json.decode(msgspec.json.encode(learned[key])), key


def test_no_project_is_on_both_sides(recorded: list[Sample]) -> None:
    sides = [
        {s.source for s in recorded if is_for_learning(s.source) is side} for side in (True, False)
    ]
    assert not sides[0] & sides[1]
    assert min(map(len, sides)) >= 0.4 * len(sides[0] | sides[1])


@pytest.mark.requirement("S002-80")
def test_an_estimate_is_a_whole_number_made_without_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an estimate asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    messages = [il.Message.system("Be brief."), il.Message.user("What is the capital of Japan?")]
    result = estimate_input_tokens(messages, (), "openai:gpt-4o")
    assert isinstance(result, int)
    assert 15 <= result <= 30


def test_tools_results_and_an_output_schema_add_tokens() -> None:
    messages = [il.Message.user("Weather in Paris?")]
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}}
    tool = il.ToolDefinition("get_weather", "Tells the weather of a city", schema)
    plain = estimate_input_tokens(messages, (), "openai:gpt-4o")
    with_tool = estimate_input_tokens(messages, (tool,), "openai:gpt-4o")
    assert plain < with_tool
    call = il.ToolUseBlock("call_1", "get_weather", {"city": "Paris"})
    longer = [*messages, il.Message.assistant(call), il.Message.tool_result("call_1", "Rain " * 50)]
    assert with_tool + 50 < estimate_input_tokens(longer, (tool,), "openai:gpt-4o")
    options = il.Options(response_format=il.ResponseFormat("json_schema", "w", schema))
    assert plain < estimate_input_tokens(messages, (), "openai:gpt-4o", options)


def test_nothing_is_no_tokens_and_an_unknown_model_gets_the_average() -> None:
    assert estimate_input_tokens([]) <= 20
    result = estimate_input_tokens([il.Message.user("word " * 1000)], (), "nobody:nothing")
    assert 800 <= result <= 1300
    assert family_of("nobody:nothing").name == family_of("").name == "other"


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_never_fewer_tokens(one: str, two: str) -> None:
    def told(*texts: str) -> int:
        blocks = [il.TextBlock(text) for text in texts]
        return estimate_input_tokens([il.Message.user(blocks)], (), SONNET)

    assert 1 <= told(one) <= told(one, two)


def test_every_known_model_has_a_family_of_its_makers() -> None:
    for id in known_models():
        name = family_of(id).name
        for maker in ("claude", "gemini", "nova", "deepseek", "grok", "mistral"):
            if maker in id.partition(":")[2]:
                assert name.startswith(maker) or "distill" in id, (id, name)
    assert plain_name("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0") == "claude-haiku-4-5"
    assert plain_name("openrouter:openai/gpt-4.1-2025-04-14") == "gpt-4.1"
