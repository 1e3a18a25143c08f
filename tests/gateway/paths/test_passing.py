"""Images, audio, moderations and reranking by the official SDKs, passed on to their provider."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import cohere
import httpx
import openai
import pytest

from interlingua.gateway.paths.passing import PASSED
from tests.gateway.endpoints.vendors import KEY, Reply, Seen, Vendors
from tests.gateway.serving import Served, key, served

SOUND = bytes(range(256)) * 2000


def vendor(seen: Seen) -> Reply | None:
    """What the vendors answer at these paths."""
    kind = {"content-type": "audio/mpeg"}
    match seen.path.removeprefix("/openai/v1"):
        case "/images/generations":
            data = [{"b64_json": "AAAA"}]
            usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
            return Reply({"created": 1, "data": data, "usage": usage})
        case "/images/edits":
            return Reply({"created": 1, "data": [{"b64_json": "BBBB"}]})
        case "/audio/speech":
            return Reply(SOUND, headers=kind)
        case "/audio/transcriptions":
            return Reply({"text": "hello"})
        case "/moderations":
            return Reply({"id": "m", "model": "omni", "results": []})
        case "/cohere/v2/rerank":
            results = [{"index": 1, "relevance_score": 0.9}]
            return Reply({"id": "r", "results": results, "meta": {}})
        case "/rerank":
            return Reply({"error": {"message": f"wrong key {KEY}"}}, 401)
    return None


def run(home: Path, work: Callable[[Vendors, Served], Any]) -> None:
    async def serve(vendors: Vendors) -> None:
        vendors.configure(home)
        async with served(home) as gateway:
            await work(vendors, gateway)

    with Vendors(vendor) as vendors:
        asyncio.run(serve(vendors))


def by_sdks(url: str, token: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0) as client:
        image = client.images.generate(model="gpt-image-1", prompt="a dot")
        assert image.data and image.data[0].b64_json == "AAAA"  # noqa: PT018  # typed as optional
        pictures = [("a.png", io.BytesIO(b"one")), ("b.png", io.BytesIO(b"two"))]
        edited = client.images.edit(model="openai:gpt-image-1", image=pictures, prompt="a dot")
        assert edited.data
        dialect = client.audio.speech.create(model="tts-1", voice="alloy", input="hi").read()
        assert dialect == SOUND
        heard = client.audio.transcriptions.create(
            model="openai:whisper-1", file=("a.mp3", io.BytesIO(SOUND * 5))
        )
        assert heard.text == "hello"
        assert client.moderations.create(input="hi").results == []
    with httpx.Client() as http:
        other = cohere.ClientV2(api_key=token, base_url=url, httpx_client=http)
        ranked = other.rerank(model="rerank-v3.5", query="q", documents=["a", "b"])
        assert ranked.results[0].index == 1


def test_what_the_sdks_send_arrives_whole_under_the_providers_names(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        token = key(tmp_path).token
        await asyncio.to_thread(by_sdks, gateway.base, token)
        by_path = {each.path: each for each in vendors.seen}
        assert all(KEY in str(each.headers) for each in vendors.seen)
        assert all(token not in str(each.headers) for each in vendors.seen)
        assert by_path["/openai/v1/images/generations"].wire["model"] == "gpt-image-1"
        form = by_path["/openai/v1/audio/transcriptions"]
        assert SOUND * 5 in form.body
        assert b'name="model"\r\n\r\nwhisper-1\r\n' in form.body
        assert b"openai:whisper-1" not in form.body
        assert int(form.headers["content-length"]) == len(form.body)
        edits = by_path["/openai/v1/images/edits"].body
        assert edits.count(b"filename=") == 2
        assert b"one" in edits
        assert by_path["/openai/v1/moderations"].wire["model"] == "omni-moderation-latest"
        await gateway.stored()
        _, listed, _ = await gateway.ask("GET", "/requests", token=token)
        rows = {row["action"]: row for row in listed["requests"]}
        assert set(rows) == {"images", "audio", "moderations", "rerank"}
        assert all(row["status"] == 200 for row in listed["requests"])
        made = [row for row in listed["requests"] if (row["usage"] or {}).get("output_tokens")]
        assert [row["usage"]["input_tokens"] for row in made] == [3]
        # what nobody counts has a cost that nobody knows, and moderations have none
        lacks = {name: (row["usage"] or {}).get("unpriced") for name, row in rows.items()}
        assert lacks["audio"] == ["audio"]
        assert lacks["rerank"] == ["rerank"]
        assert lacks["moderations"] is None
        _, stats, _ = await gateway.ask("GET", "/stats", token=token)
        unpriced = {row["name"]: row["unpriced"] for row in stats["models"]}
        assert unpriced["openai:tts-1"] == 1
        assert {row["name"]: row["cost_usd"] for row in stats["models"]}["openai:tts-1"] is None
        assert sum(unpriced.values()) == len(listed["requests"]) - 1

    run(tmp_path, work)


def test_every_path_and_principal(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        tokens = {
            "only": key(tmp_path, "only", allowed_models=["openai:gpt-4.1"]).token,
            "capped": key(tmp_path, "capped", daily_cap_usd=Decimal(5)).token,
            "wrong": "gw_wrong",
        }
        for path, action in PASSED.items():
            body = {"model": "openai:some-model", "input": "x"}
            for name, token in (*tokens.items(), ("none", None)):
                status, reply, _ = await gateway.ask("POST", path, body, token)
                expected = {"only": 403, "capped": 403}.get(name, 401)
                if (name, action) == ("capped", "moderations"):
                    expected = 200  # which costs nothing
                assert status == expected, (path, name, reply)
                assert KEY not in json.dumps(reply)
        assert {each.path for each in vendors.seen} == {"/openai/v1/moderations"}
        strange = {"model": "anthropic:claude-sonnet-4-6"}
        rich = key(tmp_path, "rich").token
        status, reply, _ = await gateway.ask("POST", "/v1/images/generations", strange, rich)
        assert (status, reply["error"]["code"]) == (404, "model_not_available")
        status, reply, _ = await gateway.ask("POST", "/v1/images/generations", {}, rich)
        assert status == 400
        slow = key(tmp_path, "slow", requests_per_minute=1).token
        assert (await gateway.ask("POST", "/v1/moderations", {"input": "x"}, slow))[0] == 200
        status, reply, _ = await gateway.ask("POST", "/v1/moderations", {"input": "x"}, slow)
        assert (status, reply["error"]["type"]) == (429, "rate_limit_error")
        status, reply, _ = await gateway.ask("POST", "/v1/rerank", {"model": "openai:r"}, rich)
        assert status == 502
        assert KEY not in json.dumps(reply)

    run(tmp_path, work)


def test_uploads_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        gateway.service.gateway.settings.limits.__dict__["upload"] = 300_000

        def send() -> None:
            with openai.OpenAI(
                base_url=f"{gateway.base}/v1", api_key="any", max_retries=0
            ) as client:
                client.audio.transcriptions.create(model="whisper-1", file=io.BytesIO(SOUND))

        with pytest.raises(openai.APIStatusError) as error:
            await asyncio.to_thread(send)
        assert error.value.status_code == 413
        assert vendors.seen == []

    run(tmp_path, work)
