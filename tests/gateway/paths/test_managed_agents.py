"""Anthropic's `/v1/sessions` by its own SDK, and ours beside it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import Served, key, served

KEY = "canary-5d2e"


class Sessions(ThreadingHTTPServer):
    """A part of Anthropic's managed agents: sessions can be made and shown."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                self.do_GET()

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked.append((self.command, self.path, headers))
                body = json.dumps({"id": f"sesn_{len(asked)}", "type": "session"}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Sessions]:
    server = Sessions()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    text = f'[providers.anthropic]\nbase_url = "{url}"\nkey = "{KEY}"\n'
    (tmp_path / "providers.toml").write_text(text)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def claude(here: Served, token: str = "none") -> Any:
    return anthropic.AsyncAnthropic(base_url=here.base, api_key=token, max_retries=0)


@asynchronous
async def test_anthropics_sessions_go_to_anthropic(tmp_path: Path, upstream: Sessions) -> None:
    async with served(tmp_path) as here, claude(here) as ai:
        made = await ai.beta.sessions.create(agent="agent_1", environment_id="env_1")
        assert made.id == "sesn_1"
        await ai.beta.sessions.retrieve(made.id)
        ours, _, _ = await here.ask("GET", "/v1/sessions")
        named, _, _ = await here.ask("GET", "/il/sessions")
        assert (ours, named) == (200, 200)
    paths = [(method, path.partition("?")[0]) for method, path, _ in upstream.asked]
    assert paths == [("POST", "/v1/sessions"), ("GET", "/v1/sessions/sesn_1")]
    assert {headers["x-api-key"] for _, _, headers in upstream.asked} == {KEY}
    assert all("managed-agents" in headers["anthropic-beta"] for _, _, headers in upstream.asked)


@asynchronous
async def test_without_a_key_they_are_refused_in_its_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    async with served(tmp_path) as here, claude(here) as ai:
        with pytest.raises(anthropic.NotFoundError) as error:
            await ai.beta.sessions.create(agent="agent_1", environment_id="env_1")
    body: Any = error.value.body
    assert body["type"] == "error"
    assert "/il/sessions" in body["error"]["message"]


@asynchronous
async def test_a_key_sees_its_own_sessions_only(tmp_path: Path, upstream: Sessions) -> None:
    one, other = [key(tmp_path, name).token for name in ("one", "other")]
    capped = key(tmp_path, "capped", daily_cap_usd=Decimal(1)).token
    async with served(tmp_path) as here, claude(here, one) as ai:
        made = await ai.beta.sessions.create(agent="agent_1", environment_id="env_1")
        await ai.beta.sessions.retrieve(made.id)
        with pytest.raises(anthropic.PermissionDeniedError):
            await ai.beta.sessions.list()
        async with claude(here, other) as stranger:
            with pytest.raises(anthropic.NotFoundError):
                await stranger.beta.sessions.retrieve(made.id)
        async with claude(here, capped) as poor:
            with pytest.raises(anthropic.PermissionDeniedError):
                await poor.beta.sessions.create(agent="agent_1", environment_id="env_1")
