"""`python -m bench.gateway.others --rosetta VENV --litellm VENV --litellm-rust VENV --portkey NPM
--router NPM`: other gateways beside ours, in one table.

They are no dependencies of ours: each is taken from a folder in which its package was installed: a
virtual environment with `llm-rosetta[gateway]` or `litellm[proxy]`, or one in which `npm install`
was run for `@portkey-ai/gateway` or `@musistudio/claude-code-router`. All have the same provider
and one process on one core, and are asked by the same 64 connections, or 8 agents that send 300 KB
with each turn. The router and LiteLLM's Rust mode take requests in the provider's own dialect only,
and are compared with ours in that; the others translate chat requests. Ours has its keys, caps,
trace and store switched on; LiteLLM and the router have one key, the two others are open.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.gateway.run import AGENTS, CONNECTIONS
from bench.gateway.standing import MODEL, Place, asked, free, ours, running, upstream

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
TIMES = {"llm-rosetta": 5.0, "litellm": 30.0}
"""How many times as fast ours is at least in requests and streams."""
START = 120.0
"""Seconds that one may take until it listens."""
LONGER = 4
"""Who has given few answers is asked for so many times as long."""


class Asked(NamedTuple):
    """A gateway, and how it is asked."""

    place: Place
    model: str = MODEL
    path: str = CHAT
    headers: tuple[tuple[str, str], ...] = ()


@contextmanager
def rosetta(venv: Path, folder: Path, url: str) -> Iterator[Asked]:
    port = free()
    config = folder / "rosetta.jsonc"
    server = {"host": "127.0.0.1", "port": port, "open_on_no_keys": True}
    collected = {
        "providers": {"anthropic": {"api_key": "x", "base_url": url}},
        "models": {MODEL: "anthropic"},
        "server": {**server, "data_dir": str(folder / "rosetta")},
    }
    config.write_text(json.dumps(collected))
    command = [str(venv / "bin" / "llm-rosetta-gateway"), "--config", str(config)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--no-banner", "--log-level", "error"]
    with _theirs(venv, command, port, folder) as pid:
        yield Asked(Place(port, pid))


@contextmanager
def litellm(venv: Path, folder: Path, url: str, rust: bool = False) -> Iterator[Asked]:
    """Its Rust mode has Anthropic's own dialect alone (1.106.2, seen 2026-11-19)."""
    port, key = free(), f"sk-{secrets.token_hex(16)}"
    config = folder / "litellm.yaml"
    params = {"model": f"anthropic/{MODEL}", "api_base": url, "api_key": "x"}
    collected = {
        "model_list": [{"model_name": MODEL, "litellm_params": params}],
        "litellm_settings": {"telemetry": False},
    }
    config.write_text(json.dumps(collected))  # which is YAML too
    command = [str(venv / "bin" / "litellm"), "--config", str(config), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--num_workers", "1", "--telemetry", "False"]
    # Without the second it asks for its price list on the network when it starts.
    more = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    more |= {"LITELLM_LOG": "ERROR", "LITELLM_RUST": str(rust)}
    with _theirs(venv, command, port, folder, more) as pid:
        yield Asked(Place(port, pid, key), path=MESSAGES if rust else CHAT)


@contextmanager
def portkey(npm: Path, folder: Path, url: str) -> Iterator[Asked]:
    port = free()
    script = npm / "node_modules/@portkey-ai/gateway/build/start-server.js"
    command = ["node", str(script), f"--port={port}", "--headless"]
    with _theirs(npm, command, port, folder, {"TRUSTED_CUSTOM_HOSTS": "127.0.0.1"}) as pid:
        headers = (("x-portkey-provider", "anthropic"), ("x-portkey-custom-host", f"{url}/v1"))
        yield Asked(Place(port, pid), headers=headers)


@contextmanager
def router(npm: Path, folder: Path, url: str) -> Iterator[Asked]:
    port, key, home = free(), f"sk-{secrets.token_hex(16)}", folder / "router"
    provider = {"name": "up", "api_base_url": f"{url}{MESSAGES}", "api_key": "x"}
    collected = {
        **{"LOG": False, "HOST": "127.0.0.1", "PORT": port, "APIKEY": key},
        "NON_INTERACTIVE_MODE": True,
        "Providers": [{**provider, "models": [MODEL], "transformer": {"use": ["Anthropic"]}}],
        "Router": {"default": f"up,{MODEL}"},
    }
    config = home / ".claude-code-router" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps(collected))
    script = npm / "node_modules/@musistudio/claude-code-router/dist/cli.js"
    more = {"HOME": str(home)}
    with _theirs(npm, ["node", str(script), "start"], port, folder, more) as pid:
        yield Asked(Place(port, pid, key), path=MESSAGES)


@contextmanager
def _theirs(
    venv: Path, command: list[str], port: int, folder: Path, more: dict[str, str] | None = None
) -> Iterator[int]:
    """Without anything of ours on their path."""
    path = {"PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": ""}
    collected = {**path, **(more or {})}
    with running(command, port, more=collected, cwd=folder, seconds=START) as pid:
        yield pid


OTHERS: dict[str, Callable[[Path, Path, str], AbstractContextManager[Asked]]] = {
    "llm-rosetta": rosetta,
    "litellm": litellm,
    "litellm-rust": partial(litellm, rust=True),
    "portkey": portkey,
    "router": router,
}
PACKAGES = {"portkey": "@portkey-ai/gateway", "router": "@musistudio/claude-code-router"}


def version(folder: Path, name: str) -> str:
    """Of the package that was installed there."""
    if name in PACKAGES:
        package = folder / "node_modules" / PACKAGES[name] / "package.json"
        return str(json.loads(package.read_text())["version"])
    distribution = name.removesuffix("-rust").replace("-", "_")
    found = folder.glob(f"lib/*/site-packages/{distribution}-*.dist-info")
    return next(found).stem.split("-")[1]


class Load(NamedTuple):
    name: str
    stream: bool = False
    agents: bool = False


LOADS = (Load("requests"), Load("streams", stream=True), Load("turns", agents=True))


def rate(asked_one: Asked, load: Load, seconds: float) -> float:
    """Answers a second, after a moment to get warm. Whoever is not asked is stopped meanwhile: some
    are busy with themselves, on the same core."""
    os.kill(asked_one.place.pid, signal.SIGCONT)
    try:
        return _rate(asked_one, load, seconds)
    finally:
        os.kill(asked_one.place.pid, signal.SIGSTOP)


def _rate(asked_one: Asked, load: Load, seconds: float) -> float:
    place, model, path, headers = asked_one
    collected: dict[str, Any] = {"path": path, "model": model, "stream": load.stream}
    collected |= {"headers": dict(headers), "agents": load.agents}
    connections = AGENTS if load.agents else CONNECTIONS
    asked(place, 4, **collected, seconds=20.0, each=3)
    seen = asked(place, connections, **collected, seconds=seconds, patient=True)
    if seen["count"] < 3 * connections:
        seen = asked(place, connections, **collected, seconds=seconds * LONGER, patient=True)
    return float(seen["per_second"])


class Compared(NamedTuple):
    """Answers a second, and how many times as many ours gives."""

    theirs: float
    ours: float
    times: float


def _compared(own: Asked, other: Asked, load: Load, chosen: dict[str, Any]) -> Compared | None:
    """In turns; the median of the ratios of neighbours. None where the load is none for both, or
    the other one fails with it."""
    if load.agents and other.path != CHAT:
        return None
    try:
        rate(other, load, chosen["seconds"] / 10)
    except RuntimeError as error:
        print(f"{load.name}: {error}", file=sys.stderr)
        return None
    model = f"anthropic:{MODEL}" if other.path == CHAT else MODEL
    own = own._replace(path=other.path, model=model)
    seconds = chosen["seconds"]
    pairs = [
        (rate(own, load, seconds), rate(other, load, seconds)) for _ in range(chosen["rounds"])
    ]
    median = statistics.median
    times = median(mine / theirs for mine, theirs in pairs)
    return Compared(median(each for _, each in pairs), median(each for each, _ in pairs), times)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway.others", description=__doc__)
    for name in OTHERS:
        option = "--" + name.removeprefix("llm-")
        parser.add_argument(option, dest=name, type=Path, help="where it is installed")
    parser.add_argument("--seconds", type=float, default=5.0, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=2, help="turns that they take")
    chosen = vars(parser.parse_args())
    missed = 0
    print("| gateway | " + " | ".join(load.name for load in LOADS) + " | memory |")
    print("| --- |" + " --- |" * (len(LOADS) + 1))
    for name, start in OTHERS.items():
        if chosen[name] is None:
            continue
        folder = chosen[name].absolute()
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = stack.enter_context(upstream())
            own = Asked(stack.enter_context(ours(home, url)))
            other = stack.enter_context(start(folder, home, url))
            for each in (own, other):
                os.kill(each.place.pid, signal.SIGSTOP)
                stack.callback(os.kill, each.place.pid, signal.SIGCONT)
            cells, rows = [], [_compared(own, other, load, chosen) for load in LOADS]
            for load, row in zip(LOADS, rows, strict=True):
                shown = "-" if row is None else f"{row.theirs:.1f}/s, ours {row.ours:.0f}/s"
                cells.append(shown if row is None else f"{shown}, {row.times:.1f} times")
                wanted = 0.0 if load.agents else TIMES.get(name, 0.0)
                missed += row is not None and row.times < wanted
            memory = f"{other.place.memory():.0f} MB, ours {own.place.memory():.0f} MB"
            print(
                f"| {name} {version(folder, name)} | {' | '.join(cells)} | {memory} |", flush=True
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
