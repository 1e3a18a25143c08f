"""Embeddings by the official SDKs, from models of every vendor that makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import cohere
import httpx
import ollama
import openai
import pytest
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials
from mistralai.client import Mistral

from tests.gateway.endpoints.vendors import KEY, Reply, Seen, Vendors, tokens, vector
from tests.gateway.serving import Served, key, served

MODELS = {
    "openai": "openai:text-embedding-3-small",
    "mistral": "mistral:mistral-embed",
    "gemini": "gemini:gemini-embedding-001",
    "cohere": "cohere:embed-v4.0",
    "ollama": "ollama:nomic-embed-text",
    "titan": "bedrock:amazon.titan-embed-text-v2:0",
    "bedrock-cohere": "bedrock:cohere.embed-english-v3",
}
TEXTS = ["a first text", "another one, a little longer"]
Vectors = list[list[float]]


Made = tuple[Vectors, int | None]


def by_openai(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    found: list[Made] = []
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        for model in models:
            made = client.embeddings.create(model=model, input=TEXTS, **more)
            assert made.model == model
            ordered = sorted(made.data, key=lambda each: each.index)
            found.append(([each.embedding for each in ordered], made.usage.prompt_tokens))
    return found


def by_genai(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url))
    config = types.EmbedContentConfig(**more) if more else None
    found: list[Made] = []
    for model in models:
        made = client.models.embed_content(model=model, contents=list(TEXTS), config=config)
        found.append(([list(each.values or ()) for each in made.embeddings or ()], None))
    client.close()
    return found


def by_genai_at_vertex(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    client = genai.Client(
        vertexai=True,
        project="p",
        location="l",
        credentials=Credentials("any"),  # type: ignore[no-untyped-call]  # has no types
        http_options=types.HttpOptions(base_url=url),
    )
    config = types.EmbedContentConfig(**more) if more else None
    found: list[Made] = []
    for model in models:
        ask = partial(client.models.embed_content, model=model, config=config)
        if is_asked_one_by_one(model):
            answers = [ask(contents=text) for text in TEXTS]
        else:
            answers = [ask(contents=list(TEXTS))]
        made = [each for answer in answers for each in answer.embeddings or ()]
        found.append(([list(each.values or ()) for each in made], None))
    client.close()
    return found


def is_asked_one_by_one(model: str) -> bool:
    """Whether the SDK sends `embedContent` to Vertex, and not `predict`."""
    return "gemini" in model and model != "gemini-embedding-001"


def by_cohere(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    more = {"input_type": "search_query", "embedding_types": ["float"], **more}
    found: list[Made] = []
    with httpx.Client() as http:
        client = cohere.ClientV2(api_key="any", base_url=url, httpx_client=http)
        for model in models:
            made = client.embed(model=model, texts=TEXTS, **more)
            units = made.meta.billed_units if made.meta else None
            count = units.input_tokens if units else None
            found.append((made.embeddings.float_ or [], None if count is None else int(count)))
    return found


def by_ollama(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    client = ollama.Client(host=url)
    found: list[Made] = []
    for model in models:
        made = client.embed(model=model, input=TEXTS, **more)
        found.append(([list(each) for each in made.embeddings], made.prompt_eval_count))
    client._client.close()
    return found


def by_mistral(url: str, models: Sequence[str], **more: Any) -> list[Made]:
    found: list[Made] = []
    with Mistral(api_key="any", server_url=url) as client:
        for model in models:
            made = client.embeddings.create(model=model, inputs=TEXTS, **more)
            assert made.id
            assert made.model == model
            ordered = sorted(made.data, key=lambda each: each.index or 0)
            vectors = [list(each.embedding or ()) for each in ordered]
            found.append((vectors, made.usage.prompt_tokens))
    return found


SDKS: dict[str, Callable[..., list[Made]]] = {
    "openai": by_openai,
    "google-genai": by_genai,
    "google-genai at Vertex": by_genai_at_vertex,
    "cohere": by_cohere,
    "ollama": by_ollama,
    "mistralai": by_mistral,
}


def run(home: Path, work: Callable[[Vendors, Served], Any]) -> None:
    async def serve(vendors: Vendors) -> None:
        vendors.configure(home)
        async with served(home) as gateway:
            await work(vendors, gateway)

    with Vendors() as vendors:
        asyncio.run(serve(vendors))


def test_every_sdk_gets_the_vectors_of_every_vendor(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        for sdk, made_by in SDKS.items():
            found = await asyncio.to_thread(made_by, gateway.base, list(MODELS.values()))
            for vendor, (vectors, count) in zip(MODELS, found, strict=True):
                assert vectors == [vector(text) for text in TEXTS], (sdk, vendor)
                if vendor != "gemini" and count is not None:  # which does not count
                    assert count == tokens(TEXTS), (sdk, vendor)
        assert all(KEY in str(each.headers) for each in vendors.seen)
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests?limit=100")
        rows = listed["requests"]
        assert len(rows) == len(SDKS) * len(MODELS) + 1  # one of them asks for each text
        assert {row["action"] for row in rows} == {"embed"}
        priced = [row for row in rows if row["model"] == MODELS["openai"]]
        assert {row["usage"]["input_tokens"] for row in priced} == {tokens(TEXTS)}
        assert {float(row["usage"]["cost_usd"]) for row in priced} == {tokens(TEXTS) * 0.02 / 1e6}

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("vendor", "lost"),
    [
        ("openai", set()),
        ("mistral", set()),
        ("gemini", set()),
        ("ollama", set()),
        ("titan", set()),
        ("cohere", {"embedding_type"}),
        ("bedrock-cohere", {"embedding_type"}),
    ],
)
def test_dimensions_go_where_they_can_and_losses_are_reported(
    tmp_path: Path, vendor: str, lost: set[str]
) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        body = {"model": MODELS[vendor], "input": TEXTS, "dimensions": 2}
        status, made, headers = await gateway.ask("POST", "/v1/embeddings", body)
        assert status == 200, made
        if vendor != "bedrock-cohere":
            ordered = sorted(made["data"], key=lambda each: int(each["index"]))
            assert [each["embedding"] for each in ordered] == [vector(t, 2) for t in TEXTS]
        assert headers["x-interlingua-losses"] == str(len(lost))
        _, report, _ = await gateway.ask("GET", f"/losses/{headers['x-request-id']}")
        assert {each["code"] for each in report.get("losses", ())} == lost

    run(tmp_path, work)


def test_what_a_form_lacks_is_reported_with_its_place(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        config = {"task_type": "SEMANTIC_SIMILARITY", "title": "A title"}
        await asyncio.to_thread(by_genai, gateway.base, [MODELS["openai"]], **config)
        assert set(vendors.last().wire) == {"model", "input"}
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests?limit=1")
        _, report, _ = await gateway.ask("GET", f"/losses/{listed['requests'][0]['id']}")
        losses = {each["code"]: each["at"] for each in report["losses"]}
        tasks = ["$.requests[0].taskType", "$.requests[1].taskType"]
        assert losses["input_type_unsupported"] == tasks
        assert "title_unsupported" in losses
        body = {"model": MODELS["cohere"], "input": "x", "input_type": "query", "user": "u"}
        status, _, headers = await gateway.ask("POST", "/v1/embeddings", body)
        assert (status, headers["x-interlingua-losses"]) == (200, "0")
        assert vendors.last().wire["input_type"] == "search_query"

    run(tmp_path, work)


def test_what_vertex_asks_in_its_own_way_is_understood(tmp_path: Path) -> None:
    base = "/v1/projects/p/locations/l/publishers/google/models"

    async def work(vendors: Vendors, gateway: Served) -> None:
        config = {"task_type": "CLUSTERING", "output_dimensionality": 2, "auto_truncate": True}
        models = [MODELS["cohere"], MODELS["gemini"]]
        made = await asyncio.to_thread(by_genai_at_vertex, gateway.base, models, **config)
        assert [vectors for vectors, _ in made] == [[vector(text, 2) for text in TEXTS]] * 2
        first = next(each.wire for each in vendors.seen if each.path.endswith("/v2/embed"))
        assert (first["input_type"], first["truncate"]) == ("clustering", "END")
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests?limit=1")
        _, report, _ = await gateway.ask("GET", f"/losses/{listed['requests'][0]['id']}")
        assert {each["at"][0] for each in report["losses"]} == {"$.embedContentConfig.autoTruncate"}
        path = f"{base}/{MODELS['openai']}:predict"
        for body, expected in (
            ({"instances": [{"content": "a b"}]}, 200),
            ({"instances": [{"content": "a"}, {"content": "b", "title": "c"}]}, 400),
            ({"instances": [{"content": 5}]}, 400),
            ({"instances": [], "parameters": {}, "content": 1}, 400),
            ({"instances": [{"content": "a"}], "parameters": 5}, 400),
            ({"instances": [{"prompt": "a cat"}]}, 501),
        ):
            status, answer, _ = await gateway.ask("POST", path, body)
            assert status == expected, answer
            if status == 200:
                [one] = answer["predictions"]
                assert one["embeddings"]["statistics"] == {"token_count": 2, "truncated": False}

    run(tmp_path, work)


def test_tokens_and_types_that_no_one_else_makes_are_refused(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        asked = {"model": MODELS["openai"], "input": [[1, 2, 3]]}
        status, made, _ = await gateway.ask("POST", "/v1/embeddings", asked)
        assert (status, made["usage"]["prompt_tokens"]) == (200, 3)
        status, made, _ = await gateway.ask(
            "POST", "/v1/embeddings", {**asked, "model": MODELS["ollama"]}
        )
        assert (status, made["error"]["code"]) == (400, "input_unsupported")
        assert "at $.input[0]: the input is tokens" in made["error"]["message"]
        body = {
            "model": MODELS["openai"],
            "texts": ["x"],
            "input_type": "search_query",
            "embedding_types": ["int8"],
        }
        status, made, _ = await gateway.ask("POST", "/v2/embed", body)
        assert status == 400, made
        assert "at $.embedding_types: vectors of type int8" in made["message"]
        status, made, _ = await gateway.ask(
            "POST", "/v2/embed", {**body, "model": MODELS["cohere"]}
        )
        assert (status, made["embeddings"]["int8"]) == (200, [[1, 2]])
        for bad in ({}, {"input": []}, {"input": [1, "a"]}, {"input": {"a": 1}}, {"input": 5}):
            status, made, _ = await gateway.ask(
                "POST", "/v1/embeddings", {"model": MODELS["gemini"], **bad}
            )
            assert (status, made["error"]["type"]) == (400, "invalid_request_error"), bad
        many = {"model": MODELS["openai"], "input": ["x"] * 2049}
        status, made, _ = await gateway.ask("POST", "/v1/embeddings", many)
        assert (status, made["error"]["code"]) == (400, "too_many_inputs")
        chat = {"model": "anthropic:claude-sonnet-4-6", "input": "x"}
        status, made, _ = await gateway.ask("POST", "/v1/embeddings", chat)
        assert (status, made["error"]["code"]) == (404, "model_not_available")

    run(tmp_path, work)


def test_many_inputs_are_spread_over_requests_and_stay_in_order(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        texts = [f"text number {number}" for number in range(230)]
        for vendor, requests in (("cohere", 3), ("gemini", 3), ("openai", 1)):
            vendors.seen.clear()
            body = {"model": MODELS[vendor], "input": texts}
            status, made, _ = await gateway.ask("POST", "/v1/embeddings", body)
            assert status == 200, made
            assert len(vendors.seen) == requests
            found = {each["index"]: each["embedding"] for each in made["data"]}
            assert [found[index] for index in range(230)] == [vector(text) for text in texts]

    run(tmp_path, work)


@pytest.mark.parametrize("failures", [1, 100])
def test_parts_that_were_made_are_not_asked_again_and_cost_something(
    tmp_path: Path, failures: int
) -> None:
    asked: list[str] = []

    def extra(seen: Seen) -> Reply | None:
        asked.append(seen.wire["texts"][0])
        fails = asked[-1] == "word 192" and asked.count("word 192") <= failures
        return Reply({"message": "try again"}, 500) if fails else None

    async def work(vendors: Vendors) -> None:
        vendors.configure(tmp_path)
        token = key(tmp_path, daily_cap_usd=Decimal(1)).token
        async with served(tmp_path) as gateway:
            texts = [f"word {number}" for number in range(200)]
            body = {"model": MODELS["cohere"], "input": texts, "input_type": "query"}
            status, _, _ = await gateway.ask("POST", "/v1/embeddings", body, token)
            assert status == (200 if failures == 1 else 502)
            assert (asked.count("word 0"), asked.count("word 96")) == (1, 1)
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests", token=token)
            paid = 400 if failures == 1 else 384
            assert listed["requests"][0]["usage"]["input_tokens"] == paid
            _, listed, _ = await gateway.ask("GET", "/keys", token=token)
            spent = Decimal(listed["keys"][0]["caps"][0]["spent_usd"])
            assert spent == paid * Decimal("0.12") / 10**6

    with Vendors(extra) as vendors:
        asyncio.run(work(vendors))


def test_other_paths_of_the_vendors_and_single_inputs(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        content = {"content": {"parts": [{"text": "hello"}]}}
        path = f"/v1beta/models/{MODELS['cohere']}:embedContent"
        _, made, _ = await gateway.ask("POST", path, content)
        assert made["embedding"]["values"] == vector("hello")
        body = {"model": MODELS["gemini"], "prompt": "hello"}
        _, made, _ = await gateway.ask("POST", "/api/embeddings", body)
        assert made == {"embedding": vector("hello")}
        token = key(tmp_path, daily_cap_usd=Decimal(1)).token
        content = {"content": {"parts": [{"text": "one"}, {"text": "two"}]}}
        path = f"/v1beta/models/{MODELS['openai']}:embedContent"
        status, made, _ = await gateway.ask("POST", path, content, token)
        assert (status, made.get("embedding")) == (200, {"values": vector("one\ntwo")})
        path = f"/v1beta/models/{MODELS['gemini']}:batchEmbedContents"
        names = [f"models/{MODELS['gemini']}", "models/another"]
        several = {"requests": [{"model": name, **content} for name in names]}
        status, made, _ = await gateway.ask("POST", path, several, token)
        assert (status, "$.requests[1].model" in made["error"]["message"]) == (400, True)

    run(tmp_path, work)


def test_keys_caps_and_prices_hold_for_embeddings(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        only = key(tmp_path, "only", allowed_models=[MODELS["openai"]]).token
        capped = key(tmp_path, "capped", daily_cap_usd=Decimal("0.000001")).token
        strict = key(tmp_path, "strict", refuse_losses=True).token
        for token, vendor, expected in (
            ("wrong", "openai", (401, "invalid_key")),
            (only, "openai", (200, None)),
            (only, "cohere", (403, "model_not_allowed")),
            (strict, "cohere", (400, "lossy_request")),
            (strict, "openai", (200, None)),
        ):
            body = {"model": MODELS[vendor], "input": "one two"}
            status, made, seen = await gateway.ask("POST", "/v1/embeddings", body, token)
            assert (status, made.get("error", {}).get("code")) == expected, made
            assert seen.get("x-interlingua-code") == expected[1]
            denied = {401: "authentication_error", 403: "permission_error"}
            assert status not in denied or made["error"]["type"] == denied[status]
        long = {"model": MODELS["openai"], "input": "word " * 1000}
        status, made, _ = await gateway.ask("POST", "/v1/embeddings", long, capped)
        assert (status, made["error"]["code"]) == (429, "quota_exceeded")
        spent = []
        for _ in range(4):
            body = {"model": MODELS["openai"], "input": "one two three"}
            status, _, _ = await gateway.ask("POST", "/v1/embeddings", body, capped)
            spent.append(status)
        assert spent[0] == 200
        status, listed, _ = await gateway.ask("GET", "/keys", token=capped)
        figures = [cap for each in listed["keys"] for cap in each["caps"]]
        assert float(figures[0]["spent_usd"]) == pytest.approx(spent.count(200) * 3 * 0.02 / 1e6)

    run(tmp_path, work)


def test_an_error_of_a_vendor_comes_in_the_clients_form(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        with pytest.raises(openai.NotFoundError, match="no such path"):
            await asyncio.to_thread(by_openai, gateway.base, ["bedrock:amazon.titan-embed-x"])

    def extra(seen: Seen) -> Reply | None:
        return Reply({"message": "no such path"}, 404) if "titan-embed-x" in seen.path else None

    async def serve(vendors: Vendors) -> None:
        vendors.configure(tmp_path)
        async with served(tmp_path) as gateway:
            await work(vendors, gateway)

    with Vendors(extra) as vendors:
        asyncio.run(serve(vendors))
