"""`python -m tests.store.corpus`: L8 over all recorded traffic, in SQLite and PostgreSQL.

Each request and response is read, appended to a session of its own, loaded, saved and loaded again:
the bytes of `dumps` have to be the same each time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message, with_provenance
from interlingua.store.base import Store
from interlingua.store.open import open_store
from tests.laws import corpus, laws
from tests.store.conftest import Server
from tests.store.places import memory_folder


def conversations(stride: int = 1) -> Iterator[tuple[str, list[Message]]]:
    """The dialect and the messages of every body, or of every so many."""
    for record in islice(corpus.records(), 0, None, stride):
        home = dialect_of(record.dialect or "")
        model = record.model if record.dialect in ("gemini", "bedrock") else None
        for kind in ("request", "response"):
            wire = getattr(record, kind)
            if wire is None:
                continue
            try:
                value = laws.read(home, kind, wire, model)
            except Exception:  # L1's to judge
                continue
            messages = value.messages if isinstance(value, Request) else (value.message,)
            yield home.name, distinct(messages)


def distinct(messages: tuple[Message, ...]) -> list[Message]:
    """The same with an id of ours for each call, as a session has it; a result belongs to the
    nearest call before it."""
    renamed: dict[str, str] = {}
    ulids = Ulids()

    def block(each: Block) -> Block:
        if isinstance(each, ToolUseBlock):
            renamed[each.id] = new_tool_id(ulids)
            return each.replace(id=renamed[each.id])
        if isinstance(each, ToolResultBlock):
            return each.replace(tool_use_id=renamed.get(each.tool_use_id, each.tool_use_id))
        return each

    return [
        message.replace(content=tuple([block(each) for each in message.content]))
        for message in messages
    ]


def examine(store: Store, messages: list[Message]) -> str | None:
    """What is wrong, if anything."""
    session = store.create_session("/w").id
    sent = store.append(session, messages, check=False).messages
    expected = [dumps(message) for message in sent]
    for value, stored in zip(messages, sent, strict=True):
        own = with_provenance(value).replace(
            id=stored.id, session_id=session, created_at=stored.created_at
        )
        if dumps(own) != dumps(stored):
            return "what was appended is not what was given"
    found = store.messages(session)
    if [dumps(message) for message in found] != expected:
        return "loaded differently"
    for message in found:
        store.save(message, check=False)
    if [dumps(message) for message in store.messages(session)] != expected:
        return "saved differently"
    return None


def run(store: Store, stride: int) -> tuple[Counter[str], int]:
    """How many conversations of each dialect, and how many unknown blocks there were in them."""
    counts: Counter[str] = Counter()
    unknown = 0
    for name, messages in conversations(stride):
        if problem := examine(store, messages):
            raise AssertionError(f"{name}, conversation {counts[name]}: {problem}")
        counts[name] += 1
        unknown += sum(isinstance(b, UnknownBlock) for m in messages for b in m.content)
    return counts, unknown


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.corpus", description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="every how many records")
    chosen = parser.parse_args()
    server = Server()
    try:
        with memory_folder() as folder:
            places = {"sqlite": str(folder / "corpus.db"), "postgres": server.address}
            for engine, address in places.items():
                begun = time.monotonic()
                with open_store(address) as store:
                    counts, unknown = run(store, chosen.stride)
                    print(f"{engine}: {sum(counts.values())} conversations")
                print(
                    f"  {dict(counts)}, {unknown} unknown blocks; all bytes are the same;", end=""
                )
                print(f" {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
