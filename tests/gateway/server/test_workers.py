"""The process that starts the workers and hands signals on."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from typing import Any

import pytest

from interlingua.gateway.server.serve import Workers
from interlingua.gateway.server.worker import Overrides
from interlingua.gateway.settings import Settings


class SignalledWhileStarting:
    """Stands for a worker's process; the signal comes before anybody knows of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.taken: list[int] = []
        os.kill(os.getpid(), signal.SIGTERM)
        self.held = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def poll(self) -> None:
        return None

    def send_signal(self, number: int) -> None:
        self.taken.append(number)


def test_a_worker_that_starts_when_the_signal_comes_gets_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", SignalledWhileStarting)
    with socket.socket() as listening:
        workers = Workers(Overrides(), Settings(), listening)
        before = signal.signal(signal.SIGTERM, workers._end)
        try:
            workers._start({})
        finally:
            signal.signal(signal.SIGTERM, before)
    (worker,) = workers._workers
    assert isinstance(worker, SignalledWhileStarting)
    assert set(worker.taken) == {signal.SIGTERM}
    assert signal.SIGHUP in worker.held, "which would end a worker that cannot take it yet"
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
