"""One at a time, among the processes of a machine: a lock that goes when its holder does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE = 0.05


@contextmanager
def locked(path: Path, seconds: float, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds the lock file; `TimeoutError` after so many seconds. `waiting` is called once if others
    hold it. The file stays: removing it would let two hold it at once."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + seconds
        told = False
        while not _try(file):
            if waiting is not None and not told:
                waiting()
                told = True
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is held by another process")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(file)  # which also gives the lock back


def _try(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
