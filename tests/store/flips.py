"""`python -m tests.store.flips --count 100000`: a byte of a small file is changed, ever and again.

Every call on the damaged file gives an answer or an error of ours, soon. A changed byte inside a
text cannot be noticed by anybody; one in the structure of the file is (`corrupt`).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interlingua.errors import InterlinguaError
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.errors import StoreError
from interlingua.store.reference import KeyRow, UserRow
from interlingua.store.rows import EventRow
from interlingua.store.sqlite import SqliteStore
from tests.store.kills import batch
from tests.store.places import memory_folder


def small(folder: Path) -> tuple[Path, str]:
    """A file with something in every table."""
    path = folder / "small.db"
    with SqliteStore(path) as store:
        row = store.create_session("/w", name="n", routing_policy={"a": 1})
        for name in ("1", "2"):
            store.append(row.id, batch(name, 3000))
        usage = MessageMetadata(model="a:b", usage=Usage(output_tokens=1))
        store.append(row.id, [Message.user("some words"), Message.assistant("x", usage)])
        store.append_events([EventRow("e", row.id, "t", row.created_at, "user", "public", {})])
        store.save_user(UserRow("usr_1", row.created_at, "a@example.org"))
        store.save_keys([KeyRow("gk_1", "0", "n", "/w", row.created_at, user_id="usr_1")])
        store.save_prices("1", {"a": 1})
        store.search("words")
    return path, row.id


def calls(store: SqliteStore, session: str) -> list[Callable[[], Any]]:
    """Every call that reads, and some that write."""
    return [
        store.sessions,
        lambda: store.session(session),
        lambda: store.messages(session),
        lambda: store.tail(session, 3),
        lambda: store.tool_calls(session),
        lambda: store.unanswered(session),
        lambda: store.events(session),
        lambda: list(store.usages()),
        store.keys,
        store.users,
        lambda: store.prices("1"),
        lambda: store.append(session, batch("3", 100)),
        lambda: store.search("words"),
        lambda: store.fork(session),
        lambda: store.delete_session(session),
    ]


def everything(path: Path, session: str) -> list[str]:
    """What each call gave: `fine`, or the reason of its error. Other errors are bugs."""
    found = []
    try:
        store = SqliteStore(path, timeout=0.3)
    except StoreError as error:
        return [error.reason]
    with store:
        for call in calls(store, session):
            try:
                call()
                found.append("fine")
            except StoreError as error:
                found.append(error.reason)
            except InterlinguaError:
                found.append("unreadable")
    return found


def run(folder: Path, count: int, seed: int | None = None) -> Counter[str]:
    """Change a byte `count` times; gives how the files were found."""
    dice = random.Random(seed)
    path, session = small(folder)
    data = path.read_bytes()
    seen: Counter[str] = Counter()
    for number in range(count):
        place = dice.randrange(len(data)) if dice.random() < 0.7 else dice.randrange(100)
        damaged = bytearray(data)
        damaged[place] = dice.randrange(256)
        file = folder / f"{number}.db"
        file.write_bytes(damaged)
        try:
            found = everything(file, session)
        except BaseException as error:
            error.add_note(f"byte {place} is {damaged[place]}")
            raise
        seen.update({next((each for each in found if each != "fine"), "fine")})
        for left in folder.glob(f"{number}.db*"):
            left.unlink()
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.flips", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    chosen = parser.parse_args()
    begun = time.monotonic()
    with memory_folder() as folder:
        seen = run(folder, chosen.count, chosen.seed)
    print(f"{chosen.count} changed bytes: {dict(seen)}; no error but ours;", end=" ")
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
