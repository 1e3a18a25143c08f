"""One attempt, as clients and the gateway make it: what is a success, what an error may show, and
where a model that is not set up leaves the call."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

import interlingua as il
from interlingua.client.client import AsyncClient
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.providers.provider import MissingSettingError

KEY = "planted-secret-0123456789"
GPT, CLAUDE = "openai:gpt-4o", "anthropic:claude-sonnet-4-5"
ANSWER = {
    "id": "c-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


class Reply:
    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status, self.headers = status, headers
        self._body = body

    async def chunk(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def body(self, limit: int) -> bytes:
        return await self.chunk()

    def close(self) -> None:
        return None


class Script:
    """A transport that answers every request alike, and keeps where each went."""

    def __init__(self, status: int = 200, body: Any = ANSWER, **headers: str) -> None:
        self.asked: list[str] = []
        self._status = status
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._headers = {"content-type": "application/json", **headers}

    async def send(self, request: HttpRequest, limits: Limits) -> Reply:
        self.asked.append(request.url)
        return Reply(self._status, self._body, self._headers)

    async def close(self) -> None:
        return None


def client(script: Script, environ: Mapping[str, str]) -> AsyncClient:
    return AsyncClient(environ=environ, transport=script, max_retries=0, profiles=())


def asked_client(script: Script, environ: Mapping[str, str], *fallbacks: str) -> il.Answer:
    asking = client(script, environ).generate(GPT, "hi", fallbacks=fallbacks)
    return asyncio.run(asking)


def asked_gateway(script: Script, environ: Mapping[str, str], *fallbacks: str) -> tuple[int, Any]:
    settings = Settings(
        routes={"m": RouteSettings(GPT, fallbacks)}, retry=RetryPolicy(0), raises=True
    )
    gateway = Gateway(settings, targets=Targets(environ=environ, profiles=()), transport=script)
    return asyncio.run(_through(App(gateway), BODY))


async def _through(app: App, wire: Any) -> tuple[int, Any]:
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    collected: list[Any] = []
    never = asyncio.Event()
    first = iter([{"type": "http.request", "body": json.dumps(wire).encode()}])

    async def receive() -> Any:
        message = next(first, None)
        if message is None:
            await never.wait()
        return message

    async def send(message: Any) -> None:
        collected.append(message)

    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in collected[1:])
    return collected[0]["status"], json.loads(body)


def test_any_status_of_success_is_one_for_clients_and_the_gateway() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    for status in (200, 201, 203):
        assert asked_client(Script(status), environ).text == "ok"
        assert asked_gateway(Script(status), environ)[0] == 200


def test_an_answer_that_cannot_be_read_never_shows_the_key() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    fields = {"content-type": f"text/{KEY}", "x-request-id": f"r-{KEY}"}
    with pytest.raises(il.CallError) as failed:
        asked_client(Script(200, b"<html>", **fields), environ)
    assert KEY not in f"{failed.value}{failed.value.request_id}"
    status, body = asked_gateway(Script(200, b"<html>", **fields), environ)
    assert status == 502
    assert KEY not in json.dumps(body)


def test_a_model_without_a_key_is_passed_over_for_the_next_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, logger="interlingua.client.retry")
    environ = {"GROQ_API_KEY": KEY}
    answer = asked_client(script := Script(), environ, CLAUDE, "groq:llama-3.1-8b-instant")
    assert (answer.text, answer.model) == ("ok", "groq:llama-3.1-8b-instant")
    assert [attempt.model for attempt in answer.attempts][:2] == [GPT, CLAUDE]
    assert ["api.groq.com" in url for url in script.asked] == [True]
    assert [record.message for record in caplog.records] == ["model_skipped"] * 2
    status, body = asked_gateway(script, environ, "groq:llama-3.1-8b-instant")
    assert (status, body["choices"][0]["message"]["content"]) == (200, "ok")


def test_without_another_model_the_missing_key_is_named() -> None:
    with pytest.raises(MissingSettingError, match="OPENAI_API_KEY"):
        asked_client(Script(), {}, CLAUDE)
    status, body = asked_gateway(Script(), {})
    assert status == 404
    assert "OPENAI_API_KEY" in body["error"]["message"]


def test_what_the_next_model_fails_with_is_told_and_not_the_missing_key() -> None:
    environ = {"GROQ_API_KEY": KEY}
    refused = {"error": {"message": "no such thing", "type": "invalid_request_error"}}
    with pytest.raises(il.CallError, match="no such thing") as failed:
        asked_client(Script(400, refused), environ, "groq:llama-3.1-8b-instant")
    assert failed.value.attempts[0].model == GPT
