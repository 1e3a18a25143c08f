"""How long one conversion takes: the workloads of `bench`, through each converter's own calls."""

from __future__ import annotations

import time
from typing import Any

import orjson

from bench import workloads
from tests.compared.peers import Peer, Place, run

_ROUNDS = 15


def _jobs() -> dict[str, dict[str, Any]]:
    def job(source: str, target: str, kind: str, body: str) -> dict[str, Any]:
        return {
            "source": source,
            "target": target,
            "kind": kind,
            "model": workloads.MODEL,
            "body": body,
            "rounds": _ROUNDS,
        }

    short, long = (workloads.request(name).decode() for name in ("W1", "W2"))
    answer = workloads.response("R1").decode()
    frames = b"".join(workloads.stream()).decode()
    return {
        "a short request, Chat to Anthropic": job("openai-chat", "anthropic", "request", short),
        "a request of 200 messages, Chat to Anthropic": job(
            "openai-chat", "anthropic", "request", long
        ),
        "an answer, Anthropic to Chat": job("anthropic", "openai-chat", "response", answer),
        "a stream of 2,000 events, Anthropic to Chat": job(
            "anthropic", "openai-chat", "stream", frames
        ),
    }


JOBS = _jobs()


def timings(peer: Peer, place: Place) -> dict[str, float | None]:
    """Seconds by the name of the job; None where there is no such conversion without HTTP."""
    done = run(peer, place, list(JOBS.values()))
    results = [{}] * len(JOBS) if isinstance(done, str) else done
    return {name: each.get("seconds") for name, each in zip(JOBS, results, strict=True)}


def floor() -> dict[str, float]:
    """A bare JSON parser that reads and writes the same bytes."""
    return {name: _floor(job) for name, job in JOBS.items()}


def _floor(job: dict[str, Any]) -> float:
    lines = [each.encode() for each in job["body"].splitlines() if not each.startswith("event")]
    every = [line.removeprefix(b"data: ") for line in lines if line]
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for data in every:
            orjson.dumps(orjson.loads(data))
        times.append(time.perf_counter() - start)
    return min(times)
