"""Texts and thoughts, what is said as text, and what all writers of parts carry along."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Table, constant, plain
from interlingua.dialects.kernel.kept import FORM, Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text, snake_case
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock


class Turn(msgspec.Struct):
    """What is being written: `names` are those of the calls so far, by id; `placed` the part of
    each block so far, -1 for one left out; `cites` says whether citations have a place."""

    recorder: LossRecorder
    model: bool = False
    cites: bool = False
    names: dict[str, str] = {}
    placed: list[int] = []


# -- what parts share -----------------------------------------------------------------------------

SIGNED = plain("thoughtSignature", "signature", str)
_UNTHOUGHT = Field(
    "thought", (), lambda given: {} if given is False else NOT_OURS, lambda _, __: None
)


def part_table(cls: type[Any], *fields: Field, silent: tuple[str, ...] = ()) -> Table:
    """A part that is no thought; it may say so."""
    return Table(cls, *fields, _UNTHOUGHT, silent=silent, also_named=snake_case)


def read_beside(part: Wire, key: str, kind: str) -> tuple[str | None, Wire] | None:
    """What a part says beside the one key that is of this kind, where nothing is unusual in it: its
    signature, and how it is spelled."""
    form: Wire = {} if key == kind else {"named": {kind: key}}
    signature, left = part.get("thoughtSignature"), len(part) - 1
    if left and signature is None and (signature := part.get("thought_signature")) is not None:
        form.setdefault("named", {})["thoughtSignature"] = "thought_signature"
    if left and part.get("thought") is False:
        form["spelled"] = {"thought": False}
        left -= 1
    return None if left != (type(signature) is str) else (signature, form)


# -- texts and thoughts ---------------------------------------------------------------------------

_TEXT = plain("text", "text", str, missing="")
TEXT = part_table(TextBlock, _TEXT, SIGNED, silent=("citations",))
THOUGHT = Table(ThinkingBlock, _TEXT, SIGNED, constant("thought", True), also_named=snake_case)


def quick_text(inner: Any, part: Wire, key: str, calls: Any) -> TextBlock | None:
    beside = read_beside(part, key, key) if type(inner) is str else None
    if beside is None:
        return None
    signature, form = beside
    return TextBlock(inner, signature, raw={NAME: {FORM: form}} if form else None)


def read_text(part: Wire, kept: Kept) -> Block:
    if part.get("thought") is True:
        return THOUGHT.read_value(ThinkingBlock, part, NAME, kept)
    return TEXT.read_value(TextBlock, part, NAME, kept)


def write_text(block: TextBlock, turn: Turn) -> Wire:
    if block.raw is None and block.cache is None and block.phase is None and not block.citations:
        if block.signature is None:
            return {"text": block.text}
        return {"text": block.text, "thoughtSignature": block.signature}
    return _write_text(block, turn)


def _write_text(block: TextBlock, turn: Turn) -> Wire:
    if block.citations and not turn.cites:
        turn.recorder.lost(block, "citations")
    return TEXT.write_value(block, turn.recorder)


def write_thinking(block: ThinkingBlock, turn: Turn) -> Wire:
    return THOUGHT.write_value(block, turn.recorder)


def drop_redacted(block: model.RedactedThinkingBlock, turn: Turn) -> None:
    turn.recorder.dropped(block, f"{NAME} has no encrypted thinking of its own")


# -- what is said as text, or as it came ----------------------------------------------------------


def write_refusal(block: model.RefusalBlock, turn: Turn) -> Wire:
    reason = f"{NAME} has no refusals in a message; said as text"
    turn.recorder.lost(block, None, reason, kind="downgraded")
    turn.recorder.unwritten(block, frozenset({"text"}))
    return {"text": block.text}


def write_compaction(block: model.CompactionBlock, turn: Turn) -> Wire | None:
    text = compaction_as_text(block, turn.recorder)
    return None if text is None else write_text(text, turn)
