"""Thinking, signed or redacted, and the history that a compaction leaves."""

from __future__ import annotations

from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import ANSWER, CACHE, Place, is_odd, is_silent, write_text
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, mine_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.blocks import CompactionBlock, RedactedThinkingBlock, ThinkingBlock

# No breakpoint may stand on thinking, so that only one that the wire had is written.
_UNCACHED = CACHE._replace(write=lost("cache", "no breakpoint may stand on thinking").write)
THINKING = Table(
    ThinkingBlock,
    plain("thinking", "text", str),
    # Answers have to have one.
    plain("signature", "signature", str, blank=True, fill=lambda _: ""),
    _UNCACHED,
    beside=("type",),
)
REDACTED = Table(RedactedThinkingBlock, plain("data", "data", str), _UNCACHED, beside=("type",))
COMPACTION = Table(
    CompactionBlock,
    plain("content", "text", str),
    plain("encrypted_content", "data", str),
    plain("signature", "signature", str),
    lost("replaces", "it stands for all that came before", severity="info"),
    CACHE,
    beside=("type",),
)
"""History in a shorter form, with its summary; null where the service could not make one."""


def read_thinking(part: Wire, place: Place) -> ThinkingBlock:
    """Empty text is legal: the model thought, and only the signature was to be shown."""
    text, signature = part.get("thinking"), part.get("signature")
    if len(part) == 3 and type(signature) is str and signature and type(text) is str:
        return ThinkingBlock(text, signature)
    return _read_thinking(part, place)


def _read_thinking(part: Wire, place: Place) -> ThinkingBlock:
    odd = place is not ANSWER and not part.get("signature")
    kept = Kept(form={"odd": True} if odd else {})
    return THINKING.read_value(ThinkingBlock, part, NAME, kept)


def write_thinking(block: ThinkingBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    bare = block.cache is None and block.id is None and is_silent(block.raw)
    if bare and block.signature and place.is_models:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return _write_thinking(block, place, recorder)


def _write_thinking(block: ThinkingBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    if mine_of(NAME, block.raw).get("type") == "compaction":  # as earlier versions stored it
        new = CompactionBlock(block.text, None, block.signature, None, block.cache, block.raw)
        recorder.alias(new, block)
        return COMPACTION.write_value(new, recorder, {"type": "compaction"})
    problem = None if place.is_models else "only a model thinks"
    if place is not ANSWER and not block.signature:
        problem = problem or "it has no signature"
    if problem is not None and not is_odd(block.raw):
        recorder.dropped(block, problem)
        return None
    return THINKING.write_value(block, recorder, {"type": "thinking"})


def write_redacted(
    block: RedactedThinkingBlock, place: Place, recorder: LossRecorder
) -> Wire | None:
    if not place.is_models and not is_odd(block.raw):
        recorder.dropped(block, "only a model thinks")
        return None
    return REDACTED.write_value(block, recorder, {"type": "redacted_thinking"})


def write_compaction(block: CompactionBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    here = place.is_models or is_odd(block.raw)
    ours = block.raw is not None and NAME in block.raw
    if not here or (block.text is None and block.data is not None and not ours):
        text = compaction_as_text(block, recorder)
        return None if text is None else write_text(text, place, recorder)
    return COMPACTION.write_value(block, recorder, {"type": "compaction"})
