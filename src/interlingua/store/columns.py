"""Columns of tables, derived from the structs that their rows become: one column for each field.

A new column is a field of the struct and a step in `migrations.py`. Times are stored as
microseconds, amounts as text, booleans as 0 and 1, objects and lists as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from interlingua.model.codec import dumps
from interlingua.model.message import from_micros, micros

R = TypeVar("R", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode


class Part(NamedTuple):
    """A field that is stored in several columns."""

    columns: tuple[str, ...]
    split: Callable[[Any], Sequence[Any]]
    join: Callable[[Sequence[Any]], Any]


class Table(Generic[R]):
    """A table whose rows are `row`s; statements are for `statements.filled`.

    `names` are columns that are not named as their fields are; `parts` are fields with several
    columns; the fields in `without` are not in this table, or not read from it."""

    def __init__(
        self,
        name: str,
        row: type[R],
        *,
        names: Mapping[str, str] = {},
        parts: Mapping[str, Part] = {},
        without: Iterable[str] = (),
    ) -> None:
        self.name = name
        self._row = row
        infos = [info for info in msgspec.structs.fields(row) if info.name not in {*without}]
        self.fields = tuple([info.name for info in infos])
        self._is_whole = self.fields == row.__struct_fields__
        self._get = attrgetter(*self.fields)
        self._json: set[str] = set()
        self._writers: list[tuple[int, Callable[[Any], Any], bool]] = []
        self._readers: list[tuple[int, int, Callable[[Any], Any], Any]] = []
        columns: list[str] = []
        for index, info in enumerate(infos):
            part = parts.get(info.name)
            if part is None:
                columns.append(self._add_column(index, len(columns), info, names.get(info.name)))
                continue
            self._writers.append((index, part.split, True))
            self._readers.append((len(columns), len(part.columns), part.join, None))
            columns += part.columns
        # From the last to the first, so that parts do not move what is still to be converted.
        self._writers.reverse()
        self._readers.reverse()
        self.columns = tuple(columns)

    def _add_column(self, index: int, place: int, info: FieldInfo, name: str | None) -> str:
        kind = _kind(info)
        column = name or (f"{info.name}_json" if kind in _JSON else info.name)
        if kind in _JSON:
            self._json.add(column)
        if kind in _STORED:
            write, read = _STORED[kind]
            default = None if info.required else info.default
            self._writers.append((index, _unless(default, write), False))
            self._readers.append((place, 1, read, default))
        return column

    # Rows

    def values(self, row: R) -> list[Any]:
        """What is stored of a row, in the order of the columns."""
        values = list(self._get(row))
        for index, write, is_part in self._writers:
            value = values[index]
            if is_part:
                values[index : index + 1] = write(value)
            elif value is not None:
                values[index] = write(value)
        return values

    def ordered(self, **stored: Any) -> list[Any]:
        """Stored values in the order of the columns; those that are not named are NULL."""
        return [stored.get(column) for column in self.columns]

    def read(self, stored: Sequence[Any], **more: Any) -> R:
        """The row of some stored values; `more` are its fields that are not in the table."""
        values = list(stored[: len(self.columns)])
        for start, width, read, default in self._readers:
            if width > 1:
                values[start : start + width] = [read(values[start : start + width])]
            else:
                value = values[start]
                values[start] = default if value is None else read(value)
        if self._is_whole:
            return self._row(*values)
        return self._row(**dict(zip(self.fields, values, strict=True)), **more)

    # Statements

    def selected(self, alias: str = "") -> str:
        """The columns of a SELECT."""
        return ", ".join([self._selected(alias + column) for column in self.columns])

    def _selected(self, column: str) -> str:
        is_json = column.rpartition(".")[2] in self._json
        return f"{{bytes[{column}]}}" if is_json else column

    def _marks(self) -> list[str]:
        return ["{json}" if column in self._json else "?" for column in self.columns]

    def insert(self, **more: str) -> str:
        """An INSERT of a row; `more` are values of further columns."""
        columns = ", ".join([*self.columns, *more])
        marks = ", ".join([*self._marks(), *more.values()])
        return f"INSERT INTO {self.name} ({columns}) VALUES ({marks})"

    def upsert(self) -> str:
        """An INSERT over the row with its id if there is one."""
        changes = ", ".join([f"{column} = excluded.{column}" for column in self.columns[1:]])
        return f"{self.insert()} ON CONFLICT (id) DO UPDATE SET {changes}"


def _kind(info: FieldInfo) -> Any:
    """The type of a field, without None and without parameters."""
    types = [kind for kind in get_args(info.type) if kind is not NoneType]
    optional = NoneType in get_args(info.type)
    kind = types[0] if optional and len(types) == 1 else info.type
    return get_origin(kind) or kind


def _unless(default: Any, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A default that is a list is stored as NULL."""
    if default != ():
        return write
    return lambda value: None if value == () else write(value)


_PLAIN = frozenset({str, int, bool, type(None)})


def _object_json(value: dict[str, Any]) -> bytes:
    """As `dumps`, but quick for the usual: texts and numbers, in which nothing can be odd."""
    for key, item in value.items():
        if type(item) not in _PLAIN or type(key) is not str:
            return dumps(value)
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return dumps(value)  # which says what is wrong


_STORED: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    datetime: (micros, from_micros),
    Decimal: (str, Decimal),
    bool: (int, bool),
    dict: (_object_json, msgspec.json.decode),
    tuple: (lambda value: dumps(list(value)), lambda data: tuple(msgspec.json.decode(data))),
}
"""How values of a type are written and read; others are stored as they are."""
_JSON = (dict, tuple)
