"""What writing a stream home and abroad have in common."""

from __future__ import annotations

from interlingua.dialects.base import Quiet
from interlingua.dialects.gemini.tables import NAME
from interlingua.losses import Report
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.events import ToolUseEnd, ToolUseStart
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason

QUIET = Quiet(NAME, None, Report(NAME))
FAILED = Message(Role.ASSISTANT, metadata=MessageMetadata(stop_reason=StopReason.ERROR))
"""What stands beside an error where there is no message."""


def call_of(start: ToolUseStart, end: ToolUseEnd) -> ToolUseBlock:
    """The call that these events tell."""
    return ToolUseBlock(
        start.id,
        start.name,
        end.input,
        raw_arguments=end.raw_arguments,
        signature=end.signature,
        executor=start.executor,
        call_type=start.call_type,
        raw=start.raw if end.raw is None else end.raw,
    )
