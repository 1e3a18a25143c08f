"""Arrow back as conversations: each column is taken out once, and values are made of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from interlingua.bulk.arrow import parts, schema
from interlingua.bulk.arrow.parts import (
    Conversation,
    StoredSession,
    TranscriptRest,
    decode,
    together,
)
from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.model.base import unchecked
from interlingua.model.blocks import (
    BLOCK_TYPES,
    Block,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import NO_OPTIONS, Request, Response
from interlingua.model.losses import Loss
from interlingua.model.message import NO_METADATA, Message, Role, from_micros
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from interlingua.model.tools import ToolDefinition
from interlingua.store.rows import SessionRow

WHAT = "Arrow"
Batches = Any
"""A table, a record batch, a reader of them, or any iterable of tables and record batches."""

_ROLES: dict[str, Role] = {role.value: role for role in Role}
_REASONS: dict[str | None, StopReason | None] = {None: None, **{r.value: r for r in StopReason}}
_STATUSES: dict[str | None, MessageStatus] = {
    None: MessageStatus.COMPLETE,
    **{status.value: status for status in MessageStatus},
}
_parts = msgspec.json.Decoder(tuple[ResultBlock, ...]).decode


def from_batches(batches: Batches) -> Iterator[Conversation]:
    """The conversations of record batches, a table or a reader of them, as they were written.

    Columns may come in any order, and as an engine gave them back: large strings, dictionaries."""
    for batch in _each(batches):
        yield from _conversations(batch)


def losses_of(batches: Batches) -> Iterator[list[Loss]]:
    """The `losses` of each row."""
    for batch in _each(batches):
        lists = _settled(batch, "losses")
        cells = iter(zip(*_struct_cells(lists.flatten(), schema.LOSS_FIELDS), strict=True))
        for count in _lengths(lists):
            yield [_loss(*row) for row in islice(cells, count)]


def _loss(*row: Any) -> Loss:
    code, at = row[-2:]
    places = tuple(at.splitlines()) if at else ()
    return Loss(*row[:-2], code=code or "", at=places)  # type: ignore[misc]  # seven of them


def _each(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Batches of conversations, from any input."""
    for table in [batches] if isinstance(batches, (pa.RecordBatch, pa.Table)) else batches:
        _require_known(table.schema)
        yield from [table] if isinstance(table, pa.RecordBatch) else table.to_batches()


def _require_known(found: pa.Schema) -> None:
    version = schema.version_of(found)
    if version is not None and version[1] > schema.VERSION:
        raise ReadError(
            WHAT, "$", f"version {schema.VERSION} of the schema", f"version {version[1]}"
        )
    if version is not None and version[0] != "conversations":
        raise ReadError(WHAT, "$", "rows of whole conversations", f"the shape {version[0]}")
    if not schema.is_conversations(found):
        raise ReadError(WHAT, "$", "the columns of conversations", ", ".join(found.names))


# Columns


def _settled(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column as in the schema; nulls if it is missing."""
    type = schema.SCHEMA.field(name).type
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, type)
    column = batch.column(name)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column if column.type == type else column.cast(type)


def _cells(column: pa.Array, field: pa.Field) -> list[Any]:
    """Times as microseconds, JSON as bytes, all else unchanged."""
    if column.null_count == len(column):
        return [None] * len(column)
    if field.type == schema.TIME:
        column = column.cast(pa.int64())
    elif field.metadata is not None:
        column = column.cast(pa.binary())
    cells: list[Any] = column.to_pylist()
    return cells


def _struct_cells(structs: pa.StructArray, fields: Iterable[pa.Field]) -> list[list[Any]]:
    return [
        _cells(column, field)
        for column, field in zip(structs.flatten(), fields, strict=True)
        if not pa.types.is_list(field.type)
    ]


def _lengths(lists: pa.ListArray) -> list[int]:
    counts: list[int] = pc.fill_null(pc.list_value_length(lists), 0).to_pylist()
    return counts


def _conversations(batch: pa.RecordBatch) -> Iterator[Conversation]:
    messages, tools = _settled(batch, "messages"), _settled(batch, "tools")
    all_messages, all_tools = _messages(messages.flatten()), _tools(tools.flatten())
    losses = losses_of([batch])
    plain = [_cells(_settled(batch, name), schema.SCHEMA.field(name)) for name in _ROW]
    rows = zip(*plain, _lengths(messages), _lengths(tools), strict=True)
    for kind, *row, message_count, tool_count in rows:
        reader = _READERS.get(kind)
        if reader is None:
            raise ReadError(WHAT, "kind", " or ".join(_READERS), str(kind))
        own, tools_of = (
            tuple(islice(all_messages, message_count)),
            tuple(islice(all_tools, tool_count)),
        )
        yield reader(own, tools_of, next(losses), *row)


_ROW = ("kind", "id", "name", "model", "created_at", "updated_at", "options", "rest")


# Blocks

_Row = tuple[Any, ...]


def _blocks(structs: pa.StructArray) -> Iterator[Block]:
    cells = _struct_cells(structs, schema.BLOCK_FIELDS)
    makers = [_MAKERS.get(kind) for kind in cells[0]]
    if None in makers:
        unknown = cells[0][makers.index(None)]
        raise ReadError(WHAT, "messages.content.type", "a kind of block", str(unknown))
    return (make(row) for make, row in zip(makers, zip(*cells, strict=True), strict=True))  # type: ignore[misc]  # none is None


def _text(row: _Row) -> Block:
    if row[12] is None:
        return TextBlock(row[1], row[7])
    return parts.BLOCKS["text"].read(row[12], row[1], row[7])  # type: ignore[no-any-return]  # as are all of these


def _thinking(row: _Row) -> Block:
    if row[12] is None:
        return ThinkingBlock(row[1], row[7], row[2])
    return parts.BLOCKS["thinking"].read(row[12], row[1], row[7], row[2])  # type: ignore[no-any-return]


def _call(row: _Row) -> Block:
    arguments = decode(row[5] or b"{}")
    if row[12] is None:
        return ToolUseBlock(row[2], row[4], arguments, row[6], row[7])
    return parts.BLOCKS["tool_use"].read(row[12], row[2], row[4], arguments, row[6], row[7])  # type: ignore[no-any-return]


def _result(row: _Row) -> Block:
    content = _result_content(row[1], row[9])
    if row[12] is None:
        return ToolResultBlock(row[3], content, bool(row[8]))
    return parts.BLOCKS["tool_result"].read(row[12], row[3], content, bool(row[8]))  # type: ignore[no-any-return]


def _result_content(text: str | None, content: bytes | None) -> tuple[ResultBlock, ...]:
    if content is None:
        return () if text is None else (TextBlock(text),)
    try:
        return _parts(content)
    except msgspec.ValidationError:  # of a newer program
        return tuple(codec.loads(content, tuple[ResultBlock, ...]))


def _media(row: _Row) -> Block:
    source = codec.loads(row[10] or b"{}", Source)
    return parts.BLOCKS[row[0]].read(row[12], source, row[11], row[4])  # type: ignore[no-any-return]


def _rest_alone(row: _Row) -> Block:
    return parts.BLOCKS[row[0]].read(row[12])  # type: ignore[no-any-return]


_MAKERS: dict[str, Callable[[_Row], Block]] = {
    **dict.fromkeys(BLOCK_TYPES, _rest_alone),
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "tool_result": _result,
    "image": _media,
    "audio": _media,
    "video": _media,
    "document": _media,
    "refusal": lambda row: parts.BLOCKS["refusal"].read(row[12], row[1]),
    "compaction": lambda row: parts.BLOCKS["compaction"].read(row[12], row[1], row[7]),
}


# Messages and tools


def _messages(structs: pa.StructArray) -> Iterator[Message]:
    at = [field.name for field in schema.MESSAGE_FIELDS].index("content")
    contents = structs.flatten()[at]
    blocks = _blocks(contents.flatten())
    cells = _struct_cells(structs, schema.MESSAGE_FIELDS)
    contents_of = (tuple(islice(blocks, count)) for count in _lengths(contents))
    of_message, of_metadata = cells[:4], cells[4:-1]
    all_metadata = map(_metadata, *of_metadata)
    for content, metadata, row, rest in zip(
        contents_of, all_metadata, zip(*of_message, strict=True), cells[-1], strict=True
    ):
        role, name, id, created_at = row
        made = None if created_at is None else from_micros(created_at)
        if rest is None:
            yield Message(_ROLES[role], content, name, id, None, metadata, made)
        else:
            yield parts.MESSAGE.read(rest, _ROLES[role], content, name, id, made, metadata)


_NOTHING = (None,) * 6


def _metadata(
    model: str | None,
    provider: str | None,
    protocol: str | None,
    stop_reason: str | None,
    status: str | None,
    parent: str | None,
    rest: bytes | None,
) -> MessageMetadata:
    cells = (rest, parent, protocol, stop_reason, model, provider)
    if cells == _NOTHING and status == MessageStatus.COMPLETE.value:
        return NO_METADATA
    reason, status_ = _REASONS[stop_reason], _STATUSES[status]
    return parts.METADATA.read(rest, model, provider, protocol, reason, status_, parent)  # type: ignore[no-any-return]


def _tools(structs: pa.StructArray) -> Iterator[ToolDefinition]:
    for row in zip(*_struct_cells(structs, schema.TOOL_FIELDS), strict=True):
        name, description, text, rest = row
        taken = None if text is None else decode(text)
        yield parts.TOOL.read(rest, name, description, taken)


# Conversations


def _request(
    messages: tuple[Message, ...],
    tools: tuple[ToolDefinition, ...],
    losses: list[Loss],
    id: str | None,
    name: str | None,
    model: str | None,
    created_at: int | None,
    updated_at: int | None,
    options: bytes | None,
    rest: bytes | None,
) -> Request:
    chosen = NO_OPTIONS if options is None else parts.OPTIONS.read(options)
    if rest is None:
        return unchecked(Request, messages, model, tools, chosen)
    request: Request = parts.REQUEST.read(rest, messages, model, tools, chosen)
    return request


def _response(
    messages: tuple[Message, ...],
    tools: tuple[ToolDefinition, ...],
    losses: list[Loss],
    *row: Any,
) -> Response:
    if not messages:
        raise ReadError(WHAT, "messages", "the message of a response", "none")
    response: Response = parts.RESPONSE.read(row[-1], messages[0], messages[1:])
    return response


def _session(
    messages: tuple[Message, ...],
    tools: tuple[ToolDefinition, ...],
    losses: list[Loss],
    id: str,
    name: str | None,
    model: str | None,
    created_at: int,
    updated_at: int,
    options: bytes | None,
    rest: bytes | None,
) -> StoredSession:
    times = from_micros(created_at), from_micros(updated_at)
    row: SessionRow = parts.SESSION.read(rest, id, name, model, *times)
    return StoredSession(row, messages)


def _transcript(
    messages: tuple[Message, ...],
    tools: tuple[ToolDefinition, ...],
    losses: list[Loss],
    *row: Any,
) -> Conversation:
    try:
        rest = msgspec.json.decode(row[-1] or b"{}", type=TranscriptRest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(WHAT, "rest", "a transcript", str(error)) from None
    return together(messages, rest, losses)


_READERS: dict[str, Callable[..., Conversation]] = {
    "request": _request,
    "response": _response,
    "session": _session,
    "transcript": _transcript,
}
