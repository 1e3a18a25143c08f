"""Texts, and what is said as one; and what all content has: how parts are read and written.

A part of a `model_output` says on its first block what its step says beside it (`$step`): that is
no part of the block."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.citations import read_citations, write_citations
from interlingua.dialects.gemini_interactions.media import read_media, write_media
from interlingua.dialects.gemini_interactions.tables import MEDIA, NAME
from interlingua.dialects.kernel.errors import each, take, want
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back, write_unknown
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    UnknownBlock,
    VideoBlock,
)

STEP = "$step"
TEXT = Table(
    TextBlock,
    plain("text", "text", str),
    lost("signature", "signs no text here"),
    beside=("type", "annotations"),
    silent=("citations",),
)
REFUSAL = Table(RefusalBlock, plain("text", "text", str))


# -- reading --------------------------------------------------------------------------------------


def read_text(part: Wire) -> TextBlock:
    text = part.get("text")
    if len(part) == 2 and type(text) is str:
        return TextBlock(text)
    return _read_text(part)


def _read_text(part: Wire) -> TextBlock:
    text, kept = take(part, "text", str), Kept()
    attrs = TEXT.read(part, kept)
    cited = part.get("annotations")
    if cited:
        attrs["citations"] = read_citations(cited, text)
    elif "annotations" in part:
        kept.spell("annotations", cited if cited is None else want(cited, list, ".annotations"))
    return TextBlock(**attrs, raw=kept.raw(NAME))


def read_content(part: Any) -> Block:
    """A piece of content; one that we do not know is kept as it is."""
    kind = want(part, dict).get("type")
    if kind == "text":
        return read_text(part)
    return read_media(part) if type(kind) is str and kind in MEDIA else UnknownBlock({NAME: part})


def read_contents(listed: Any, path: str) -> list[Block]:
    return each(listed, path, read_content)


# -- writing --------------------------------------------------------------------------------------


def write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    bare = block.raw is None and block.cache is None and block.signature is None
    if bare and not block.citations and block.phase is None:
        return {"type": "text", "text": block.text}
    return _write_text(block, recorder)


def _write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": "text"}
    TEXT.write(block, out, mine_of(NAME, block.raw), recorder)
    if block.citations and (cited := write_citations(block, recorder)):
        out["annotations"] = cited
    return dressed(out, block, recorder)


def dressed(out: Wire, block: Any, recorder: LossRecorder) -> Wire:
    """A part with what was kept of it."""
    if block.raw is not None:
        put_back(out, block, block.raw, recorder)
        out.pop(STEP, None)
    return out


def write_refusal(block: RefusalBlock, recorder: LossRecorder) -> Wire:
    recorder.lost(block, None, "said as text", kind="downgraded")
    out: Wire = {"type": "text"}
    REFUSAL.write(block, out, mine_of(NAME, block.raw), recorder)
    return dressed(out, block, recorder)


def write_compaction(block: CompactionBlock, recorder: LossRecorder) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


def _write_document(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    """One that is text is said as text, for there is no data; one that is sound or film by its type
    is said as that."""
    if NAME in (block.raw or ()):
        return _write_media(block, recorder)
    text, kind = _text_in(block), (block.media_type or "").partition("/")[0]
    if text is not None:
        recorder.lost(block, None, "said as text", kind="downgraded")
        return {"type": "text", "text": text}
    part = _write_media(block, recorder)
    if part is not None and kind in MEDIA:
        recorder.lost(block, None, f"said as {kind}", kind="approximated")
        part["type"] = kind
    return part


def _text_in(block: DocumentBlock) -> str | None:
    source = block.source
    inner = source.content or ()
    if source.kind == "text":
        return source.data or ""
    if source.kind == "blocks" and all(type(each) is TextBlock for each in inner):
        return "\n".join([each.text for each in inner if type(each) is TextBlock])
    return None


def _write_media(block: Any, recorder: LossRecorder) -> Wire | None:
    out = write_media(block, recorder)
    return None if out is None else dressed(out, block, recorder)


WRITERS: dict[type[Block], Any] = {
    TextBlock: write_text,
    RefusalBlock: write_refusal,
    CompactionBlock: write_compaction,
    UnknownBlock: write_unknown,
    **dict.fromkeys((ImageBlock, AudioBlock, VideoBlock), _write_media),
    DocumentBlock: _write_document,
}
"""What has a place among content, and how it is written."""


def write_content(block: Block, recorder: LossRecorder) -> Wire | None:
    """None for what has no place here."""
    write = WRITERS.get(type(block))
    if write is None:
        recorder.dropped(block, "no content of a message")
        return None
    part: Wire | None = write(block, recorder)
    return part
