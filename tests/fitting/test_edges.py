"""Small things that recorded requests asked for, each at a model that refuses it."""

from __future__ import annotations

import interlingua as il
from interlingua.model.exchange import Reasoning
from tests.fitting.asking import fitted, losses, request, tool


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
