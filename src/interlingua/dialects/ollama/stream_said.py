"""Blocks while they are written into a stream."""

from __future__ import annotations

from interlingua.dialects.base import Quiet, Wire
from interlingua.dialects.ollama.content import write_blocks
from interlingua.dialects.ollama.tables import NAME
from interlingua.losses import Report
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.events import ToolUseEnd, ToolUseStart
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason

QUIET = Quiet(NAME, None, Report(NAME))
FAILED = Message(Role.ASSISTANT, metadata=MessageMetadata(stop_reason=StopReason.ERROR))
"""What stands beside an error where there is no message."""


def message_of(block: Block) -> Wire | None:
    """The message of a line that says this block; None where it has no place."""
    out: Wire = {"role": "assistant"}
    write_blocks((block,), Role.ASSISTANT, out, QUIET)
    return out if out["content"] or len(out) > 2 else None


def call_of(start: ToolUseStart, end: ToolUseEnd) -> ToolUseBlock:
    """The call that these events tell."""
    return ToolUseBlock(
        start.id,
        start.name,
        end.input,
        executor=start.executor,
        call_type=start.call_type,
        raw_arguments=end.raw_arguments,
        signature=end.signature,
        raw=start.raw if end.raw is None else end.raw,
    )


class Said:
    """A block on its way: how its pieces begin, and how much was said of it."""

    __slots__ = ("before", "head", "index", "kind", "length", "start")

    def __init__(self, index: int, kind: int | None = None, before: str = "") -> None:
        self.index = index
        self.kind = kind
        self.before = before
        """Stands before the first piece."""
        self.head: str | None = None
        """How a piece begins, once there was one."""
        self.length = 0
        self.start: ToolUseStart | None = None
