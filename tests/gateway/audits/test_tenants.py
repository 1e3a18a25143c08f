"""Conversations that a provider keeps, in the one account that all keys of a gateway share."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.audits.test_framing import sent
from tests.gateway.serving import OPENAI, Served, Upstream, key, served

BODY: dict[str, Any] = {"model": OPENAI, "input": "hi", "max_output_tokens": 9}


async def _answered(gateway: Served, token: str, stream: bool) -> str:
    status, reply, _ = await gateway.ask("POST", "/v1/responses", {**BODY, "stream": stream}, token)
    assert status == 200, reply
    if not stream:
        return str(reply["id"])
    lines = [line[6:] for line in reply.splitlines() if line.startswith("data: {")]
    return str(json.loads(lines[-1])["response"]["id"])


@pytest.mark.parametrize("stream", [False, True])
def test_nobody_goes_on_from_anothers_response_that_its_provider_keeps(
    tmp_path: Path, stream: bool
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            id = await _answered(gateway, own, stream)
            await _judged(provider, gateway, id, own, other)
        async with served(tmp_path) as gateway:  # and when it was started again
            await _judged(provider, gateway, id, own, other)
            await _twice(provider, gateway, id, other)
            body = {**BODY, "previous_response_id": "resp_of_another_time"}
            assert (await gateway.ask("POST", "/v1/responses", body, other))[0] == 200

    with Upstream() as provider:
        asyncio.run(work(provider))


async def _judged(provider: Upstream, gateway: Served, id: str, mine: str, other: str) -> None:
    provider.requests.clear()
    body = {**BODY, "previous_response_id": id}
    for stream in (False, True):
        status, reply, _ = await gateway.ask(
            "POST", "/v1/responses", {**body, "stream": stream}, other
        )
        assert (status, reply["error"]["code"]) == (400, "previous_response_not_found")
    assert provider.requests == []
    assert (await gateway.ask("POST", "/v1/responses", body, mine))[0] == 200
    assert provider.requests[-1]["previous_response_id"] == id


async def _twice(provider: Upstream, gateway: Served, id: str, token: str) -> None:
    """The name of a member twice: what goes on is what was looked at."""
    for name in ("previous_response_id", "previous_response\\u005fid"):
        data = f'{{"{name}":"{id}","previous_response_id":null,' + json.dumps(BODY)[1:]
        head = (
            f"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        )
        head += f"Connection: close\r\nContent-Length: {len(data)}\r\n\r\n"
        seen: list[str] = []
        real = provider.answer

        def answer(handler: Any, dialect: str, wire: dict[str, Any]) -> None:
            seen.append(handler.headers["content-length"])  # noqa: B023  # called within the loop
            real(handler, dialect, wire)  # noqa: B023  # the same

        provider.answer = answer  # type: ignore[method-assign]  # to see what came
        out, _ = await sent(gateway, (head + data).encode())
        provider.answer = real  # type: ignore[method-assign]  # as it was
        assert out.startswith(b"HTTP/1.1 200"), out
        assert int(seen[0]) < len(data) - len(id), "the first one did not go on"
