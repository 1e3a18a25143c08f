"""Commands in processes of their own that need not load the package: forks of one that has.

To load it is most of what a short command does. The first process loads all that a chat needs, and
forks for every command; a fork has its own arguments, variables, folder and standard streams, and
ends as any program does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from typing import Any

LOADED = (
    "interlingua.cli.main",
    "interlingua.cli.chat",
    "interlingua.cli.chat_once",
    "interlingua.client.transport",
    "interlingua.exports.markdown",
    "interlingua.dialects.anthropic",
    "interlingua.dialects.openai_chat",
    "interlingua.store.aio",
    "interlingua.store.open",
    "interlingua.store.sqlite",
    "aiohttp",
    "apsw",
)
_MOST = 1_000_000
"""Bytes of one order: arguments and variables."""


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
        self, arguments: list[str], env: dict[str, str], folder: str, piped: str, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """The command, once it has ended."""
        order = {"arguments": arguments, "env": env, "folder": folder}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            reading, writing = os.pipe()
            try:
                streams = [reading, out.fileno(), err.fileno()]
                socket.send_fds(self._ours, [json.dumps(order).encode()], streams)
            finally:
                os.close(reading)
            with os.fdopen(writing, "wb") as given:
                given.write(piped.encode())
            self._ours.settimeout(seconds)
            try:
                code = int(self._ours.recv(100))
            except (TimeoutError, ValueError):
                self.close()
                raise subprocess.TimeoutExpired(arguments, seconds) from None
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, code, *texts)

    def close(self) -> None:
        self._ours.close()
        if self._first.poll() is None:
            os.killpg(self._first.pid, signal.SIGKILL)
        self._first.wait()
        forks.cache_clear()


@cache
def forks() -> Forks:
    """Those of this process, loaded when first asked for."""
    made = Forks()
    atexit.register(made.close)
    return made


def _next_fork(orders: socket.socket) -> dict[str, Any]:
    """Waits for orders and answers with exit codes; returns only in the forks, ready to run."""
    while True:
        told, streams, _, _ = socket.recv_fds(orders, _MOST, 3)
        if not told:
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
        order: dict[str, Any] = json.loads(told)
        return order


def _main() -> None:
    for name in LOADED:
        import_module(name)
    order = _next_fork(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["folder"])
    sys.argv = ["interlingua", *order["arguments"]]
    import_module("interlingua.cli.main").main()


if __name__ == "__main__":
    _main()
