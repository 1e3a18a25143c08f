"""Thinking: an item of the content, unsigned."""

from __future__ import annotations

from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.kernel.errors import take
from interlingua.dialects.kernel.kept import Kept, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import ThinkingBlock

_KEYS = frozenset({"type", "thinking"})
_SAID = frozenset({"text", "raw"})


def read_thinking(part: Wire) -> ThinkingBlock:
    kept = Kept()
    kept.add_others(part, _KEYS)
    return ThinkingBlock(take(part, "thinking", str), raw=kept.raw(NAME))


def write_thinking(block: ThinkingBlock, recorder: LossRecorder) -> Wire | None:
    if not block.text and block.signature is not None:
        recorder.dropped(block, "nothing of it can be read")
        return None
    recorder.unwritten(block, _SAID)
    out: Wire = {"type": "thinking", "thinking": block.text}
    return out if block.raw is None else put_back(out, block, block.raw, recorder)
