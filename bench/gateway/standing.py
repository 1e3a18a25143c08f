"""Starts those who are measured and those who measure, each on its core, and stops them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import ROOT

MODEL = "claude-sonnet-4-6"
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Place(NamedTuple):
    """One that can be asked; `pid` is its process."""

    port: int
    pid: int
    token: str = "x"

    def cpu(self) -> float:
        """Seconds of a core that it has taken so far, all of its threads together."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """Megabytes that it has."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"process {self.pid} is gone")


@contextmanager
def upstream() -> Iterator[str]:
    """The URL of a provider that answers from memory."""
    port = free()
    command = [sys.executable, "-m", "bench.gateway.upstream", str(port)]
    with running(command, port, core=1):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def bare(url: str) -> Iterator[Place]:
    """The pass-through."""
    port = free()
    uvicorn = ["-m", "uvicorn", "bench.gateway.bare:app", "--log-level", "error"]
    command = [sys.executable, *uvicorn, "--no-access-log", "--port", str(port)]
    with running(command, port, more={"UPSTREAM": url}) as pid:
        yield Place(port, pid)


@contextmanager
def ours(folder: Path, url: str) -> Iterator[Place]:
    """The gateway as users start it, with a key that has a cap, its trace and its store."""
    more = {
        "INTERLINGUA_HOME": str(folder),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "x",
    }
    issue = [sys.executable, "-m", "interlingua", "keys", "issue", "bench"]
    issue += ["--daily", "1000000", "--json"]
    made = subprocess.run(
        issue, env=_environ(more), cwd=folder, capture_output=True, text=True, check=True
    )
    port = free()
    command = [sys.executable, "-m", "interlingua", "serve", "--port", str(port)]
    with running(command, port, more=more) as pid:
        yield Place(port, pid, json.loads(made.stdout)["token"])


def _environ(more: Mapping[str, str]) -> dict[str, str]:
    usual = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**usual, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **more}


@contextmanager
def running(
    command: Sequence[str],
    port: int,
    core: int = 0,
    more: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    seconds: float = 30.0,
) -> Iterator[int]:
    """A process that listens on the port; gives its id."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        [*on_core(core), *command], env=_environ(more or {}), cwd=cwd, stdout=quiet, stderr=quiet
    )
    try:
        _wait(port, process, seconds)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def asked(place: Place, connections: int, **told: Any) -> dict[str, Any]:
    """What `load.py` saw, in a process of its own."""
    told |= {"port": place.port, "token": place.token, "connections": connections}
    command = [*on_core(1), sys.executable, "-m", "bench.gateway.load", json.dumps(told)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(run.stdout)
    if seen["failed"]:
        raise RuntimeError(f"{told['path']}: {seen['failed']}")
    return seen


def on_core(number: int) -> list[str]:
    """Where a process runs, so that who asks does not take the gateway's time."""
    there = shutil.which("taskset") and (os.cpu_count() or 1) > 1
    return ["taskset", "-c", str(number)] if there else []


def free() -> int:
    with socket.socket() as open:
        open.bind(("127.0.0.1", 0))
        port: int = open.getsockname()[1]
        return port


def _wait(port: int, process: subprocess.Popen[bytes], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens on port {port}")
