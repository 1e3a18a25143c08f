"""Thoughts: a step with a summary and a signature. Each part of the summary is a block; what the
step says besides, its signature first, is on the last of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import NAME, THOUGHT
from interlingua.dialects.kernel.errors import ShapeError, each, take, want
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.kept import Kept, form_of, kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import ThinkingBlock

PART = "$part"
"""What a part of a summary says beside its text, or all of one that is no text."""
THOUGHT_STEP = Table(
    ThinkingBlock,
    plain("signature", "signature", str, blank=True),
    beside=("type", "summary"),
    silent=("text",),
)


def read_thought(step: Wire) -> list[ThinkingBlock]:
    if len(step) == 2 and type(signature := step.get("signature")) is str and signature:
        return [ThinkingBlock("", signature)]  # what there nearly always is
    return _read_thought(step)


def _read_thought(step: Wire) -> list[ThinkingBlock]:
    summary, last = step.get("summary"), Kept()
    attrs = THOUGHT_STEP.read(step, last)
    if not summary:
        if "summary" in step:
            last.spell("summary", summary if summary is None else want(summary, list, ".summary"))
        return [ThinkingBlock("", **attrs, raw=last.raw(NAME))]
    parts = each(summary, ".summary", _read_part)
    blocks = [_block(part, number, Kept()) for number, part in enumerate(parts[:-1])]
    return [*blocks, _block(parts[-1], len(blocks), last, **attrs)]


def _read_part(part: Any) -> Wire:
    if want(part, dict).get("type") == "text":
        take(part, "text", str)
    elif type(part.get("type")) is not str:
        raise ShapeError(".type", "a string", part.get("type"))
    return part  # type: ignore[no-any-return]  # an object


def _block(part: Wire, number: int, kept: Kept, **attrs: Any) -> ThinkingBlock:
    """That it goes on with the step before, and has a part although it says nothing, only the wire
    tells (`joined`, `said`)."""
    is_text = part["type"] == "text"
    text = part["text"] if is_text else ""
    beside = {k: v for k, v in part.items() if k not in ("type", "text")} if is_text else part
    if beside:
        kept.rest[PART] = beside
    if number:
        kept.form["joined"] = True
    if not text and is_text:
        kept.form["said"] = True
    return ThinkingBlock(text, **attrs, raw=kept.raw(NAME))


def write_thought(block: ThinkingBlock, steps: list[Wire], recorder: LossRecorder) -> None:
    """A step, or one more part of the one before."""
    form = form_of(NAME, block.raw)
    part = _part_of(block, form)
    before = steps[-1] if steps and form.get("joined") else None
    joins = before is not None and before["type"] == THOUGHT and "signature" not in before
    out: Wire = before if joins and before is not None else {"type": THOUGHT}
    if part is not None:
        out["summary"] = [*out.get("summary", ()), part]
    _put_rest(block, out, recorder)
    if not joins:
        steps.append(out)


def _put_rest(block: ThinkingBlock, out: Wire, recorder: LossRecorder) -> None:
    THOUGHT_STEP.write(block, out, mine_of(NAME, block.raw), recorder)
    if block.raw is not None:
        put_back(out, block, block.raw, recorder)
        out.pop(PART, None)


def _part_of(block: ThinkingBlock, form: Wire) -> Wire | None:
    beside = kept(NAME, block.raw).get(PART)
    beside = beside if type(beside) is dict else {}
    if block.text or form.get("said") or (beside and "type" not in beside):
        return {**beside, "type": "text", "text": block.text}
    return beside or None
