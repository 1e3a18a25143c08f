"""The parts of a turn by their type, two ways. Nothing else imports the modules of single parts."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic import calls, hosted, media, text, thinking
from interlingua.dialects.anthropic.parts import READERS, WRITERS, read_parts, write_parts
from interlingua.dialects.anthropic.tables import MARKERS
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)

__all__ = ["read_parts", "write_parts"]

READERS.update(
    {
        "text": text.read_text,
        "thinking": thinking.read_thinking,
        "redacted_thinking": thinking.read_redacted,
        "compaction": thinking.read_compaction,
        "tool_use": calls.read_tool_use,
        "tool_result": calls.read_tool_result,
        "tool_reference": text.read_tool_reference,
        "image": media.read_image,
        "document": media.read_document,
        "search_result": media.read_search_result,
        "container_upload": media.read_container_upload,
        "web_search_result": media.read_web_search_result,
        "server_tool_use": hosted.read_call,
        "mcp_tool_use": hosted.read_call,
        "*_tool_result": hosted.read_result,
        **dict.fromkeys(MARKERS, text.read_marker),
    }
)

_WRITERS: dict[type[Block], Any] = {
    TextBlock: text.write_text,
    ThinkingBlock: thinking.write_thinking,
    RedactedThinkingBlock: thinking.write_redacted,
    RefusalBlock: text.write_refusal,
    CompactionBlock: thinking.write_compaction,
    ToolUseBlock: calls.write_tool_use,
    ToolResultBlock: calls.write_tool_result,
    ImageBlock: media.write_image,
    DocumentBlock: media.write_document,
    AudioBlock: media.write_nothing,
    VideoBlock: media.write_nothing,
}
WRITERS.update(_WRITERS)
