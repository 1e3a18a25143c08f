"""Messages as rows and back.

The JSON is made before a transaction begins, so that it is held no longer than the engine needs.
What a message changes for those behind it stands in the column of its metadata, where programs that
do not know of it keep it.
Rows of older versions are upgraded when they are read; only `save` writes the new form.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import msgspec

from interlingua.errors import ReadError
from interlingua.model import message as _message
from interlingua.model.blocks import Block
from interlingua.model.codec import convert, dumps, loads, may_be_older, renewed
from interlingua.model.message import NO_METADATA, Changes, Message, Role, from_micros
from interlingua.model.metadata import MessageMetadata

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
    """A message on its way into the store; `message` is None for one we cannot read."""

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
    """A row as a message; None, with a warning, when its role is one that we do not know."""
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
    return ReadError(f"stored message {id}: {error.what}", error.path, error.expected, error.found)


def _quickly(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    """What `loads` gives, without its second look: all that is stored went through `dumps`, which
    had one. None when there is anything unusual, for `loads` to keep or to name."""
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
