"""How an operation is written: a generator that asks for statements and is given their rows.

It knows nothing of connections, so that one text serves SQLite and PostgreSQL, threads and event
loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from decimal import InvalidOperation
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.ids import Ulids
from interlingua.store.statements import Statements

T = TypeVar("T")


class Step(NamedTuple):
    """One statement; with `many`, once for each of `values`, and no rows come back."""

    sql: str
    values: Sequence[Any] = ()
    many: bool = False


Rows = list[Any]
Op = Generator[Step, Rows, T]


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


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
