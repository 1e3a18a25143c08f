"""What of a provider's answer and error reaches the client, and what of a client's request goes to
the provider."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.client.retry import RetryPolicy
from interlingua.gateway.relay.inbound import repeats_field
from tests.agents.chat.provider import KEY
from tests.gateway.audits.test_framing import sent
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Served,
    Upstream,
    asked,
    key,
    served,
    settings_in,
)


class Failing(Upstream):
    """Fails with the status that it is told in words, and says the key that it was asked with.
    After `again` failures it answers."""

    again = 1000
    paths: list[str]

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        words = str(wire["messages"][-1]["content"])
        if "status" not in words or self.again <= 0:
            super().answer(handler, dialect, wire)
            return
        self.again -= 1
        self.requests.append(wire)
        status = int(words.partition("status ")[2][:3])
        error = {"type": "overloaded_error", "message": f"no {KEY} no"}
        body = json.dumps({"type": "error", "error": error}).encode()
        handler.send_response(status)
        for name, value in (
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("anthropic-ratelimit-requests-remaining", "3"),
            ("request-id", f"req_{KEY}"),
            ("set-cookie", "a=b"),
            ("x-internal", "y"),
        ):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


def _same(words: str, stream: bool) -> tuple[str, dict[str, Any]]:
    body = asked(words, stream=stream, max_tokens=9)
    return "/v1/messages", body


def _other(words: str, stream: bool) -> tuple[str, dict[str, Any]]:
    return "/v1/chat/completions", asked(words, stream=stream)


def _quick(home: Path) -> Any:
    return replace(settings_in(home), retry=RetryPolicy(2, first=0.001, longest=0.002))


def test_an_error_tells_what_is_left_of_a_limit_and_never_a_key_of_ours(tmp_path: Path) -> None:
    async def work(provider: Failing) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, _quick(tmp_path)) as gateway:
            for status in (400, 401, 403, 404, 422, 429, 500, 529):
                for make in (_same, _other):
                    for stream in (False, True):
                        path, body = make(f"status {status}", stream)
                        found, reply, headers = await gateway.ask("POST", path, body)
                        place = (status, path, stream, reply)
                        assert found >= 400, place
                        assert KEY not in json.dumps(reply) + json.dumps(headers), place
                        left = headers["anthropic-ratelimit-requests-remaining"]
                        assert left == "3", place
                        assert headers["x-interlingua-upstream-id"] == "req_[secret]", place
                        assert "set-cookie" not in headers, place
                        assert "x-internal" not in headers, place
                        tries = headers.get("x-interlingua-attempts", "1")
                        assert int(tries) == len(provider.requests), place
                        provider.requests.clear()

    with Failing() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_says_how_often_it_was_asked_for(tmp_path: Path, stream: bool) -> None:
    async def work(provider: Failing) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, _quick(tmp_path)) as gateway:
            for make in (_same, _other):
                provider.again = 2
                path, body = make("status 529", stream)
                status, _, headers = await gateway.ask("POST", path, body)
                assert (status, headers["x-interlingua-attempts"]) == (200, "3")
                _, _, headers = await gateway.ask("POST", path, body)
                assert "x-interlingua-attempts" not in headers, "it was asked once"

    with Failing() as provider:
        asyncio.run(work(provider))


CONTROLS = (
    "\r\nSet-Cookie: a=b",
    "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "\n",
    "\r",
    "\x00",
    "\x7f",
    "\x85",
)


def test_no_name_of_a_model_gets_into_headers_or_addresses(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for odd in CONTROLS:
                for front in ("anthropic:x", "openai:x", "x", "local", ""):
                    for model in (front + odd, odd + front):
                        data = await _asked_raw(gateway, model)
                        assert data.startswith(b"HTTP/1.1 400"), (model, data)
                        assert data.count(b"HTTP/1.1 ") == 1, model
                        assert b"\r\nset-cookie" not in data.lower(), model
            assert (await _asked_raw(gateway, "anthropic:" + "x" * 5000)).startswith(
                b"HTTP/1.1 400"
            )
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))


async def _asked_raw(gateway: Served, model: str) -> bytes:
    data = json.dumps(asked("hi", model)).encode()
    line = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    return (await sent(gateway, line + b"Content-Length: %d\r\n\r\n%b" % (len(data), data)))[0]


MINE = (
    *("cookie", "x-forwarded-for", "x-forwarded-host", "forwarded", "via", "x-real-ip", "te"),
    *("openai-organization", "openai-project", "x-stainless-os", "proxy-authorization", "x-secret"),
    *(
        "anthropic-dangerous-direct-browser-access",
        "x-api-key",
        "x-goog-api-key",
        "accept-language",
    ),
)


def test_only_headers_on_the_list_go_up(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            headers = dict.fromkeys(MINE, "canary-header")
            headers |= {"connection": "keep-alive, x-secret", "anthropic-beta": "context-1m"}
            for path, body in (_same("hi", False), _other("hi", False), _same("hi", True)):
                status, _, _ = await gateway.ask("POST", path, body, headers=headers)
                assert status == 200
                up = provider.headers[-1]
                assert "canary-header" not in json.dumps(up), path
                assert "x-secret" not in up
                assert up.get("x-api-key") == KEY
                expected = "context-1m" if path == "/v1/messages" else None
                assert up.get("anthropic-beta") == expected

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize(
    "name",
    ['"model"', '"mod\\u0065l"', '"\\u006dodel"', '"\\u006D\\u006f\\u0064\\u0065\\u006c" \n'],
)
def test_a_key_cannot_say_its_model_twice(tmp_path: Path, name: str) -> None:
    """The one that is allowed to us, another one to a provider that goes by the first."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, allowed_models=(OPENAI,)).token
        bodies: list[bytes] = []
        real = provider.answer

        def answer(handler: Any, dialect: str, wire: dict[str, Any]) -> None:
            bodies.append(str(handler.headers["content-length"]).encode())
            real(handler, dialect, wire)

        provider.answer = answer  # type: ignore[method-assign]  # to see what came
        body = b'{%b:"gpt-5-pro","model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]}'
        data = body % name.encode()
        line = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        line += b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n"
        async with served(tmp_path) as gateway:
            out, _ = await sent(gateway, line % (token.encode(), len(data)) + data)
            assert out.startswith(b"HTTP/1.1 200"), out
            whole = len(b'{"model":"gpt-4.1","messages":[{"role":"user","content":"hi"}]}')
            assert bodies == [b"%d" % whole], "it was sent once, without the other one"

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_escapes_in_what_is_said_change_nothing() -> None:
    plain = json.dumps(asked("Grüße 世界 \x01"), ensure_ascii=True).encode()
    assert b"\\u00" in plain
    assert not repeats_field(plain)
    assert not repeats_field(b'{"a":"' + b"\\u0041" * 100_000 + b'"}')


@pytest.mark.parametrize("small", ["max_completion_tokens", "max_output_tokens"])
def test_a_cap_goes_by_the_longest_answer_that_a_request_allows(tmp_path: Path, small: str) -> None:
    """A provider may know but one of the words for it."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, daily_cap_usd=Decimal("0.01")).token
        async with served(tmp_path) as gateway:
            for model, path in ((ANTHROPIC, "/v1/messages"), (OPENAI, "/v1/chat/completions")):
                body = asked("hi", model, max_tokens=1_000_000, **{small: 1})
                status, reply, _ = await gateway.ask("POST", path, body, token)
                assert status == 429, reply
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))
