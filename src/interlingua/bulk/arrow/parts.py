"""Which fields of blocks, messages and tools have columns: what the writer and the reader share."""

from __future__ import annotations

from interlingua.bulk.arrow.rest import Rest
from interlingua.model.blocks import BLOCK_TYPES
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from interlingua.model.tools import ToolDefinition
from interlingua.store.rows import SessionRow

_MEDIA = ("source", "media_type", "name")
BLOCK_COLUMNS: dict[str, tuple[str, ...]] = {
    "text": ("text", "signature"),
    "thinking": ("text", "signature", "id"),
    "redacted_thinking": (),
    "tool_use": ("id", "name", "input", "raw_arguments", "signature"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "image": _MEDIA,
    "audio": _MEDIA,
    "video": _MEDIA,
    "document": _MEDIA,
    "refusal": ("text",),
    "compaction": ("text", "signature"),
    "unknown": (),
}
BLOCKS: dict[str, Rest] = {
    name: Rest(cls, *BLOCK_COLUMNS[name]) for name, cls in BLOCK_TYPES.items()
}
MESSAGE = Rest(Message, "role", "content", "name", "id", "created_at", "metadata")
METADATA = Rest(
    MessageMetadata,
    *("model", "provider", "protocol", "stop_reason", "status", "parent_tool_use_id"),
)
TOOL = Rest(ToolDefinition, "name", "description", "input_schema")
OPTIONS = Rest(Options)
REQUEST = Rest(Request, "messages", "model", "tools", "options")
RESPONSE = Rest(Response, "message", "alternatives")
SESSION = Rest(SessionRow, "id", "name", "active_model", "created_at", "updated_at")
