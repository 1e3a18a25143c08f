"""Our connections build on parts of uvicorn that are its own. A version that lacks them serves with
its public ones. `make uvicorn` runs the connections' tests with the oldest and the newest version
that was tried."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from pathlib import Path

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from interlingua.gateway.server import client_connection
from interlingua.gateway.server.serve import protocol, websocket_options
from interlingua.gateway.settings import Limits
from tests.gateway.serving import Upstream, asked, served

ROOT = Path(__file__).parents[3]


def test_uvicorn_has_the_parts_that_our_connections_use() -> None:
    for name in ("_start_asgi_task", "_unset_keepalive_if_required", "on_response_complete"):
        assert callable(getattr(HttpToolsProtocol, name, None)), name
    assert list(inspect.signature(HttpToolsProtocol._start_asgi_task).parameters) == [
        *("self", "cycle", "app")
    ]
    source = inspect.getsource(RequestResponseCycle)
    for name in ("more_body", "waiting_for_100_continue", "message_event", "on_response", "flow"):
        assert f"self.{name}" in source, name


def test_the_ends_of_the_range_are_those_that_make_uvicorn_tries() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["optional-dependencies"]["gateway"]
    assert "uvicorn>=0.53" in wanted, "no upper bound: a later one serves all the same"
    tried = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "UVICORN_ENDS = 0.53.0 0.54.0" in tried


def test_the_installed_one_lacks_nothing() -> None:
    assert client_connection.missing_parts() == []
    assert isinstance(protocol(Limits()), type)


def test_one_without_these_parts_serves_with_its_public_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Later:
        """A protocol that has none of them."""

    monkeypatch.setattr(client_connection, "HttpToolsProtocol", Later)
    assert protocol(Limits()) == "h11"
    assert websocket_options(Limits())["ws"] == "auto"
    assert "uvicorn_unknown" in caplog.text

    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200
            for stream in (False, True):
                body = asked("hi", stream=stream)
                status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                assert status == 200
                assert "choices" in (reply if isinstance(reply, str) else str(reply))
            headers = {"x-long": "x" * 200_000}
            assert (await gateway.ask("GET", "/health/live", headers=headers))[0] == 400

    with Upstream() as provider:
        asyncio.run(run(provider))
