"""The bundled local model behind the gateway: real text, whole and streamed, through the SDKs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from interlingua.client.targets import Targets
from interlingua.local.server import LocalServer
from tests.gateway.sdks.clients import CLIENTS
from tests.gateway.sdks.provider import settings
from tests.gateway.sdks.standing import standing
from tests.local.conftest import folder, server, weights

__all__ = ["folder", "server", "weights"]

MODEL = "local:smollm2-135m-instruct"


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    lease: LocalServer = request.getfixturevalue("server")
    store = str(tmp_path_factory.mktemp("behind") / "gateway.db")
    with standing(settings(store=store), Targets(base_urls={"local": lambda: lease})) as here:
        yield here.url


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", CLIENTS)
def test_an_sdk_talks_with_the_model_in_the_box(url: str, front: str, stream: bool) -> None:
    client = CLIENTS[front](url, MODEL)
    client.say("What is the capital of France? Answer in one short sentence.")
    heard = client.hear(stream)
    client.close()
    assert "Paris" in heard.text
    assert heard.calls == []
    assert all(count is not None and count > 3 for count in heard.tokens)


def test_a_plain_loop_sends_the_whole_conversation_every_time(url: str) -> None:
    history: list[Any] = []
    read: list[int] = []
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        for words in ("My name is Alice.", "What is my name?", "Thank you."):
            history.append({"role": "user", "content": words})
            pieces = []
            for chunk in client.chat.completions.create(
                model=MODEL,
                messages=history,
                stream=True,
                stream_options={"include_usage": True},
                max_tokens=8,
                temperature=0,
            ):
                if chunk.usage is not None:
                    read.append(chunk.usage.prompt_tokens)
                pieces += [choice.delta.content or "" for choice in chunk.choices]
            history.append({"role": "assistant", "content": "".join(pieces)})
            assert len([piece for piece in pieces if piece]) > 1
    assert len(read) == 3
    assert read == sorted(set(read))
