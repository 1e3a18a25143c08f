"""The packages that are compared, each installed into an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tests.transcripts.resume.tools import CACHE

DRIVERS = Path(__file__).with_name("drivers")
_PATIENCE = 900


class Peer(NamedTuple):
    """`package` is what is installed; its first name is the one whose version is shown."""

    name: str
    driver: str
    package: str | None = None
    is_history: bool = False
    """It converts answers to the history of the next request, which is what is judged."""


PEERS = (
    Peer("interlingua", "with_interlingua"),
    Peer("LiteLLM", "with_litellm", "litellm mcp"),
    Peer("any-llm", "with_any_llm", "any-llm-sdk[anthropic,openai,gemini]"),
    Peer("llm-rosetta", "with_rosetta", "llm-rosetta"),
    Peer("llm-babel", "with_babel", "llm-babel"),
    Peer("Portkey", "with_portkey", "npm:@portkey-ai/gateway"),
    Peer("pydantic-ai", "with_pydantic_ai", "pydantic-ai-slim[anthropic,openai,google]", True),
)
MISSING = {"txcript": "txcript is in neither registry"}
"""What was looked for and cannot be installed; tried again in every run."""


class Place(NamedTuple):
    """Where a peer was installed: the interpreter that runs its program, and its version."""

    python: str
    version: str
    env: dict[str, str]


def install(peer: Peer) -> Place | str:
    """The environment of a peer, made if it is not there; or why it cannot be had."""
    if peer.package is None:
        return Place(sys.executable, version("interlingua"), {})
    folder = CACHE / "compared" / peer.driver
    if peer.package.startswith("npm:"):
        return _npm(peer.package.removeprefix("npm:"), folder)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    if problem := _failure([*pip, *peer.package.split()]):
        return problem
    name = peer.package.split()[0].partition("[")[0]
    asked = f"import importlib.metadata as m; print(m.version({name!r}))"
    return Place(str(python), subprocess.check_output([python, "-c", asked], text=True).strip(), {})


def _npm(package: str, folder: Path) -> Place | str:
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--silent", "--no-audit", "--no-fund", "--prefix", folder]
    if problem := _failure(["npm", "install", *quiet, f"{package}@latest"]):
        return problem
    inside = folder / "node_modules" / package
    known = json.loads((inside / "package.json").read_bytes())
    program = {"PORTKEY": str(inside / "build" / "start-server.js")}
    return Place(sys.executable, known["version"], program)


def _failure(command: list[Any]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return type(problem).__name__
    lines = (done.stderr or done.stdout).strip().splitlines()
    return (lines[-1][:200] if lines else "failed") if done.returncode else None


def missing() -> dict[str, str]:
    """Those of `MISSING` that still cannot be had."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    with tempfile.TemporaryDirectory() as folder:
        return {name: why for name, why in MISSING.items() if _failure([*pip, folder, name])}


def run(peer: Peer, place: Place, jobs: list[dict[str, Any]]) -> list[dict[str, Any]] | str:
    """What a peer makes of the jobs, or why its program failed."""
    with tempfile.TemporaryDirectory() as folder:
        asked, done = Path(folder) / "jobs.json", Path(folder) / "results.json"
        asked.write_text(json.dumps(jobs), encoding="utf-8")
        program = DRIVERS / f"{peer.driver}.py"
        problem = subprocess.run(
            [place.python, program, asked, done],
            env={**os.environ, **place.env},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        if not done.exists():
            return (problem.stderr.strip().splitlines() or ["failed"])[-1][:200]
        results: list[dict[str, Any]] = json.loads(done.read_bytes())
        return results
