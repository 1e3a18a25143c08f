"""Conversations as Arrow: blocks, messages and tools become rows of plain Python values, and whole
columns are made of these at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from itertools import accumulate, chain, repeat
from typing import Any

import pyarrow as pa

from interlingua.bulk.arrow import parts, schema
from interlingua.bulk.arrow.block_rows import ROWS as BLOCK_ROWS
from interlingua.bulk.arrow.block_rows import Row, size_of
from interlingua.bulk.arrow.conversation_rows import ConversationRow, row_of
from interlingua.bulk.arrow.kinds import Conversation
from interlingua.bulk.arrow.rest import encode
from interlingua.errors import WriteError
from interlingua.model import codec
from interlingua.model.base import Value
from interlingua.model.losses import Loss
from interlingua.model.message import NO_METADATA, SCHEMA_VERSION, Message, micros
from interlingua.model.tools import ToolDefinition

ROWS = 1000
SIZE = 32 * 1024 * 1024
"""A batch is done at so many rows, or bytes of text, whichever comes first."""
WHAT = "Arrow"

_Losses = Iterable[Loss]


def to_batches(
    values: Iterable[Conversation],
    shape: schema.Shape = "conversations",
    *,
    losses: Iterable[_Losses] | None = None,
    rows: int = ROWS,
    size: int = SIZE,
    trusted: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Conversations as record batches of `SCHEMA` (or of `BLOCKS`), in order and in constant
    memory. `losses` are those of each conversation, from reading or writing it. Values that readers
    made of JSON may be `trusted`: they are not checked for what JSON cannot hold."""
    made: _Conversations | _Blocks = _Conversations() if shape == "conversations" else _Blocks()
    for value, lost in zip(values, repeat(()) if losses is None else losses, strict=False):
        row = row_of(value)
        if not trusted:
            codec.require_writable(value if isinstance(value, Value) else row.messages)
        made.add(row, lost)
        if made.rows >= rows or made.size >= size:
            yield made.batch()
    if made.rows:
        yield made.batch()


class _Conversations:
    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._conversations: list[Row] = []
        self._messages: list[Row] = []
        self._blocks: list[Row] = []
        self._tools: list[Row] = []
        self._losses: list[Row] = []
        self._block_counts: list[int] = []
        self._counts: list[Row] = []  # of messages, tools and losses
        self.size = 0

    @property
    def rows(self) -> int:
        return len(self._conversations)

    def add(self, row: ConversationRow, losses: _Losses) -> None:
        lost = [_loss_row(loss) for loss in chain(row.losses, losses)]
        blocks = [
            BLOCK_ROWS[type(each)](each) for message in row.messages for each in message.content
        ]
        self._blocks += blocks
        self._block_counts += [len(message.content) for message in row.messages]
        self._messages += map(_message_row, row.messages)
        self.size += size_of(blocks)
        self._tools += [_tool_row(tool) for tool in row.tools]
        self._losses += lost
        self._counts.append((len(row.messages), len(row.tools), len(lost)))
        self._conversations.append(
            (
                *(row.kind, row.id, row.name, row.model, row.provider),
                *(row.created_at, row.updated_at),
                *_sums(row.messages),
                *(row.options, row.rest),
            )
        )

    def batch(self) -> pa.RecordBatch:
        try:
            return self._made()
        finally:
            self._start()

    def _made(self) -> pa.RecordBatch:
        messages, tools, losses = zip(*self._counts, strict=True)
        content = _lists(self._block_counts, _structs(self._blocks, schema.BLOCK_FIELDS))
        columns = dict(zip(_PLAIN, _columns(self._conversations, _PLAIN), strict=True))
        columns["messages"] = _lists(
            messages, _structs(self._messages, schema.MESSAGE_FIELDS, content=content)
        )
        columns["tools"] = _lists(tools, _structs(self._tools, schema.TOOL_FIELDS))
        columns["losses"] = _lists(losses, _structs(self._losses, schema.LOSS_FIELDS))
        arrays = [columns[name] for name in schema.SCHEMA.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema.SCHEMA)


_NESTED = ("messages", "tools", "losses")
_PLAIN = tuple(name for name in schema.SCHEMA.names if name not in _NESTED)


class _Blocks:
    """The other shape: what each block needs for a query stands beside it."""

    def __init__(self) -> None:
        self._made: list[Row] = []
        self._conversation = 0
        self.size = 0

    @property
    def rows(self) -> int:
        return len(self._made)

    def add(self, row: ConversationRow, losses: _Losses) -> None:
        of_all = (self._conversation, row.id, row.kind, row.model, row.provider)
        for at, message in enumerate(row.messages):
            metadata = message.metadata
            created = None if message.created_at is None else micros(message.created_at)
            of_one = (at, message.id, created, message.role, metadata.stop_reason, metadata.status)
            for number, block in enumerate(message.content):
                cells = _with_text(BLOCK_ROWS[type(block)](block), block)
                self._made.append((*of_all, *of_one, number, *cells))
                self.size += size_of([cells])
        self._conversation += 1

    def batch(self) -> pa.RecordBatch:
        columns = list(_columns(self._made, schema.BLOCKS.names, schema.BLOCKS))
        self._made, self.size = [], 0
        return pa.RecordBatch.from_arrays(columns, schema=schema.BLOCKS)


def _with_text(row: Row, block: Any) -> Row:
    """A result of several parts with the text of all of them."""
    if row[0] != "tool_result" or row[1] is not None:
        return row
    texts = [part.text for part in block.content if part.type == "text"]
    return (row[0], "".join(texts) if texts else None, *row[2:])


# Rows


def _message_row(message: Message) -> Row:
    metadata = message.metadata
    plain = message.session_id is None and message.changes is None
    is_present = message.schema_version == SCHEMA_VERSION
    rest = None if plain and is_present else parts.MESSAGE.write(message)
    created = None if message.created_at is None else micros(message.created_at)
    head = (message.role, message.name, message.id, created)
    if metadata is NO_METADATA:
        return (*head, None, None, None, None, metadata.status, None, None, rest)
    made_by = (metadata.model, metadata.provider, metadata.protocol, metadata.stop_reason)
    encoded, parent = parts.METADATA.write(metadata), metadata.parent_tool_use_id
    if encoded is None and parent is None and made_by == (None, None, None, None):
        encoded = b"{}"  # it is there, and empty
    return (*head, *made_by, metadata.status, parent, encoded, rest)


def _tool_row(tool: ToolDefinition) -> Row:
    schema = None if tool.input_schema is None else encode(tool.input_schema)
    return (tool.name, tool.description, schema, parts.TOOL.write(tool))


def _loss_row(loss: Loss) -> Row:
    return (
        *(loss.kind, loss.path, loss.reason, loss.severity),
        *(loss.block_type, loss.message_id, loss.rule),
    )


_NOTHING: Row = (None,) * (len(schema.USAGE) + 1)
_EXACT = Context(prec=60)
_STEP = Decimal(1).scaleb(-schema.MONEY.scale)


def _sums(messages: Sequence[Message]) -> Row:
    """Tokens of each kind and cost; None where no message says any."""
    used = [m.metadata.usage for m in messages if m.metadata is not NO_METADATA]
    known = [usage for usage in used if usage is not None]
    if not known:
        return _NOTHING
    tokens = [_sum(getattr(usage, name) for usage in known) for name in schema.USAGE]
    cost = _sum(usage.cost_usd for usage in known)
    return (*tokens, None if cost is None else cost.quantize(_STEP, context=_EXACT))


def _sum(counts: Iterable[Any]) -> Any:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


# Columns


def _columns(
    rows: list[Row], names: Sequence[str], of: pa.Schema = schema.SCHEMA
) -> Iterator[pa.Array]:
    fields = [of.field(name) for name in names]
    return (
        _array(cells, field) for cells, field in zip(_across(rows, fields), fields, strict=True)
    )


def _across(rows: list[Row], fields: Sequence[pa.Field]) -> Iterable[Sequence[Any]]:
    return zip(*rows, strict=True) if rows else ((),) * len(fields)


def _array(cells: Sequence[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(cells, field.type)
    except (UnicodeEncodeError, pa.ArrowInvalid, OverflowError) as error:
        raise WriteError(WHAT, field.name, str(error)) from None


def _structs(rows: list[Row], fields: Sequence[pa.Field], **made: pa.Array) -> pa.StructArray:
    """Rows as structs; fields that are `made` already have no cell in them."""
    plain = [field for field in fields if field.name not in made]
    for field, cells in zip(plain, _across(rows, plain), strict=True):
        made[field.name] = _array(cells, field)
    return pa.StructArray.from_arrays([made[field.name] for field in fields], fields=fields)


def _lists(counts: Sequence[int], values: pa.Array) -> pa.ListArray:
    offsets = pa.array([0, *accumulate(counts)], pa.int32())
    return pa.ListArray.from_arrays(offsets, values)
