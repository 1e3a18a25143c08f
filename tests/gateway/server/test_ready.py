"""Several workers are announced when one of them answers, and not before."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from interlingua.gateway.server.serve import Workers
from interlingua.gateway.server.worker import Overrides
from interlingua.gateway.settings import Listen, Settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes are passed on by number")
SLOW = "import os, sys, time; time.sleep(0.5); os.write(int(sys.argv[1]), b'1'); time.sleep(0.3)"
SILENT = "import time; time.sleep(0.3)"


@pytest.mark.parametrize(("code", "calls"), [(SLOW, 1), (SILENT, 0)])
def test_workers_are_announced_when_one_answers(
    code: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[list[int | None]] = []
    handlers = {
        each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }

    def start(self: Workers, environ: dict[str, str]) -> None:
        fd = self._ready_fd
        command = [sys.executable, "-c", code, str(fd)]
        self._workers.append(subprocess.Popen(command, pass_fds=(fd,)))

    monkeypatch.setattr(Workers, "_start", start)
    monkeypatch.setattr(Workers, "_may_restart", lambda self: False)
    with socket.socket() as listening:
        workers = Workers(Overrides(), Settings(listen=Listen(workers=2)), listening)

        def ready() -> None:
            announced.append([worker.poll() for worker in workers._workers])

        try:
            workers.run(ready)
        finally:
            restore: Any = signal.signal
            for each, handler in handlers.items():
                restore(each, handler)
    assert len(announced) == calls
    assert all(codes == [None, None] for codes in announced)
