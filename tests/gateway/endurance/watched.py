"""`python -m tests.gateway.endurance.watched serve …`: the command line as users have it, in a
process that can be asked how much it holds.

At SIGUSR1 it appends a line to the file that `INTERLINGUA_WATCH` names: its tasks that have not
ended, and its objects. From outside a process that forgets a task looks like any other."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
from collections import Counter
from types import FrameType

FILE = "INTERLINGUA_WATCH"
MOST = 100
"""Kinds of objects that are told, the most frequent first: enough to see what grows."""


def tell(number: int, frame: FrameType | None) -> None:
    gc.collect()
    objects = gc.get_objects()
    tasks = [each for each in objects if type(each) is asyncio.Task and not each.done()]
    kinds = Counter([type(each).__qualname__ for each in objects])
    names = Counter([getattr(each.get_coro(), "__qualname__", "?") for each in tasks])
    collected = {"tasks": len(tasks), "names": names, "objects": len(objects)}
    line = json.dumps({**collected, "kinds": dict(kinds.most_common(MOST))}) + "\n"
    file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, tell)
    from interlingua.cli.main import main

    main()
