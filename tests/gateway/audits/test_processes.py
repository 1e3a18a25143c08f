"""Real processes: turns over several workers, signals under live streams, a log at its loudest."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.events.event import NO_SESSION
from tests.agents.chat.provider import KEY
from tests.gateway.server.test_serve import Process, running
from tests.gateway.serving import ANTHROPIC, Upstream, asked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def _ready(process: Process) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError):
            if process.ask("GET", "/health/ready")[0] == 200:
                return
        time.sleep(0.05)
    raise AssertionError("it did not get ready")


def test_a_turn_is_cancelled_by_whichever_worker_is_asked(tmp_path: Path) -> None:
    with running(tmp_path, "--workers", "2", pace=0.05) as (process, provider):
        _ready(process)
        for _ in range(6):
            provider.left.clear()
            _, made = process.ask("POST", "/sessions", {"workspace_path": "."})
            path = f"/sessions/{made['id']}"
            assert process.ask("POST", f"{path}/turns", {"content": "slow"})[0] == 202
            assert process.ask("POST", f"{path}/turns", {"content": "more"})[0] == 409
            time.sleep(0.2)  # so that the provider has been asked
            began = time.monotonic()
            assert process.ask("POST", f"{path}/cancel") == (202, {"cancelled": True})
            assert time.monotonic() - began < 10
            assert provider.left.wait(10), "the provider was let go"
            _, shown = process.ask("GET", path)
            assert shown["turn_in_flight"] is False


def test_streams_of_several_workers_outlive_reloads_and_are_never_merely_cut(
    tmp_path: Path,
) -> None:
    with running(tmp_path, "--workers", "2", notice=0.0, drain=0.8, pace=0.02) as (process, _):
        _ready(process)
        whole: dict[int, bytes] = {}
        begun = threading.Semaphore(0)

        def read(number: int) -> None:
            body = asked("slow", stream=True, max_tokens=50)
            with process.open("POST", "/v1/chat/completions", body) as (_, reply):
                data = reply.read(64)
                begun.release()
                whole[number] = data + reply.read()

        threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert begun.acquire(timeout=20)
        for _ in range(5):
            process.send(signal.SIGHUP)
            time.sleep(0.05)
        process.log("reloaded")
        assert all(thread.is_alive() for thread in threads), "none was dropped"
        for _ in range(2):
            process.send(signal.SIGTERM)
            time.sleep(0.2)
        for thread in threads:
            thread.join(20)
        assert process.wait() == 0
        assert sorted(whole) == list(range(8))
        for data in whole.values():
            assert data.rstrip().endswith(b"data: [DONE]") or b"shutting down" in data, data[-300:]
    with il.open_store(str(tmp_path / "interlingua.db")) as store:
        assert len(store.events(NO_SESSION)) == 8, "each is in the trace, once"


CANARY = "canary-prompt-91c4"


def test_the_loudest_log_has_no_word_and_no_key(tmp_path: Path) -> None:
    """Canaries on every way that ends in an error, with the log at `debug` and a line for each
    request; then every output of the process is looked through."""
    file = tmp_path / "gateway.toml"
    with Upstream() as provider:
        provider.configure(tmp_path)
        result = 'log_level = "debug"\nlog_requests = true\nlog = "json"\n'
        model = f'default_model = "{ANTHROPIC}"\n[listen]\nnotice_seconds = 0.0\n'
        file.write_text(f"{model}[retry]\nmax_retries = 0\n[telemetry]\n{result}")
        loud = Process(tmp_path, "--config", str(file))
        outputs: list[str] = []
        try:
            for body in _bodies():
                for path in (
                    *("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"),
                    *("/v1beta/models/x:generateContent", "/sessions", "/v1/messages/count_tokens"),
                    f"/{CANARY}",
                ):
                    loud.ask("POST", f"{path}?key={CANARY}", body)
            loud.ask("GET", f"/sessions/{CANARY}")
            loud.ask("GET", f"/v1/models/{CANARY}")
            outputs.append(str(loud.ask("GET", "/metrics")[1]))
            loud.send(signal.SIGTERM)
            assert loud.wait() == 0
        finally:
            loud.stop()
        outputs.append(loud.text)
        assert "request" in {line.get("event") for line in loud.lines}
        with il.open_store(str(tmp_path / "interlingua.db")) as store:
            outputs.append(json.dumps([each.payload for each in store.events(NO_SESSION)]))
        for secret in (CANARY, KEY, "gw_canarytoken"):
            for output in outputs:
                assert secret not in output, output[: output.find(secret) + 100][-400:]


def _bodies() -> list[Any]:
    plain = asked(CANARY, max_tokens=9)
    return [
        plain,
        asked(f"fail {CANARY}", max_tokens=9),
        asked(f"break {CANARY}", stream=True, max_tokens=9),
        {**plain, "input": CANARY, "contents": CANARY, "tools": CANARY},
        {**plain, "model": "nobody:x", "user": CANARY},
        {"model": [CANARY], "messages": {CANARY: CANARY}},
        {**plain, "messages": [{"role": CANARY, "content": CANARY}]},
        {**plain, "messages": [{"role": "user", "content": [{"type": CANARY, "x": CANARY}]}]},
        {**plain, "tools": [{"type": "function", "function": {"name": CANARY, "parameters": 3}}]},
        {**plain, "metadata": {CANARY: CANARY}, "response_format": {"type": CANARY}},
        [CANARY],
        CANARY,
        {"workspace_path": f"\x00{CANARY}", "name": CANARY, CANARY: CANARY},
    ]
