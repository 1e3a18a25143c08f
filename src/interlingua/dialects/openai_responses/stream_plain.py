"""Pieces of blocks: the frames that there are most of, so they are read the fastest way."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from interlingua.dialects.openai_responses.stream_frames import (
    ARGUMENTS,
    INPUT,
    MCP,
    SUMMARIZED,
    TEXT,
    THOUGHT,
    Piece,
)
from interlingua.model.events import TextDelta, ThinkingDelta, ToolUseInputDelta

UNSET = msgspec.UNSET


class _Plain(msgspec.Struct, tag_field="type", forbid_unknown_fields=True, kw_only=True, gc=False):
    """The frames that there are most of, with nothing unusual in them."""

    item_id: str
    output_index: int
    delta: str
    sequence_number: int | msgspec.UnsetType = UNSET
    obfuscation: str | msgspec.UnsetType = UNSET


class _Text(_Plain, tag=TEXT.delta):
    number: int = msgspec.field(name="content_index")
    logprobs: list[Any] | msgspec.UnsetType = UNSET


class _Thought(_Plain, tag=THOUGHT.delta):
    number: int = msgspec.field(name="content_index")
    logprobs: ClassVar[Any] = UNSET


class _Summary(_Plain, tag=SUMMARIZED.delta):
    number: int = msgspec.field(name="summary_index")
    logprobs: ClassVar[Any] = UNSET


class _Arguments(_Plain, tag=ARGUMENTS.delta):
    number: ClassVar[None] = None
    logprobs: ClassVar[Any] = UNSET


class _Input(_Plain, tag=INPUT.delta):
    number: ClassVar[None] = None
    logprobs: ClassVar[Any] = UNSET


class _Mcp(_Plain, tag=MCP.delta):
    number: ClassVar[None] = None
    logprobs: ClassVar[Any] = UNSET


PlainDelta = _Text | _Thought | _Summary | _Arguments | _Input | _Mcp

TAKES: dict[Piece | None, tuple[Any, Any]] = {
    TEXT: (_Text, TextDelta),
    THOUGHT: (_Thought, ThinkingDelta),
    SUMMARIZED: (_Summary, ThinkingDelta),
    ARGUMENTS: (_Arguments, ToolUseInputDelta),
    INPUT: (_Input, ToolUseInputDelta),
    MCP: (_Mcp, ToolUseInputDelta),
}
"""The plain frame of a piece, and its event; others are deltas of a field."""
