"""`python -m tests.store.crowds --appends 1000000`: 64 threads and 16 processes append at once.

To one session and to several, on both engines. Each append notes when it began and when it was
acknowledged. In the end each session's numbers are 1, 2, 3, …, its ids grow with them, each
caller's messages are in its order, and an append that began after another was acknowledged has the
greater number.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.errors import BusyError
from interlingua.store.open import open_store
from tests.store.kills import WrongError
from tests.store.places import ask, memory_folder

ROOT = Path(__file__).parents[2]
SESSIONS = 5


class Told(NamedTuple):
    """One acknowledged append. Times are of the clock that all processes of a machine share."""

    session: str
    text: str
    seq: int
    began: float
    ended: float


def append_often(
    store: Store, sessions: list[str], name: str, count: int, offset: int = 0
) -> Iterator[Told]:
    """What each caller does, going round the sessions; a busy store is tried again, as a program
    would."""
    for number in range(count):
        session = sessions[(number + offset) % len(sessions)]
        text = f"{name} {number}"
        while True:
            began = time.monotonic()
            try:
                (seq,) = store.append(session, [Message.user(text)]).seqs
            except BusyError:
                continue
            yield Told(session, text, seq, began, time.monotonic())
            break


def in_threads(store: Store, sessions: list[str], threads: int, count: int) -> list[Told]:
    collected: list[Told] = []
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            collected.extend(append_often(store, sessions, f"t{number}", count, number))
        except BaseException as error:
            errors.append(error)

    callers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    if errors:
        raise errors[0]
    return collected


def start_processes(
    address: str, sessions: list[str], processes: int, count: int
) -> list[subprocess.Popen[str]]:
    """Where there are forks, one that has loaded the package, and forks for the others."""
    program = [sys.executable, "-m", "tests.store.crowds", "--child", address, ",".join(sessions)]
    names = [f"p{number}" for number in range(processes)]
    together = [",".join(names)] if hasattr(os, "fork") else names
    return [
        subprocess.Popen(
            [*program, each, "--appends", str(count)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for each in together
    ]


def finish(children: list[subprocess.Popen[str]], patience: float = 120) -> list[Told]:
    collected = []
    for child in children:
        output, _ = child.communicate(timeout=patience)
        if child.returncode:
            raise WrongError(f"a process ended with {child.returncode}")
        collected += [Told(*json.loads(line)) for line in output.splitlines()]
    return collected


def check(store: Store, told: Iterable[Told]) -> int:
    """What was told is what is stored; gives how many."""
    by_session: dict[str, list[Told]] = {}
    for each in told:
        by_session.setdefault(each.session, []).append(each)
    for session, own in by_session.items():
        own.sort(key=lambda each: each.seq)
        _check_stored(store, session, own)
        _check_order(own)
    return sum(map(len, by_session.values()))


def _check_stored(store: Store, session: str, own: list[Told]) -> None:
    sql = "SELECT seq, id FROM messages WHERE session_id = ? ORDER BY seq"
    rows = ask(store, sql, [session])
    if [seq for seq, _ in rows] != list(range(1, len(own) + 1)):
        raise WrongError(f"{len(rows)} numbers for {len(own)} appends, or a gap")
    ids = [id for _, id in rows]
    if ids != sorted(set(ids)):
        raise WrongError("ids that do not grow with the numbers")
    texts = [message.text for message in store.messages(session)]
    if texts != [each.text for each in own]:
        raise WrongError("a message that is not where it was said to be")
    if store.session(session).message_count != len(own):
        raise WrongError("the session's count is wrong")


def _check_order(own: list[Told]) -> None:
    """By number: none ended before one with a smaller number began."""
    latest = own[0].began
    last: dict[str, int] = {}
    for each in own:
        latest = max(latest, each.began)
        if each.ended < latest:
            raise WrongError(f"{each.text} was acknowledged before one that has a smaller number")
        name, number = each.text.split()
        if int(number) <= last.get(name, -1):
            raise WrongError(f"{name}'s messages are not in its order")
        last[name] = int(number)


def run(address: str, threads: int, processes: int, appends: int, sessions: int) -> int:
    """Threads and processes at the same time; `appends` in all."""
    each = max(1, appends // (threads + processes))
    with open_store(address) as store:
        ids = [store.create_session("/w").id for _ in range(sessions)]
        children = start_processes(address, ids, processes, each)
        result = in_threads(store, ids, threads, each)
        result += finish(children, patience=120 + appends / 20)
        return check(store, result)


def _children(address: str, sessions: list[str], names: list[str], appends: int) -> int:
    """One process for each name; how the worst of them ended."""
    pids = []
    for name in names[1:]:
        if not (pid := os.fork()):
            os._exit(_child(address, sessions, name, appends))
        pids.append(pid)
    own = _child(address, sessions, names[0], appends)
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return max(map(abs, [own, *ends]))


def _child(address: str, sessions: list[str], name: str, appends: int) -> int:
    with open_store(address) as store:
        for reported in append_often(store, sessions, name, appends):
            # In one piece, among those of the others.
            os.write(sys.stdout.fileno(), f"{json.dumps(reported)}\n".encode())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.crowds", description=__doc__)
    parser.add_argument("--appends", type=int, default=1_000_000, help="in all")
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        address, sessions, names = chosen.child
        return _children(address, sessions.split(","), names.split(","), chosen.appends)
    from tests.store.conftest import Server  # which children need not load

    server = Server()
    try:
        with memory_folder() as folder:
            for engine, address in (("sqlite", str(folder / "s.db")), ("postgres", server.address)):
                for sessions in (1, SESSIONS):
                    begun = time.monotonic()
                    half = chosen.appends // 4
                    done = run(address, chosen.threads, chosen.processes, half, sessions)
                    print(
                        f"{engine}: {done} appends to {sessions} sessions by {chosen.threads}"
                        f" threads and {chosen.processes} processes: no gap, no repetition, one"
                        f" order; {time.monotonic() - begun:.0f} s",
                        flush=True,
                    )
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
