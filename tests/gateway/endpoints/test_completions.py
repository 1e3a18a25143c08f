"""`/v1/completions` by OpenAI's SDK, answered by models of any dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from interlingua.gateway.relay.completions import Completion
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served


def run(home: Path, work: Callable[[Upstream, Served], Any]) -> None:
    async def serve(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home) as gateway:
            await work(provider, gateway)

    with Upstream() as provider:
        asyncio.run(serve(provider))


def asked(url: str, model: str, stream: bool, **more: Any) -> tuple[str, str | None, int | None]:
    """The text, why it ended, and the tokens of the prompt."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        if not stream:
            made = client.completions.create(model=model, prompt="hello", **more)
            assert made.object == "text_completion"
            assert made.model == model
            choice, usage = made.choices[0], made.usage
            return choice.text, choice.finish_reason, usage.prompt_tokens if usage else None
        text, reason, tokens = "", None, None
        more = {"stream_options": {"include_usage": True}, **more}
        for chunk in client.completions.create(model=model, prompt="hello", stream=True, **more):
            assert chunk.object == "text_completion"
            for choice in chunk.choices:
                text, reason = text + choice.text, choice.finish_reason or reason
            tokens = chunk.usage.prompt_tokens if chunk.usage else tokens
        return text, reason, tokens


def test_a_completion_is_the_answer_of_a_chat_whole_and_streamed(tmp_path: Path) -> None:
    async def work(provider: Upstream, gateway: Served) -> None:
        for model in (ANTHROPIC, OPENAI):
            for stream in (False, True):
                done = await asyncio.to_thread(
                    asked, gateway.base, model, stream, max_tokens=9, echo=True
                )
                text, reason, tokens = done
                assert text.startswith("hello"), done
                assert "hello" in text[5:]
                assert (reason, tokens is not None) == ("stop", True)
                sent = provider.requests[-1]
                assert sent["messages"][0]["role"] == "user"
                assert not {"prompt", "echo"} & sent.keys()
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests")
        assert {row["action"] for row in listed["requests"]} == {"complete"}
        assert {row["losses"] for row in listed["requests"]} == {1}
        _, report, _ = await gateway.ask("GET", f"/losses/{listed['requests'][0]['id']}")
        assert report["losses"][0]["code"] == "completion_as_chat"
        assert report["losses"][0]["at"] == ["$.prompt"]

    run(tmp_path, work)


def test_what_chat_cannot_do_is_refused_in_openais_words(tmp_path: Path) -> None:
    async def work(provider: Upstream, gateway: Served) -> None:
        strict = key(tmp_path, "strict", refuse_losses=True).token
        for more in (
            {"prompt": ["a", "b"]},
            {"prompt": [1, 2]},
            {"prompt": None},
            {"suffix": "end"},
            {"best_of": 3},
        ):
            body = {"model": OPENAI, "prompt": "hello", **more}
            status, reply, _ = await gateway.ask("POST", "/v1/completions", body, strict)
            assert (status, reply["error"]["code"]) == (400, "unsupported_parameter"), more
            assert reply["error"]["type"] == "invalid_request_error"
        assert provider.requests == []
        body = {"model": OPENAI, "prompt": "hello"}
        status, reply, _ = await gateway.ask("POST", "/v1/completions", body, strict)
        assert (status, reply["error"]["code"]) == (400, "lossy_request")
        status, reply, _ = await gateway.ask("POST", "/v1/completions", body, "wrong")
        assert status == 401
        body["prompt"] = "fail"
        status, reply, _ = await gateway.ask(
            "POST", "/v1/completions", {**body, "stream": True}, key(tmp_path, "other").token
        )
        assert status >= 400
        assert "error" in reply

    run(tmp_path, work)


@pytest.mark.parametrize("top", [0, 2])
def test_log_probabilities_come_in_the_older_form(top: int) -> None:
    completion = Completion(b'{"prompt": "ab", "echo": true, "logprobs": %d}' % top)
    listed = [
        {"token": "x", "logprob": -0.5, "top_logprobs": [{"token": "y", "logprob": -1.0}]},
        {"token": "zz", "logprob": -0.25, "top_logprobs": []},
    ]
    choice = {"message": {"content": "xzz"}, "logprobs": {"content": listed}}
    made = completion.whole({"choices": [choice]})["choices"][0]
    assert made["text"] == "abxzz"
    assert made["logprobs"] == {
        "tokens": ["x", "zz"],
        "token_logprobs": [-0.5, -0.25],
        "top_logprobs": [{"y": -1.0}, None],
        "text_offset": [2, 3],
    }
