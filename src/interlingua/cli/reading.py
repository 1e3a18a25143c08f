"""Reads files to import: JSON, or JSON Lines of any length.

Each item is a session's line, a message, an event, or a whole conversation; a bad one is an error
with its line, and the reader goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import msgspec

from interlingua.cli import formats
from interlingua.errors import InterlinguaError, ReadError
from interlingua.model import codec
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from interlingua.store.rows import EventRow, SessionRow

T = TypeVar("T")

LINES = (".jsonl", ".ndjson")
AUTO = "auto"
STDIN = "-"


class SessionLine(msgspec.Struct, frozen=True):
    """The line that begins an exported session."""

    session: SessionRow
    provider_ids: dict[str, str] = {}


class Exchange(NamedTuple):
    """A conversation: a request, its answer, or both; `source` is the format it was in."""

    source: str
    request: Request | None
    response: Response | None


Found = SessionLine | Message | EventRow | Exchange


class Item(NamedTuple):
    """A conversation that was found, or an error, and the bytes of the file it covered."""

    line: int
    found: Found | None
    error: str | None
    size: int


def items(path: Path, source: str, model: str | None = None) -> Iterator[Item]:
    """All that is in a file, in order; `-` is standard input."""
    with nullcontext(sys.stdin.buffer) if str(path) == STDIN else path.open("rb") as file:
        first = _until_the_second(file)
        lines = chain(first, file)
        if path.suffix.lower() in LINES or _are_values(first):
            for number, line in enumerate(lines, 1):
                if line.isspace():
                    yield Item(number, None, None, len(line))
                else:
                    yield from _read(number, line, source, model, len(line))
        else:
            data = b"".join(lines)
            yield from _read(1, data, source, model, len(data))


def _until_the_second(file: IO[bytes]) -> list[bytes]:
    """The lines up to the second one that is not blank."""
    lines: list[bytes] = []
    values = 0
    for line in file:
        lines.append(line)
        values += not line.isspace()
        if values == 2:
            break
    return lines


def _are_values(lines: list[bytes]) -> bool:
    """Whether each line is a value of its own. One value on one line is that too; if a line is
    damaged, the next one decides."""
    first, second = ([line for line in lines if not line.isspace()] + [b"", b""])[:2]
    return _is_json(first) or (second.lstrip()[:1] in (b"{", b"[") and _is_json(second))


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def _read(line: int, data: bytes, source: str, model: str | None, size: int) -> Iterator[Item]:
    try:
        parsed = codec.parse(data, "JSON")
        parts = _parts(parsed, source)
        if parts is None:
            yield Item(line, _found(data, parsed, source, model), None, size)
            return
    except InterlinguaError as error:
        yield Item(line, None, str(error), size)
        return
    for number, part in enumerate(parts):
        try:
            encoded = msgspec.json.encode(part)
            found = _found(encoded, part, source, model)
            yield Item(line, found, None, size if not number else 0)
        except InterlinguaError as error:
            yield Item(line, None, f"element {number}: {error}", size if not number else 0)


def _parts(parsed: Any, source: str) -> list[Any] | None:
    """The conversations of a list of them; None where it is one conversation."""
    if not isinstance(parsed, list) or not parsed or source in formats.VIEW_NAMES:
        return None
    is_one = all(isinstance(part, dict) and "role" in part for part in parsed)
    return None if is_one else parsed


def _found(data: bytes, parsed: Any, source: str, model: str | None) -> Found:
    if source in (AUTO, formats.CANONICAL) and (ours := _ours(data, parsed)) is not None:
        return ours
    if isinstance(parsed, dict) and _is_pair(parsed):
        request = _wire(parsed["request"], source, "request", model)
        response = _wire(parsed["response"], source, "response", model)
        return Exchange(request[0], request[1], response[1])  # type: ignore[arg-type]  # by kind
    name, value = _wire(parsed, source, None, model, data)
    if isinstance(value, Request):
        return Exchange(name, value, None)
    return Exchange(name, None, value)


def _ours(data: bytes, parsed: Any) -> Found | None:
    """The value if the JSON is in the canonical form."""
    if isinstance(parsed, list):
        if parsed and all(isinstance(part, dict) and "schema_version" in part for part in parsed):
            return Exchange(
                formats.CANONICAL, Request(tuple(codec.loads(data, list[Message]))), None
            )
        return None
    if not isinstance(parsed, dict):
        return None
    if "session" in parsed:
        return _session(parsed)
    if set(parsed) == {"event"}:
        return _struct(parsed["event"], EventRow, "event")
    if "role" in parsed and "schema_version" in parsed:
        return codec.loads(data, Message)
    return None


def _session(parsed: dict[str, Any]) -> SessionLine:
    session = parsed["session"]
    if isinstance(session, dict):  # when it was changed is not written, and a row has it
        session = {"updated_at": session.get("created_at"), **session}
    return _struct({**parsed, "session": session}, SessionLine, "session")


def _struct(parsed: Any, type: type[T], what: str) -> T:
    try:
        return msgspec.convert(parsed, type, strict=False)
    except msgspec.ValidationError as error:
        raise ReadError(f"exported {what}", found=str(error)) from None


def _is_pair(parsed: dict[str, Any]) -> bool:
    return isinstance(parsed.get("request"), dict) and isinstance(parsed.get("response"), dict)


def _wire(
    parsed: Any, source: str, kind: str | None, model: str | None, data: bytes | None = None
) -> tuple[str, Request | Response]:
    data = msgspec.json.encode(parsed) if data is None else data
    if source == AUTO:
        source, kind = formats.guessed(data, kind)
    elif kind is None:
        kind = formats.kind_of(data, source)
    return source, formats.read(data, source, kind, model)
