"""Who runs a task: a process and a run of it. Processes of the same machine can be seen to be dead
at once; others are when they have been silent for too long."""

from __future__ import annotations

import os
import socket
import uuid
from functools import cache
from pathlib import Path

LEASE = 20.0
"""Seconds of silence after which a run is taken for dead."""
RENEW = 5.0
"""Seconds between two signs of life."""


def new_holder() -> str:
    """For one run."""
    return f"{_machine()}/{os.getpid()}/{uuid.uuid4().hex}"


def is_dead(holder: str) -> bool:
    """Whether its process is known to have ended. A number that another process has by now is taken
    for the same one: then its silence tells."""
    machine, _, rest = holder.partition("/")
    number = rest.partition("/")[0]
    if machine != _machine() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return _is_zombie(int(number))


def _is_zombie(number: int) -> bool:
    """Whether it has ended, and only its parent has not noticed yet."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "Z"


@cache
def _machine() -> str:
    """This machine since it was started, as far as process numbers mean the same."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{socket.gethostname()}:{uuid.getnode():x}"
