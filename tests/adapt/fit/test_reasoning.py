"""How much to think, in the words of each model."""

from __future__ import annotations

import pytest

from interlingua.adapt.fit.reasoning import BUDGETS, effort_of, near
from interlingua.model.exchange import EFFORTS, Reasoning
from tests.adapt.fit.asking import fitted, losses, options, request, tool, wire

R = Reasoning
AT = "$.options.reasoning"


@pytest.mark.parametrize("effort", EFFORTS[1:])
def test_an_effort_said_as_a_budget_is_the_same_effort_again(effort: str) -> None:
    assert effort_of(BUDGETS[effort]) == effort  # type: ignore[index]  # one of them


def test_another_effort_is_the_next_lower_one_and_never_none() -> None:
    assert near("xhigh", ("none", "low", "high")) == "high"
    assert near("minimal", ("none", "low", "high")) == "low"
    assert near("low", ("none",)) is None


@pytest.mark.parametrize(
    ("model", "asked", "told", "lost"),
    [
        ("anthropic:claude-opus-4-6", R("xhigh"), R("high", mode="adaptive"), "effort"),
        ("anthropic:claude-opus-4-8", R("xhigh"), R("xhigh", mode="adaptive"), None),
        ("anthropic:claude-opus-5", R("xhigh"), R("xhigh"), None),
        (
            "anthropic:claude-opus-4-8",
            R(budget_tokens=9000),
            R("medium", mode="adaptive"),
            "budget_tokens",
        ),
        ("anthropic:claude-opus-4-6", R(budget_tokens=9000), R(budget_tokens=9000), None),
        ("anthropic:claude-haiku-4-5", R("medium"), R(budget_tokens=8192), "effort"),
        ("anthropic:claude-haiku-4-5", R(mode="adaptive"), R(budget_tokens=8192), "mode"),
        ("anthropic:claude-haiku-4-5", R(visible=False), None, ""),
        ("anthropic:claude-3-5-haiku-latest", R("medium"), None, ""),
        ("anthropic:claude-3-5-haiku-latest", R(mode="off"), None, None),
        ("anthropic:claude-opus-4-8", R(mode="off"), R(mode="off"), None),
        ("anthropic:claude-fable-5-1", R(mode="off"), R("low"), "mode"),
        ("anthropic:claude-sonnet-5-5", R(mode="off"), R(mode="between_tools"), "mode"),
        ("anthropic:claude-opus-5", R("max", mode="off"), R("high", mode="off"), "effort"),
        ("anthropic:claude-opus-4-8", R(mode="between_tools"), R(mode="adaptive"), "mode"),
        ("openai:gpt-4o", R("high"), None, ""),
        ("openai:o1-mini", R(mode="off"), None, ""),
        ("xai:grok-4", R(mode="off"), None, ""),
        ("xai:grok-4-fast-non-reasoning", R(mode="off"), None, None),
        ("ollama:gemma4:e2b", R(mode="off"), R(mode="off"), None),
        ("ollama:gemma4:e2b", R("high"), R("high"), None),
        ("ollama:gemma3:4b", R(mode="off"), None, None),
        ("ollama:gpt-oss:20b", R(mode="off"), R("low"), "mode"),
        ("ollama:qwq", R(mode="off"), None, ""),
        ("openai:gpt-5", R(mode="off"), R("minimal"), "mode"),
        ("openai:gpt-5", R("xhigh"), R("high"), "effort"),
        ("openai:gpt-5.1", R(mode="off"), R(mode="off"), None),
        ("openai:gpt-5.1", R(mode="adaptive"), R("medium"), "mode"),
        ("openai:gpt-5.5", R(mode="adaptive"), None, "mode"),
        ("openai:gpt-5.6", R("max"), R("xhigh"), "effort"),
        ("openai:o3", R(budget_tokens=20000), R("high"), "budget_tokens"),
        ("gemini:gemini-2.0-flash", R("low"), None, ""),
        ("gemini:gemini-2.5-flash", R("low"), R(budget_tokens=2048), "effort"),
        ("gemini:gemini-2.5-flash", R(mode="off"), R(mode="off"), None),
        ("gemini:gemini-2.5-flash", R(mode="adaptive"), R(mode="adaptive"), None),
        ("gemini:gemini-2.5-pro", R(mode="off"), R(budget_tokens=128), "mode"),
        ("gemini:gemini-2.5-pro", R(budget_tokens=50000), R(budget_tokens=32768), "budget_tokens"),
        ("gemini:gemini-3.1-pro", R("minimal"), R("low"), "effort"),
        ("gemini:gemini-3.1-pro", R(mode="off"), R("low"), "mode"),
        ("gemini:gemini-3.8-flash", R(budget_tokens=9000), R("medium"), "budget_tokens"),
        ("deepseek:deepseek-v4-pro", R(mode="off"), R(mode="off"), None),
        ("deepseek:deepseek-v4-pro", R("low"), R("high"), "effort"),
        ("mistral:mistral-large-2512", R("low"), None, ""),
        ("groq:openai/gpt-oss-120b", R(mode="off"), R("low"), "mode"),
        ("xai:grok-4.6", R("max"), R("xhigh"), "effort"),
        ("nobody:at-all", R("max"), R("max"), None),
    ],
)
def test_reasoning_is_written_as_the_model_takes_it(
    model: str, asked: Reasoning, told: Reasoning | None, lost: str | None
) -> None:
    done = fitted(model, request(reasoning=asked))
    assert done.value.options.reasoning == told
    found = [loss.path for loss in done.report.entries if loss.path.startswith(AT)]
    assert found == ([] if lost is None else [f"{AT}.{lost}" if lost else AT])
    assert all(loss.rule for loss in done.report.entries)


def test_the_reason_names_the_model_what_was_done_and_the_rule() -> None:
    done = fitted("anthropic:claude-opus-4-6", request(reasoning=R("xhigh"), max_output_tokens=9))
    (loss,) = [loss for loss in done.report.entries if loss.rule == "claude-4.6"]
    assert str(loss) == (
        "warning: $.options.reasoning.effort: "
        "effort set to high: claude-opus-4-6 has no effort xhigh (rule claude-4.6)"
    )


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-5", "anthropic:somebody-elses"])
@pytest.mark.parametrize(
    ("budget", "most", "said"), [(512, None, 1024), (8192, 2000, 1024), (8192, 8192, 7168)]
)
def test_a_budget_is_at_least_1024_and_less_than_the_longest_answer(
    model: str, budget: int, most: int | None, said: int
) -> None:
    asked = request(reasoning=R(budget_tokens=budget), max_output_tokens=most)
    body = wire(fitted(model, asked))
    assert body["thinking"]["budget_tokens"] == said
    assert said < body["max_tokens"]


def test_an_answer_too_short_to_think_in_is_given_without() -> None:
    done = fitted(
        "anthropic:claude-sonnet-4-5", request(reasoning=R("high"), max_output_tokens=1000)
    )
    assert done.value.options.reasoning is None
    assert losses(done) == [("dropped", AT, "claude-budget")]


def test_an_effort_that_was_meant_without_thinking_stays_alone() -> None:
    from interlingua.adapt.fit.fit import fit
    from interlingua.dialects.registry import dialect
    from tests.adapt.fit.asking import profile

    body = {
        "model": "claude-opus-4-6",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "output_config": {"effort": "low"},
    }
    asked = dialect("anthropic").read_request(body)
    done = fit(asked, profile("anthropic:claude-opus-4-6"))
    assert done.value is asked
    assert wire(done) == body


@pytest.mark.parametrize(
    ("model", "asked", "told"),
    [
        ("openai:gpt-5.6", None, R(mode="off")),
        ("openai:gpt-5.6", R("high"), R(mode="off")),
        ("openai:gpt-5.4", R("high"), None),
        ("openai:gpt-5.4", None, None),
        ("openai:gpt-5.2", R("high"), R("high")),
    ],
)
def test_in_chat_newer_models_take_tools_only_without_an_effort(
    model: str, asked: Reasoning | None, told: Reasoning | None
) -> None:
    assert options(model, tools=(tool(),), reasoning=asked).reasoning == told
    in_responses = options(model, "openai-responses", (tool(),), reasoning=asked)
    assert in_responses.reasoning == asked


@pytest.mark.parametrize(
    ("model", "asked", "told"),
    [
        (
            "bedrock:us.anthropic.claude-opus-4-6-v1",
            R("high"),
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        (
            "bedrock:us.amazon.nova-2-lite-v1:0",
            R("high"),
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}},
        ),
        (
            "bedrock:us.amazon.nova-2-lite-v1:0",
            R(mode="off"),
            {"reasoningConfig": {"type": "disabled"}},
        ),
        ("bedrock:openai.gpt-oss-120b-1:0", R("high"), {"reasoning_effort": "high"}),
        ("bedrock:openai.gpt-5.5", R("high"), {"reasoning": {"effort": "high"}}),
    ],
)
def test_on_bedrock_each_family_has_its_own_words(
    model: str, asked: Reasoning, told: dict[str, object]
) -> None:
    from interlingua.dialects.registry import dialect

    body = wire(fitted(model, request(reasoning=asked)))
    assert body["additionalModelRequestFields"] == told
    read = dialect("bedrock").read_request(body)
    assert (read.options.reasoning or R()).effort == asked.effort
    assert dialect("bedrock").write_request(read).wire == body
