"""What commands on the store share: which store, which session, which message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from interlingua.model.message import Message
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.rows import SessionRow

if TYPE_CHECKING:
    from interlingua.store.base import Store

F = TypeVar("F", bound=Callable[..., object])

PAGE = 500
"""Rows that are in memory at a time."""
NAMED = 5
"""Candidates that an error names."""
LAST = "last"
ORIGIN = "transcript"
"""What the policy of an imported session keeps: the format and id that it came from, and whether it
is a helper's."""

store_option: Callable[[F], F] = click.option(
    "--store",
    "address",
    metavar="URL",
    help="A file, sqlite:///path or postgresql://…; default: INTERLINGUA_STORE or your own store.",
)
json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)


def opened(address: str | None, make: bool = False) -> Store:
    """The store. A file that is named and not there is an error, unless it is to be made."""
    from interlingua.store.open import open_store

    if address is not None and not make:
        path = address.removeprefix("sqlite:///")
        if "://" not in path and not Path(path).exists():
            raise StoreError(path, "there is no such file", "io")
    return open_store(address)


def all_sessions(store: Store) -> Iterator[SessionRow]:
    """Every session, the last changed first."""
    before = None
    while page := store.sessions(PAGE, before):
        yield from page
        before = page[-1]


def all_messages(store: Store, row: SessionRow) -> Iterator[Message]:
    """The messages that a session had when its row was read, page by page."""
    for done in range(0, row.message_count, PAGE):
        yield from store.messages(row.id, done, min(PAGE, row.message_count - done))


def find_session(store: Store, text: str) -> SessionRow:
    """The session with this id, or the only one whose id begins so or that has this name; `last` is
    the last changed."""
    if text == LAST:
        rows = store.sessions(1)
        if not rows:
            raise StoreError(store.where, "there are no sessions yet", "not_found")
        return rows[0]
    try:
        return store.session(text)
    except NotFoundError:
        start = text.lower()
        fitting = (
            row
            for row in all_sessions(store)
            if row.id.lower().startswith(start) or (row.name or "").lower() == start
        )
        return only(store, "session", text, fitting, lambda row: row.id)


def find_message(store: Store, row: SessionRow, text: str) -> Message:
    """A message by its id, the beginning of it, or its number in the session."""
    try:
        return store.message(row.id, text)
    except NotFoundError:
        if text.isdecimal() and len(text) < 10:
            found = store.messages(row.id, int(text) - 1, 1) if int(text) else []
            if found:
                return found[0]
            raise
    start = text.lower()
    fitting = (
        message
        for message in all_messages(store, row)
        if (message.id or "").lower().startswith(start)
    )
    return only(store, "message", text, fitting, lambda message: message.id or "")


T = TypeVar("T")


def only(store: Store, what: str, text: str, fitting: Iterator[T], id_of: Callable[[T], str]) -> T:
    found = list(islice(fitting, NAMED + 1)) if text else []
    if not found:
        raise NotFoundError(store.where, what, text)
    if len(found) > 1:
        ids = ", ".join(id_of(each) for each in found[:NAMED])
        more = " and others" if len(found) > NAMED else ""
        problem = f"{text[:80]!r} is the beginning of several {what}s: {ids}{more}"
        raise StoreError(store.where, problem, "conflict")
    return found[0]


def numbered(store: Store, row: SessionRow, limit: int) -> list[tuple[int, Message]]:
    """The last messages with their numbers, also where some in between cannot be read."""
    before = max(row.message_count - limit, 0)
    found = store.messages(row.id, before, row.message_count - before)
    if len(found) == row.message_count - before:
        return list(enumerate(found, before + 1))
    numbers = range(before + 1, row.message_count + 1)
    return [(at, message) for at in numbers for message in store.messages(row.id, at - 1, 1)]
