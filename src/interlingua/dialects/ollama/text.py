"""Texts, and what is said as one: refusals, summaries of history, documents that are text. Thinking
is a text beside the answer, unsigned."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import compaction_as_text, document_text
from interlingua.dialects.ollama.tables import JOINER
from interlingua.model import blocks as model

_SAID = frozenset({"text"})


def write_text(block: model.TextBlock, recorder: LossRecorder) -> str | None:
    if not block.text:
        recorder.dropped(block, "empty", "info")
        return None
    if block.signature or block.citations or block.cache or block.raw or block.phase:
        recorder.unwritten(block, _SAID)
    return block.text


def write_thinking(block: model.ThinkingBlock, recorder: LossRecorder) -> str | None:
    if not block.text:
        recorder.dropped(block, "nothing of it can be read")
        return None
    recorder.unwritten(block, _SAID)
    return block.text


def write_refusal(block: model.RefusalBlock, recorder: LossRecorder) -> str:
    recorder.lost(block, None, "said as text", kind="downgraded")
    return block.text


def write_compaction(block: model.CompactionBlock, recorder: LossRecorder) -> str | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


def write_document(block: model.DocumentBlock, recorder: LossRecorder) -> str | None:
    text = document_text(block.source, JOINER)
    if text is None:
        recorder.dropped(block)
    else:
        recorder.lost(block, None, "said as text", kind="downgraded")
    return text
