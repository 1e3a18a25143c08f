"""Content parts: text, images, files and refusals, in messages and in results."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, compaction_as_text, expect
from interlingua.dialects.openai_responses.citations import read_citation, write_citation
from interlingua.dialects.openai_responses.media import (
    part_raw,
    read_cache,
    read_file,
    read_image,
    write_cache,
    write_file,
    write_image,
)
from interlingua.dialects.openai_responses.spelling import (
    form,
    inside,
    is_kept,
    is_ours,
    put_back,
)
from interlingua.dialects.openai_responses.tables import (
    NAME,
)
from interlingua.errors import ReadError, found
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    UnknownBlock,
)

_SAID_TEXT = frozenset({"text", "cache"})
_SAID_MADE = frozenset({"text", "citations", "phase"})


# Reading -------------------------------------------------------------------------------------


def read_parts(parts: list[Any], made: bool, place: str) -> list[Block]:
    """`made` parts are a model's: there the plain kind of text is `output_text`."""
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        try:
            blocks.append(read_part(part, made))
        except ReadError as odd:
            raise inside(odd, f"{place}[{index}]") from None
    return blocks


def read_part(part: Any, made: bool = False) -> Block:
    if type(part) is not dict:
        raise ReadError(NAME, "$", "an object", found(part))
    kind = part.get("type")
    if kind == "input_text":
        text = part.get("text")
        if len(part) == 2 and not made and type(text) is str:
            return TextBlock(text)
        return _read_text(part, kind, made)
    if kind == "output_text":
        text = part.get("text")
        if len(part) == 3 and made and part.get("annotations") == [] and type(text) is str:
            return TextBlock(text)
        return _read_text(part, kind, made)
    if kind == "input_image":
        return read_image(part, made)
    if kind == "input_file":
        return read_file(part, made)
    if kind == "refusal":
        return _read_refusal(part)
    return UnknownBlock({NAME: {**part, "$form": {"part": True}}} if made else {NAME: part})


def _read_text(part: Wire, kind: str, made: bool) -> TextBlock:
    text = expect(part.get("text"), str, NAME, "$.text")
    spelling: Wire = {}
    known = {"type", "text"}
    if (kind == "output_text") is not made:
        spelling["type"] = kind
    notes = part.get("annotations")
    citations: tuple[Any, ...] = ()
    if kind == "output_text":
        if type(notes) is list and all(type(note) is dict for note in notes):
            citations = tuple([read_citation(note) for note in notes])
            known.add("annotations")
        elif "annotations" not in part:
            spelling["absent"] = ["annotations"]
    cache = None if made else read_cache(part, known)
    return TextBlock(text, None, citations, cache, part_raw(part, known, spelling))


def _read_refusal(part: Wire) -> RefusalBlock:
    text = expect(part.get("refusal"), str, NAME, "$.refusal")
    if len(part) == 2:
        return RefusalBlock(text)
    return RefusalBlock(text, raw=part_raw(part, {"type", "refusal"}, {}))


# Writing -------------------------------------------------------------------------------------


def is_plain(block: Block) -> bool:
    """Text with nothing about it that a string could not say."""
    return (
        type(block) is TextBlock
        and block.raw is None
        and block.cache is None
        and not block.citations
        and block.signature is None
        and block.phase is None
    )


def write_part(block: Block, scribe: Scribe, made: bool = False) -> Wire | None:
    """None where the block has no place in a message or result; the report says so."""
    match block:
        case TextBlock():
            return _write_text(block, scribe, made)
        case ImageBlock() if not made or form(block.raw).get("type"):
            return write_image(block, scribe)
        case DocumentBlock() if not made or form(block.raw).get("type"):
            return write_file(block, scribe)
        case RefusalBlock() if made:
            if block.raw is not None or block.cache is not None:
                scribe.unsaid(block, _SAID_MADE)
            return put_back({"type": "refusal", "refusal": block.text}, block.raw)
        case CompactionBlock():
            text = compaction_as_text(block, scribe)
            return None if text is None else _write_text(text, scribe, made)
        case UnknownBlock() if NAME in block.raw:
            return put_back({}, block.raw)
        case UnknownBlock():
            scribe.dropped(block, "only the dialect that read it can write it")
        case _:
            scribe.dropped(block)
    return None


def _write_text(block: TextBlock, scribe: Scribe, made: bool) -> Wire:
    if is_plain(block):
        if made:
            return {"type": "output_text", "text": block.text, "annotations": []}
        return {"type": "input_text", "text": block.text}
    spelling = form(block.raw)
    kind = spelling.get("type") or ("output_text" if made else "input_text")
    part = {"type": kind, "text": block.text}
    if kind == "output_text":
        written = [write_citation(each, scribe) for each in block.citations]
        notes = [note for note in written if note is not None]
        if notes or not is_kept(block.raw, "annotations"):
            part["annotations"] = notes
    if block.phase is not None and not made:
        scribe.lost(block, "phase", "only a model's text has one")
    if not (is_ours(block.raw) and block.signature is None and block.cache is None):
        said = _SAID_MADE if kind == "output_text" else _SAID_TEXT
        scribe.unsaid(block, said if made else said | _SAID_TEXT | {"phase"})
    elif block.citations and kind != "output_text":
        scribe.lost(block, "citations")
    if not made:
        write_cache(part, block, scribe)
    return put_back(part, block.raw)
