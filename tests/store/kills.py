"""`python -m tests.store.kills --count 1000`: a process that appends is killed, again and again.

A child appends without pause and says on a pipe when it begins an append and when one was
acknowledged. The parent kills it (SIGKILL) at a random moment, opens the store and looks: all that
was acknowledged is there, and of the rest each append is there as a whole or not at all. Only kills
that came while an append was under way are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message
from interlingua.store.aio import AsyncSqliteStore
from interlingua.store.sqlite import SqliteStore
from tests.store.places import fork

CALLERS = 4
LONGEST = 0.03
"""Seconds between the first acknowledgement and the kill, at most."""
PATIENCE = 30.0


class Tally(NamedTuple):
    kills: int
    under_way: int
    acknowledged: int
    survived: int
    """Appends that were not acknowledged and are there as a whole."""


class WrongError(Exception):
    """Something acknowledged is lost, or something half-written is seen."""


def batch(name: str, size: int) -> list[Message]:
    """An append: a call, its result, and words; each message says where it belongs."""
    id = new_tool_id(Ulids())
    used = Message.assistant(ToolUseBlock(id, f"{name}.0", {"padding": "x" * size}))
    answer = Message.tool_result(id, f"{name}.1")
    return [used, answer, Message.user(f"{name}.2")]


# The child


def child(path: Path, session: str, round: int, pipe: int, together: bool) -> None:
    """Append until killed."""
    if together:
        asyncio.run(_append_together(path, session, round, pipe))
    store = SqliteStore(path)
    for number in range(1_000_000):
        name = f"{round}-{number}"
        os.write(pipe, f"B {name}\n".encode())
        store.append(session, batch(name, random.randrange(2000)))
        os.write(pipe, f"A {name}\n".encode())


async def _append_together(path: Path, session: str, round: int, pipe: int) -> None:
    store = await AsyncSqliteStore.open(path)

    async def caller(which: int) -> None:
        for number in range(1_000_000):
            name = f"{round}-{which}-{number}"
            os.write(pipe, f"B {name}\n".encode())
            await store.append(session, batch(name, random.randrange(2000)))
            os.write(pipe, f"A {name}\n".encode())

    await asyncio.gather(*[caller(which) for which in range(CALLERS)])


# The parent


def kill_one(path: Path, session: str, round: int) -> tuple[set[str], set[str]]:
    """Start a child, kill it; gives what it began and what was acknowledged."""
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        try:
            os.close(reading)
            child(path, session, round, writing, together=round % 2 == 0)
        finally:
            os._exit(1)
    os.close(writing)
    try:
        result = _until_first(reading)
        time.sleep(random.random() * LONGEST)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    result += b"".join(_rest(reading))
    os.close(reading)
    lines = [line.decode().split() for line in result.split(b"\n")[:-1]]  # the last may be cut
    begun = {name for kind, name in lines if kind == "B"}
    return begun, {name for kind, name in lines if kind == "A"}


def _until_first(pipe: int) -> bytes:
    """What the child says up to its first acknowledgement."""
    result = b""
    deadline = time.monotonic() + PATIENCE
    while b"A " not in result:
        ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
        piece = os.read(pipe, 65536) if ready else b""
        if not piece:
            raise WrongError("the child ended, or did nothing")
        result += piece
    return result


def _rest(pipe: int) -> Iterator[bytes]:
    while piece := os.read(pipe, 65536):
        yield piece


def check(
    path: Path, session: str, seen: int, begun: set[str], acknowledged: set[str]
) -> tuple[int, int]:
    """Look at what the child left; gives the last `seq` and how many unacknowledged appends."""
    with SqliteStore(path) as store:
        messages = store.messages(session, after=seen)
        count = store.session(session).message_count
        statuses = {row.name: row.status for row in store.tool_calls(session)}
        if store.unanswered(session):
            raise WrongError("a call without the result that was appended with it")
    if count != seen + len(messages):
        raise WrongError(f"the session says {count} messages and has {seen + len(messages)}")
    found: set[str] = set()
    for place in range(0, len(messages), 3):
        three = messages[place : place + 3]
        names = [_name(message) for message in three]
        name = names[0][:-2]
        if names != [f"{name}.{number}" for number in range(3)]:
            raise WrongError(f"half an append: {names}")
        if statuses[names[0]] != "succeeded":
            raise WrongError(f"call {names[0]} is {statuses[names[0]]}")
        found.add(name)
    if lost := acknowledged - found:
        raise WrongError(f"acknowledged and lost: {sorted(lost)}")
    if strange := found - begun:
        raise WrongError(f"never begun: {sorted(strange)}")
    return count, len(found - acknowledged)


def _name(message: Message) -> str:
    block = message.content[0]
    if isinstance(block, ToolUseBlock):
        return block.name
    return message.text or block.content[0].text  # type: ignore[union-attr]  # a result, then


def run(count: int, folder: Path, show: bool = False) -> Tally:
    """Kill until `count` kills came while an append was under way."""
    kills = under_way = acknowledged = survived = seen = 0
    path, session = folder / "kills.db", ""
    while under_way < count:
        if kills % 100 == 0:  # a new file now and then, so that looking stays quick
            path = folder / f"kills-{kills}.db"
            with SqliteStore(path) as store:
                session = store.create_session("/w").id
            seen = 0
        begun, acked = kill_one(path, session, kills)
        seen, alive = check(path, session, seen, begun, acked)
        kills += 1
        under_way += bool(begun - acked)
        acknowledged += len(acked)
        survived += alive
        if kills % 100 == 0:
            _require_sound(path)
            if show:
                print(f"{kills} kills, {under_way} with an append under way", flush=True)
    _require_sound(path)
    return Tally(kills, under_way, acknowledged, survived)


def _require_sound(path: Path) -> None:
    with SqliteStore(path) as store, store._file.transaction() as db:
        found = db.execute("PRAGMA integrity_check")
        if found != [("ok",)]:
            raise WrongError(f"the file is damaged: {found[:3]}")
        if broken := db.execute("PRAGMA foreign_key_check"):
            raise WrongError(f"rows that refer to nothing: {broken[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="kills with an append under way")
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(chosen.count, Path(folder), show=True)
    print(
        f"{tally.kills} kills, {tally.under_way} with an append under way,"
        f" {tally.acknowledged} appends acknowledged, none lost; {tally.survived} more were written"
        f" and not yet acknowledged; {time.monotonic() - begun:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
