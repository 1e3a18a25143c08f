"""Rows of a store: plain and immutable, with times as datetimes in UTC, and their columns, which
are derived from the structs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from interlingua.model.codec import dumps
from interlingua.model.message import Message, from_micros, micros
from interlingua.model.metadata import MessageMetadata

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
        self._get = msgspec.structs.astuple if self._is_whole else attrgetter(*self.fields)
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
        # From the last to the first, so that parts do not move those that are still to be
        # converted.
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
        """The stored values of a row, in the order of the columns."""
        values = list(self._get(row))
        for index, write, is_part in self._writers:
            value = values[index]
            if is_part:
                values[index : index + 1] = write(value)
            elif value is not None:
                values[index] = write(value)
        return values

    def ordered(self, **stored: Any) -> list[Any]:
        """Stored values in the order of the columns; columns without a value are NULL."""
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

    def insert(self, count: int = 1, **more: str) -> str:
        """An INSERT of so many rows; `more` are values of further columns."""
        columns = ", ".join([*self.columns, *more])
        marks = ", ".join([*self._marks(), *more.values()])
        rows = ", ".join([f"({marks})"] * count)
        return f"INSERT INTO {self.name} ({columns}) VALUES {rows}"

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


_PLAIN, _TEXT = frozenset({str, int, bool, type(None)}), frozenset({str})


def _object_json(value: dict[str, Any]) -> bytes:
    """Like `dumps`, but fast for plain texts and numbers."""
    if not (_PLAIN.issuperset(map(type, value.values())) and _TEXT.issuperset(map(type, value))):
        return dumps(value)
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return dumps(value)  # which raises with the reason


_STORED: dict[Any, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    datetime: (micros, from_micros),
    Decimal: (str, Decimal),
    bool: (int, bool),
    dict: (_object_json, msgspec.json.decode),
    tuple: (lambda value: dumps(list(value)), lambda data: tuple(msgspec.json.decode(data))),
}
"""How values of a type are written and read; other types are stored unchanged."""
_JSON = (dict, tuple)


JsonObject = dict[str, Any]
CallStatus = Literal["pending", "succeeded", "failed", "cancelled"]


class TurnRow(msgspec.Struct, frozen=True):
    """A turn that is under way: its holder, and its last sign of life."""

    id: str
    holder: str
    seen_at: datetime


class Hold(NamedTuple):
    """A program's claim, when it writes, that its turn is the one under way.

    It holds if the turn under way is this one or `instead_of` (None: no turn). Otherwise the
    write is refused (ConflictError), unless it is not `firm`: then it is done all the same, and
    the turn stays another program's."""

    turn_id: str
    holder: str
    instead_of: str | None = None
    firm: bool = True


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """A session. `message_count` is also the `seq` of its last message: they count 1, 2, 3, …

    A fork has the `parent_id` of its origin, and the last message that was copied. A worker's
    session has the `parent_id` alone."""

    id: str
    workspace_path: str
    created_at: datetime
    updated_at: datetime
    active_model: str | None = None
    routing_policy: JsonObject | None = None
    name: str | None = None
    parent_id: str | None = None
    parent_message_id: str | None = None
    message_count: int = 0
    schema_version: int = 1
    turn: TurnRow | None = None

    @property
    def origin(self) -> str:
        """The origin of a session: one of `ORIGINS`, or the transcript format that it was imported
        from."""
        policy = self.routing_policy or {}
        if "task" in policy or "owner" in policy:
            return "task" if "task" in policy else "gateway"
        return str(policy[IMPORTED]["format"]) if IMPORTED in policy else "chat"


def _turn_columns(turn: TurnRow | None) -> tuple[Any, ...]:
    return (None,) * 3 if turn is None else (turn.id, turn.holder, micros(turn.seen_at))


def _turn(stored: Sequence[Any]) -> TurnRow | None:
    id, holder, seen_at = stored
    return None if id is None else TurnRow(id, holder, from_micros(seen_at))


SESSIONS = Table(
    "sessions",
    SessionRow,
    parts={"turn": Part(("turn_id", "turn_holder", "turn_seen_at"), _turn_columns, _turn)},
)
NEW_SESSIONS = Table("sessions", SessionRow, without=("message_count", "turn"))
"""The columns of a session that has no messages yet, and no turn."""

ORIGINS = ("chat", "gateway", "task")
"""The origin of a session: on the command line or in a program, over HTTP, or as an agent's."""
IMPORTED = "transcript"
"""The keys of an imported session's policy with its format and id, and whether it is a helper's."""


WORKER = "worker"
"""The key of a worker's session's policy with its tool call; its `parent_id` is the session of that
call."""


class SessionFilter(NamedTuple):
    """A filter of sessions; None matches all. Texts match anywhere in their fields, ignoring case;
    `folder` is a path and everything below it; times are those of the last change."""

    words: str | None = None
    """In its name, its folder or its model."""
    origin: str | None = None
    model: str | None = None
    folder: str | None = None
    since: datetime | None = None
    until: datetime | None = None


ALL_SESSIONS = SessionFilter()


class ToolCallRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call and its outcome. `provider_id` is its id at `provider`."""

    id: str
    session_id: str
    message_id: str
    name: str
    status: CallStatus
    created_at: datetime
    result_message_id: str | None = None
    provider_id: str | None = None
    provider: str | None = None
    executor: str = "client"
    completed_at: datetime | None = None


CALLS = Table("tool_calls", ToolCallRow)


class EventRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event of the trace. `seq` is assigned by the store: 1, 2, 3, … in each session."""

    id: str
    session_id: str
    type: str
    timestamp: datetime
    actor: str
    sensitivity: str
    payload: JsonObject
    turn_id: str | None = None
    parent_event_id: str | None = None
    seq: int = 0

    @classmethod
    def of(cls, event: Any) -> Self:
        """An event as a store holds it; a row unchanged."""
        if isinstance(event, cls):
            return event
        return cls(
            event.id,
            event.session_id,
            event.type,
            event.timestamp,
            event.actor.value,
            event.sensitivity.value,
            msgspec.to_builtins(event.payload),
            event.turn_id,
            event.parent_event_id,
        )


EVENTS = Table("events", EventRow, names={"payload": "payload"})


class SearchHit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message that contains all the words. `snippet` is the text around the first one."""

    session_id: str
    message_id: str
    seq: int
    role: str
    created_at: datetime
    snippet: str


class UsageRow(NamedTuple):
    """The record of one answer: its place, its time, and its usage."""

    session_id: str
    message_id: str
    created_at: datetime
    metadata: MessageMetadata


class Appended(msgspec.Struct, frozen=True):
    """The appended messages, completed by the store, and their positions."""

    first: int
    messages: tuple[Message, ...]

    @property
    def seqs(self) -> range:
        return range(self.first, self.first + len(self.messages))
