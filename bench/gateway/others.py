"""`python -m bench.gateway.others --rosetta VENV --litellm VENV`: other gateways beside ours.

They are no dependencies of ours: each is taken from a virtual environment in which its package was
installed (`llm-rosetta[gateway]`, `litellm[proxy]`). All translate chat requests for the same
provider, have one process on one core, and are asked by the same 64 connections. Ours has its keys,
caps, trace and store switched on; LiteLLM has a master key; llm-rosetta is open.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.gateway.run import CONNECTIONS
from bench.gateway.standing import MODEL, Place, asked, free, ours, running, upstream

PATH = "/v1/chat/completions"
TIMES = {"llm-rosetta": 5.0, "litellm": 30.0}
"""How many times as fast ours is at least."""
START = 120.0
"""Seconds that one may take until it listens."""
FEW = 3 * CONNECTIONS
"""Answers that tell something of a rate; who has given fewer is asked for longer."""
LONGER = 4


@contextmanager
def rosetta(venv: Path, folder: Path, url: str) -> Iterator[Place]:
    port = free()
    config = folder / "rosetta.jsonc"
    server = {"host": "127.0.0.1", "port": port, "open_on_no_keys": True}
    told = {
        "providers": {"anthropic": {"api_key": "x", "base_url": url}},
        "models": {MODEL: "anthropic"},
        "server": {**server, "data_dir": str(folder / "rosetta")},
    }
    config.write_text(json.dumps(told))
    command = [str(venv / "bin" / "llm-rosetta-gateway"), "--config", str(config)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--no-banner", "--log-level", "error"]
    with _theirs(venv, command, port, folder) as pid:
        yield Place(port, pid)


@contextmanager
def litellm(venv: Path, folder: Path, url: str) -> Iterator[Place]:
    port, key = free(), f"sk-{secrets.token_hex(16)}"
    config = folder / "litellm.yaml"
    params = {"model": f"anthropic/{MODEL}", "api_base": url, "api_key": "x"}
    told = {
        "model_list": [{"model_name": MODEL, "litellm_params": params}],
        "litellm_settings": {"telemetry": False},
    }
    config.write_text(json.dumps(told))  # which is YAML too
    command = [str(venv / "bin" / "litellm"), "--config", str(config), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--num_workers", "1", "--telemetry", "False"]
    # Without the second it asks for its price list on the network when it starts.
    more = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with _theirs(venv, command, port, folder, {**more, "LITELLM_LOG": "ERROR"}) as pid:
        yield Place(port, pid, key)


@contextmanager
def _theirs(
    venv: Path, command: list[str], port: int, folder: Path, more: dict[str, str] | None = None
) -> Iterator[int]:
    """Without anything of ours on their path."""
    path = {"PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": ""}
    told = {**path, **(more or {})}
    with running(command, port, more=told, cwd=folder, seconds=START) as pid:
        yield pid


OTHERS = {"llm-rosetta": rosetta, "litellm": litellm}


def rate(place: Place, model: str, stream: bool, seconds: float) -> float:
    """Answers a second, after a moment to get warm. Whoever is not asked is stopped meanwhile: some
    are busy with themselves, on the same core."""
    os.kill(place.pid, signal.SIGCONT)
    try:
        return _rate(place, model, stream, seconds)
    finally:
        os.kill(place.pid, signal.SIGSTOP)


def _rate(place: Place, model: str, stream: bool, seconds: float) -> float:
    told: dict[str, Any] = {"path": PATH, "model": model, "stream": stream}
    asked(place, 4, **told, seconds=20.0, each=3)
    seen = asked(place, CONNECTIONS, **told, seconds=seconds, patient=True)
    if seen["count"] < FEW:
        seen = asked(place, CONNECTIONS, **told, seconds=seconds * LONGER, patient=True)
    return float(seen["per_second"])


class Compared(NamedTuple):
    """Answers a second, ours and theirs, and how many times as fast ours is."""

    ours: float
    theirs: float
    times: float


def _compared(
    mine: Place, others: dict[str, Place], stream: bool, chosen: dict[str, Any]
) -> dict[str, Compared]:
    """All take turns; the median of the ratios of neighbours."""
    seconds = chosen["seconds"]
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in others}
    for _ in range(chosen["rounds"]):
        for name, place in others.items():
            own = rate(mine, f"anthropic:{MODEL}", stream, seconds)
            pairs[name].append((own, rate(place, MODEL, stream, seconds)))
    found = {}
    for name, each in pairs.items():
        times = statistics.median(own / other for own, other in each)
        own = statistics.median(own for own, _ in each)
        found[name] = Compared(own, statistics.median(other for _, other in each), times)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway.others", description=__doc__)
    for name in OTHERS:
        option = "--" + name.removeprefix("llm-")
        parser.add_argument(option, dest=name, type=Path, help="its virtual environment")
    parser.add_argument("--seconds", type=float, default=5.0, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=2, help="turns that they take")
    chosen = vars(parser.parse_args())
    missed = 0
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(upstream())
        mine = stack.enter_context(ours(home, url))
        others = {
            name: stack.enter_context(start(chosen[name].absolute(), home, url))
            for name, start in OTHERS.items()
            if chosen[name] is not None
        }
        for place in (mine, *others.values()):
            os.kill(place.pid, signal.SIGSTOP)
            stack.callback(os.kill, place.pid, signal.SIGCONT)
        for stream, what in ((False, "requests"), (True, "streams")):
            for name, row in _compared(mine, others, stream, chosen).items():
                own, other, times = row
                print(
                    f"{what:<9} {own:6.0f}/s ours {other:7.1f}/s {name:<12}"
                    f" {times:6.1f} times as fast, {TIMES[name]:g} is wanted",
                    flush=True,
                )
                missed += times < TIMES[name]
        for name, place in {"ours": mine, **others}.items():
            print(f"memory    {place.memory():6.0f} MB {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
