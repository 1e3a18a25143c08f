"""Asks the pass-through and the gateway in turns, and compares."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.gateway.standing import MODEL, Place, asked, bare, ours, upstream
from bench.gateway.upstream import EVENTS
from bench.measure import Row

CONNECTIONS, AGENTS = 64, 8
REQUESTS, STREAMS, SAME, TURNS = 1 / 0.67, 1 / 0.6, 1 / 0.8, 1 / 0.8
"""How many times as many the bare pass-through may do: we do at least 0.67, 0.6 and 0.8 of it, and
of the turns of agents, which send 300 KB each time, 0.8."""
SLOWEST = 2.0
"""How many times as long the slowest of a hundred may take."""
PACED, TOGETHER, EVENT = 1.4, 16, 0.005
"""How many times as much CPU an event may cost when it comes alone: so many streams at a time, so
many seconds between two events of each."""
MEMORY = 75.0 + 64.0
"""Megabytes of the gateway, after all of it: its own, and those of the conversations that it
remembers."""


class Way(NamedTuple):
    name: str
    path: str
    model: str
    stream: bool
    limit: float
    agents: bool = False


WAYS = (
    Way("chat to anthropic", "/v1/chat/completions", f"anthropic:{MODEL}", False, REQUESTS),
    Way("chat to anthropic, streams", "/v1/chat/completions", f"anthropic:{MODEL}", True, STREAMS),
    Way("same dialect", "/v1/messages", MODEL, False, SAME),
    Way("same dialect, streams", "/v1/messages", MODEL, True, SAME),
    Way("agents' turns", "/v1/chat/completions", f"anthropic:{MODEL}", False, TURNS, agents=True),
)
BARE = Way("bare", "/v1/messages", MODEL, False, 1.0)


def rows(quick: bool) -> Iterator[Row]:
    rounds, seconds = (2, 1.5) if quick else (5, 3.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream() as url,
        bare(url) as floor,
        ours(Path(folder), url) as own,
    ):
        for way in WAYS:
            yield from _compared(floor, own, way, rounds, seconds)
        yield _paced(floor, own, rounds)
        yield Row("memory after all of it", "-", own.memory(), MEMORY, "MB")


def _compared(floor: Place, mine: Place, way: Way, rounds: int, seconds: float) -> Iterator[Row]:
    floors, own = [], []
    for _ in range(rounds):
        floors.append(_asked(floor, BARE._replace(stream=way.stream, agents=way.agents), seconds))
        own.append(_asked(mine, way, seconds))
    pairs = list(zip(floors, own, strict=True))
    base = statistics.median(each["per_second"] for each in floors)
    got = statistics.median(each["per_second"] for each in own)
    ratio = statistics.median(a["per_second"] / b["per_second"] for a, b in pairs)
    yield Row(f"{way.name}, bare / ours", f"{base:.0f}/s bare, {got:.0f}/s", ratio, way.limit)
    slowest = statistics.median(b["p99_ms"] / a["p99_ms"] for a, b in pairs)
    yield Row(f"{way.name}, p99", f"{floors[0]['p99_ms']:.0f} ms bare", slowest, SLOWEST)


def _asked(place: Place, way: Way, seconds: float) -> dict[str, Any]:
    collected = {"path": way.path, "model": way.model, "stream": way.stream, "seconds": seconds}
    return asked(place, AGENTS if way.agents else CONNECTIONS, **collected, agents=way.agents)


def _paced(floor: Place, mine: Place, rounds: int) -> Row:
    """Events that come one by one cannot be taken together, as those of a fast upstream are."""
    pairs = [(_cpu(floor, BARE), _cpu(mine, WAYS[1])) for _ in range(rounds)]
    base = statistics.median(a for a, _ in pairs)
    got = statistics.median(b for _, b in pairs)
    ratio = statistics.median(b / a for a, b in pairs)
    shown = f"{base * 1e6:.0f} us bare, {got * 1e6:.0f} us"
    return Row("CPU of a paced event, ours / bare", shown, ratio, PACED)


def _cpu(place: Place, way: Way) -> float:
    """Seconds of a core for each event."""
    before = place.cpu()
    collected = {"path": way.path, "model": way.model, "stream": True, "seconds": 60.0}
    seen = asked(place, TOGETHER, **collected, pause=EVENT, each=2)
    events: int = seen["count"] * EVENTS
    return (place.cpu() - before) / events
