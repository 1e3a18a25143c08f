"""The gate: format, lint, types, and all tests in groups that run beside each other.

`python -m tests.gate` runs everything, `python -m tests.gate laws store` these groups alone, and
`--list` says what is in which group. A group is a process of its own that collects its own
tests: no test is collected twice, and what is set up for a whole run is set up where it is used.
The processes are forks of this one, which has loaded what most of them need, and share the
PostgreSQL that it starts.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, NoReturn

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SLOTS = 4
"""More than the cores of a small machine: many tests wait for processes and sockets."""

GROUPS: dict[str, tuple[str, ...]] = {
    # The longest first. A path that stands nowhere is in `rest`.
    "dialects": ("dialects", "replay", "cassettes", "streams"),
    "page": ("gateway/page",),
    "gateway": ("gateway",),
    "gateway-serve": ("gateway/server", "gateway/sessions", "gateway/audits", "gateway/paths"),
    "values": ("model", "views", "transcripts", "tools"),
    "store": ("store", "bulk"),
    "cli": ("cli", "test_walkthrough.py"),
    "local": (
        *("local", "cli/test_chat_local.py", "client/test_local.py", "gateway/sdks/test_local.py"),
    ),
    "sessions": ("sessions", "agents"),
    "laws-more": ("laws",),
    "gateway-sdks": ("gateway/sdks",),
    "client": ("client", "providers", "routing"),
    "laws": ("laws/test_laws.py", "laws/test_own.py"),
    "docs": ("docs", "test_docs.py", "test_pages.py"),
}
"""What runs together: files and folders of `tests/`. The narrower pattern wins."""
TWICE = ("page",)
"""A browser on a busy machine has a second try."""
REST = "rest"
NAMED = "INTERLINGUA_POSTGRES"
"""Names the server that tests use."""
LOADED = (
    *("pytest", "hypothesis", "aiohttp", "anthropic", "botocore.session", "cohere"),
    *("google.genai.interactions", "groq", "mcp", "mistralai.client", "openai", "openrouter"),
    *("interlingua.cli.main", "interlingua.gateway.service", "interlingua.store.sqlite"),
)
"""What takes long to load, and is loaded once for all groups where it is there."""
MEMORY = Path("/dev/shm")
ROOM = 1_000_000_000
"""Bytes that have to be free: far more than all groups take at once."""
LOADED_BEFORE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""Plugins among it, whose assertions are not ours."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to run: tests in a fork of this process, or a command."""

    name: str
    tests: Sequence[str] = ()
    command: Sequence[str] = ()
    tries: int = 1
    """How often, if it fails."""


@dataclass
class Run:
    """A step that runs, and what came of it."""

    step: Step
    seconds: float = 0.0
    busy: float = 0.0
    """Seconds of processor time, of the children too."""
    tries: int = 0
    code: int = 0
    output: str = ""
    """Of all tries."""
    _begun: float = field(default_factory=time.monotonic)
    _file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    _command: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Once more; gives the id of the process."""
        self.tries += 1
        if not self.step.tests:
            self._command = subprocess.Popen(
                self.step.command, cwd=ROOT, stdout=self._file, stderr=self._file
            )
            return self._command.pid
        sys.stdout.flush()
        child = os.fork()
        if not child:
            for stream in (1, 2):
                os.dup2(self._file.fileno(), stream)
            _test(self.step.tests)
        return child

    def ended(self, status: int, busy: float) -> bool:
        """Whether that was all; if not, it is to be started again."""
        self.code = os.waitstatus_to_exitcode(status)
        self.busy += busy
        self.seconds = time.monotonic() - self._begun
        if self._command is not None:
            self._command.returncode = self.code
        if self.code and self.tries < self.step.tries:
            return False
        self._file.seek(0)
        self.output = self._file.read().decode(errors="replace")
        self._file.close()
        return True


def _test(paths: Sequence[str]) -> NoReturn:
    """In a fork: the tests, and its end."""
    code = 3  # as pytest has it for errors of its own
    try:
        import pytest

        remaining = ["-o", "tmp_path_retention_policy=failed"]
        code = pytest.main(["-q", "--no-header", *remaining, "-W", LOADED_BEFORE, *paths])
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


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


def steps(wanted: Sequence[str] = ()) -> list[Step]:
    """What to run. Commands come first: they need nothing that has to be loaded."""
    python = [sys.executable, "-m"]
    commands = {
        "types": [*python, "mypy"],
        "format": [*python, "ruff", "format", "--check", "."],
        "lint": [*python, "ruff", "check", "."],
    }
    every = [Step(name, command=command) for name, command in commands.items()]
    for name, files in groups().items():
        every.append(Step(name, files, tries=2 if name in TWICE else 1))
    return [step for step in every if not wanted or step.name in wanted]


def run_all(todo: Sequence[Step], slots: int, prepare: Callable[[], None]) -> Iterator[Run]:
    """All steps, so many at once, as they end; `prepare` is called before a fork."""
    waiting, running = list(todo), dict[int, Run]()
    while waiting or running:
        while waiting and len(running) < slots:
            if waiting[0].tests:
                prepare()
            run = Run(waiting.pop(0))
            running[run.start()] = run
        child, status, usage = os.wait3(0)
        if child not in running:
            continue  # the server, before its time
        run = running.pop(child)
        if run.ended(status, usage.ru_utime + usage.ru_stime):
            yield run
        else:
            running[run.start()] = run


@cache
def load() -> None:
    """What the forks then need not load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.disable()  # what is loaded stays
        for name in LOADED:
            with suppress(ImportError):
                import_module(name)
        _load_dialects()
    gc.enable()
    gc.collect()
    gc.freeze()  # forks need not look through it


def _load_dialects() -> None:
    from interlingua.dialects import registry

    for name in registry.dialects():
        registry.dialect(name)


class Postgres:
    """One server for all groups. Where it does not start, each tries for itself and says why."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "tests.store.server"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)

    def tell(self) -> None:
        """Name it to the tests, once it is there."""
        assert self._process.stdout is not None
        if NAMED not in os.environ and (address := self._process.stdout.readline().strip()):
            os.environ[NAMED] = address

    def close(self) -> None:
        self._process.communicate()


def _is_good(place: Path) -> bool:
    """Whether memory has room for the files of all groups, and programs may be run there."""
    if sys.platform != "linux" or not place.is_dir():
        return False
    result = Path("/proc/meminfo").read_text(encoding="ascii")
    [kilobytes] = re.findall(r"MemAvailable: +(\d+)", result) or ["0"]
    room = min(shutil.disk_usage(place).free, int(kilobytes) * 1024)
    return room > ROOM and not os.statvfs(place).f_flag & (os.ST_NOEXEC | os.ST_RDONLY)


@contextmanager
def files_in_memory(place: Path = MEMORY) -> Iterator[None]:
    """Temporary files are there, where it can be: most of what tests of stores do on a disk is to
    wait for it."""
    if not _is_good(place):
        yield
        return
    folder = tempfile.mkdtemp(prefix="il-", dir=place)
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = None
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


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
    with files_in_memory():
        for run in _gate(steps(chosen.groups), chosen.slots):
            failed += [run.step.name] if run.code else []
            _tell(run)
    names = ", ".join(failed)
    print(f"\n{time.monotonic() - begun:.0f} s: {f'failed: {names}' if failed else 'all passed'}")
    return 1 if failed else 0


def _gate(todo: Sequence[Step], slots: int) -> Iterator[Run]:
    sys.dont_write_bytecode = False  # tests are compiled once and kept, whatever the shell says
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sum(bool(step.tests) for step in todo) < 2 or NAMED in os.environ:
        yield from run_all(todo, slots, load)
        return
    server = Postgres()

    @cache
    def prepare() -> None:
        load()
        server.tell()

    try:
        yield from run_all(todo, slots, prepare)
    finally:
        server.close()


def _tell(run: Run) -> None:
    last = (run.output.strip().splitlines() or [""])[-1]
    word = "failed" if run.code else "ok"
    times = f"{run.seconds:5.0f} s {run.busy:5.0f} s busy"
    print(f"{run.step.name:14} {word:6} {times}  {last}", flush=True)
    if run.code or run.tries > 1:
        print(f"\n{run.output}\n===== the end of {run.step.name}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
