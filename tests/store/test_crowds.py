"""Threads and processes that append to the same sessions: no gap, no repetition, one order."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.errors import BusyError
from interlingua.store.open import open_store
from tests.store.places import ask

ROOT = Path(__file__).parents[2]

CHILD = """
import sys
from tests.store.test_crowds import append_often
append_often(*sys.argv[1:])
"""


def append_often(address: str, session: str, name: str, count: str) -> None:
    """What each process does; a busy store is tried again, as a program would."""
    with open_store(address) as store:
        for number in range(int(count)):
            while True:
                try:
                    (seq,) = store.append(session, [Message.user(f"{name} {number}")]).seqs
                    break
                except BusyError:
                    continue
            print(name, number, seq)


def assert_one_order(store: Store, session: str, told: dict[tuple[str, int], int]) -> None:
    """What was told is what is stored: each message once, at its place, each caller's in order."""
    messages = store.messages(session)
    places = {message.text: seq for seq, message in enumerate(messages, 1)}
    assert len(places) == len(messages) == len(told)
    assert {f"{name} {number}": seq for (name, number), seq in told.items()} == places
    rows = ask(store, "SELECT seq FROM messages WHERE session_id = ? ORDER BY seq", [session])
    assert [seq for (seq,) in rows] == list(range(1, len(told) + 1))
    for name in {name for name, _ in told}:
        own = [seq for (each, _), seq in sorted(told.items()) if each == name]
        assert own == sorted(own)
    ids = [message.id or "" for message in messages]
    assert ids == sorted(set(ids))
    assert store.session(session).message_count == len(told)


def test_sixty_four_threads_append_in_one_order(store: Store) -> None:
    session = store.create_session("/w").id
    told: dict[tuple[str, int], int] = {}
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(4):
                (seq,) = store.append(session, [Message.user(f"{name} {number}")]).seqs
                told[name, number] = seq
        except BaseException as odd:
            errors.append(odd)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert_one_order(store, session, told)


def test_eight_processes_append_in_one_order(store: Store, address: str) -> None:
    session = store.create_session("/w").id
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, address, session, f"p{number}", "15"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    outputs = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 8
    assert_one_order(store, session, dict(lines(outputs)))


def lines(outputs: list[str]) -> Iterator[tuple[tuple[str, int], int]]:
    for output in outputs:
        for line in output.splitlines():
            name, number, seq = line.split()
            yield (name, int(number)), int(seq)
