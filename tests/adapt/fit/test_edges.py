"""Small things that recorded requests asked for, each at a model that refuses it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.fit.keys import touches
from interlingua.model.exchange import Reasoning
from tests.adapt.fit.asking import fitted, losses, profile, request, tool, wire


def test_an_effort_beside_thinking_that_is_off_goes_where_none_is_taken() -> None:
    asked = request(reasoning=Reasoning("high", mode="off"))
    done = fitted("anthropic:claude-haiku-4-5", asked)
    assert done.value.options.reasoning == Reasoning(mode="off")
    assert ("dropped", "$.options.reasoning.effort", "claude-budget") in losses(done)


def test_custom_tools_in_chat_want_thinking_off_as_functions_do() -> None:
    asked = request(tools=(tool(kind="custom"),))
    done = fitted("openai:gpt-5.6", asked, "openai-chat")
    assert done.value.options.reasoning == Reasoning(mode="off")


def test_an_image_at_s3_is_left_out_where_the_model_takes_none_from_there() -> None:
    image = il.ImageBlock(il.Source("url", "s3://bucket/cat.png"))
    asked = request(il.Message.user([il.TextBlock("look"), image]))
    done = fitted("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", asked)
    assert ("dropped", "$.messages[0].content[1]", "claude-s3") in losses(done)
    assert fitted("bedrock:us.amazon.nova-2-lite-v1:0", asked).value == asked


def test_thinking_that_is_to_be_hidden_goes_where_there_is_none() -> None:
    asked = request(reasoning=Reasoning(visible=False))
    done = fitted("anthropic:claude-sonnet-4-5", asked)
    assert done.value.options.reasoning is None
    assert ("dropped", "$.options.reasoning", "claude-budget") in losses(done)


def chat(**body: Any) -> il.Request:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}
    return il.dialect("openai-chat").read_request(asked)


@pytest.mark.parametrize(
    ("model", "said", "written"),
    [
        ("openai:gpt-5", "max_tokens", "max_completion_tokens"),
        ("openai:o3", "max_tokens", "max_completion_tokens"),
        ("openai:gpt-4.1", "max_tokens", "max_tokens"),
        ("mistral:mistral-large-2512", "max_completion_tokens", "max_tokens"),
        ("deepseek:deepseek-v4-pro", "max_completion_tokens", "max_tokens"),
    ],
)
def test_the_key_for_the_longest_answer_is_the_one_that_the_model_takes(
    model: str, said: str, written: str
) -> None:
    done = fitted(model, chat(**{said: 50}))
    body = wire(done)
    assert {key: body[key] for key in body if key.startswith("max_")} == {written: 50}
    assert not done.report.entries
    body = json.dumps({"messages": [], said: 50}).encode()
    assert touches(profile(model), "openai-chat", body) is (said != written)


def test_an_id_of_the_end_user_is_dropped_where_none_is_taken() -> None:
    done = fitted("mistral:mistral-large-2512", chat(user="u"))
    assert "user" not in wire(done)
    assert losses(done) == [("dropped", "$.options.user", "mistral")]
