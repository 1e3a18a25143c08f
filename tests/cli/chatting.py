"""`interlingua chat` as a user runs it: in a process of its own, or in a real terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.forked import forks
from tests.cli.running import SOURCE

TMUX = shutil.which("tmux")
needs_tmux = pytest.mark.skipif(TMUX is None, reason="there is no tmux to be a terminal")
PATIENCE = 40.0
COMMAND = [sys.executable, "-m", "interlingua", "chat"]


def variables(home: Path, **more: str) -> dict[str, str]:
    """An environment with nothing of this machine's in it: no keys, no proxies."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(SOURCE),
        "INTERLINGUA_HOME": str(home),
        **more,
    }


def chat(
    home: Path, *arguments: str | Path, piped: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """A question, as a script asks it."""
    home.mkdir(parents=True, exist_ok=True)
    words = ["chat", *map(str, arguments)]
    done = forks().run(words, variables(home, **more), str(home), piped.encode(), 60)
    content, wrong = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(words, done.returncode, content, wrong)


class Terminal:
    """A terminal with a chat in it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._socket = str(place / "socket")

    def _tmux(self, *words: str) -> str:
        assert TMUX is not None
        done = subprocess.run(
            [TMUX, "-S", self._socket, *words], capture_output=True, text=True, timeout=20
        )
        return done.stdout

    def type(self, text: str) -> None:
        """Write a line and press Enter."""
        self._tmux("send-keys", "-t", "chat", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "chat", *keys)

    def screen(self) -> str:
        """All that was seen so far, without what stands empty."""
        seen = self._tmux("capture-pane", "-p", "-J", "-S", "-2000", "-t", "chat")
        return "\n".join(line.rstrip() for line in seen.rstrip().split("\n"))

    def styled(self) -> str:
        """The same with its colours."""
        return self._tmux("capture-pane", "-p", "-e", "-J", "-S", "-2000", "-t", "chat")

    def wait(self, text: str, times: int = 1) -> str:
        """The screen, once this text is on it so many times."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            seen = self.screen()
            if seen.count(text) >= times:
                return seen
            time.sleep(0.1)
        raise AssertionError(f"{text!r} was not seen {times} times on this screen:\n{seen}")

    def ended(self) -> int:
        """The exit code of the chat, once it has ended; 128 and more where it was killed."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            code = self._place / "code"
            if code.exists() and (result := code.read_text().strip()):
                return int(result)
            time.sleep(0.1)
        raise AssertionError(f"the chat has not ended:\n{self.screen()}")

    def pid(self) -> int:
        """The process of the chat."""
        return int((self._place / "pid").read_text())


@contextmanager
def terminal(home: Path, *arguments: str, **more: str) -> Iterator[Terminal]:
    """A terminal in which the chat was started; it stays when the chat ends."""
    assert TMUX is not None
    settings = [f"{name}={value}" for name, value in variables(home, **more).items()]
    command = shlex.join(["env", "-i", *settings, *COMMAND, *arguments])
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as folder:
        place = Path(folder)
        shown = Terminal(place)
        started = shlex.quote(f"echo $$ > {place}/pid; exec {command}")
        # The pane stays when the chat has ended; other settings of the machine are left out.
        (place / "conf").write_text("set -g remain-on-exit on\nset -g history-limit 5000\n")
        start = [TMUX, "-S", f"{place}/socket", "-f", f"{place}/conf", "new-session", "-d"]
        start += ["-s", "chat", "-x", "100", "-y", "40", "-c", str(home)]
        subprocess.run([*start, f"sh -c {started}; echo $? > {place}/code"], check=True, timeout=20)
        try:
            yield shown
        finally:
            shown._tmux("kill-server")
