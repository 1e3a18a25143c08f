"""How an operation is written: a generator that yields statements and receives their rows.

It knows nothing of connections, so that one text serves SQLite and PostgreSQL, threads and event
loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from decimal import InvalidOperation
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from interlingua.model.ids import Ulids
from interlingua.store.statements import Statements, fill

T = TypeVar("T")


class Step(NamedTuple):
    """One statement; with `many`, once for each of `values`, and no rows come back."""

    sql: str
    values: Sequence[Any] = ()
    many: bool = False


Rows = list[Any]
Op = Generator[Step, Rows, T]


class Prepared(NamedTuple, Generic[T]):
    """An operation whose rows are made already; `large` if they are many."""

    make: Callable[[], Op[T]]
    large: bool = False


UNREADABLE = (OverflowError, UnicodeDecodeError, msgspec.DecodeError, InvalidOperation, TypeError)
"""What comes of a row that no program of ours has written: times beyond all calendars, broken JSON,
text where a number belongs."""


def run(op: Op[T], execute: Callable[[Step], Rows]) -> T:
    """Run an operation to its end."""
    try:
        step = next(op)
        while True:
            step = op.send(execute(step))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        op.close()


class Work:
    """What all operations of one store share: its statements, its name in errors, its ids."""

    def __init__(self, sql: Statements, where: str) -> None:
        self.sql = sql
        self.where = where
        self.ulids = Ulids()

    def _sql(self, text: str) -> str:
        return fill(text, self.sql.is_sqlite)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
