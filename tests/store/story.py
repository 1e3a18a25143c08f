"""A short life of a store, to be disturbed at every step: opened, filled, searched, changed.

Each append is a call, its result and a text, which say where they belong, so that half of one can
be told from a whole. What was acknowledged has to be there afterwards, whatever happened; what was
refused is there as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from interlingua.store.errors import StoreError
from interlingua.store.sqlite import SqliteStore
from tests.store.kills import WrongError, _name, batch
from tests.store.places import ask

SESSION = "story"


class Story:
    """What was asked for and what was acknowledged. `note` is told after each acknowledgement."""

    def __init__(self, path: Path, note: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.note = note
        self.begun: list[str] = []
        self.acknowledged: list[str] = []
        self.errors: list[StoreError] = []
        self.store: SqliteStore | None = None

    def tell(self, rounds: int = 12) -> None:
        """All of it; errors of ours are collected, others are bugs."""
        for number in range(rounds):
            size = 12_000 if number % 5 == 3 else 300 * number
            self.append(f"{number}", size, copies=40 if number == rounds // 2 else 1)
            if number % 4 == 1:
                self.attempt(lambda store: store.search("x"))
                self.attempt(lambda store: store.tail(SESSION, 5))
        self.attempt(self._change)
        self.append("end", 100)
        self.close()

    def append(self, name: str, size: int, copies: int = 1) -> bool:
        names = [f"{name}/{copy}" for copy in range(copies)]
        messages = [message for each in names for message in batch(each, size)]
        self.begun += names
        if self.attempt(lambda store: store.append(SESSION, messages)):
            self.acknowledged += names
            self.note()
            return True
        return False

    def attempt(self, work: Callable[[SqliteStore], object]) -> bool:
        try:
            if self.store is None:
                self.store = self._open()
            work(self.store)
        except StoreError as error:
            self.errors.append(error)
            return False
        return True

    def _open(self) -> SqliteStore:
        store = SqliteStore(self.path, timeout=0.2)
        try:
            if not store.sessions():
                store.create_session("/w", id=SESSION)
        except BaseException:
            store.close()
            raise
        return store

    def _change(self, store: SqliteStore) -> None:
        for message in store.tail(SESSION, 1):
            store.save(message.replace(name="changed"))

    def close(self) -> None:
        if self.store is not None:
            self.store.close()
            self.store = None


def check(path: Path, acknowledged: list[str], begun: list[str]) -> int:
    """Look at what is left; gives how many appends there are."""
    with SqliteStore(path) as store:
        found = []
        if store.sessions():
            messages = store.messages(SESSION)
            if store.session(SESSION).message_count != len(messages):
                raise WrongError("the session's count is not that of its messages")
            if store.unanswered(SESSION):
                raise WrongError("a call without the result that was appended with it")
            names = [_name(message) for message in messages]
            found = [name[:-2] for name in names[::3]]
            if names != [f"{name}.{number}" for name in found for number in range(3)]:
                raise WrongError("half an append")
        if ask(store, "PRAGMA integrity_check") != [("ok",)]:
            raise WrongError("the file is damaged")
        if ask(store, "PRAGMA foreign_key_check"):
            raise WrongError("rows that refer to nothing")
    order = {name: place for place, name in enumerate(begun)}
    if lost := set(acknowledged) - set(found):
        raise WrongError(f"acknowledged and lost: {sorted(lost)}")
    if [order[name] for name in found] != sorted({order[name] for name in found}):
        raise WrongError("out of order, or twice")
    return len(found)
