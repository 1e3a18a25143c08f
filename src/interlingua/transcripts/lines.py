"""JSON Lines as agents write them: split at line feeds alone, kept as places in the file.

U+2028, U+2029 and U+0085 are legal inside JSON strings, so nothing here works on text. A line that
is no JSON (a process was killed while it wrote) is left out, and its number is in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from interlingua import packed
from interlingua.losses import Report
from interlingua.transcripts.transcript import OriginFile, Span

_decode = whole = msgspec.json.Decoder().decode
_AT_ONCE = 1 << 18
"""Bytes that are asked for at a time."""
_LINE_FEED = 10
_encode = msgspec.json.Encoder().encode
_ESCAPED = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}
"""What newer versions of Node take for the end of a line: a tool that reads its files line by line
loses such a line whole (Gemini CLI 0.61.0 with Node 24, seen 2026-11-17)."""


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
    wanted = TypedDict("wanted", members, total=False)  # type: ignore[misc]  # made of a list
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(wanted).decode
    return decode


class Line(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One line: its number from 1, its place in the file, and the object in it."""

    number: int
    span: Span
    value: dict[str, Any]


class LinesFile:
    """One file of JSON Lines, read once from its beginning to its end."""

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
        `decode` may leave out what nobody asks for (`only`)."""
        start, place = 0, self.file
        with packed.opened(self.path, _AT_ONCE) as file:
            for number, line in enumerate(file, 1):
                end = start + len(line)
                if not (skip and line.startswith(skip) and line.endswith(b"}\n")):
                    try:
                        value = decode(line)
                    except (msgspec.DecodeError, RecursionError, ValueError):
                        value = None
                    if type(value) is not dict or not value:
                        value = self._object(line, number)
                    if value is not None:
                        inside = end - 1 if line[-1] == _LINE_FEED else end
                        yield Line(number, Span(start, inside, place), value)
                start = end
        self.size = start

    def origin(self) -> OriginFile:
        """What is to be known of the file for the way home, once it has been read."""
        return OriginFile(self.path, self.name, self.size)

    def _object(self, line: bytes, number: int) -> dict[str, Any] | None:
        """The object in a line; of one that is none, the report tells what is wrong."""
        try:
            value = _decode(line)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            if line.isspace():
                return None
            problem = f"invalid JSON: {error}"
        else:
            if isinstance(value, dict):
                return value
            problem = f"expected an object, found a {type(value).__name__}"
        where = f"{self.name}, line {number}" if self.file else f"line {number}"
        self.report.add("dropped", where, problem, "error")
        return None
