"""Processes of the gateway that need not load it: forks of one that has.

To load it is most of what a gateway does that is started for a test. The first process loads it and
forks for each that is wanted, which then has its own arguments, variables, folder, streams and
process id, gets signals and ends as any program does. That `python -m interlingua serve` itself
gets as far is for a few tests that start it.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parents[2]
LOADED = (
    "interlingua.cli.serve",
    "interlingua.gateway.server.serve",
    "interlingua.gateway.server.worker",
    "interlingua.gateway.service",
    "interlingua.store.aio",
    "interlingua.store.postgres",
    "interlingua.store.sqlite",
    "uvicorn.protocols.http.httptools_impl",
)
_NUMBER = struct.Struct("i")
_MOST = 1_000_000
"""Bytes of one order: arguments and variables."""


class Fork:
    """As `subprocess.Popen` of `python -m` with these words, with its outputs as text."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stderr: int | IO[bytes] | None = None,
        own_session: bool = False,
    ) -> None:
        """`stderr` is a file, `subprocess.PIPE`, `STDOUT` or `DEVNULL`; None is where ours goes."""
        folder, variables = str(cwd or Path.cwd()), dict(os.environ if env is None else env)
        order = {"words": words, "env": variables, "folder": folder, "session": own_session}
        reading, out = os.pipe()
        errors, value = _errors(stderr, out)
        self._told, telling = os.pipe()
        with open(os.devnull, "rb") as nothing:
            _first().order(order, [nothing.fileno(), out, value, telling])
        for each in {out, value, telling} - _kept(stderr):
            os.close(each)
        self.returncode: int | None = None
        self._lock = threading.Lock()
        self.pid = _number(self._told)
        self.stdout: IO[str] | None = os.fdopen(reading)
        self.stderr: IO[str] | None = None if errors is None else os.fdopen(errors)

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._told], [], [], seconds)[0]:
                self.returncode = _number(self._told)
                os.close(self._told)
            return self.returncode

    def communicate(self) -> tuple[str, None]:
        """All that it says on its output, up to its end."""
        assert self.stdout is not None
        with self.stdout as lines:
            result = lines.read()
        self.wait()
        return result, None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _number(told: int) -> int:
    (number,) = _NUMBER.unpack(os.read(told, _NUMBER.size))
    return int(number)


def _errors(stderr: int | IO[bytes] | None, out: int) -> tuple[int | None, int]:
    """Where we read its errors, if we do, and where it writes them."""
    if stderr == subprocess.PIPE:
        return os.pipe()
    if stderr == subprocess.STDOUT:
        return None, out
    if stderr == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    return None, 2 if stderr is None or isinstance(stderr, int) else stderr.fileno()


def _kept(stderr: int | IO[bytes] | None) -> set[int]:
    """What was given, and is not ours to close."""
    return {2} if stderr is None or isinstance(stderr, int) else {stderr.fileno()}


class First:
    """The process that forks, and the socket over which it is told what to run."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = [sys.executable, "-m", "tests.gateway.forks", str(theirs.fileno())]
        self._process = subprocess.Popen(words, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()

    def order(self, order: dict[str, Any], streams: list[int]) -> None:
        socket.send_fds(self._ours, [json.dumps(order).encode()], streams)

    def close(self) -> None:
        self._ours.shutdown(socket.SHUT_RDWR)
        self._ours.close()
        self._process.wait()


@cache
def _first() -> First:
    made = First()
    atexit.register(made.close)
    return made


def _load() -> None:
    for name in LOADED:
        import_module(name)
    registry = import_module("interlingua.dialects.registry")
    for name in registry.dialects():
        registry.dialect(name)
    gc.collect()
    gc.freeze()  # so that forks need not look through it


def _next(orders: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Waits for orders; returns only in forks, with what is to be run."""
    while True:
        result, streams, _, _ = socket.recv_fds(orders, _MOST, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # watchers whose process has ended
        if not result:
            os._exit(0)  # whoever gave the orders is gone
        if os.fork() == 0:
            orders.close()
            *usual, telling = streams
            _watched(telling)
            return json.loads(result), usual
        for stream in streams:
            os.close(stream)


def _watched(telling: int) -> None:
    """Returns in a fork whose process id and exit code this process tells before it ends, too."""
    child = os.fork()
    if not child:
        os.close(telling)
        return
    _close_all_but(telling)
    os.write(telling, _NUMBER.pack(child))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(BrokenPipeError):
        os.write(telling, _NUMBER.pack(code))
    os._exit(0)


def _close_all_but(kept: int) -> None:
    os.closerange(0, kept)
    os.closerange(kept + 1, 1024)


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal it comes to everybody
    _load()
    order, streams = _next(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for content in (sys.stdout, sys.stderr):
        assert isinstance(content, io.TextIOWrapper)
        content.reconfigure(line_buffering=True)
    if order["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    module, *arguments = order["words"]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        _end(end.code if isinstance(end.code, int) else int(end.code is not None))
    _end(0)


def _end(code: int) -> NoReturn:
    """As any program ends, but for taking apart all that was loaded."""
    atexit._run_exitfuncs()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _main()
