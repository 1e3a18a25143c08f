"""Providers that are asked with the client's own key: it goes to them, and nowhere else."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from interlingua.gateway.config import ConfigError, check, read
from interlingua.gateway.settings import PoolMember, ProviderSettings, RouteSettings, Settings
from tests.gateway.batches.running import begun, ended, lines_of, rows_of
from tests.gateway.endpoints.vendors import KEY, Reply, Seen, Vendors
from tests.gateway.serving import Served, asked, key, served, settings_in

OWN, OTHER = "sk-of-the-client-0123456789", "sk-of-another-client-0123456789"
GPT, CLAUDE = "openai:gpt-4.1", "anthropic:claude-sonnet-4-6"
Work = Callable[[Vendors, Served], Any]


class Providers:
    """Chat of each vendor. A text `fail` at OpenAI is an error of its own; `wrong` refuses the
    key, and repeats it."""

    def __call__(self, seen: Seen) -> Reply | None:
        vendor = seen.path.split("/")[1]
        words = seen.body.decode(errors="replace")
        if vendor == "openai" and "fail" in words:
            return Reply({"error": {"message": "down"}}, 500)
        if "wrong" in words:
            sent = seen.headers.get("authorization", "") + seen.headers.get("x-api-key", "")
            return Reply({"error": {"message": f"wrong key {sent}", "type": "x"}}, 401)
        if "generateContent" in seen.path:
            content = {"role": "model", "parts": [{"text": "yes"}]}
            return Reply({"candidates": [{"content": content, "finishReason": "STOP"}]})
        if seen.path.endswith("/moderations"):
            return Reply({"id": "m", "model": "omni", "results": []})
        if seen.path.endswith("/messages/count_tokens"):
            return Reply({"input_tokens": 3})
        if seen.path.endswith("/messages"):
            wire: Any = {"id": "m", "type": "message", "role": "assistant", "model": "x"}
            wire |= {"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"}
            return Reply({**wire, "usage": {"input_tokens": 1, "output_tokens": 1}})
        if seen.path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": "yes"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            wire = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4.1"}
            return Reply({**wire, "choices": choices, "usage": usage})
        return None


BY_CLIENT = ProviderSettings(credentials="client")
ROUTES = {
    "first": RouteSettings(GPT, fallbacks=(CLAUDE, "mistral:mistral-small-latest")),
    "pool": RouteSettings(GPT, models=(PoolMember(GPT), PoolMember("mistral:mistral-small"))),
    "last": RouteSettings("mistral:mistral-small", fallbacks=(GPT,)),
}


def run(home: Path, work: Work, *, of: tuple[str, ...] = ("openai",), **changes: Any) -> None:
    async def serve(vendors: Vendors) -> None:
        vendors.configure(home)
        own = dict.fromkeys(of, BY_CLIENT)
        settings = settings_in(home, providers=own, routes=ROUTES, **changes)
        async with served(home, settings) as gateway:
            await work(vendors, gateway)

    with Vendors(Providers()) as vendors:
        asyncio.run(serve(vendors))


async def ask(
    gateway: Served, body: Any, path: str = "/v1/chat/completions", **headers: str
) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with gateway.http.post(gateway.base + path, json=body, headers=named) as reply:
        return reply.status, await reply.json(content_type=None), reply.headers


def secrets_of(seen: Seen) -> str:
    return json.dumps([seen.headers, seen.path, seen.body.decode(errors="replace")])


def test_the_sdks_of_each_vendor_with_their_own_key(tmp_path: Path) -> None:
    """On a gateway with keys, whose own is in another header."""

    def by_sdks(url: str, token: str) -> None:
        ours = {"x-interlingua-key": token}
        with openai.OpenAI(base_url=f"{url}/v1", api_key=OWN, default_headers=ours) as client:
            hello: Any = [{"role": "user", "content": "hi"}]
            for model in (GPT, "gpt-4.1"):
                client.chat.completions.create(model=model, messages=hello)
            client.embeddings.create(model="text-embedding-3-small", input="hi")
            client.moderations.create(input="hi")
        with anthropic.Anthropic(base_url=url, api_key=OWN, default_headers=ours) as other:
            other.messages.create(model=CLAUDE, messages=hello, max_tokens=5)
            other.messages.count_tokens(model=CLAUDE, messages=hello)
        with anthropic.Anthropic(base_url=url, auth_token=OWN, default_headers=ours) as other:
            other.messages.create(model=CLAUDE, messages=hello, max_tokens=5)
        options = genai.types.HttpOptions(base_url=url, headers=ours)
        google = genai.Client(api_key=OWN, http_options=options)
        google.models.generate_content(model="gemini-2.5-flash", contents="hi")

    async def work(vendors: Vendors, gateway: Served) -> None:
        token = key(tmp_path).token
        await asyncio.to_thread(by_sdks, gateway.base, token)
        assert len(vendors.seen) == 8
        for seen in vendors.seen:
            assert OWN in str(seen.headers), seen
            assert KEY not in secrets_of(seen)
            assert token not in secrets_of(seen)
        assert vendors.seen[-2].headers["authorization"] == f"Bearer {OWN}"
        assert vendors.seen[-1].headers["x-goog-api-key"] == OWN
        body = {**asked("hi", CLAUDE), "max_tokens": 5}
        ours = {"x_interlingua_key": token}
        assert (await ask(gateway, body, "/v1/messages", x_api_key=OWN, **ours))[0] == 200
        assert vendors.last().headers["x-api-key"] == OWN, "in the header that the client used"
        assert (await ask(gateway, asked("hi", GPT), x_api_key=OWN, **ours))[0] == 200
        assert vendors.last().headers["authorization"] == f"Bearer {OWN}", "as it takes it"

    run(tmp_path, work, of=("openai", "anthropic", "gemini"))


@pytest.mark.parametrize("keyed", [False, True])
def test_a_request_without_an_own_key_is_refused(tmp_path: Path, keyed: bool) -> None:
    """Nothing of the gateway is sent in its place, its own key least of all."""

    async def work(vendors: Vendors, gateway: Served) -> None:
        token = key(tmp_path).token if keyed else "gw_looks_like_one"
        tries: list[dict[str, str]] = [{"authorization": f"Bearer {token}"}]
        tries.append({"x_interlingua_key": token, "x_api_key": token})
        if keyed:
            tries.append({"x_interlingua_key": token})
        for headers in tries:
            for path in ("/v1/chat/completions", "/v1/moderations", "/v1/embeddings"):
                status, reply, _ = await ask(
                    gateway, {**asked("hi", GPT), "input": "x"}, path, **headers
                )
                assert (status, reply["error"]["code"]) == (401, "own_key_missing"), reply
        assert vendors.seen == []

    run(tmp_path, work)


def test_other_providers_of_the_route_never_get_it(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        own = {"authorization": f"Bearer {OWN}"}
        for route in ("first", "pool", "last"):
            for words in ("hi", "fail"):
                for _ in range(6):
                    status, reply, _ = await ask(gateway, asked(words, route), **own)
                    assert status == 200, reply
        vendor = {each.path.split("/")[1] for each in vendors.seen}
        assert vendor == {"openai", "anthropic", "mistral"}
        for seen in vendors.seen:
            is_openai = seen.path.startswith("/openai")
            assert (OWN in secrets_of(seen)) is is_openai, seen
            assert (KEY in secrets_of(seen)) is not is_openai, seen

    run(tmp_path, work)


def test_a_second_provider_with_own_keys_is_never_asked_by_fallback(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        status, _, _ = await ask(gateway, asked("hi", "last"), authorization=f"Bearer {OWN}")
        assert status == 200
        status, _, _ = await ask(gateway, asked("fail", "first"), authorization=f"Bearer {OWN}")
        assert status == 200
        assert {each.path.split("/")[1] for each in vendors.seen} == {"openai", "mistral"}

    run(tmp_path, work, of=("openai", "anthropic"))
    settings = Settings(providers={"openai": BY_CLIENT}, routes=ROUTES)
    (problem,) = check(settings)
    assert problem.place == "routes.last"
    assert "sent only to the first provider of a route" in problem.text


def test_keys_and_credentials_are_one_or_the_other() -> None:
    text = b'[providers.openai]\nkeys = ["env:A"]\ncredentials = "client"\n'
    with pytest.raises(ConfigError, match="`keys` and `credentials`"):
        read(text, Path("gateway.toml"))
    with pytest.raises(ConfigError, match="credentials"):
        read(b'[providers.openai]\ncredentials = "magic"\n', Path("gateway.toml"))


def test_what_a_provider_has_against_it_is_shown_without_the_key(tmp_path: Path) -> None:
    """And it does not make the others of a pool wait."""

    async def work(vendors: Vendors, gateway: Served) -> None:
        for model in (GPT, "pool"):
            for _ in range(4):
                status, reply, _ = await ask(
                    gateway, asked("wrong", model), authorization=f"Bearer {OWN}"
                )
                assert status in ((401,) if model == GPT else (401, 502)), reply
                assert OWN not in json.dumps(reply)
                assert "wrong key" in json.dumps(reply) or status == 502
        vendors.seen.clear()
        for _ in range(8):
            assert (await ask(gateway, asked("hi", "pool"), authorization=f"Bearer {OTHER}"))[
                0
            ] == 200
        assert any(OTHER in str(seen.headers) for seen in vendors.seen), "the member rests"

    run(tmp_path, work)


def test_it_is_nowhere_afterwards(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work(vendors: Vendors, gateway: Served) -> None:
        token = key(tmp_path, log_content_days=5, keep_content=True).token
        for words in ("hi", "fail", "wrong"):
            for stream in (False, True):
                await ask(
                    gateway,
                    asked(words, "first", stream=stream),
                    authorization=f"Bearer {OWN}",
                    x_interlingua_key=token,
                    idempotency_key=f"{words}-{stream}",
                )
        await gateway.stored()
        shown = await gateway.ask("GET", "/metrics", token=token)
        assert OWN not in str(shown)
        targets = gateway.service.gateway.targets
        assert OWN not in _revealed([targets._ready, targets._credentials, targets._found])
        gateway_routes = gateway.service.gateway._routes
        assert OWN not in _revealed([gateway_routes])

    run(tmp_path, work)
    assert OWN not in caplog.text
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert OWN.encode() not in file.read_bytes(), file


def _revealed(value: Any) -> str:
    """Everything that can be reached in it, secrets in the clear."""
    seen: set[int] = set()
    texts: list[str] = []

    def walk(each: Any) -> None:
        if id(each) in seen or isinstance(each, (type, str, int, bytes, float)):
            texts.append(str(each))
            return
        seen.add(id(each))
        if hasattr(each, "reveal"):
            texts.append(each.reveal())
        elif isinstance(each, dict):
            for pair in each.items():
                walk(pair)
        elif isinstance(each, (list, tuple, set, frozenset)):
            for inner in each:
                walk(inner)
        elif hasattr(each, "__struct_fields__"):
            for name in each.__struct_fields__:
                walk(getattr(each, name, None))

    walk(value)
    return "\n".join(texts)


@pytest.mark.parametrize("keyed", [False, True])
def test_an_answer_is_not_replayed_to_a_client_with_another_key(
    tmp_path: Path, keyed: bool
) -> None:
    async def work(vendors: Vendors, gateway: Served) -> None:
        ours = {"x_interlingua_key": key(tmp_path, keep_content=True).token} if keyed else {}
        for own in (OWN, OTHER, OWN, OTHER):
            status, _, _ = await ask(
                *(gateway, asked("hi", GPT)),
                authorization=f"Bearer {own}",
                idempotency_key="one",
                **ours,
            )
            assert status == 200
        used = [seen.headers["authorization"] for seen in vendors.seen]
        assert used == [f"Bearer {OWN}", f"Bearer {OTHER}"]

    run(tmp_path, work)


def test_what_runs_without_its_client_has_no_key(tmp_path: Path) -> None:
    """Batches, responses in the background and sessions."""

    def batch(url: str, ours: dict[str, str]) -> None:
        with openai.OpenAI(base_url=f"{url}/v1", api_key=OWN, default_headers=ours) as client:
            done = ended(client, begun(client, lines_of(["hi"], GPT)))
            assert "own_key_missing" in json.dumps(rows_of(client, done.error_file_id))
            response = client.responses.create(model=GPT, input="hi", background=True)
            while response.status in ("queued", "in_progress"):
                response = client.responses.retrieve(response.id)
            assert response.status == "failed"

    async def work(vendors: Vendors, gateway: Served) -> None:
        token = key(tmp_path, keep_content=True).token
        await asyncio.to_thread(batch, gateway.base, {"x-interlingua-key": token})
        own = {"authorization": f"Bearer {OWN}", "x_interlingua_key": token}
        status, made, _ = await ask(
            gateway, {"workspace_path": ".", "active_model": GPT}, "/v1/sessions", **own
        )
        assert status in (200, 201), made
        path = f"/v1/sessions/{made['id']}/messages"
        status, reply, _ = await ask(gateway, {"content": "hi"}, path, **own)
        assert vendors.seen == [], reply

    run(tmp_path, work)


def test_a_key_in_a_file_is_not_used_in_its_place(tmp_path: Path) -> None:
    """`key` in the file of providers is the operator's."""

    async def work(vendors: Vendors, gateway: Served) -> None:
        status, _, _ = await ask(gateway, asked("hi", GPT))
        assert status == 401
        assert vendors.seen == []
        provider = gateway.service.gateway.targets.providers["openai"]
        assert provider.api_key is None

    run(tmp_path, work)
