"""Idle connections of clients do not shut others out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.gateway.server.test_serve import Process
from tests.gateway.serving import ANTHROPIC, Upstream, asked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

MOST = 8
PATH = "/v1/chat/completions"


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    with Upstream(0.05) as provider:
        provider.configure(tmp_path)
        file = tmp_path / "gateway.toml"
        file.write_text(f'default_model = "{ANTHROPIC}"\n[limits]\nconnections = {MOST}\n')
        process = Process(tmp_path, "--config", str(file))
        try:
            yield process
        finally:
            process.stop()


@pytest.mark.parametrize("path", ["/health/live", "/nowhere", None])
def test_idle_connections_give_way_to_new_requests(process: Process, path: str | None) -> None:
    idle = [HTTPConnection("127.0.0.1", process.port, timeout=20) for _ in range(3 * MOST)]
    try:
        for connection in idle:
            connection.connect()
            if path is not None:
                connection.request("GET", path)
                reply = connection.getresponse()
                reply.read()
                assert reply.status == (200 if path == "/health/live" else 404)
        assert process.ask("POST", PATH, asked("hi"))[0] == 200
        assert process.ask("GET", "/health/ready")[0] == 200
    finally:
        for connection in idle:
            connection.close()


def test_connections_close_after_their_answer_when_most_are_in_use(process: Process) -> None:
    with ExitStack() as stack:
        seen = []
        for _ in range(MOST):
            _, reply = stack.enter_context(process.open("GET", "/health/live"))
            seen.append(reply.getheader("connection"))
    assert seen == [None] * 6 + ["close"] * 2


def test_health_is_answered_when_requests_use_all_connections(process: Process) -> None:
    body = asked("slow", stream=True, max_tokens=200)
    with ExitStack() as stack:
        replies = [stack.enter_context(process.open("POST", PATH, body)) for _ in range(MOST)]
        assert [reply.status for _, reply in replies] == [200] * (MOST - 1) + [503]
        stack.enter_context(process.open("POST", PATH, body))
        assert process.ask("GET", "/health/live")[0] == 200
        assert process.ask("GET", "/health/ready")[0] == 200
