"""Texts, and what is said as one: refusals and summaries of history. The text before calls is a
plan, which stands beside the content."""

from __future__ import annotations

from interlingua.dialects.cohere.tables import COMMENTARY, NAME
from interlingua.dialects.kernel.errors import take
from interlingua.dialects.kernel.kept import Kept, form_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.blocks import Block, CompactionBlock, RefusalBlock, TextBlock

_KEYS = frozenset({"type", "text"})
_SAID = frozenset({"text", "citations", "raw"})
_SAID_OF_PLAN = frozenset({"text", "citations", "phase"})
_ALONE = {NAME: {"$form": {"alone": True}}}
"""A plan without calls, which no text of others becomes: the wire says it is of a message with
calls (`cohere` 7.3.1, read 2026-11-15)."""


def read_text(part: Wire) -> TextBlock:
    text = take(part, "text", str)
    if len(part) == 2:
        return TextBlock(text)
    kept = Kept()
    kept.add_others(part, _KEYS)
    return TextBlock(text, raw=kept.raw(NAME))


def write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    if block.signature or block.cache or block.phase:
        recorder.unwritten(block, _SAID)
    out: Wire = {"type": "text", "text": block.text}
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


def write_refusal(block: RefusalBlock, recorder: LossRecorder) -> Wire:
    recorder.lost(block, None, "said as text", kind="downgraded")
    return {"type": "text", "text": block.text}


def write_compaction(block: CompactionBlock, recorder: LossRecorder) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


# -- plans ----------------------------------------------------------------------------------------


def read_plan(text: str, has_calls: bool) -> TextBlock:
    return TextBlock(text, phase=COMMENTARY, raw=None if has_calls else _ALONE)


def is_commentary(block: Block) -> bool:
    return type(block) is TextBlock and block.phase == COMMENTARY and block.text != ""


def was_plan(block: Block) -> bool:
    """Whether the wire itself had this as a plan without calls."""
    return "alone" in form_of(NAME, block.raw)


def write_plan(block: TextBlock, recorder: LossRecorder) -> str:
    recorder.unwritten(block, _SAID_OF_PLAN)
    return block.text
