"""Where a text was said, in files that are read once and mostly not looked into.

A line can only hold the text if its bytes hold a piece of it that JSON spells in one way, in upper
or lower case; only such lines are decoded. What counts is what was said in the conversation, not
what a tool notes beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from interlingua.model.codec import dumps
from interlingua.transcripts.files import lines_in
from interlingua.transcripts.files import opened as opened_file
from interlingua.transcripts.format import Format, Found, Utterance, format_of
from interlingua.transcripts.sessions import opened, problem_of
from interlingua.transcripts.values import decoded

_AROUND = 60
"""Characters that are shown on each side of a hit."""
_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
"""Runs of characters that JSON has no second spelling for in any file that is seen here."""
_decode = msgspec.json.Decoder().decode


class Hit(msgspec.Struct, frozen=True):
    """Where a text was found: session, file and line or message, role, and surrounding text."""

    format: str
    session: str | None
    path: str
    place: str
    role: str
    text: str
    time: str | None = None


def hits_in(found: Found, text: str) -> Iterator[Hit | str]:
    """All hits in a session, its helpers included; a text says why it cannot be read."""
    of = format_of(found.format)
    try:
        if of.search_text is None:
            yield from _in_messages(found, text)
        else:
            for path in (found.path, *_helpers(found)):
                yield from _in_lines(found, path, of, text)
    except Exception as error:  # one bad file must not hide the others
        yield problem_of(found, error)


def _helpers(found: Found) -> list[Path]:
    """Files of helpers, in a folder named like the file or the session."""
    beside = found.path.parent
    folders = dict.fromkeys(beside / name for name in (found.path.stem, found.id) if name)
    own = [each for each in folders if each.parent == beside and each.name != ".."]
    return [path for each in own for path in sorted(each.rglob("*.jsonl"))]


def _in_lines(found: Found, path: Path, of: Format, text: str) -> Iterator[Hit]:
    assert of.search_text is not None
    may_hold, wanted = filter_of(text), text.lower()
    seen: set[tuple[str, str]] = set()
    with opened_file(path) as file:
        for number, line in enumerate(lines_in(file, path), 1):
            entry = _searchable(line, of) if may_hold(line) else None
            if entry is None:
                continue
            for snippet in _snippets(entry.content, wanted):
                key = (entry.id if isinstance(entry.id, str) else str(number), snippet)
                if key not in seen:
                    seen.add(key)
                    time = entry.time if isinstance(entry.time, str) else None
                    where = (found.format, found.id, str(path), f"line {number}")
                    yield Hit(*where, str(entry.role), snippet, time)


def _searchable(line: bytes, of: Format) -> Utterance | None:
    assert of.search_text is not None
    value = decoded(line)
    return of.search_text(value) if isinstance(value, dict) else None


def filter_of(text: str) -> Callable[[bytes], bool]:
    """Says of a line whether it may hold the text."""
    runs = _PLAIN.findall(text)
    if runs:
        needle = max(runs, key=len).lower().encode()
        return lambda line: needle in line.lower()
    spellings = {text.encode(), text.lower().encode(), text.upper().encode()}
    return lambda line: any(each in line for each in spellings) or b"\\" in line


def _in_messages(found: Found, text: str) -> Iterator[Hit]:
    """For files that have to be read whole."""
    wanted = text.lower()
    transcript = opened(found)
    for number, message in enumerate(transcript.messages, 1):
        content = _decode(dumps(message)).get("content")
        for snippet in _snippets(content, wanted):
            time = message.created_at.isoformat() if message.created_at else None
            yield Hit(
                found.format,
                transcript.id,
                str(found.path),
                f"message {number}",
                message.role.value,
                snippet,
                time,
            )


def _snippets(content: Any, wanted: str) -> Iterator[str]:
    """The surroundings of the text, once for each string that holds it."""
    for text in _strings(content):
        at = text.lower().find(wanted)
        if at >= 0:
            start, end = max(at - _AROUND, 0), at + len(wanted) + _AROUND
            cut = " ".join(text[start:end].split())
            yield f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
