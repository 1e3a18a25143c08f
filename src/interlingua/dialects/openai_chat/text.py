"""Text with its citations, and refusals; before that, shared code for all parts of content: cache
breakpoints, how lists of parts are read and written, and when content is a string.

A part whose type `Tables.parts` does not grant to its role is read all the same; `$form.kind`
then records it, and only so is such a part written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from interlingua.dialects.kernel import preserved as kernel
from interlingua.dialects.kernel.errors import ShapeError, at_path, optional, read_each, require
from interlingua.dialects.kernel.preserved import (
    NOTHING,
    Preserved,
    fill,
    raw_of,
    restore,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_chat import media
from interlingua.dialects.openai_chat.media import Fields, Part, part_of
from interlingua.dialects.openai_chat.tables import MARKS, Tables, WriteContext
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, Cache, Citation, DocumentBlock, TextBlock, UnknownBlock
from interlingua.model.reasons import because

Granted = frozenset[str]
_MARKED_BY = frozenset(MARKS)
_MARK_KEYS = ("type", "mode", "ttl")
_NONE: Granted = frozenset()
_decode = msgspec.json.Decoder().decode

# -- cache breakpoints ----------------------------------------------------------------------------


def read_cache(
    wire: Wire, t: Tables, position: str, preserved: Preserved, taken: set[str]
) -> Cache | None:
    """The breakpoint of an object, its spelling unless it is the one of `t`, and its unknown keys.

    Two marks are one breakpoint while they agree; else the second is not taken."""
    if _MARKED_BY.isdisjoint(wire):
        return None
    spelled: Wire = {}
    ttl: str | None = None
    for key in MARKS:
        mark = wire.get(key)
        if mark is not None:
            its = optional(require(mark, dict, f".{key}"), "ttl", str, f".{key}")
            if not spelled or its == ttl:
                spelled[key], ttl = mark, its
    if not spelled:
        return None
    taken.update(spelled)
    for key, mark in spelled.items():
        if more := {w: v for w, v in mark.items() if v is not None and w not in _MARK_KEYS}:
            preserved.rest[key] = more
            preserved.spelling.setdefault("part", []).append(key)
            spelled[key] = {word: item for word, item in mark.items() if word not in more}
    usual = position in t.cache.positions and spelled == t.cache.mark(ttl)
    if not usual or (ttl is not None and t.cache.ttls.get(ttl) != ttl):
        preserved.spelling["cache"] = {  # without the time that the field holds
            key: {word: each for word, each in mark.items() if word != "ttl" or ttl is None}
            for key, mark in spelled.items()
        }
    return Cache(ttl)


def read_marks(wire: Wire, t: Tables, position: str, preserved: Preserved) -> Cache | None:
    """The same if a table has read the rest; a value that is no breakpoint is preserved."""
    taken: set[str] = set()
    cache = read_cache(wire, t, position, preserved, taken)
    preserved.add_others({key: wire[key] for key in MARKS if key in wire}, taken, MARKS)
    return cache


def write_cache(wire: Wire, value: Any, to: WriteContext, position: str, spelling: Wire) -> None:
    """Put the breakpoint of a block, a tool or the options into its wire."""
    cache: Cache | None = value.cache
    if cache is None or "message_cache" in spelling:
        return
    marks = to.t.cache
    if "cache" in spelling:
        _put_marks(wire, spelling["cache"], cache)
    elif position not in marks.positions:
        to.recorder.lost(value, "cache")
    else:
        ttl = marks.ttls.get(cache.ttl) if cache.ttl is not None else None
        if ttl != cache.ttl:
            reason = because("cache_ttl_unsupported", ttl=cache.ttl)
            to.recorder.lost(value, "cache.ttl", reason, "approximated")
        wire.update(marks.mark(ttl))


def _put_marks(wire: Wire, marks: Wire, cache: Cache) -> None:
    for key, mark in marks.items():
        wire[key] = mark if cache.ttl is None else {**mark, "ttl": cache.ttl}


def read_message_cache(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """A mark beside the content stands for one after its last block."""
    last = blocks[-1] if blocks and not _MARKED_BY.isdisjoint(wire) else None
    if last is None or last.cache is not None or type(last) is UnknownBlock:
        return
    preserved = Preserved()
    cache = read_cache(wire, t, "message", preserved, taken)
    if cache is not None:
        marks = {"message_cache": preserved.spelling.pop("cache"), **preserved.spelling}
        own_raw = raw_of(t.name, last.raw)
        spelling = {**spelling_in(own_raw), **marks}
        raw = {t.name: {**own_raw, **preserved.rest, "$form": spelling}}
        blocks[-1] = last.replace(cache=cache, raw=raw)


def with_spelling(block: Any, t: Tables, **words: Any) -> Any:
    """The block, with a note of how it was spelled."""
    own_raw = raw_of(t.name, block.raw)
    return block.replace(raw={t.name: {**own_raw, "$form": {**spelling_in(own_raw), **words}}})


def write_message_cache(wire: Wire, blocks: Sequence[Block], t: Tables) -> None:
    for block in blocks:
        if block.cache is not None and block.raw is not None:
            own_raw = raw_of(t.name, block.raw)
            marks = spelling_in(own_raw).get("message_cache", NOTHING)
            whole = {key: {**mark, **own_raw.get(key, NOTHING)} for key, mark in marks.items()}
            _put_marks(wire, whole, block.cache)


# -- parts: reading -------------------------------------------------------------------------------


def read_part(part: Any, granted: Granted, t: Tables) -> Block:
    if type(part) is str:
        return TextBlock(part, raw={t.name: {"$form": {"kind": "string"}}})
    kind = require(part, dict).get("type")
    if kind == "text" and len(part) == 2 and type(part.get("text")) is str and "text" in granted:
        return TextBlock(part["text"])
    return _read_part(part, kind, granted, t)


def _read_part(part: Wire, kind: Any, granted: Granted, t: Tables) -> Block:
    known = PARTS.get(kind) if type(kind) is str else None
    if kind == "file" and part.get("file") is None:
        known = PARTS["file_id"]
    value = part.get(known.key) if known is not None else None
    if known is None or value is None:
        return keep_unknown(part, t)
    preserved, taken = Preserved(), {"type", known.key}
    fields = at_path(f".{known.key}", known.read, value, t, preserved)
    if fields is None:
        return keep_unknown(part, t)
    for key, field in known.beside.items():
        fields[field] = optional(part, key, str)
        taken.update([key] if fields[field] is not None else [])
    if kind not in granted or kind == "refusal":  # which is a key as a rule
        preserved.spelling["kind"] = kind
    cache = read_cache(part, t, "part", preserved, taken)
    preserved.add_others(part, taken, _MAY_BE_EMPTY)
    block: Block = known.block(**fields, cache=cache, raw=preserved.raw(t.name))
    return block


_MAY_BE_EMPTY = frozenset({"text", "image_url", "refusal", "signature", *MARKS, "document_name"})


def keep_unknown(wire: Wire, t: Tables, **spelling: Any) -> UnknownBlock:
    """An unknown object; `form` records where it stood."""
    preserved = Preserved(spelling=spelling)
    preserved.add_others(wire, ())
    return UnknownBlock(preserved.raw(t.name) or {t.name: {}})


# -- parts: writing -------------------------------------------------------------------------------


def write_parts(
    blocks: Iterable[Block], granted: Granted, to: WriteContext, aside: Granted = _NONE
) -> list[Any]:
    """The parts of blocks; `aside` are fields that the message has elsewhere."""
    parts: list[Any] = []
    for block in blocks:
        if type(block) is TextBlock and is_plain(block):
            parts.append({"type": "text", "text": block.text})
        else:
            parts.extend(write_part(block, granted, to, aside))
    return parts


def write_part(
    block: Block, granted: Granted, to: WriteContext, aside: Granted = _NONE
) -> list[Any]:
    """The part of a block; several for a document made of blocks, none if it has no equivalent."""
    if type(block) is UnknownBlock:
        return write_unknown(block, to)
    own_raw = raw_of(to.t.name, block.raw)
    spelling = spelling_in(own_raw)
    stood: Any = "file_id" if "flat" in spelling else spelling.get("kind")
    for kind in (stood, _USUAL.get(type(block), "")):
        part = PARTS.get(kind) if kind in granted or kind == stood else None
        value = None if part is None else part.write(block, to, spelling)
        if part is not None and value is not None:
            to.recorder.unwritten(block, aside | part.attrs)
            return [_finish(part, value, block, kind, to, own_raw)]
    return _write_other(block, granted, to)


def _finish(
    part: Part, written: Any, block: Any, kind: str, to: WriteContext, own_raw: Wire
) -> Any:
    """The part with its cache mark, and its other members when it was read."""
    spelling = spelling_in(own_raw)
    if kind == "string" and (block.cache is None or "message_cache" in spelling):
        return written
    wire: Wire = {"type": _NAMED.get(kind, kind), part.key: written}
    for key, field in part.beside.items():
        if getattr(block, field) is not None:
            wire[key] = getattr(block, field)
    write_cache(wire, block, to, "part" if kind in _MARKED else "", spelling)
    if "inner" in own_raw:
        own_raw = {key: value for key, value in own_raw.items() if key != "inner"}
    return restore(wire, own_raw)


def write_unknown(block: UnknownBlock, to: WriteContext) -> list[Any]:
    """A block that this dialect did not know is written back unchanged."""
    own_raw = block.raw.get(to.t.name)
    if type(own_raw) is not dict:
        to.recorder.dropped(block, because("unknown_block"))
        return []
    if block.cache is not None:
        to.recorder.lost(block, "cache")
    return [restore({}, own_raw)]


def _write_other(block: Block, granted: Granted, to: WriteContext) -> list[Any]:
    """A document of text that has no place is sent as text, and so is compacted history; any other
    block is dropped."""
    if type(block) is model.CompactionBlock:
        text = compaction_as_text(block, to.recorder)
        return [] if text is None else write_part(text, granted, to)
    if type(block) is not DocumentBlock or block.source.kind not in ("text", "blocks"):
        to.recorder.dropped(block)
        return []
    to.recorder.lost(block, None, because("document_as_text"), "downgraded")
    if block.source.kind == "text":
        return [{"type": "text", "text": block.source.data or ""}]
    return write_parts(block.source.content or (), granted, to)


# -- the kinds of parts ---------------------------------------------------------------------------


def _one(block: type, key: str, field: str) -> Part:
    """A part with one string."""

    def read(value: Any, t: Tables, preserved: Preserved) -> Fields:
        return {field: require(value, str)}

    def write(block: Any, to: WriteContext, spelling: Wire) -> Any:
        return getattr(block, field)

    return part_of(block, key, read, write, field)


def _read_resource(content: Any, t: Tables, preserved: Preserved) -> Fields | None:
    if type(content) is not dict:
        return None
    return {"source": model.Source("blocks", content=(read_part(content, _RESOURCE_PARTS, t),))}


def _write_resource(block: DocumentBlock, to: WriteContext, spelling: Wire) -> Wire | None:
    content = block.source.content or ()
    if len(content) != 1 or type(content[0]) not in (TextBlock, model.ImageBlock, UnknownBlock):
        return None
    inner = write_parts(content, _RESOURCE_PARTS, to)
    return inner[0] if inner else None


_RESOURCE_PARTS = frozenset({"text", "image_url"})


def is_text(part: Any) -> bool:
    """A part with text and nothing else."""
    if type(part) is not dict or part.keys() != {"type", "text"}:
        return False
    return part["type"] == "text" and type(part["text"]) is str


def _read_chunk(inner: Any, t: Tables, preserved: Preserved) -> Fields:
    """Mistral's thinking, a list of smaller chunks; or Anthropic's block, with a string."""
    if type(inner) is str:
        preserved.spelling["inner"] = "string"
        return {"text": inner}
    read_each(inner, "", lambda chunk: require(chunk, dict))
    text = _inner_text(inner)
    if inner != [{"type": "text", "text": text}]:
        (preserved.spelling if all(map(is_text, inner)) else preserved.rest)["inner"] = inner
    return {"text": text}


def _inner_text(chunks: list[Any]) -> str:
    return "".join([chunk["text"] for chunk in chunks if is_text(chunk)])


def _write_chunk(block: model.ThinkingBlock, to: WriteContext, spelling: Wire) -> Any:
    """The chunks that were read, as long as they amount to the text."""
    text, inner = block.text, spelling.get("inner", raw_of(to.t.name, block.raw).get("inner"))
    if inner == "string":
        return text
    still = type(inner) is list and _inner_text(inner) == text
    return inner if still else [{"type": "text", "text": text}]


def _read_reference(ids: Any, t: Tables, preserved: Preserved) -> Fields | None:
    """Mistral's `reference`: sources of the text before it, by number."""
    if type(ids) is not list or not all(type(each) is int for each in ids):
        return None
    return {"text": "", "citations": tuple([Citation(document_index=each) for each in ids])}


def _write_reference(block: TextBlock, to: WriteContext, spelling: Wire) -> Any:
    ids = [each.document_index for each in block.citations]
    plain = [Citation(document_index=index) for index in ids]
    return None if block.text or None in ids or list(block.citations) != plain else ids


_USUAL: dict[type, str] = {
    TextBlock: "text",
    model.RefusalBlock: "refusal",
    model.ImageBlock: "image_url",
    model.AudioBlock: "input_audio",
    model.VideoBlock: "video_url",
    DocumentBlock: "file",
    model.ThinkingBlock: "thinking",
    model.RedactedThinkingBlock: "redacted_thinking",
}
_MARKED = frozenset({"text", "image_url", "input_audio", "video_url", "file"})
_TEXT = _one(TextBlock, "text", "text")
PARTS: dict[str, Part] = {
    **media.PARTS,
    "text": _TEXT,
    "string": _TEXT,
    "refusal": _one(model.RefusalBlock, "refusal", "text"),
    "redacted_thinking": _one(model.RedactedThinkingBlock, "data", "data"),
    "resource": part_of(DocumentBlock, "content", _read_resource, _write_resource, "source"),
    "reference": part_of(
        TextBlock, "reference_ids", _read_reference, _write_reference, "text citations"
    ),
    "thinking": part_of(
        model.ThinkingBlock, "thinking", _read_chunk, _write_chunk, "text", signature="signature"
    ),
}
"""By the wire's type; `string` is a text without an object around it."""
_NAMED = {"string": "text", "file_id": "file"}


# -- content: a string where one will do, else a list of parts ------------------------------------


def read_content(content: Any, granted: Granted, t: Tables, preserved: Preserved) -> list[Block]:
    """The blocks of a message's content; no block for an empty string, null or an empty list."""
    if type(content) is str:
        return [TextBlock(content)] if content else []
    if content is None or content == []:
        return []
    if type(content) is dict and t.answer:
        preserved.spelling["content"] = "object"
        return [TextBlock(encode(content).decode())]
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    blocks = read_each(content, ".content", lambda part: read_part(part, granted, t))
    if t.answer or is_string(blocks, t):
        preserved.spelling["content"] = "list"
    return blocks


def is_string(blocks: Sequence[Block], t: Tables) -> bool:
    """Whether content is written as a string by default."""
    if len(blocks) != 1:
        return False
    block = blocks[0]
    if type(block) is not TextBlock or not block.text:
        return False
    if block.raw is None:
        return block.cache is None
    own_raw = raw_of(t.name, block.raw)
    spelling = spelling_in(own_raw)
    at_message = "message_cache" in spelling and spelling.keys() <= {"message_cache", "part"}
    is_bare = not own_raw or (at_message and own_raw.keys() <= {"$form", *MARKS})
    return is_bare and (block.cache is None or at_message)


def write_content(
    blocks: Sequence[Block],
    granted: Granted,
    to: WriteContext,
    spelling: Wire,
    aside: Granted = _NONE,
) -> Any:
    """A string where one will do, else a list of parts; None where every block was dropped."""
    if spelling.get("content") != "list":
        if is_string(blocks, to.t):
            block: Any = blocks[0]
            if not is_plain(block):
                to.recorder.unwritten(block, aside | _TEXT.attrs)
            return _spelled(block.text, spelling, to.t)
        if to.t.answer and blocks:
            return _write_answer(blocks, granted, to, aside)
    return write_parts(blocks, granted, to, aside) or None


def _spelled(text: str, spelling: Wire, t: Tables) -> Any:
    """The text; or the object that it is, where a host answers a wish for JSON with that
    (Cloudflare Workers AI, seen 2026-11)."""
    if not t.answer or spelling.get("content") != "object":
        return text
    try:
        found = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return found if type(found) is dict else text


def _write_answer(
    blocks: Sequence[Block], granted: Granted, to: WriteContext, aside: Granted
) -> Any:
    """In a response content is one string; a list only for parts that this dialect read itself."""
    parts = write_parts(blocks, granted, to, aside)
    if not all(type(part) is dict and part.keys() == {"type", "text"} for part in parts):
        return parts
    texts = [block for block in blocks if type(block) is TextBlock]
    for block in texts[1:]:
        to.recorder.lost(block, None, because("joined"), "approximated")
    if len(texts) == 1 and not texts[0].text:
        to.recorder.lost(texts[0], None, because("empty"))
    return "".join([part["text"] for part in parts])


# -- citations: `annotations` of a message --------------------------------------------------------
# Offsets count code points of the whole text, not bytes; 0 to 0 means no range (both recorded,
# 2026-11).

_URL = "url_citation"
_RANGE = ("start_index", "end_index")
_CITED = {"url": "url", "title": "title", "content": "cited_text", "document_id": "file_id"}


def read_annotations(annotations: Any, blocks: list[Block], t: Tables) -> bool:
    """Put annotations on the text blocks they are about; False where there is no such text."""
    found = read_each(annotations, ".annotations", lambda item: read_citation(item, t))
    positions = [index for index, block in enumerate(blocks) if type(block) is TextBlock]
    if not positions:
        return False
    on: dict[int, list[Citation]] = {}
    last = 0
    for citation in found:
        position, start = _text_at(citation.start, blocks, positions)
        if position < last:
            return False  # they would be written in another order
        last = position
        on.setdefault(position, []).append(_moved(citation, start))
    for position, citations in on.items():
        blocks[position] = blocks[position].replace(citations=tuple(citations))
    return True


def _moved(citation: Citation, start: int) -> Citation:
    """The citation with a range that counts from `start`."""
    if not start or citation.start is None or citation.end is None:
        return citation
    if citation.start == start == citation.end:
        return citation.replace(start=None, end=None)
    return citation.replace(start=citation.start - start, end=citation.end - start)


def _text_at(offset: int | None, blocks: list[Any], positions: list[int]) -> tuple[int, int]:
    """The text block in which an offset lies, and where that block begins."""
    start = 0
    for position in positions[:-1]:
        size = len(blocks[position].text)
        if offset is None or offset < start + size:
            return position, start
        start += size
    return positions[-1], start


def read_citation(item: Any, t: Tables) -> Citation:
    preserved = Preserved()
    kind: Any = require(item, dict).get("type")
    inner = item.get(kind) if type(kind) is str else None
    if type(inner) is not dict:
        preserved.spelling["item"] = True
        preserved.add_others(item, ())
        return Citation(raw=preserved.raw(t.name))
    start, end = (optional(inner, key, int, f".{kind}") for key in _RANGE)
    ranged = start is not None and end is not None
    fields: Fields = {} if not ranged or start == 0 == end else {"start": start, "end": end}
    taken = set(_RANGE) if ranged else set()
    for key, field in _CITED.items():
        if type(inner.get(key)) is str:
            taken.add(key)
            fields[field] = inner[key]
    fields["title"] = fields.get("title") or None
    if kind != _URL or "url" not in fields:
        preserved.spelling["type"] = kind
    if "cited_text" in fields and not t.cited_content:
        preserved.spelling["content"] = True
    beside = Preserved()
    beside.add_others(inner, taken, inner)
    beside.mark_any_absent(inner, ("title", *_RANGE))
    preserved.absorb(kind, beside)
    preserved.add_others(item, ("type", kind))
    return Citation(**fields, raw=preserved.raw(t.name))


def write_annotations(texts: Sequence[TextBlock], to: WriteContext) -> list[Wire]:
    """The citations of a message's text blocks, which follow each other as one text."""
    items: list[Wire] = []
    offset = 0
    for block in texts:
        for citation in block.citations:
            items.extend(_write_citation(citation, offset, to))
        offset += len(block.text)
    return items


def _write_citation(citation: Citation, offset: int, to: WriteContext) -> list[Wire]:
    own_raw = raw_of(to.t.name, citation.raw)
    spelling = spelling_in(own_raw)
    kind = spelling.get("type") or (_URL if citation.url is not None else None)
    if spelling.get("item"):
        to.recorder.unwritten(citation, frozenset())
        return [restore({}, own_raw)]
    if kind is None:
        to.recorder.lost(citation)
        return []
    inner = _write_range(citation, offset, to.recorder)
    written = {"start", "end", "url", "title"}
    written |= {"cited_text"} if to.t.cited_content or spelling.get("content") else set()
    written |= {"file_id"} if kind != _URL else set()
    for key, field in _CITED.items():
        if field in written and getattr(citation, field) is not None:
            inner[key] = getattr(citation, field)
    fill(inner, kernel.raw_inside(own_raw, kind), {"title": "", **dict.fromkeys(_RANGE, offset)})
    to.recorder.unwritten(citation, frozenset(written))
    return [restore({"type": kind, kind: inner}, own_raw)]


def _write_range(citation: Citation, offset: int, recorder: LossRecorder) -> Wire:
    start, end = citation.start, citation.end
    if start is None and end is None:
        return {}
    if start == 0 == end:
        for field in ("start", "end"):
            reason = because("citation_no_range")
            recorder.lost(citation, field, reason, "approximated")
    first = start if start is not None else end or 0
    last = end if end is not None else first
    return {"start_index": first + offset, "end_index": last + offset}
