"""A plain OpenAI client runs tool loops on models that think and want their signatures back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openai
import pytest

import interlingua as il
from interlingua.gateway.shared.state import NoMemory
from tests.gateway.sdks.provider import SIGNING, Upstream, settings, targets
from tests.gateway.sdks.standing import standing

THINKERS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "gemini:gemini-3-pro-preview",
    "bedrock": "bedrock:global.anthropic.claude-sonnet-4-6",
    "openai-responses": "back-openai-responses",
}
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def turn(url: str, model: str, history: list[Any], stream: bool) -> list[Any]:
    """What every tutorial does: ask, keep content and calls, nothing else; gives the calls."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        if not stream:
            outcome: Any = client.chat.completions.create(
                model=model, messages=history, tools=TOOLS
            )
            message = outcome.choices[0].message
            calls = [
                {"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
                for c in message.tool_calls or ()
            ]
            text = message.content
        else:
            text = ""
            found: dict[int, dict[str, str]] = {}
            for chunk in client.chat.completions.create(
                model=model, messages=history, tools=TOOLS, stream=True
            ):
                delta = chunk.choices[0].delta
                text += delta.content or ""
                for piece in delta.tool_calls or ():
                    call = found.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                    call["id"] += piece.id or ""
                    assert piece.function is not None
                    call["name"] += piece.function.name or ""
                    call["arguments"] += piece.function.arguments or ""
            calls = list(found.values())
    remaining: Any = {"role": "assistant", "content": text}
    if calls:
        remaining["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls
        ]
    history.append(remaining)
    for call in calls:
        city = json.loads(call["arguments"])["city"]
        result = {"role": "tool", "tool_call_id": call["id"], "content": f"sunny in {city}"}
        history.append(result)
    return calls


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("back", THINKERS)
def test_a_plain_client_runs_a_loop_on_a_model_that_thinks_also_after_a_restart(
    tmp_path: Path, back: str, stream: bool
) -> None:
    assert back in SIGNING
    result = settings(store=str(tmp_path / "gateway.db"))
    history: list[Any] = [{"role": "user", "content": "How is the weather in two cities?"}]
    with Upstream() as upstream:
        for _ in range(3):  # each time with a gateway that has never seen this conversation
            with standing(result, targets(upstream.url)) as here:
                assert len(turn(here.url, THINKERS[back], history, stream)) == 2
            with standing(result, targets(upstream.url)) as here:
                assert turn(here.url, THINKERS[back], history, stream) == []
            assert history[-1]["content"] == "I heard: sunny in Paris; sunny in Tromsø"
            history.append({"role": "user", "content": "How is the weather there now?"})
        turns = [m for m in upstream.asked[-1].messages if m.tool_calls]
        assert len(turns) == 3
        signed = [
            block.signature
            for message in turns
            for block in message.content
            if isinstance(block, (il.ThinkingBlock, il.ToolUseBlock)) and block.signature
        ]
        assert len(signed) == 3
        assert set(signed) <= upstream.issued


def test_without_memory_the_provider_refuses(tmp_path: Path) -> None:
    """So that the tests above can fail: the provider does insist."""
    result = settings(store=str(tmp_path / "gateway.db"))
    history: list[Any] = [{"role": "user", "content": "How is the weather in two cities?"}]
    with (
        Upstream() as upstream,
        standing(result, targets(upstream.url), memory=NoMemory()) as here,
    ):
        turn(here.url, THINKERS["anthropic"], history, False)
        with pytest.raises(openai.BadRequestError, match="without its signature"):
            turn(here.url, THINKERS["anthropic"], history, False)
