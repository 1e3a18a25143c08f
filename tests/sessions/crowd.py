"""`python -m tests.sessions.crowd --seconds 60`: three programs speak in one session at once.

Each reads the session again, begins a turn and streams an answer, which is stored with every piece;
whoever is told that another has the turn tries again. Some do not read it again first, as a program
does that was busy with something else. At the end every answer that came to its end is there as it
was told, in its place behind its question.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from interlingua.model.metadata import MessageStatus
from interlingua.sessions import call as calls
from interlingua.store.errors import ConflictError
from interlingua.store.open import open_store
from tests.sessions.talk import new_session, opened
from tests.sessions.wires import answer, stream
from tests.store.conftest import Server
from tests.store.places import memory_folder

ROOT = Path(__file__).parents[2]
PROGRAMS = 3


class WrongError(Exception):
    """An answer that had come to its end is not what it was."""


class Tally(NamedTuple):
    answers: int
    refused: int


def speak(address: str, id: str, seconds: float, name: int) -> None:
    """Speak until the time is over; tells what was answered, and how often it was refused."""
    calls.SAVE_EVERY = 0.0
    end, refused, number = time.monotonic() + seconds, 0, name
    collected: dict[str, list[str]] = {}
    with open_store(address) as store:
        session = opened(store, id)
        while time.monotonic() < end:
            number += PROGRAMS
            words = f"Answer {number} of program {name}, to be kept to its last word."
            try:
                if random.random() < 0.7:
                    session.reload()
                turn = session.begin(f"Question {number}")
                for _ in turn.call().stream(
                    stream("anthropic", answer("anthropic", number, text=words))
                ):
                    time.sleep(random.random() * 0.004)
            except ConflictError:
                refused += 1
                time.sleep(random.random() * 0.02)
                session.reload()
                continue
            collected[str(turn.answers[-1].id)] = [f"Question {number}", words]
    print(json.dumps({"told": collected, "refused": refused}))


def run(address: str, seconds: float) -> Tally:
    with open_store(address) as store:
        id = new_session(store).id
    program = [sys.executable, "-m", "tests.sessions.crowd"]
    children = [
        subprocess.Popen(
            [*program, "--as", address, id, str(name), "--seconds", str(seconds)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in range(PROGRAMS)
    ]
    parsed = [json.loads(child.communicate(timeout=seconds + 120)[0]) for child in children]
    collected = {message: words for each in parsed for message, words in each["told"].items()}
    check(address, id, collected)
    return Tally(len(collected), sum(each["refused"] for each in parsed))


def check(address: str, id: str, told: dict[str, list[str]]) -> None:
    with open_store(address) as store:
        history = store.messages(id)
    found = {m.id: [before.text, m.text] for before, m in pairwise(history)}
    whole = {m.id for m in history if m.metadata.status is MessageStatus.COMPLETE}
    wrong = [each for each, words in told.items() if each not in whole or found[each] != words]
    if wrong:
        raise WrongError(f"{len(wrong)} of {len(told)} answers are not what they were: {wrong[:3]}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sessions.crowd", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="on each engine")
    parser.add_argument("--as", nargs=3, dest="role", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.role:
        address, id, name = chosen.role
        speak(address, id, chosen.seconds, int(name))
        return 0
    with memory_folder() as folder:
        _tell("SQLite", run(str(folder / "crowd.db"), chosen.seconds))
    server = Server()
    try:
        _tell("PostgreSQL", run(server.address, chosen.seconds))
    finally:
        server.close()
    return 0


def _tell(engine: str, tally: Tally) -> None:
    print(
        f"{engine}: {tally.answers} answers of {PROGRAMS} programs, each as it was told;"
        f" {tally.refused} times a program heard that another had the turn",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
