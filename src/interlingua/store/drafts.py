"""Messages as rows and back.

The JSON is made before a transaction begins, so that it is held no longer than the engine needs.
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
from interlingua.model.codec import convert, dumps, loads
from interlingua.model.message import NO_METADATA, Message, Role, from_micros
from interlingua.model.metadata import MessageMetadata

logger = logging.getLogger(__name__)

T = TypeVar("T")

_CONTENT = tuple[Block, ...]
_content = msgspec.json.Decoder(_CONTENT)
_metadata = msgspec.json.Decoder(MessageMetadata)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NONE = b"{}"
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
        metadata_json(metadata),
        None if message.created_at is None else (message.created_at - _EPOCH) // _MICROSECOND,
        message.schema_version,
        message.name,
    )


def metadata_json(metadata: MessageMetadata) -> bytes:
    """`il.dumps` writes metadata that somebody gave, even with nothing in it, and leaves out the
    default. The column is never empty, so a space tells the two apart."""
    if metadata is NO_METADATA:
        return _NONE
    written = dumps(metadata)
    return b"{ }" if written == _NONE else written


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
        metadata = NO_METADATA
        if metadata_data != _NONE:
            metadata = _quickly(_metadata, metadata_data) or loads(metadata_data, MessageMetadata)
    except ReadError as odd:
        raise _in_message(id, odd) from None
    return Message(known, content, name, id, session_id, metadata, from_micros(created_at), version)


def read_metadata(id: str, data: bytes) -> MessageMetadata:
    """The metadata of a message of the present version."""
    try:
        return _quickly(_metadata, data) or loads(data, MessageMetadata)
    except ReadError as odd:
        raise _in_message(id, odd) from None


def _in_message(id: str, odd: ReadError) -> ReadError:
    return ReadError(f"stored message {id}: {odd.what}", odd.path, odd.expected, odd.found)


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
        plain["metadata"] = _parsed(row.metadata)
    if row.name is not None:
        plain["name"] = row.name
    found = convert([plain], list[Message], strict=False)
    return found[0] if found else None


def _parsed(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as odd:
        raise ReadError("canonical JSON", "$", found=str(odd)) from None


def _skipped(session_id: str, id: str) -> None:
    extra = {"session_id": session_id, "message_id": id, "reason": "role unknown"}
    logger.warning("stored_message_skipped", extra=extra)


def read_all(session_id: str, rows: Sequence[Sequence[Any]]) -> list[Message]:
    return [message for row in rows if (message := read(session_id, row)) is not None]
