"""What `import interlingua` adds to the start of an interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from bench.measure import ROOT, Row, shown

IMPORT = "import interlingua"
TARGETS = {IMPORT: 60.0}
PROGRAMS = {
    IMPORT: "import interlingua",
    # Names are loaded when they are first used, so this is where the rest of the time goes.
    "import, loads, dumps, validate": "from interlingua import loads, dumps, validate",
    "import, convert": "from interlingua import convert",
}


def rows(quick: bool) -> Iterator[Row]:
    runs = 10 if quick else 40
    programs = {"pass": "pass", **{name: code for name, code in PROGRAMS.items() if _runs(code)}}
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(runs):
        for name, code in programs.items():
            best[name] = min(best[name], _seconds(code))
    floor = best.pop("pass")
    for name, seconds in best.items():
        yield Row(name, shown(floor), (seconds - floor) * 1000, TARGETS.get(name), "ms over")


def _runs(code: str) -> bool:
    """Whether all of it is there; it also warms the caches of bytecode and files."""
    return _start(code).returncode == 0


def _seconds(code: str) -> float:
    start = time.perf_counter()
    _start(code).check_returncode()
    return time.perf_counter() - start


def _start(code: str) -> subprocess.CompletedProcess[bytes]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    # As a user's: with compiled modules kept from one start to the next.
    remaining = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment = {**remaining, "PYTHONPATH": path.rstrip(os.pathsep)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
