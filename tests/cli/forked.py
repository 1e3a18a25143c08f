"""Commands in processes of their own that need not load the package: forks of one that has.

To load it is most of what a short command does. The first process loads all that commands need,
and forks for each of them; a fork has its own arguments, variables, folder and standard streams,
and ends as any program does.

Run as a program with the path of a socket, it does so for a shell: `command_for` writes a command
that is typed as any other, and is run by a fork. The interpreter may be that of another
environment, in which the package is installed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

LOADED = (
    "interlingua.cli.main",
    "interlingua.cli.chat",
    "interlingua.cli.chat_loop",
    "interlingua.client.transport",
    "interlingua.transcripts.exports",
    "interlingua.dialects.anthropic",
    "interlingua.dialects.openai_chat",
    "interlingua.store.aio",
    "interlingua.store.open",
    "interlingua.store.sqlite",
    "interlingua.adapt.convert",
    "interlingua.views",
    "aiohttp",
    "apsw",
    "rich.console",
    "rich.live",
    "rich.progress",
    "rich.table",
)
_MOST = 1_000_000
"""Bytes of one order: arguments and variables."""
_COMMAND = """#!{python} -IS
import os, sys
if {{"serve", "-f"}} & set(sys.argv):  # to be stopped by signals, which forks do not hear
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
import json, socket
first = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
first.connect({place!r})
order = {{"arguments": sys.argv[1:], "env": dict(os.environ), "folder": os.getcwd()}}
socket.send_fds(first, [json.dumps(order).encode()], [0, 1, 2])
sys.exit(int(first.recv(100)))
"""


class Forks:
    """The first process, and the socket over which it is told what to run."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._first = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.forked", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # it and its forks are ended together
        )
        theirs.close()

    def run(
        self, arguments: list[str], env: dict[str, str], folder: str, piped: bytes, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        """The command, once it has ended."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            reading, writing = os.pipe()
            try:
                self.start(arguments, env, folder, [reading, out.fileno(), err.fileno()])
            finally:
                os.close(reading)
            # A command that does not read what it is given may have ended by now.
            with suppress(BrokenPipeError), os.fdopen(writing, "wb") as value:
                value.write(piped)
            code = self.ended(seconds)
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def start(
        self, arguments: list[str], env: dict[str, str], folder: str, streams: list[int]
    ) -> None:
        """The command, with these as its standard streams."""
        order = {"arguments": arguments, "env": env, "folder": folder}
        socket.send_fds(self._ours, [json.dumps(order).encode()], streams)

    def ended(self, seconds: float) -> int:
        """The exit code of the command that was started, once it has ended."""
        self._ours.settimeout(seconds)
        try:
            return int(self._ours.recv(100))
        except (TimeoutError, ValueError):
            self.close()
            raise TimeoutError(f"no end after {seconds} s") from None

    def close(self) -> None:
        self._ours.close()
        if self._first.poll() is None:
            os.killpg(self._first.pid, signal.SIGKILL)
        self._first.wait()
        forks.cache_clear()


@contextmanager
def command_for(folder: Path, python: Path, real: Path) -> Iterator[Path]:
    """A folder with the command `interlingua`, run by forks of a process of this interpreter; what
    has to be a process of its own is what `real` runs."""
    folder.mkdir()
    place = str(folder / "socket")
    command = folder / "interlingua"
    command.write_text(_COMMAND.format(python=python, real=str(real), place=place))
    command.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(place)
        listening.listen(20)
        first = subprocess.Popen(
            [str(python), "-I", __file__, "--shell", str(listening.fileno())],
            pass_fds=[listening.fileno()],
            start_new_session=True,
        )
    try:
        yield folder
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()


@cache
def forks() -> Forks:
    """Those of this process, loaded when first asked for."""
    made = Forks()
    atexit.register(made.close)
    return made


def _shell_fork(listening: socket.socket) -> dict[str, Any]:
    """The same for orders of a shell, of which several may run at once."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who waits for each order ends unseen
    while True:
        orders, _ = listening.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            return _next_fork(orders)
        orders.close()


def _next_fork(orders: socket.socket) -> dict[str, Any]:
    """Waits for orders and answers with exit codes; returns only in the forks, ready to run."""
    while True:
        result, streams, _, _ = socket.recv_fds(orders, _MOST, 3)
        if not result:
            os._exit(0)  # whoever gave the orders is gone
        child = os.fork()
        if child:
            for stream in streams:
                os.close(stream)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            orders.send(str(code).encode())
            continue
        orders.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        order: dict[str, Any] = json.loads(result)
        return order


def _load() -> None:
    for name in LOADED:
        import_module(name)
    main = import_module("interlingua.cli.main")
    for name in main.COMMANDS:
        main.module_of(name)
    registry = import_module("interlingua.dialects.registry")
    for name in registry.dialects():
        registry.dialect(name)
    gc.collect()
    gc.freeze()  # so that forks need not look through it


def _main() -> None:
    _load()
    result = socket.socket(fileno=int(sys.argv[-1]))
    order = _shell_fork(result) if "--shell" in sys.argv else _next_fork(result)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    sys.argv = ["interlingua", *order["arguments"]]
    try:
        import_module("interlingua.cli.main").main()
    except SystemExit as end:
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))
    _end(0)


def _end(code: int) -> NoReturn:
    """As any program ends, but for taking apart all that was loaded."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 120  # as Python itself has it
    os._exit(code)


if __name__ == "__main__":
    _main()
