"""Blocks while they are written into a stream."""

from __future__ import annotations

from interlingua.dialects.base import Quiet, Wire
from interlingua.dialects.ollama.content import write_blocks
from interlingua.dialects.ollama.tables import NAME
from interlingua.losses import Report
from interlingua.model.blocks import Block
from interlingua.model.events import ToolUseStart
from interlingua.model.message import Role

QUIET = Quiet(NAME, None, Report(NAME))


def message_of(block: Block) -> Wire | None:
    """The message of a line that says this block; None where it has no place."""
    out: Wire = {"role": "assistant"}
    write_blocks((block,), Role.ASSISTANT, out, QUIET, is_answer=True)
    return out if out["content"] or len(out) > 2 else None


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
