"""Text, and what is said as text: refusals, text for guardrails, changes of the tools."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, compaction_as_text
from interlingua.dialects.bedrock import cited, media
from interlingua.dialects.bedrock.parts import ODD, beside, finish
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.bedrock.tables import MARKERS, NAME
from interlingua.dialects.shape import take, want
from interlingua.model.blocks import Block, CompactionBlock, RefusalBlock, TextBlock


def read_text(text: Any) -> TextBlock:
    return TextBlock(want(text, str), raw=None if text else ODD)


def write_text(block: TextBlock, scribe: Scribe, answer: bool) -> Wire | None:
    form = form_of(block.raw)
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no text here")
    if block.phase is not None:
        scribe.lost(block, "phase")
    if form.get("as") in MARKERS:
        return _write_marker(block, form["as"], scribe)
    if form.get("as") == "guardContent":
        return _write_guard(block, scribe)
    if block.citations or form.get("cited"):
        return finish("citationsContent", cited.write(block, form, scribe), block, scribe)
    if not block.text and not answer and not form.get("odd"):
        scribe.dropped(block, "empty", "info")
        return None
    return plain(block, scribe)


def plain(block: TextBlock | RefusalBlock, scribe: Scribe) -> Wire:
    out: Wire = {"text": block.text}
    return out if block.raw is None else beside(put_back(out, block, scribe, block.raw), block.raw)


def write_refusal(block: RefusalBlock, scribe: Scribe, answer: bool) -> Wire:
    scribe.lost(block, None, "said as text", kind="downgraded")
    return plain(block, scribe)


def write_compaction(block: CompactionBlock, scribe: Scribe, answer: bool) -> Wire | None:
    said = compaction_as_text(block, scribe)
    return None if said is None else plain(said, scribe)


def _write_marker(block: TextBlock, kind: str, scribe: Scribe) -> Wire:
    """A change of the tools as messages of earlier versions of this package have it."""
    if not block.text:
        return finish(kind, {}, block, scribe)
    scribe.lost(block, f"raw.{NAME}", "a part says one thing, and this one its text")
    return {"text": block.text}


def read_guard(inner: Any) -> Block | None:
    want(inner, dict)
    if len(inner) != 1:
        return None
    if "image" in inner:
        image = media.read_image(inner["image"])
        if image is None:
            return None
        form = {**form_of(image.raw), "as": "guardContent"}
        return image.replace(raw={NAME: {**mine_of(image.raw), "$form": form}})
    if type(inner.get("text")) is not dict:
        return None
    text = take(inner["text"], "text", str)
    return TextBlock(text, raw=spare(inner["text"], ("text",), {}, {"as": "guardContent"}))


def _write_guard(block: TextBlock, scribe: Scribe) -> Wire:
    if block.citations:
        scribe.lost(block, "citations", "text for a guardrail cites nothing")
    out: Wire = {"text": block.text}
    if block.raw is None:
        return {"guardContent": {"text": out}}
    return beside({"guardContent": {"text": put_back(out, block, scribe, block.raw)}}, block.raw)


def read_cited(inner: Any) -> TextBlock | None:
    return cited.read(want(inner, dict))
