"""The command line: what it costs to start, what a second core brings, and what a large file
takes of memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench import workloads
from bench.measure import ROOT, Row, shown

START = 150.0
"""Milliseconds over `python -c pass` for a small file."""
CORES = 1.7
LINES = (1200, 3000)
"""Of a file whose conversion is short enough for the start of the processes to count, and a longer
one."""
MEMORY = 150.0
"""Megabytes that the largest process may take, however long the file."""


def rows(quick: bool) -> Iterator[Row]:
    yield _start_row(10 if quick else 30)
    with tempfile.TemporaryDirectory() as folder:
        line = workloads.encoded(workloads.chat_request(workloads.small(200))) + b"\n"
        path = Path(folder) / "lines.jsonl"
        for count in LINES:
            path.write_bytes(line * count)
            yield _cores_row(path, 3 if quick else 7)
        yield _memory_row(path)


def _start_row(runs: int) -> Row:
    small = workloads.request("W1")
    _seconds(_convert(), small)
    bare = min(_seconds([sys.executable, "-c", "pass"], b"") for _ in range(runs))
    ours = min(_seconds(_convert(), small) for _ in range(runs))
    return Row("convert a small file", shown(bare), (ours - bare) * 1000, START, "ms over")


def _cores_row(path: Path, runs: int) -> Row:
    """How many times as fast two workers are as one; more is better, so the row shows 1.7 / it."""
    command = [*_convert(), str(path), "--lines", "--jobs"]
    one, two = zip(
        *((_seconds([*command, "1"]), _seconds([*command, "2"])) for _ in range(runs)), strict=True
    )
    gain = median(one) / median(two)
    floor = f"{shown(median(one))} on one, {gain:.2f} x"
    return Row("--lines on two cores, 1.7 / gain", floor, CORES / gain, 1.0)


def _memory_row(path: Path) -> Row:
    # In a process of its own: the system remembers the largest child that this one ever had.
    program = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=-3, stderr=-3); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", program, *_convert(), str(path), "--lines", "--jobs", "2"]
    run = subprocess.run(command, env=_environment(), check=True, capture_output=True, text=True)
    peak = int(run.stdout) / 1024
    size = f"{path.stat().st_size / 1e6:.0f} MB of lines"
    return Row("--lines, largest process", size, peak, MEMORY, "MB")


def _convert() -> list[str]:
    known = ["--from", "openai-chat", "--to", "anthropic"]
    return [sys.executable, "-m", "interlingua", "convert", *known]


def _seconds(command: list[str], data: bytes | None = None) -> float:
    begun = time.perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(command, input=data, env=_environment(), check=True, stdout=quiet, stderr=quiet)
    return time.perf_counter() - begun


def _environment() -> dict[str, str]:
    """As a user's: with compiled modules kept from one start to the next."""
    remaining = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**remaining, "PYTHONPATH": str(ROOT / "src")}
