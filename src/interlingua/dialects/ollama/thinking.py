"""Thinking: a text beside the answer, unsigned."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import ThinkingBlock

_SAID = frozenset({"text"})


def write_thinking(block: ThinkingBlock, recorder: LossRecorder) -> str | None:
    if not block.text:
        recorder.dropped(block, "nothing of it can be read")
        return None
    recorder.unwritten(block, _SAID)
    return block.text
