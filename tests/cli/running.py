"""Commands run in this process, or as a user runs them, on a store in a folder of the test's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from interlingua.cli.main import commands
from tests.cli.forked import forks

SOURCE = Path(__file__).parents[2] / "src"


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    """The command with these arguments; what is not an exit is an error of the test."""
    result = CliRunner().invoke(commands(), list(map(str, arguments)), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def ok(*arguments: str | Path, stdin: str | None = None) -> str:
    """The output of a command that has to succeed."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def told(*arguments: str | Path) -> Any:
    """The same as JSON."""
    return json.loads(ok(*arguments, "--json"))


def process(
    *arguments: str | Path, before: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, which calls `before` first."""
    command = [sys.executable, "-m", "interlingua", *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.run(
        command, capture_output=True, env=variables, check=False, timeout=60, preexec_fn=before
    )


def forked(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The same in a fork of a process that has loaded the package: for what is no matter of how a
    process starts."""
    return forks().run(list(map(str, arguments)), dict(os.environ), os.getcwd(), stdin, 60)


def on_terminal(
    *arguments: str | Path, columns: int = 80, talk: bool = True, **environment: str
) -> tuple[int, str]:
    """The exit code, and what a terminal of this width got to see, colours included; without
    `talk`, what goes to standard error is left out."""
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", **environment}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        if name not in environment:
            variables.pop(name, None)
    with open(os.devnull, "wb") as nowhere:
        errors = follower if talk else nowhere.fileno()
        streams = [follower, follower, errors]
        forks().start(list(map(str, arguments)), variables, os.getcwd(), streams)
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(leader)
    return forks().ended(60), seen.decode().replace("\r\n", "\n")
