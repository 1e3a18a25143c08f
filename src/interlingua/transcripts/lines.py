"""JSON Lines as agents write them: split at line feeds alone, stored as positions in the file.

U+2028, U+2029 and U+0085 are legal inside JSON strings, so nothing here works on text. A line that
is no JSON (a process was killed while it wrote) is left out, and its number is in the report.

Sessions may be trees: every way through them, and the one that they go on from, is at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypedDict
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec

from interlingua.errors import a_type
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled as spelled_number
from interlingua.transcripts.files import (
    LARGEST,
    LONGEST_LINE,
    MOST_ROWS,
    TranscriptError,
    lines_in,
    opened,
)
from interlingua.transcripts.transcript import Branch, OriginFile, Span, Transcript, usage_of
from interlingua.transcripts.values import NOT_JSON, to_iso

_decode = whole = msgspec.json.Decoder().decode
_AT_ONCE = 1 << 18
"""Bytes that are read at a time."""
_LINE_FEED = 10
_encode = msgspec.json.Encoder(enc_hook=spelled_number).encode
_ESCAPED = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}
"""Characters that newer versions of Node take for the end of a line: a tool that reads its files
line by line loses such a line whole (Gemini CLI 0.61.0 with Node 24, seen 2026-11-17)."""


def spelled(value: dict[str, Any]) -> bytes:
    """An object as a line, which is one line to every reader."""
    line = _encode(value)
    for mark, escaped in _ESCAPED.items():
        line = line.replace(mark, escaped)
    return line


def joined(values: Iterable[dict[str, Any]]) -> bytes:
    """A file of such lines."""
    return b"".join(spelled(value) + b"\n" for value in values)


def only(*keys: str) -> Callable[[bytes], Any]:
    """A decoder of objects that builds nothing but the values of these keys."""
    members: dict[str, Any] = dict.fromkeys(keys, Any)
    members_only = TypedDict("wanted", members, total=False)  # type: ignore[misc]  # made of a list
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(members_only).decode
    return decode


class LineWriter:
    """Makes the lines of a session, with times that only go forward."""

    step = timedelta(milliseconds=1)

    def __init__(self, time: datetime | None) -> None:
        self.time = time or datetime.now(UTC)
        self.made: list[dict[str, Any]] = []

    def next_time(self, time: datetime | None) -> str:
        """The time of the next line: this one, if it is later than the last one's."""
        self.time = max(time or self.time, self.time + self.step)
        return to_iso(self.time)

    def data(self) -> bytes:
        return joined(self.made)


def session_uuid(transcript: Transcript) -> str:
    """A session's id as a UUID: its own if that is one."""
    try:
        return str(UUID(transcript.id or ""))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"{transcript.format}:{transcript.id}"))


class Line(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One line: its number from 1, its place in the file, and the object in it."""

    number: int
    span: Span
    value: dict[str, Any]


class LinesFile:
    """One JSON Lines file, read once from beginning to end. It is held in memory, so a session may
    have at most `most` lines and bytes."""

    most: tuple[float, float] = (MOST_ROWS, LARGEST)

    def __init__(self, path: Path, report: Report, name: str | None = None, file: int = 0) -> None:
        self.path = path
        self.report = report
        self.name = path.name if name is None else name
        self.file = file
        self.size = 0

    def lines(
        self,
        skip: tuple[bytes, ...] = (),
        decode: Callable[[bytes], Any] = whole,
    ) -> Iterator[Line]:
        """The objects in order. Whole lines that begin with one of `skip` are not looked into;
        `decode` may leave out members that are not needed (`only`)."""
        start, place = 0, self.file
        count, size = self.most
        with opened(self.path, _AT_ONCE) as file:
            readline = partial(file.readline, LONGEST_LINE)
            for number, line in enumerate(iter(readline, b""), 1):
                end = start + len(line)
                if end > size or number > count or end - start == LONGEST_LINE:
                    raise TranscriptError(self.path, self._excess(number, end - start))
                if not (skip and line.startswith(skip) and line.endswith(b"}\n")):
                    try:
                        value = decode(line)
                    except NOT_JSON:
                        value = None
                    if type(value) is not dict or not value:
                        value = self._object(line, number)
                    if value is not None:
                        inside = end - 1 if line[-1] == _LINE_FEED else end
                        yield Line(number, Span(start, inside, place), value)
                start = end
        self.size = start

    def _excess(self, number: int, length: int) -> str:
        count, size = self.most
        if length == LONGEST_LINE:
            return f"it has a line longer than {LONGEST_LINE:,} bytes"
        if number > count:
            return f"it has more than {count:,} lines"
        return f"it is larger than {size:,} bytes"

    def origin(self) -> OriginFile:
        """The record of the file for the way back, once it has been read."""
        return OriginFile(self.path, self.name, self.size)

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        """The object in a line; any other line is reported."""
        try:
            value = _decode(line)
        except NOT_JSON as error:
            if line.isspace():
                return None
            problem = because("invalid_json", error=error)
        else:
            if isinstance(value, dict):
                return value
            problem = because("not_an_object", found=a_type(value))
        where = f"{self.name}, line {number}" if self.file else f"line {number}"
        self.report.add("dropped", where, problem)
        return None


_DATA = b"data:"
_DONE = b"[DONE]"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def is_events(head: bytes) -> bool:
    """Whether a file that begins so is made of server-sent events."""
    return head.lstrip().startswith(_FIELDS)


def stream_variant(name: str) -> str:
    """Whether a file of this name is a recorded stream, or lines or a value."""
    return "stream" if name.endswith(".sse") else "values"


def recorded(path: Path, report: Report) -> LinesFile:
    """The values of a recording, whichever of both it is."""
    with opened(path) as file:
        events = is_events(file.read(64))
    return EventsFile(path, report) if events else LinesFile(path, report)


class EventsFile(LinesFile):
    """Server-sent events with an object each. `done`: the stream is marked complete."""

    done = False

    def lines(
        self, skip: tuple[bytes, ...] = (), decode: Callable[[bytes], Any] = whole
    ) -> Iterator[Line]:
        start = 0
        with opened(self.path) as file:
            for number, line in enumerate(lines_in(file, self.path), 1):
                end = start + len(line)
                data = line.strip()
                if data.startswith(_DATA):
                    yield from self._value(data[len(_DATA) :].lstrip(), number, start, end)
                elif data and not data.startswith(_FIELDS):
                    self.report.add("dropped", f"line {number}", because("not_an_event"))
                start = end
        self.size = start

    def _value(self, data: bytes, number: int, start: int, end: int) -> Iterator[Line]:
        if data == _DONE:
            self.done = True
            return
        value = self._object(data, number)
        if value is not None:
            yield Line(number, Span(start, end, self.file), value)


class Entry(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message, its lines, and whether it is a summary of earlier ones."""

    message: Message
    lines: list[Line]
    compaction: bool = False

    @property
    def spans(self) -> tuple[Span, ...]:
        if len(self.lines) == 1:
            return (self.lines[0].span,)
        return tuple([line.span for line in self.lines])


class Node(msgspec.Struct, eq=False):
    """One step: the lines it is made of. `is_turn`: it has a message of a person or the model."""

    lines: list[Line]
    is_turn: bool = False
    parent: Node | None = None
    continued: bool = False
    """Whether a message follows it."""
    entries: list[Entry] | None = None
    """Its messages, once they have been read."""


def mark_continued(nodes: Iterable[Node]) -> None:
    """Find the nodes that messages follow; their parents are known by now."""
    for node in nodes:
        above = node.parent if node.is_turn else None
        while above is not None and not above.continued:
            above.continued = True
            above = above.parent


def tips(nodes: Iterable[Node]) -> list[Node]:
    """The last node of every way, in the order of the file."""
    return [node for node in nodes if node.is_turn and not node.continued]


def way_to(tip: Node | None) -> list[Node]:
    """All nodes from the beginning to this one; a circle is cut where it closes."""
    found: list[Node] = []
    seen: set[int] = set()
    node = tip
    while node is not None and id(node) not in seen:
        seen.add(id(node))
        found.append(node)
        node = node.parent
    return found[::-1]


class TreeReader:
    """The messages on each way through a tree; each node is read once."""

    def __init__(self, read: Callable[[Node], list[Entry]]) -> None:
        self._read = read
        self._last: tuple[Node | None, list[Entry]] | None = None

    def entries(self, tip: Node | None) -> list[Entry]:
        """The messages from the beginning to a tip."""
        if self._last is None or self._last[0] is not tip:
            found: list[Entry] = []
            for node in way_to(tip):
                found += node.entries if node.entries is not None else self.of(node)
            self._last = (tip, found)
        return self._last[1]

    def of(self, node: Node) -> list[Entry]:
        """The messages of one node."""
        if node.entries is None:
            node.entries = self._read(node)
        return node.entries

    def usage(self, nodes: Iterable[Node]) -> Usage:
        """The usage of all these answers, each counted once."""
        return usage_of([entry.message for node in nodes for entry in self.of(node)])

    def branches(self, nodes: Iterable[Node], active: Node | None) -> tuple[Branch, ...]:
        """Every way, the active one marked."""
        return tuple(
            Branch(_name(node), tuple([e.message for e in self.entries(node)]), node is active)
            for node in tips(nodes)
        )


def _name(node: Node) -> str | None:
    value = node.lines[0].value
    name = value.get("uuid") or value.get("id")
    return name if isinstance(name, str) else None


class Turn(NamedTuple):
    """The lines at one place, and the place before it."""

    parent: str | None
    messages: tuple[Message, ...]


def turns_to(turns: dict[str, Turn], tip: str | None) -> tuple[Message, ...]:
    """All messages from the beginning to a tip; a circle is cut where it closes."""
    found: list[tuple[Message, ...]] = []
    seen: set[str] = set()
    while tip in turns and tip not in seen:
        seen.add(tip)
        turn = turns[tip]
        found.append(turn.messages)
        tip = turn.parent
    return tuple(message for messages in reversed(found) for message in messages)


def branches_of(turns: dict[str, Turn], active: str | None) -> tuple[Branch, ...]:
    """Every way to a place that nothing follows."""
    followed = {turn.parent for turn in turns.values()}
    tips = [name for name in turns if name not in followed]
    return tuple(Branch(tip, turns_to(turns, tip), tip == active) for tip in tips)
