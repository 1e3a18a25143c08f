"""The published shapes of conversations in Arrow and Parquet.

Fields that are always present have a column; open data (tool input, schemas, `raw`) is JSON text in
one, so that no object is padded with the keys of another. Fields marked `json` in their metadata
hold such text: plain strings, which every engine takes.
"""

from __future__ import annotations

from typing import Any, Literal

try:
    import pyarrow as pa
except ImportError:
    from interlingua.errors import MissingExtraError

    raise MissingExtraError("conversations as Arrow", "arrow") from None

VERSION = 1
"""The version of the schemas below. Columns may be added to a version; none changes its meaning."""
Shape = Literal["conversations", "blocks"]

_VERSION_KEY = b"interlingua.version"
_SHAPE_KEY = b"interlingua.shape"

TIME = pa.timestamp("us", tz="UTC")
MONEY = pa.decimal128(38, 18)


def _text(name: str) -> pa.Field:
    return pa.field(name, pa.string())


def _json(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata={"interlingua": "json"})


def _count(name: str) -> pa.Field:
    return pa.field(name, pa.int64())


BLOCK_FIELDS: tuple[pa.Field, ...] = (
    _text("type"),
    _text("text"),
    _text("id"),
    _text("tool_use_id"),
    _text("name"),
    _json("input"),
    _text("raw_arguments"),
    _text("signature"),
    pa.field("is_error", pa.bool_()),
    _json("content"),
    _json("source"),
    _text("media_type"),
    _json("rest"),
)
"""`text` of a tool result is its content where that is one plain text; any other is `content`."""

MESSAGE_FIELDS: tuple[pa.Field, ...] = (
    _text("role"),
    pa.field("content", pa.list_(pa.struct(BLOCK_FIELDS))),
    _text("name"),
    _text("id"),
    pa.field("created_at", TIME),
    _text("model"),
    _text("provider"),
    _text("protocol"),
    _text("stop_reason"),
    _text("status"),
    _text("parent_tool_use_id"),
    _json("metadata"),
    _json("rest"),
)
"""The fields of metadata that are queried have columns; `metadata` has the others."""

TOOL_FIELDS: tuple[pa.Field, ...] = (
    _text("name"),
    _text("description"),
    _json("input_schema"),
    _json("rest"),
)

LOSS_FIELDS: tuple[pa.Field, ...] = tuple(
    _text(name)
    for name in (
        *("kind", "path", "reason", "severity", "block_type", "message_id", "rule"),
        *("code", "at"),  # several places are several lines
    )
)
LOSSES = pa.field("losses", pa.list_(pa.struct(LOSS_FIELDS)))
"""The column of losses, here and in every engine."""

USAGE = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
)
"""Sums over a conversation's messages. They and `cost_usd` are written and never read: each
message's own usage is in its `metadata`."""

_CONVERSATION: tuple[pa.Field, ...] = (
    _text("kind"),
    _text("id"),
    _text("name"),
    _text("model"),
    _text("provider"),
    pa.field("created_at", TIME),
    pa.field("updated_at", TIME),
    *(_count(name) for name in USAGE),
    pa.field("cost_usd", MONEY),
    pa.field("messages", pa.list_(pa.struct(MESSAGE_FIELDS))),
    pa.field("tools", pa.list_(pa.struct(TOOL_FIELDS))),
    _json("options"),
    _json("rest"),
    LOSSES,
)

_OF_CONVERSATION = ("kind", "model", "provider")
_OF_MESSAGE = ("role", "stop_reason", "status")

_BLOCK: tuple[pa.Field, ...] = (
    _count("conversation"),
    _text("conversation_id"),
    *(_text(name) for name in _OF_CONVERSATION),
    _count("message"),
    _text("message_id"),
    pa.field("created_at", TIME),
    *(_text(name) for name in _OF_MESSAGE),
    _count("block"),
    *BLOCK_FIELDS,
)


def _versioned(fields: tuple[pa.Field, ...], shape: Shape) -> pa.Schema:
    return pa.schema(fields, metadata={_VERSION_KEY: str(VERSION), _SHAPE_KEY: shape})


SCHEMA = _versioned(_CONVERSATION, "conversations")
"""One row for each conversation; it can be read back."""
BLOCKS = _versioned(_BLOCK, "blocks")
"""One row for each block, for queries; messages without blocks have none. A tool result has its
whole text in `text`."""
SCHEMAS: dict[Shape, pa.Schema] = {"conversations": SCHEMA, "blocks": BLOCKS}


def version_of(schema: pa.Schema) -> tuple[str, int] | None:
    """Shape and version of a schema that we wrote; None of any other."""
    metadata = schema.metadata or {}
    if _SHAPE_KEY not in metadata or _VERSION_KEY not in metadata:
        return None
    return metadata[_SHAPE_KEY].decode(), int(metadata[_VERSION_KEY])


def is_conversations(schema: pa.Schema) -> bool:
    """Whether rows of this schema can be read back: by its mark, or, where an engine dropped that,
    by its columns."""
    version = version_of(schema)
    if version is not None:
        return version[0] == "conversations"
    return {"kind", "messages", "rest"} <= set(schema.names)


def with_json(found: pa.DataType | pa.Field | pa.Schema) -> Any:
    """The same schema with Arrow's own type for JSON text, for engines that support it (DuckDB,
    `datasets`); others treat it as an unknown type, or refuse it."""
    if isinstance(found, pa.Schema):
        return pa.schema([with_json(field) for field in found], metadata=found.metadata)
    if isinstance(found, pa.Field):
        is_json = found.metadata is not None and b"interlingua" in found.metadata
        return found.with_type(pa.json_(pa.string()) if is_json else with_json(found.type))
    if pa.types.is_list(found):
        return pa.list_(with_json(found.value_field))
    if pa.types.is_struct(found):
        return pa.struct([with_json(field) for field in found])
    return found
