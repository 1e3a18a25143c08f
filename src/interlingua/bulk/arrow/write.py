"""Conversations as Arrow: blocks, messages and tools become rows of plain Python values, and whole
columns are made of these at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Context, Decimal
from itertools import accumulate, chain, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa

from interlingua.bulk.arrow import parts, schema
from interlingua.bulk.arrow.parts import BLOCKS, Conversation, StoredSession, apart, encode
from interlingua.errors import WriteError, found
from interlingua.model import codec
from interlingua.model.base import Value
from interlingua.model.blocks import (
    TYPE_OF,
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.exchange import NO_OPTIONS, Request, Response
from interlingua.model.losses import Loss
from interlingua.model.message import NO_METADATA, SCHEMA_VERSION, Message, micros
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.transcript import Transcript

Row = tuple[Any, ...]
_NO4 = (None,) * 4
_NO5 = (None,) * 5
_REST = {name: rest.write for name, rest in BLOCKS.items()}
_text_rest = _REST["text"]
_thinking_rest = _REST["thinking"]
_call_rest = _REST["tool_use"]
_result_rest = _REST["tool_result"]


def _text(b: TextBlock) -> Row:
    plain = b.raw is None and not b.citations and b.cache is None and b.phase is None
    rest = None if plain else _text_rest(b)
    return ("text", b.text, *_NO5, b.signature, *_NO4, rest)


def _thinking(b: ThinkingBlock) -> Row:
    rest = _thinking_rest(b)
    return ("thinking", b.text, b.id, *_NO4, b.signature, *_NO4, rest)


def _call(b: ToolUseBlock) -> Row:
    arguments = (encode(b.input), b.raw_arguments, b.signature)
    return ("tool_use", None, b.id, None, b.name, *arguments, *_NO4, _call_rest(b))


def _result(b: ToolResultBlock) -> Row:
    rest, text, content = _result_rest(b), None, None
    if len(b.content) == 1 and is_plain(b.content[0]):
        text = b.content[0].text  # type: ignore[union-attr]  # a text block, as was just found
    elif b.content:
        content = encode(b.content)
    answered = (b.tool_use_id, None, None, None, None, b.is_error)
    return ("tool_result", text, None, *answered, content, None, None, rest)


def is_plain(block: Block) -> bool:
    """A text block that is nothing but its text."""
    return type(block) is TextBlock and block.signature is None and _text_rest(block) is None


def _media(b: MediaBlock) -> Row:
    kind, source = b.type, encode(b.source)
    shown = (b.name, *_NO5, source, b.media_type)
    return (kind, None, None, None, *shown, _REST[kind](b))


def _refusal(b: RefusalBlock) -> Row:
    return ("refusal", b.text, *_NO5, *_NO5, _REST["refusal"](b))


def _compaction(b: CompactionBlock) -> Row:
    return ("compaction", b.text, *_NO5, b.signature, *_NO4, _REST["compaction"](b))


def _rest_alone(b: Block) -> Row:
    kind = b.type
    return (kind, None, *_NO5, *_NO5, _REST[kind](b))


BLOCK_ROWS: dict[type[Block], Callable[[Any], Row]] = {
    **dict.fromkeys(TYPE_OF, _rest_alone),
    TextBlock: _text,
    ThinkingBlock: _thinking,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    ImageBlock: _media,
    AudioBlock: _media,
    VideoBlock: _media,
    DocumentBlock: _media,
    RefusalBlock: _refusal,
    CompactionBlock: _compaction,
}


_LARGE = [itemgetter(at) for at in (1, 5, 9, 10)]


def size_of(rows: list[Row]) -> int:
    """About how many bytes rows take: their text, input, content and source."""
    return sum(sum(map(len, filter(None, map(cell, rows)))) for cell in _LARGE)


"""The very object that is the default."""


class ConversationRow(NamedTuple):
    """A row of `conversations`, without the sums over its messages."""

    kind: str
    messages: Sequence[Message]
    id: str | None = None
    name: str | None = None
    model: str | None = None
    provider: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    tools: Sequence[ToolDefinition] = ()
    options: bytes | None = None
    rest: bytes | None = None
    losses: Sequence[Loss] = ()


def row_of(value: Conversation) -> ConversationRow:
    match value:
        case Request():
            return _request(value)
        case Response():
            return _response(value)
        case StoredSession():
            return _session(value)
        case Transcript():
            return _transcript(value)
        case _:
            raise WriteError("Arrow", "$", f"expected a conversation, found {found(value)}")


def _request(request: Request) -> ConversationRow:
    options = None if request.options is NO_OPTIONS else encode(request.options)
    rest = parts.REQUEST.write(request)
    return ConversationRow(
        "request",
        request.messages,
        model=request.model,
        tools=request.tools,
        options=options,
        rest=rest,
    )


def _response(response: Response) -> ConversationRow:
    metadata = response.message.metadata
    return ConversationRow(
        "response",
        (response.message, *response.alternatives),
        id=metadata.response_id,
        model=metadata.model or metadata.response_model,
        provider=metadata.provider,
        created_at=_micros(response.message.created_at),
        rest=parts.RESPONSE.write(response),
    )


def _session(session: StoredSession) -> ConversationRow:
    row = session.row
    return ConversationRow(
        "session",
        session.messages,
        id=row.id,
        name=row.name,
        model=row.active_model,
        provider=_provider(row.active_model),
        created_at=_micros(row.created_at),
        updated_at=_micros(row.updated_at),
        rest=parts.SESSION.write(row),
    )


def _transcript(transcript: Transcript) -> ConversationRow:
    messages, rest = apart(transcript)
    model = transcript.models[-1] if transcript.models else None
    return ConversationRow(
        "transcript",
        messages,
        id=transcript.id,
        name=transcript.title,
        model=model,
        provider=_provider(model),
        created_at=_micros(transcript.created_at),
        updated_at=_micros(transcript.updated_at),
        tools=transcript.tools,
        rest=encode(rest),
        losses=transcript.report.entries,
    )


def _provider(model: str | None) -> str | None:
    """The provider in a model name: `<provider>:<name>`."""
    return model.partition(":")[0] if model and ":" in model else None


def _micros(time: datetime | None) -> int | None:
    return None if time is None else micros(time)


ROWS = 1000
SIZE = 32 * 1024 * 1024
"""A batch ends after so many rows, or bytes of text, whichever comes first."""
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
    made from JSON may be `trusted`: they are not checked for content that JSON cannot hold."""
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
        lost = [loss_row(loss) for loss in chain(row.losses, losses)]
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
    """The other schema: each block with the columns that queries need."""

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


def loss_row(loss: Loss) -> Row:
    return (
        *(loss.kind, loss.path, loss.reason, loss.severity),
        *(loss.block_type, loss.message_id, loss.rule),
        *(loss.code or None, "\n".join(loss.at) or None),
    )


_NOTHING: Row = (None,) * (len(schema.USAGE) + 1)
_EXACT = Context(prec=60)
_STEP = Decimal(1).scaleb(-schema.MONEY.scale)


def _sums(messages: Sequence[Message]) -> Row:
    """Sums of tokens of each kind and of the cost; None if no message has any, or the cost of
    one is not known."""
    used = [m.metadata.usage for m in messages if m.metadata is not NO_METADATA]
    known = [usage for usage in used if usage is not None]
    if not known:
        return _NOTHING
    tokens = [_sum(getattr(usage, name) for usage in known) for name in schema.USAGE]
    lacks = any(usage.cost_usd is None and usage.is_known for usage in known)
    cost = None if lacks else _sum(usage.cost_usd for usage in known)
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
