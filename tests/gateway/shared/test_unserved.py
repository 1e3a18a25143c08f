"""Paths of the SDKs that are not served answer 501 in the client's own shape; others stay 404."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cohere
import groq
import httpx
import openai
import openrouter
import pytest
from google import genai
from google.genai import types
from google.genai.errors import APIError as GeminiError
from google.oauth2.credentials import Credentials
from mistralai.client import Mistral
from mistralai.client.errors import SDKError
from openrouter.errors import NotFoundResponseError, OpenRouterError
from websockets.exceptions import InvalidStatus

from interlingua.gateway.shared.unserved import unserved
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
        ("/v1beta1/projects/p/locations/l/cachedContents", {}, "gemini"),
        ("/v1/projects/p/locations/l/tuningJobs", {}, "gemini"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/x:predict", {}, "gemini"),
        ("/v1beta1/publishers/google/models", {}, "gemini"),
        ("/v1beta1/nothing", {}, None),
        ("/v1/projects/nothing", {}, None),
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
            status, told, seen = await gateway.ask("POST", path, {}, headers=headers)
            assert status == 501, (path, told)
            assert "it serves /v1/chat/completions" in message(told)
            assert seen["x-interlingua-code"] == "not_implemented"
        ours = ("/openai/v1/convert", "/api/v1/task", "/openai/admin/keys", "/api/v1/task/x/cancel")
        nothing = ("/v1/nothing", "/v1beta/nothing", "/api/nothing", "/nothing", "/api/v1/nothing")
        for path in (*ours, *nothing):
            status, told, _ = await gateway.ask("POST", path, {})
            assert status == 404, path
            assert "no such endpoint" in str(told)

    async def serve() -> None:
        async with served(tmp_path) as gateway:
            await work(gateway)

    asyncio.run(serve())


def _google(url: str) -> None:
    """Its paths begin with `/v1`, as OpenAI's do."""
    client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url))
    for ask in (
        lambda: list(client.files.list()),
        lambda: client.files.get(name="files/x"),
        lambda: client.files.upload(file=io.BytesIO(b"a"), config={"mime_type": "text/plain"}),
        lambda: list(client.batches.list()),
        lambda: list(client.caches.list()),
        lambda: client.models.delete(model="models/x"),
    ):
        with pytest.raises(GeminiError, match="it serves /v1/chat/completions") as error:
            ask()
        assert error.value.code == 501
    names = [model.name for model in client.models.list()]
    assert names[0] is not None
    assert names[0].startswith("models/")
    assert client.models.get(model=names[0]).name == names[0]
    client.close()


def _vertex(url: str, version: str = "v1beta1") -> None:
    client = genai.Client(
        vertexai=True,
        project="p",
        location="l",
        credentials=Credentials("any"),  # type: ignore[no-untyped-call]  # has no types
        http_options=types.HttpOptions(base_url=url, api_version=version),
    )
    for ask in (
        lambda: list(client.models.list()),
        lambda: list(client.caches.list()),
        lambda: list(client.batches.list()),
    ):
        with pytest.raises(GeminiError, match="it serves /v1/chat/completions") as error:
            ask()
        assert error.value.code == 501
    client.close()


def _alpha(url: str) -> None:
    options = types.HttpOptions(base_url=url, api_version="v1alpha")
    client = genai.Client(api_key="any", http_options=options)
    assert client.models.generate_content(model="local", contents="hello").text
    assert list(client.models.generate_content_stream(model="local", contents="hello"))
    assert client.models.count_tokens(model="local", contents="hello").total_tokens
    with pytest.raises(GeminiError, match="it serves /v1/chat/completions") as error:
        list(client.files.list())
    assert error.value.code == 501
    [name, *_] = [model.name or "" for model in client.models.list()]
    assert client.models.get(model=name).name == name
    assert client.interactions.create(model="local", input="hello").status == "completed"
    client.close()


def _mistral(url: str) -> None:
    with Mistral(api_key="any", server_url=url) as client:
        for ask in (
            lambda: client.beta.conversations.start(inputs="hi", model="mistral-large-latest"),
            lambda: client.beta.conversations.list(),
            lambda: client.fim.complete(model="codestral-latest", prompt="a"),
            lambda: client.batch.jobs.list(),
        ):
            with pytest.raises(SDKError, match="it serves /v1/chat/completions") as error:
                ask()
            assert error.value.status_code == 501
        [first, *_] = client.models.list().data or []
        assert client.models.retrieve(model_id=first.id).id == first.id
        file = {"file_name": "a.jsonl", "content": b"{}"}
        made = client.files.upload(file=file, purpose="batch")  # type: ignore[arg-type]  # taken too
        assert [each.id for each in client.files.list().data] == [made.id]


def _cohere(url: str) -> None:
    with httpx.Client() as http:
        client = cohere.ClientV2(api_key="any", base_url=url, httpx_client=http)
        found = client.models.list().models
        assert client.models.get(found[0].name or "").endpoints == ["chat"]
        with pytest.raises(cohere.errors.NotImplementedError):
            client.datasets.list(request_options={"max_retries": 0})


def _hosts(url: str) -> None:
    """Groq and Azure have OpenAI's API at paths of their own, and OpenAI's SDK goes anywhere."""
    clients: list[Any] = [
        groq.Groq(base_url=url, api_key="any", max_retries=0),
        openai.OpenAI(base_url=f"{url}/openai/v1", api_key="any", max_retries=0),
        openai.OpenAI(base_url=f"{url}/api/v1", api_key="any", max_retries=0),
        openai.AzureOpenAI(
            azure_endpoint=url, api_key="any", api_version="2024-10-21", max_retries=0
        ),
    ]
    for client in clients:
        with client:
            [first, *_] = client.models.list().data
            assert client.models.retrieve(first.id).id == first.id
            made = client.files.create(file=("a.jsonl", b"{}"), purpose="batch")
            assert made.id in [each.id for each in client.files.list().data]
            made = client.batches.create(
                input_file_id=made.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
            assert client.batches.retrieve(made.id).id == made.id
            if client is not clients[0]:
                with pytest.raises(openai.APIStatusError, match="it serves /v1/chat") as error:
                    client.fine_tuning.jobs.list()
                assert error.value.status_code == 501


def _router(url: str) -> None:
    """It would repeat a 501 for an hour, and its errors have a number as code."""
    for server in (f"{url}/api/v1", f"{url}/v1"):
        client = openrouter.OpenRouter(api_key="any", server_url=server)
        for ask in (client.credits.get_credits, client.api_keys.list):
            with pytest.raises(OpenRouterError, match="it serves /v1/chat/completions") as error:
                ask()
            assert error.value.status_code == 404
        [first, *_] = client.models.list().result.data
        assert first.pricing.prompt
    client = openrouter.OpenRouter(api_key="any", server_url=f"{url}/api/v1")
    body: Any = {"model": "nobody:x", "messages": [{"role": "user", "content": "a"}]}
    for ask in (
        lambda: client.chat.send(**body),
        lambda: client.beta.responses.send(model="nobody:x", input="a"),
        lambda: client.embeddings.generate(model="nobody:x", input="a"),
    ):
        with pytest.raises(NotFoundResponseError, match="nobody"):
            ask()


@pytest.mark.parametrize(
    "sdk",
    [_google, _vertex, partial(_vertex, version="v1"), _alpha, _mistral, _cohere, _hosts, _router],
)
def test_sdks_that_share_openais_paths_are_distinguished(
    tmp_path: Path, sdk: Callable[[str], None]
) -> None:
    async def serve() -> None:
        async with served(tmp_path) as gateway:
            await asyncio.to_thread(sdk, gateway.base)

    asyncio.run(serve())


def test_a_socket_that_is_not_served_is_told_with_what_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def by_sdk(url: str) -> None:
        base = url.replace("http", "ws")
        async with openai.AsyncOpenAI(
            base_url=f"{url}/v1", websocket_base_url=f"{base}/v1", api_key="any"
        ) as client:
            with pytest.raises(InvalidStatus) as refused:
                async with client.realtime.connect(model="gpt-realtime"):
                    pass
        assert refused.value.response.status_code == 501
        assert b"it serves /v1/chat/completions" in refused.value.response.body

    async def work() -> None:
        async with served(tmp_path) as gateway:
            await by_sdk(gateway.base)
            lines = [record.__dict__ for record in caplog.records if record.message == "refused"]
            assert [(line["route"], line["status"]) for line in lines] == [("/v1/realtime", 501)]

    asyncio.run(work())


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
    google = [each for each in known if each.package == "google-genai"]
    stable = {each._replace(path=each.path.replace("/v1beta", "/v1")): each for each in google}
    answers = asyncio.run(asked(list(stable), tmp_path))
    assert answers == {each: known[beta] for each, beta in stable.items()}
    hosted = {
        each._replace(path=each.path.replace("/v1", start, 1)): each
        for package, start in (
            ("openai", "/openai/v1"),
            ("openai", "/openai"),
            ("openrouter", "/api/v1"),
        )
        for each in chosen
        if each.package == package and "/api/" not in each.path
    }
    answers = asyncio.run(asked(list(hosted), tmp_path))
    assert answers == {each: known[own] for each, own in hosted.items()}


def test_a_method_that_an_sdk_has_and_we_do_not_is_not_served() -> None:
    front = unserved("/v1/models/gpt-5", {}, "DELETE")
    assert front is not None
    assert front.dialect == "openai-chat"
    assert unserved("/v1/chat/completions", {}, "DELETE") is None
