"""Content parts: text, media, refusals, Mistral's chunks.

A part whose type `Tables.parts` does not grant to its role is read all the same; `$form.part` then
says that it stood there, and only so is such a part written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interlingua.dialects.base import Scribe, Wire, compaction_as_text
from interlingua.dialects.openai_chat import chunks, documents, media
from interlingua.dialects.openai_chat.cache import MARKS, read_cache, write_cache
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    whole,
)
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
    VideoBlock,
)

Fields = dict[str, Any]
Parts = frozenset[str]


# Reading


def read_parts(content: Any, granted: Parts, t: Tables) -> list[Block]:
    """The parts of a content list, each as one block."""
    return each(content, ".content", lambda part: read_part(part, granted, t))


def read_part(part: Any, granted: Parts, t: Tables) -> Block:
    if type(part) is not dict:
        if type(part) is str:
            return TextBlock(part, raw={t.name: {"$form": {"part": "string"}}})
        raise ShapeError("", "an object", part)
    kind = part.get("type")
    if kind == "text" and len(part) == 2 and type(part.get("text")) is str and "text" in granted:
        return TextBlock(part["text"])
    if kind == "file" and part.get("file") is None:
        kind = "file_id"
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        block, read, keys = reader
        note = Note()
        fields = read(part, t, note)
        if fields is not None:
            return _finish(block, fields, part, keys, granted, t, note)
    return UnknownBlock(keep_whole(t.name, part, {}))


def _finish(
    block: Any, fields: Fields, part: Wire, keys: Parts, granted: Parts, t: Tables, note: Note
) -> Block:
    """The block of a part, with its cache mark and what else it said."""
    if part["type"] not in granted or block is RefusalBlock:  # which is a key as a rule
        note.form["part"] = part["type"]
    taken = {"type"} | {key for key in keys if part.get(key) is not None}
    cache = read_cache(part, t, "part", note.form, taken)
    note.leave(part, taken, _KNOWN)
    made: Block = block(**fields, cache=cache, raw=note.raw(t.name))
    return made


def _read_text(part: Wire, t: Tables, note: Note) -> Fields | None:
    text = maybe(part, "text", str)
    return None if text is None else {"text": text}


def _read_refusal(part: Wire, t: Tables, note: Note) -> Fields | None:
    text = maybe(part, "refusal", str)
    return None if text is None else {"text": text}


def _read_resource(part: Wire, t: Tables, note: Note) -> Fields | None:
    if type(part.get("content")) is not dict:
        return None
    try:
        inner = read_part(part["content"], _RESOURCE_PARTS, t)
    except ShapeError as odd:
        raise odd.inside(".content") from None
    return {"source": Source("blocks", content=(inner,))}


_RESOURCE_PARTS = frozenset({"text", "image_url"})
_KNOWN = frozenset({"text", "image_url", "refusal", "signature", *MARKS, "document_name"})
_Reader = Callable[[Wire, Tables, Note], Fields | None]
_READERS: dict[str, tuple[type, _Reader, frozenset[str]]] = {
    "text": (TextBlock, _read_text, frozenset({"text"})),
    "refusal": (RefusalBlock, _read_refusal, frozenset({"refusal"})),
    "image_url": (ImageBlock, media.read_image, frozenset({"image_url"})),
    "input_audio": (AudioBlock, media.read_audio, frozenset({"input_audio"})),
    "video_url": (VideoBlock, media.read_video, frozenset({"video_url"})),
    "input_video": (VideoBlock, media.read_video, frozenset({"video_url"})),
    "file": (DocumentBlock, documents.read_file, frozenset({"file"})),
    "file_id": (DocumentBlock, documents.read_flat_file, frozenset({"file_id"})),
    "document_url": (
        DocumentBlock,
        documents.read_document_url,
        frozenset({"document_url", "document_name"}),
    ),
    "document": (DocumentBlock, documents.read_json, frozenset({"document"})),
    "resource_link": (DocumentBlock, documents.read_link, frozenset({"uri"})),
    "resource": (DocumentBlock, _read_resource, frozenset({"content"})),
    "reference": (TextBlock, chunks.read_reference, frozenset({"reference_ids"})),
    "thinking": (ThinkingBlock, chunks.read_thinking, frozenset({"thinking", "signature"})),
    "redacted_thinking": (RedactedThinkingBlock, chunks.read_redacted, frozenset({"data"})),
}


# Writing


def write_parts(
    blocks: Iterable[Block],
    granted: Parts,
    t: Tables,
    scribe: Scribe,
    aside: frozenset[str] = frozenset(),
) -> list[Any]:
    """The parts of blocks; `aside` are fields that the message says elsewhere."""
    parts: list[Any] = []
    for block in blocks:
        if type(block) is TextBlock and is_plain(block):
            parts.append({"type": "text", "text": block.text})
        else:
            parts.extend(write_part(block, granted, t, scribe, aside))
    return parts


def is_plain(block: TextBlock) -> bool:
    """Nothing but text."""
    return (
        block.raw is None
        and block.cache is None
        and not block.citations
        and block.signature is None
        and block.phase is None
    )


def write_part(
    block: Block,
    granted: Parts,
    t: Tables,
    scribe: Scribe,
    aside: frozenset[str] = frozenset(),
) -> list[Any]:
    """The part of a block; several for a document made of blocks, none for what has no place."""
    if type(block) is UnknownBlock:
        return write_unknown(block, t, scribe)
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    for kind in (form.get("part"), _USUAL.get(type(block))):
        if kind in _WRITERS and (kind in granted or kind == form.get("part")):
            part = _WRITERS[kind](block, t, scribe, form)
            if part is not None:
                scribe.unsaid(block, aside | _SAID[kind])
                return [_mark(part, block, kind, t, scribe, mine, form)]
    return _write_other(block, granted, t, scribe)


def _mark(
    part: Any, block: Any, kind: Any, t: Tables, scribe: Scribe, mine: Wire, form: Wire
) -> Any:
    """The part with its cache mark, and with what else it said when it was read."""
    if type(part) is str:
        return part
    place = "part" if kind in _MARKED else ""
    write_cache(part, block, block.cache, t, scribe, place, form)
    if "inner" in mine:
        mine = {key: value for key, value in mine.items() if key != "inner"}
    return put_back(part, mine)


def write_unknown(block: UnknownBlock, t: Tables, scribe: Scribe) -> list[Any]:
    """What this dialect did not know goes home unchanged."""
    mine = block.raw.get(t.name)
    if type(mine) is not dict:
        scribe.dropped(block, "only its own dialect understands it")
        return []
    if block.cache is not None:
        scribe.lost(block, "cache")
    return [whole(mine)]


def _write_other(block: Block, granted: Parts, t: Tables, scribe: Scribe) -> list[Any]:
    """A document of text that has no place is sent as text, and so is compacted history; any other
    block is dropped."""
    if type(block) is CompactionBlock:
        text = compaction_as_text(block, scribe)
        return [] if text is None else write_part(text, granted, t, scribe)
    kind = block.source.kind if type(block) is DocumentBlock else None
    if type(block) is not DocumentBlock or kind not in ("text", "blocks"):
        scribe.dropped(block)
        return []
    scribe.lost(block, None, "a document of text is sent as text", "downgraded")
    if kind == "text":
        return [{"type": "text", "text": block.source.data or ""}]
    return write_parts(block.source.content or (), granted, t, scribe)


def _write_text(block: TextBlock, t: Tables, scribe: Scribe, form: Wire) -> Any:
    if form.get("part") == "string" and (block.cache is None or "message_cache" in form):
        return block.text
    return {"type": "text", "text": block.text}


def _write_refusal(block: RefusalBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire:
    return {"type": "refusal", "refusal": block.text}


def _write_resource(block: DocumentBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    content = block.source.content or ()
    if len(content) != 1 or type(content[0]) not in (TextBlock, ImageBlock, UnknownBlock):
        return None
    inner = write_parts(content, _RESOURCE_PARTS, t, scribe)
    return {"type": "resource", "content": inner[0]} if inner else None


_USUAL: dict[type, str] = {
    TextBlock: "text",
    RefusalBlock: "refusal",
    ImageBlock: "image_url",
    AudioBlock: "input_audio",
    VideoBlock: "video_url",
    DocumentBlock: "file",
    ThinkingBlock: "thinking",
    RedactedThinkingBlock: "redacted_thinking",
}
_MARKED = frozenset({"text", "image_url", "input_audio", "video_url", "file"})
_WRITERS: dict[Any, Callable[[Any, Tables, Scribe, Wire], Any]] = {
    "text": _write_text,
    "string": _write_text,
    "refusal": _write_refusal,
    "image_url": media.write_image,
    "input_audio": media.write_audio,
    "video_url": media.write_video,
    "input_video": media.write_video,
    "file": documents.write_file,
    "document_url": documents.write_document_url,
    "document": documents.write_json,
    "resource_link": documents.write_link,
    "resource": _write_resource,
    "reference": chunks.write_reference,
    "thinking": chunks.write_thinking,
    "redacted_thinking": chunks.write_redacted,
}
SAID_TEXT = frozenset({"text", "cache"})
_SOURCE = frozenset({"source", "media_type", "cache"})
_SAID: dict[Any, frozenset[str]] = {
    "text": SAID_TEXT,
    "string": SAID_TEXT,
    "refusal": SAID_TEXT,
    "image_url": _SOURCE | {"detail"},
    "input_audio": _SOURCE,
    "video_url": _SOURCE,
    "input_video": _SOURCE,
    "file": _SOURCE | {"name"},
    "document_url": _SOURCE | {"name"},
    "document": _SOURCE,
    "resource_link": frozenset({"source", "cache"}),
    "resource": frozenset({"source", "cache"}),
    "reference": SAID_TEXT | {"citations"},
    "thinking": SAID_TEXT | {"signature"},
    "redacted_thinking": frozenset({"data", "cache"}),
}
