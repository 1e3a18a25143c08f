"""What a turn is made of: which key is read as which block, and which block is written how."""

from __future__ import annotations

from interlingua.dialects.bedrock import calls, media, text, thinking
from interlingua.dialects.bedrock.parts import (
    READERS,
    WRITERS,
    points_ahead,
    read_parts,
    write_parts,
    write_unknown,
)
from interlingua.model.blocks import (
    AudioBlock,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)

__all__ = ["points_ahead", "read_parts", "write_parts"]

READERS.update(
    {
        "text": text.read_text,
        "toolUse": calls.read_tool_use,
        "toolResult": calls.read_tool_result,
        "reasoningContent": thinking.read_reasoning,
        "citationsContent": text.read_cited,
        "guardContent": text.read_guard,
        "audio": media.read_audio,
        **media.READERS,
    }
)
WRITERS.update(
    {
        TextBlock: text.write_text,
        RefusalBlock: text.write_refusal,
        CompactionBlock: text.write_compaction,
        ThinkingBlock: thinking.write_thinking,
        RedactedThinkingBlock: thinking.write_redacted,
        ToolUseBlock: calls.write_tool_use,
        ToolResultBlock: calls.write_tool_result,
        ImageBlock: media.write_media,
        AudioBlock: media.write_media,
        VideoBlock: media.write_media,
        DocumentBlock: media.write_media,
        UnknownBlock: write_unknown,
    }
)
