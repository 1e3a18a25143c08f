"""Messages as rows and back, and their searchable text.

The JSON is made before a transaction begins, so that it is held no longer than the engine needs.
Settings that a message changes for later ones stand in the column of its metadata, where older
programs preserve them. Rows of older versions are upgraded when they are read; only `save` writes
the new form.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.errors import ReadError
from interlingua.model import message as _message
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.codec import convert, dumps, loads, may_be_older, renewed
from interlingua.model.message import NO_METADATA, Changes, Message, Role, from_micros
from interlingua.model.metadata import MessageMetadata

LONGEST = 150_000
"""Characters of one message that are indexed: PostgreSQL's index entries hold at most 1 MB."""
SNIPPET = 160

_NO_WORD = re.compile(r"[\W_]+")

_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece"  # Thai, Lao
    "\u1000-\u103f\u1780-\u17d3"  # Myanmar, Khmer
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"  # Korean: particles are written onto words
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Letters and signs of scripts without spaces between words. Any piece of a line can be searched
there, so they are indexed one by one (SQLite) or in pairs (PostgreSQL)."""
_RUN = re.compile(f"[{_SPACELESS}]+")
_WORD_OR_RUN = re.compile(f"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])[^\\W_])+")
_BETWEEN = re.compile(f"(?<=[{_SPACELESS}])(?=\\w|[{_SPACELESS}])|(?<=\\w)(?=[{_SPACELESS}])")
_INVISIBLE = "\u200b"
"""A space without width, which ends a word for SQLite and is invisible to people."""
PAIRS = 500_000
"""The most bytes of pairs that are stored for one message, for the same reason as `LONGEST`."""


def text_of(message: Message) -> str:
    """The text of users, models and tool results; without thinking, which is not part of the
    conversation."""
    pieces: list[str] = []
    room = LONGEST
    for piece in _pieces(message.content):
        pieces.append(piece[:room])
        room -= len(piece) + 1
        if room <= 0:
            break
    text = "\n".join(pieces).replace("\0", " ").replace(_INVISIBLE, "")
    return unicodedata.normalize("NFC", text)


def _pieces(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock() | RefusalBlock():
                yield block.text
            case CompactionBlock():
                yield block.text or ""
            case ToolUseBlock():
                yield block.name
                yield from (item for item in block.input.values() if isinstance(item, str))
            case ToolResultBlock():
                yield from _pieces(block.content)
            case AudioBlock():
                yield block.transcript or ""
            case DocumentBlock():
                yield block.title or ""
                if block.source.kind == "text":
                    yield block.source.data or ""


# Questions: pieces between spaces; each is words and runs in order. Words are asked for as phrases,
# runs as they stand.


class Piece(NamedTuple):
    parts: list[str]
    """Words in lower case, and runs of letters of scripts without spaces."""
    is_start: bool
    """Whether the last word is only the start of one."""

    @property
    def runs(self) -> list[str]:
        return [part for part in self.parts if is_run(part)]


def is_run(part: str) -> bool:
    return _RUN.match(part) is not None


def _search_pieces(words: str) -> list[Piece]:
    found = []
    plain = words.replace("\0", " ").replace(_INVISIBLE, "")
    for piece in unicodedata.normalize("NFC", plain).split():
        parts = _WORD_OR_RUN.findall(piece.lower())
        if parts:
            found.append(Piece(parts, piece.endswith("*") and not is_run(parts[-1])))
    return found


# SQLite: the text itself is indexed, with invisible spaces around letters of such scripts.


def spaced(text: str) -> str:
    if text.isascii() or not _RUN.search(text):
        return text  # much quicker, and most texts are such
    return _BETWEEN.sub(_INVISIBLE, text)


def unspaced(text: str) -> str:
    return text.replace(_INVISIBLE, "")


def for_sqlite(words: str) -> tuple[str, list[str]]:
    """The query for FTS5, empty if it has no words, and the texts that a match must contain,
    because FTS5 ignores vowel signs."""
    pieces = _search_pieces(words)
    phrases = []
    for piece in pieces:
        tokens = [" ".join(part) if is_run(part) else part for part in piece.parts]
        phrases.append(f'"{" ".join(tokens)}"{"*" * piece.is_start}')
    return " ".join(phrases), [_INVISIBLE.join(run) for piece in pieces for run in piece.runs]


# PostgreSQL: words have places, for phrases; runs are kept as single letters and pairs of them
# without a place, because a letter has room for 256 places only.


def plain_words(text: str) -> str:
    """Words in lower case with single spaces between, so that no parser takes them for a path, a
    host or a signed number."""
    if not text.isascii():
        text = _RUN.sub(" ", text)
    return _NO_WORD.sub(" ", text.lower()).strip()


def pairs_of(text: str) -> list[str]:
    """Letters and pairs of neighbours of all runs, each once."""
    if text.isascii():
        return []
    found: dict[str, None] = {}
    room = PAIRS
    for run in _RUN.findall(text):
        for pair in (*run, *map("".join, pairwise(run))):
            if pair not in found:
                found[pair] = None
                room -= len(pair) * 4
        if room < 0:
            break
    return list(found)


def for_postgres(words: str) -> tuple[str, str, list[str]]:
    """A query for `to_tsquery`, one of pairs, and substrings that the text has to contain."""
    phrases, pairs, runs = [], [], []
    for parts, is_start in _search_pieces(words):
        for of_runs, group in groupby(parts, is_run):
            if of_runs:
                runs += (found := list(group))
                pairs += [pair for run in found for pair in _pairs(run)]
            else:
                phrases.append([f"'{part}'" for part in group])
        if is_start:
            phrases[-1][-1] += ":*"
    query = " & ".join(f"({' <-> '.join(phrase)})" for phrase in phrases)
    return query, " & ".join(f"'{pair}'" for pair in pairs), runs


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else list(map("".join, pairwise(run)))


def snippet(text: str, words: str) -> str:
    """A piece of the text around the first match."""
    lower = text.lower()
    places = [lower.find(piece.parts[0]) for piece in _search_pieces(words)]
    first = min((place for place in places if place >= 0), default=0)
    start = max(0, first - SNIPPET // 4)
    piece = " ".join(text[start : start + SNIPPET].split())
    return ("…" if start else "") + piece + ("…" if start + SNIPPET < len(text) else "")


logger = logging.getLogger(__name__)

T = TypeVar("T")

_CONTENT = tuple[Block, ...]
_content = msgspec.json.Decoder(_CONTENT)
_metadata = msgspec.json.Decoder(MessageMetadata)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NONE, _GIVEN = b"{}", b"{ }"
_ROLES = {role.value: role for role in Role}


class Draft(NamedTuple):
    """A message to be stored; `message` is None if it cannot be read."""

    message: Message | None
    id: str | None
    role: str
    content: bytes
    metadata: bytes
    created_at: int | None
    schema_version: int
    name: str | None

    def row(self, id: str, session_id: str, seq: int, created_at: int) -> tuple[Any, ...]:
        return (
            id,
            session_id,
            self.role,
            self.content,
            self.metadata,
            created_at,
            self.schema_version,
            seq,
            self.name,
        )


def draft(message: Message) -> Draft:
    metadata = message.metadata
    return Draft(
        message,
        message.id,
        message.role.value,
        dumps(message.content),
        _with_changes(metadata_json(metadata), message.changes),
        None if message.created_at is None else (message.created_at - _EPOCH) // _MICROSECOND,
        message.schema_version,
        message.name,
    )


def metadata_json(metadata: MessageMetadata) -> bytes:
    """`il.dumps` writes metadata that was passed explicitly, even if empty, and leaves out the
    default. The column is never empty, so a space distinguishes the two."""
    if metadata is NO_METADATA:
        return _NONE
    written = dumps(metadata)
    return _GIVEN if written == _NONE else written


def _with_changes(metadata: bytes, changes: Changes | None) -> bytes:
    if changes is None:
        return metadata
    more = b'"changes":' + dumps(changes) + b"}"
    return metadata[:-1] + (more if metadata in (_NONE, _GIVEN) else b"," + more)


def _apart(data: bytes) -> tuple[MessageMetadata, Changes | None]:
    """Metadata and changes of a column, where it is not metadata alone."""
    plain = _parsed(data)
    if type(plain) is not dict or "changes" not in plain:
        return loads(data, MessageMetadata), None
    changes = convert(plain.pop("changes"), Changes, strict=False)
    if not plain and data[:2] != _GIVEN[:2]:
        return NO_METADATA, changes
    return convert(plain, MessageMetadata, strict=False), changes


class StoredMessage(NamedTuple):
    """The columns of a message, in the order of the statements."""

    id: str
    role: str
    name: str | None
    content: bytes
    metadata: bytes
    created_at: int
    schema_version: int
    seq: int

    def as_draft(self) -> Draft:
        return Draft(
            None,
            self.id,
            self.role,
            self.content,
            self.metadata,
            self.created_at,
            self.schema_version,
            self.name,
        )


def read(session_id: str, row: Sequence[Any]) -> Message | None:
    """A row as a message; None, with a warning, if its role is unknown."""
    id, role, name, content_data, metadata_data, created_at, version, _ = row
    known = _ROLES.get(role)
    try:
        if version != _message.SCHEMA_VERSION:
            return _read_other_version(session_id, StoredMessage(*row))
        if known is None:
            _skipped(session_id, id)
            return None
        content = _quickly(_content, content_data) or loads(content_data, _CONTENT)
        if may_be_older(content_data):
            content = renewed(content)
        metadata, changes = NO_METADATA, None
        if metadata_data != _NONE:
            quickly = _quickly(_metadata, metadata_data)
            metadata, changes = (quickly, None) if quickly else _apart(metadata_data)
    except ReadError as error:
        raise _in_message(id, error) from None
    at = from_micros(created_at)
    return Message(known, content, name, id, session_id, metadata, at, version, changes)


def read_metadata(id: str, data: bytes) -> MessageMetadata:
    """The metadata of a message of the present version."""
    try:
        return _quickly(_metadata, data) or loads(data, MessageMetadata)
    except ReadError as error:
        raise _in_message(id, error) from None


def _in_message(id: str, error: ReadError) -> ReadError:
    return ReadError(
        f"stored message {id}: {error.what}", error.path, error.expected, error.found, error.problem
    )


def _quickly(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """The result of `loads` without its checks: all stored data went through `dumps`, which has
    them. None if there is anything unusual, which `loads` then preserves or reports."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _read_other_version(session_id: str, row: StoredMessage) -> Message | None:
    """The way through the upgrades, which see the message as a whole."""
    plain = {
        "role": row.role,
        "content": _parsed(row.content),
        "id": row.id,
        "session_id": session_id,
        "created_at": from_micros(row.created_at).isoformat(),
        "schema_version": row.schema_version,
    }
    if row.metadata != _NONE:
        plain["metadata"] = metadata = _parsed(row.metadata)
        if "changes" in metadata:
            plain["changes"] = metadata.pop("changes")
    if row.name is not None:
        plain["name"] = row.name
    found = convert([plain], list[Message], strict=False)
    return found[0] if found else None


def _parsed(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ReadError("canonical JSON", "$", found=str(error)) from None


def _skipped(session_id: str, id: str) -> None:
    extra = {"session_id": session_id, "message_id": id, "reason": "role unknown"}
    logger.warning("stored_message_skipped", extra=extra)


def read_all(session_id: str, rows: Sequence[Sequence[Any]]) -> list[Message]:
    return [message for row in rows if (message := read(session_id, row)) is not None]
