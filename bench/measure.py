"""How it is measured: time as a ratio to a floor timed in turns with it, memory in a fresh process.

Absolute times move with the machine and its load; the ratio of two that take turns hardly does.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Work = Callable[[], Any]

ROOT = Path(__file__).parents[1]
SAMPLE = 0.1
"""Seconds that one timed sample takes at least: short work is done many times."""


class Row(NamedTuple):
    """One line of the table; `floor` in words, since it is not always a time."""

    workload: str
    floor: str
    value: float
    target: float | None
    unit: str = "x"

    @property
    def ok(self) -> bool:
        return self.target is None or self.value <= self.target


class Timing(NamedTuple):
    """Seconds at best, and the median of the ratios of neighbouring samples."""

    floor: float
    candidate: float
    ratio: float


def compare(candidate: Work, floor: Work, rounds: int) -> Timing:
    """Both take turns; the cycle collector runs before each sample and not between."""
    loops = _loops(floor), _loops(candidate)
    pairs = [(_sample(floor, loops[0]), _sample(candidate, loops[1])) for _ in range(rounds)]
    ratio = statistics.median(own / base for base, own in pairs)
    return Timing(min(base for base, _ in pairs), min(own for _, own in pairs), ratio)


def alone(work: str, *args: str | int) -> Timing:
    """The `Timing` that a function gives in a process of its own: what was measured before it has
    filled caches and memory, and makes some work look quicker or slower than it is.

    `work` is `module:function`."""
    program = "import sys; from bench import measure; measure.answer(*sys.argv[1:])"
    run = subprocess.run(
        [sys.executable, "-c", program, work, json.dumps(args)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Timing(*json.loads(run.stdout))


def answer(work: str, args: str) -> None:
    """The other side of `alone`."""
    module, _, name = work.partition(":")
    print(json.dumps(getattr(import_module(module), name)(*json.loads(args))))


def _loops(work: Work) -> int:
    """How often to repeat work for one sample; the first time warms it up."""
    work()
    return max(1, min(20_000, int(SAMPLE / max(_sample(work, 1), 1e-7))))


def _sample(work: Work, loops: int) -> float:
    gc.collect()
    start = time.perf_counter()
    for _ in range(loops):
        work()
    return (time.perf_counter() - start) / loops


def shown(seconds: float) -> str:
    """A time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


# Memory


def peak_growth(work: str, data: bytes) -> int:
    """How many bytes a fresh process grows at most while it does `work` on `data`.

    `work` is `module:function`, a function of the bytes. The process has read them before the
    count begins, so that they are not part of it."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        program = "import sys; from bench import measure; measure.child(*sys.argv[1:])"
        run = subprocess.run(
            [sys.executable, "-c", program, work, file.name],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
    return int(run.stdout)


def child(work: str, path: str) -> None:
    """The other side of `peak_growth`: a tiny piece of work first, so that imports do not count."""
    module, _, name = work.partition(":")
    function = getattr(import_module(module), name)
    function(b"[]")
    data = Path(path).read_bytes()
    before = _peak()
    stored = function(data)
    print(_peak() - before)
    del stored


def _peak() -> int:
    """The most memory this process ever had. `ru_maxrss` may still count the process that started
    this one, so Linux's own number comes first."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
