"""Paths of the SDKs that are not served answer 501 in the client's own shape; others stay 404."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from interlingua.gateway.paths.unserved import unserved
from tests.gateway.serving import Served, served
from tools.endpoints import asked, found, listed

VERSION = {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("path", "headers", "dialect"),
    [
        ("/v1/fine_tuning/jobs", {}, "openai-chat"),
        ("/v1/vector_stores/vs_1/files", {}, "openai-chat"),
        ("/v1/chat/completions/chatcmpl-1", {}, "openai-chat"),
        ("/v1/skills", VERSION, "anthropic"),
        ("/v1/files", VERSION, "anthropic"),
        ("/v1beta/cachedContents", {}, "gemini"),
        ("/v1beta/models/x:batchGenerateContent", {}, "gemini"),
        ("/upload/v1beta/files", {}, "gemini"),
        ("/api/generate", {}, "ollama"),
        ("/api/pull", {}, "ollama"),
        ("/v1/embed", {}, "cohere"),
        ("/v1/tokenize", {}, "cohere"),
        ("/v1/nothing", {}, None),
        ("/v1/nothing", VERSION, None),
        ("/v1/vector_storesx", {}, None),
        ("/v1beta/nothing", {}, None),
        ("/api/nothing", {}, None),
        ("/assistants", {}, None),
        ("/v1", {}, None),
        ("/", {}, None),
    ],
)
def test_whose_path_it_is(path: str, headers: dict[str, str], dialect: str | None) -> None:
    front = unserved(path, headers)
    assert (front and front.dialect) == dialect


def test_a_path_that_is_not_served_is_told_with_what_is(tmp_path: Path) -> None:
    def by_sdk(url: str) -> None:
        with (
            openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
            pytest.raises(openai.APIStatusError, match="/v1/chat/completions") as error,
        ):
            client.fine_tuning.jobs.list()
        assert error.value.status_code == 501
        assert error.value.code == "not_implemented"

    async def work(gateway: Served) -> None:
        await asyncio.to_thread(by_sdk, gateway.base)
        shapes: list[tuple[str, dict[str, str], Any]] = [
            ("/v1/skills", VERSION, lambda told: told["error"]["message"]),
            ("/v1beta/cachedContents", {}, lambda told: told["error"]["message"]),
            ("/api/generate", {}, lambda told: told["error"]),
            ("/v1/tokenize", {}, lambda told: told["message"]),
        ]
        for path, headers, message in shapes:
            status, told, _ = await gateway.ask("POST", path, {}, headers=headers)
            assert status == 501, (path, told)
            assert "it serves /v1/chat/completions" in message(told)
        for path in ("/v1/nothing", "/v1beta/nothing", "/api/nothing", "/nothing"):
            status, told, _ = await gateway.ask("POST", path, {})
            assert status == 404, path
            assert "no such endpoint" in str(told)

    async def serve() -> None:
        async with served(tmp_path) as gateway:
            await work(gateway)

    asyncio.run(serve())


def test_every_endpoint_of_the_sdks_is_in_the_almanac() -> None:
    known = listed()
    new = [each for each in found() if each not in known]
    assert not new, "python -m tools.endpoints --update"


def test_the_gateway_serves_what_the_almanac_says(tmp_path: Path) -> None:
    known = {each: state for each, (state, _) in listed().items()}
    assert set(known.values()) == {"served", "not served"}
    some = {each for number, each in enumerate(known) if number % 7 == 0}
    chosen = [each for each in known if each in some or known[each] == "served"]
    answers = asyncio.run(asked(chosen, tmp_path))
    assert answers == {each: known[each] for each in chosen}


def test_a_method_that_an_sdk_has_and_we_do_not_is_not_served() -> None:
    front = unserved("/v1/models/gpt-5", {}, "DELETE")
    assert front is not None
    assert front.dialect == "openai-chat"
    assert unserved("/v1/chat/completions", {}, "DELETE") is None
