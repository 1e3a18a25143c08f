"""C8: a provider in trouble gets few retries through a gateway, whoever asks."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from interlingua.client.retry import Budget
from interlingua.gateway.sessions.metered_client import MeteredClient
from interlingua.gateway.settings import RouteSettings
from interlingua.gateway.shared.state import ANONYMOUS
from tests.gateway.idempotency.pairs import main
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, served, settings_in

CALLS = 100


class Overloaded(Upstream):
    """Of Anthropic's paths it serves none."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if dialect != "anthropic":
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        body = b'{"type":"error","error":{"type":"overloaded_error","message":"later"}}'
        handler.send_response(529)
        handler.send_header("content-type", "application/json")
        handler.send_header("retry-after", "0")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def test_c8_when_all_fails_the_provider_is_asked_little_more_and_clients_are_told_at_once(
    tmp_path: Path,
) -> None:
    routes = {"safe": RouteSettings(ANTHROPIC, (OPENAI,))}

    async def inside(provider: Overloaded) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            gateway.service.gateway.budget = budget = Budget()
            for number in range(CALLS):
                body = asked("hello", stream=number % 2 == 0)
                status, _, headers = await gateway.ask("POST", "/v1/chat/completions", body)
                assert status >= 429
                assert headers["retry-after"] == "1"
            assert CALLS < len(provider.requests) <= 1.2 * CALLS
            assert budget.counts("anthropic") == (CALLS, len(provider.requests) - CALLS)
            assert MeteredClient(gateway.service.gateway, ANONYMOUS).budget is budget
            # Where another provider can do it, all are answered.
            provider.requests.clear()
            for _ in range(20):
                status, _, headers = await gateway.ask(
                    "POST", "/v1/chat/completions", asked("hello", "safe")
                )
                assert (status, headers["x-interlingua-model"]) == (200, OPENAI)
            assert len(provider.requests) <= 20 + 1.2 * 20

    with Overloaded() as provider:
        asyncio.run(inside(provider))


def test_c7_a_few_pairs_of_every_kind_are_as_they_should_be() -> None:
    assert asyncio.run(main(240, None)) == 0
