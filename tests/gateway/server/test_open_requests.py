"""One key cannot take all connections from the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from interlingua.gateway.settings import Limits
from interlingua.gateway.shared import principal as open_requests
from tests.gateway.serving import Upstream, asked, key, served, settings_in

SSE = {"accept": "text/event-stream"}


def test_a_key_with_too_many_open_requests_is_refused_and_others_are_not(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, limits=Limits(open_requests=3))
        greedy, modest = key(tmp_path, "greedy").token, key(tmp_path, "modest").token
        async with served(tmp_path, settings) as gateway:
            headers = {"authorization": f"Bearer {greedy}", **SSE}
            open = [await gateway.http.get(f"{gateway.base}/requests", headers=headers)]
            for _ in range(2):
                body = asked("slow", stream=True)
                url = f"{gateway.base}/v1/chat/completions"
                open.append(await gateway.http.post(url, json=body, headers=headers))
            assert [reply.status for reply in open] == [200] * 3
            path = "/v1/chat/completions"
            status, response, headers = await gateway.ask("POST", path, asked("hi"), greedy)
            assert (status, headers["x-interlingua-code"]) == (429, "too_many_open_requests")
            assert "3 requests open" in response["error"]["message"]
            assert headers["retry-after"] == "1"
            status, response, _ = await gateway.ask("GET", "/sessions", token=greedy)
            assert (status, response["error"]["code"]) == (429, "too_many_open_requests")
            assert (await gateway.ask("POST", path, asked("hi"), modest))[0] == 200
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200
            for reply in open:
                reply.close()
            async with asyncio.timeout(10):
                while (await gateway.ask("POST", path, asked("hi"), greedy))[0] == 429:
                    await asyncio.sleep(0.05)

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize(
    ("allowed", "all", "one"), [(128, 48, 12), (None, 4096, 512), (10, 4, 2), (10**6, 4096, 512)]
)
def test_some_descriptors_stay_free(
    monkeypatch: pytest.MonkeyPatch, allowed: int | None, all: int, one: int
) -> None:
    monkeypatch.setattr(open_requests, "descriptors", lambda: allowed)
    assert open_requests.most_connections(4096) == all
    assert open_requests.most_of_key(512) == one
