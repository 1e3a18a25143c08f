"""Connections to providers are reused only for requests of the same tenant."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.client.transport import HttpRequest
from interlingua.gateway.upstream.transport import Upstream
from tests.gateway import serving
from tests.gateway.serving import asked, key, served
from tests.gateway.upstream.test_connection import PLAIN, SHORT, Provider, run
from tests.loopback import reply


class LateProvider(serving.Upstream):
    """Sends a stray answer first on each connection, and is one answer behind from then on."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        late = getattr(handler, "late", _message("stray"))
        handler.late = _message(wire["messages"][-1]["content"])  # type: ignore[attr-defined]
        reply(handler, late)


def _message(words: Any) -> bytes:
    text = words if isinstance(words, str) else words[0]["text"]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    return json.dumps(
        {**message, "content": content, "stop_reason": "end_turn", "usage": usage}
    ).encode()


def test_stray_answers_of_a_provider_never_reach_another_key(tmp_path: Path) -> None:
    async def work(provider: LateProvider) -> list[tuple[str, str]]:
        provider.configure(tmp_path)
        tokens = {name: key(tmp_path, name).token for name in ("alice", "bob")}
        seen = []
        async with served(tmp_path) as gateway:
            for number in range(10):
                for name, token in tokens.items():
                    body = asked(f"{name} {number}")
                    path = "/v1/chat/completions"
                    status, answer, _ = await gateway.ask("POST", path, body, token)
                    assert status == 200
                    text = answer["choices"][0]["message"]["content"]
                    seen.append((name, text.partition(" ")[0]))
        return seen

    with LateProvider() as provider:
        seen = asyncio.run(work(provider))
    assert sorted({*seen}) == [
        *(("alice", "alice"), ("alice", "stray")),
        *(("bob", "bob"), ("bob", "stray")),
    ]


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "proxy"])
def test_tenants_have_connections_of_their_own(proxied: bool) -> None:
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> None:
        own = Upstream(proxy=provider.url.partition("/v1")[0]) if proxied else upstream
        for tenant in ("a", "b", "a", "b", None, None):
            url = "http://provider.invalid/v1" if proxied else provider.url
            reply = await own.send(HttpRequest(url, {}, b"{}"), SHORT, tenant)
            assert await reply.body(100) == b"hello"
            reply.close()
        await own.close()

    run(provider, work)
    assert provider.connections == 3
    assert not any(b"#" in head for head in provider.heads)


def test_the_least_recently_used_connection_is_closed_for_another_tenant() -> None:
    provider = Provider(PLAIN)

    async def work(upstream: Upstream) -> None:
        upstream._most_open = 2
        for tenant in ("a", "b", "a", "c", "a", "b"):
            reply = await upstream.send(HttpRequest(provider.url, {}, b"{}"), SHORT, tenant)
            await reply.body(100)
            reply.close()
            assert len(upstream._open) <= 2

    run(provider, work)
    assert provider.connections == 4
