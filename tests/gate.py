"""The gate: format, lint, types, and all tests in groups that run beside each other.

`python -m tests.gate` runs everything, `python -m tests.gate laws store` these groups alone, and
`--list` says what is in which group. A group is a process of its own that collects its own
tests: no test is collected twice, and what is set up for a whole run is set up where it is used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SLOTS = 4
"""More than the cores of a small machine: many tests wait for processes and sockets."""

GROUPS: dict[str, tuple[str, ...]] = {
    # The longest first. A path that stands nowhere is in `rest`.
    "gateway-sdks": ("gateway/sdks",),
    "gateway-serve": ("gateway/server", "gateway/sessions", "gateway/audits", "gateway/paths"),
    "page": ("gateway/page",),
    "gateway": ("gateway",),
    "laws": ("laws/test_laws.py", "laws/test_own.py"),
    "laws-more": ("laws",),
    "cli": ("cli", "test_walkthrough.py"),
    "store": ("store", "bulk", "arrow"),
    "local": ("local", "cli/test_chat_local.py", "gateway/sdks/test_local.py"),
    "docs": ("docs", "test_docs.py", "test_pages.py"),
    "dialects": ("dialects", "replay", "cassettes", "streams"),
    "sessions": ("sessions", "tasks", "chat"),
    "client": ("client", "providers", "routing"),
    "values": ("model", "views", "transcripts", "tools"),
}
"""What runs together: files and folders of `tests/`. The narrower pattern wins."""
TWICE = ("page",)
"""A browser on a busy machine has a second try."""
REST = "rest"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step of the gate ended."""

    name: str
    code: int
    seconds: float
    busy: float
    """Seconds of processor time, of the children too."""
    output: str
    """Of all tries."""
    tries: int = 1


def groups() -> dict[str, list[str]]:
    """The test files of each group, every file in one of them."""
    owner: dict[Path, tuple[int, str]] = {}
    for name, patterns in GROUPS.items():
        for pattern in patterns:
            for path in _files(pattern):
                owner[path] = max(owner.get(path, (0, REST)), (len(pattern), name))
    found: dict[str, list[str]] = {name: [] for name in (*GROUPS, REST)}
    for path in sorted(TESTS.rglob("test_*.py")):
        found[owner.get(path, (0, REST))[1]].append(str(path.relative_to(ROOT)))
    return found


def _files(pattern: str) -> Iterator[Path]:
    for path in TESTS.glob(pattern):
        yield from path.rglob("test_*.py") if path.is_dir() else (path,)


def steps(wanted: Sequence[str]) -> dict[str, list[list[str]]]:
    """What to run: commands by name; of several, the later ones are second tries."""
    python = [sys.executable, "-m"]
    pytest = [*python, "pytest", "-q", "--no-header"]
    found = {name: [[*pytest, *files]] for name, files in groups().items() if files}
    for name in TWICE:
        found[name] *= 2
    checks = {
        "types": [[*python, "mypy"]],
        "format": [[*python, "ruff", "format", "--check", "."]],
        "lint": [[*python, "ruff", "check", "."]],
    }
    every = {"format": checks["format"], "lint": checks["lint"], "types": checks["types"], **found}
    return {name: every[name] for name in wanted or every}


def run(name: str, commands: list[list[str]]) -> Outcome:
    begun, busy, told, tries = time.monotonic(), 0.0, "", 0
    for command in commands:
        tries += 1
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=_environment()
            )
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            busy += usage.ru_utime + usage.ru_stime
            output.seek(0)
            told += output.read().decode(errors="replace")
        if child.returncode == 0:
            break
    return Outcome(name, child.returncode, time.monotonic() - begun, busy, told, tries)


def _environment() -> dict[str, str]:
    """Tests are compiled once and kept, whatever the shell says."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gate", description=__doc__)
    parser.add_argument("groups", nargs="*", help="what to run (everything)")
    parser.add_argument("--slots", type=int, default=SLOTS, help="how many at once (%(default)s)")
    parser.add_argument("--list", action="store_true", help="say what is in which group")
    chosen = parser.parse_args()
    if chosen.list:
        for name, files in groups().items():
            print(name, *files, sep="\n  ")
        return 0
    begun = time.monotonic()
    failed = []
    with ThreadPoolExecutor(chosen.slots) as pool:
        todo = [pool.submit(run, *step) for step in steps(chosen.groups).items()]
        for done in as_completed(todo):
            outcome = done.result()
            failed += [outcome.name] if outcome.code else []
            _tell(outcome)
    names = ", ".join(failed)
    print(f"\n{time.monotonic() - begun:.0f} s: {f'failed: {names}' if failed else 'all passed'}")
    return 1 if failed else 0


def _tell(outcome: Outcome) -> None:
    last = (outcome.output.strip().splitlines() or [""])[-1]
    word = "failed" if outcome.code else "ok"
    times = f"{outcome.seconds:5.0f} s {outcome.busy:5.0f} s busy"
    print(f"{outcome.name:14} {word:6} {times}  {last}", flush=True)
    if outcome.code or outcome.tries > 1:
        print(f"\n{outcome.output}\n===== the end of {outcome.name}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
