"""`interlingua serve` as a process, with keys, caps, trace and store on, and what of it can be seen
from outside: its sockets, its memory, its numbers, and the books that it leaves."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
import urllib.request
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.gateway.endurance.watched import FILE
from tests.gateway.forks import Fork
from tests.gateway.serving import key

ROOT = Path(__file__).parents[3]
MODEL = "claude-sonnet-4-6"
MEGABYTE = 1024 * 1024
REQUESTS = "interlingua_requests_total"


class WrongError(Exception):
    """The gateway did what it must not do; the text says which law that breaks."""


def require(holds: bool, law: str) -> None:
    """A check that is done whether or not Python looks at `assert`."""
    if not holds:
        raise WrongError(law)


class Serving:
    """From `with` to its end. `more` is what its file says beside the store."""

    def __init__(self, home: Path, upstream: str, more: str = "") -> None:
        self.home = home
        self.store = home / "gateway.db"
        self.log = home / "log.txt"
        self._watch = home / "watch.txt"
        self._upstream = upstream
        self._more = more
        cap = Decimal(1_000_000)
        self.token = key(home, "test", daily_cap_usd=cap, concurrent=100_000).token

    def __enter__(self) -> Self:
        home = self.home
        file = home / "gateway.toml"
        file.write_text(f'store = "{self.store}"\n{self._more}')
        provider = f'[providers.anthropic]\nbase_url = "{self._upstream}"\nkey = "x"\n'
        (home / "providers.toml").write_text(provider)
        environ = {
            **os.environ,
            "INTERLINGUA_HOME": str(home),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "PYTHONUNBUFFERED": "1",
            FILE: str(self._watch),
        }
        for name in ("ANTHROPIC_BASE_URL", "INTERLINGUA_STORE"):
            environ.pop(name, None)
        words = ["tests.gateway.endurance.watched", "serve", "--port", "0", "--config", str(file)]
        with self.log.open("wb") as log:
            self.process = Fork(words, env=environ, cwd=ROOT, stderr=log)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if "http://" not in first:
            self.stop()
            raise WrongError(f"it did not start: {self.log.read_text()[-500:]}")
        self.port = int(first.split("http://", 1)[1].split()[0].rpartition(":")[2])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> int:
        """As an operator ends it; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.returncode

    # What can be seen

    def rss(self) -> int:
        """Bytes of memory that it has now."""
        return _status(self.process.pid, "VmRSS") * 1024

    def peak(self) -> int:
        """Bytes of memory that it ever had."""
        return _status(self.process.pid, "VmHWM") * 1024

    def files(self) -> int:
        """Open files and sockets, but for those of the store: it opens two files with each of its
        readers, when several read at once for the first time."""
        place = Path(f"/proc/{self.process.pid}/fd")
        return sum(".db" not in _link(place / name) for name in os.listdir(place))

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def watched(self) -> dict[str, Any]:
        """Its tasks and objects at this moment."""
        before = len(self._lines())
        self.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            lines = self._lines()
            if len(lines) > before:
                parsed: dict[str, Any] = json.loads(lines[-1])
                return parsed
            time.sleep(0.02)
        raise WrongError("it did not say how many tasks it has")

    def _lines(self) -> list[str]:
        if not self._watch.exists():
            return []
        return self._watch.read_text().split("\n")[:-1]

    def counted(self) -> dict[str, int]:
        """Requests as `/metrics` has them, by the labels that they have there."""
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/metrics",
            headers={"authorization": f"Bearer {self.token}"},
        )
        with urllib.request.urlopen(asked, timeout=20) as reply:
            lines = reply.read().decode().splitlines()
        pairs = [line.rpartition(" ") for line in lines if line.startswith(REQUESTS)]
        return {name: int(float(number)) for name, _, number in pairs}

    def books(self) -> Books:
        """What the store has, once the process has ended."""
        with sqlite3.connect(f"file:{self.store}?mode=ro", uri=True) as db:
            ledger = db.execute("SELECT id, status, cost, tokens FROM ledger").fetchall()
            spent = db.execute("SELECT reserved FROM spend").fetchall()
            events = db.execute("SELECT type, payload FROM events").fetchall()
        db.close()
        entries = {id: Entry(status, cost, tokens) for id, status, cost, tokens in ledger}
        parsed = [
            (kind, json.loads(payload)["request_id"])
            for kind, payload in events
            if kind.startswith("llm.call_")
        ]
        return Books(entries, sum(int(each[0]) for each in spent), parsed)


class Entry(NamedTuple):
    status: str
    cost: int
    tokens: int


class Books(NamedTuple):
    ledger: dict[str, Entry]
    reserved: int
    """What is still set aside, of all owners together."""
    told: list[tuple[str, str]]
    """Events of the trace: how the call ended, and the id of its request."""


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:  # closed meanwhile
        return ""


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise WrongError(f"process {pid} is gone")
