"""Starts who is needed, asks both in turns, and compares."""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import ROOT, Row

CONNECTIONS = 64
REQUESTS, STREAMS, SAME = 2.0, 2.5, 1 / 0.7
"""How many times as many the bare pass-through may do: we do at least half, 0.4 and 0.7 of it."""
SLOWEST = 2.0
"""How many times as long the slowest of a hundred may take."""
MODEL = "claude-sonnet-4-6"


class Way(NamedTuple):
    name: str
    path: str
    model: str
    stream: bool
    limit: float


WAYS = (
    Way("chat to anthropic", "/v1/chat/completions", f"anthropic:{MODEL}", False, REQUESTS),
    Way("chat to anthropic, streams", "/v1/chat/completions", f"anthropic:{MODEL}", True, STREAMS),
    Way("same dialect", "/v1/messages", MODEL, False, SAME),
    Way("same dialect, streams", "/v1/messages", MODEL, True, SAME),
)


def rows(quick: bool) -> Iterator[Row]:
    rounds, seconds = (2, 1.5) if quick else (5, 3.0)
    with tempfile.TemporaryDirectory() as folder, standing(Path(folder)) as (bare, ours, token):
        for way in WAYS:
            floors, mine = [], []
            for _ in range(rounds):
                floors.append(_asked(bare, "/v1/messages", MODEL, way.stream, "x", seconds))
                mine.append(_asked(ours, way.path, way.model, way.stream, token, seconds))
            floor = statistics.median(each["per_second"] for each in floors)
            got = statistics.median(each["per_second"] for each in mine)
            ratio = statistics.median(
                a["per_second"] / b["per_second"] for a, b in zip(floors, mine, strict=True)
            )
            name = f"{way.name}, bare / ours"
            yield Row(name, f"{floor:.0f}/s bare, {got:.0f}/s", ratio, way.limit)
            slowest = statistics.median(
                b["p99_ms"] / a["p99_ms"] for a, b in zip(floors, mine, strict=True)
            )
            yield Row(f"{way.name}, p99", f"{floors[0]['p99_ms']:.0f} ms bare", slowest, SLOWEST)


def _asked(
    port: int, path: str, model: str, stream: bool, token: str, seconds: float
) -> dict[str, Any]:
    told = {
        "port": port,
        "path": path,
        "model": model,
        "stream": stream,
        "token": token,
        "seconds": seconds,
        "connections": CONNECTIONS,
    }
    command = [*_core(1), sys.executable, "-m", "bench.gateway.load", json.dumps(told)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(run.stdout)
    if seen["failed"]:
        raise RuntimeError(f"{path}: {seen['failed']}")
    return seen


@contextmanager
def standing(folder: Path) -> Iterator[tuple[int, int, str]]:
    """The ports of the bare pass-through and of the gateway, and a key for it."""
    upstream, bare, ours = _free(), _free(), _free()
    known = {
        **{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "INTERLINGUA_HOME": str(folder),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{upstream}",
        "ANTHROPIC_API_KEY": "x",
        "UPSTREAM": f"http://127.0.0.1:{upstream}",
    }
    python = sys.executable
    issue = [python, "-m", "interlingua", "keys", "issue", "bench", "--daily", "1000", "--json"]
    made = subprocess.run(issue, env=known, cwd=folder, capture_output=True, text=True, check=True)
    token = json.loads(made.stdout)["token"]
    uvicorn = ["-m", "uvicorn", "bench.gateway.bare:app", "--log-level", "error"]
    commands = [
        [*_core(1), python, "-m", "bench.gateway.upstream", str(upstream)],
        [*_core(0), python, *uvicorn, "--no-access-log", "--port", str(bare)],
        [*_core(0), python, "-m", "interlingua", "serve", "--port", str(ours)],
    ]
    quiet = subprocess.DEVNULL
    running = [
        subprocess.Popen(command, env=known, cwd=ROOT, stdout=quiet, stderr=quiet)
        for command in commands
    ]
    try:
        for port in (upstream, bare, ours):
            _wait(port)
        yield bare, ours, token
    finally:
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def _core(number: int) -> list[str]:
    """Where a process runs, so that who asks does not take the gateway's time."""
    there = shutil.which("taskset") and (os.cpu_count() or 1) > 1
    return ["taskset", "-c", str(number)] if there else []


def _free() -> int:
    with socket.socket() as open:
        open.bind(("127.0.0.1", 0))
        port: int = open.getsockname()[1]
        return port


def _wait(port: int, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on port {port}")
