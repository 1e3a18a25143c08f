"""`annotations` of a message as citations on its text.

Offsets count code points of the whole text (seen in traffic: they are no byte offsets); a range of
0 to 0 is how services say that there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import PLACEHOLDER, compaction_as_text
from interlingua.dialects.openai_chat import media
from interlingua.dialects.openai_chat.media import Fields
from interlingua.dialects.openai_chat.shape import (
    NOTHING,
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    want,
    whole,
)
from interlingua.dialects.openai_chat.tables import MARKS, CacheMark, Tables
from interlingua.model.base import Value
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Cache,
    Citation,
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
from interlingua.model.message import Message

# -- cache breakpoints ----------------------------------------------------------------------------


def read_cache(wire: Wire, t: Tables, place: str, form: Wire, taken: set[str]) -> Cache | None:
    """The breakpoint of an object; `form` notes how it is spelled unless `t` says it so.

    Two marks are one breakpoint while they agree; else the second is not taken."""
    spelled: Wire = {}
    ttl: str | None = None
    for key in MARKS:
        mark = wire.get(key)
        if mark is None:
            continue
        its = _ttl(mark, key)
        if not spelled or its == ttl:
            spelled[key], ttl = mark, its
            taken.add(key)
    if not spelled:
        return None
    usual = place in t.cache.places and spelled == {t.cache.key: _plain(t.cache, ttl)}
    if not usual or (ttl is not None and t.cache.ttls.get(ttl) != ttl):
        form["cache"] = {key: _without(mark, ttl) for key, mark in spelled.items()}
    return Cache(ttl)


def _ttl(mark: Wire, key: str) -> str | None:
    if type(mark) is not dict:
        raise ShapeError(f".{key}", "an object", mark)
    ttl = mark.get("ttl")
    if ttl is None or type(ttl) is str:
        return ttl
    raise ShapeError(f".{key}.ttl", "a string", ttl)


def _plain(mark: CacheMark, ttl: str | None) -> Wire:
    return {**mark.rest, "ttl": ttl} if ttl is not None else {**mark.rest}


def _without(mark: Wire, ttl: str | None) -> Wire:
    """The mark without the time that the field holds."""
    return mark if ttl is None else {key: each for key, each in mark.items() if key != "ttl"}


def write_cache(
    wire: Wire,
    value: Value,
    cache: Cache | None,
    t: Tables,
    recorder: LossRecorder,
    place: str,
    form: Wire,
) -> None:
    """Put the breakpoint of a block, a tool or the options into its wire."""
    if cache is None or "message_cache" in form:
        return
    if "cache" in form:
        for key, mark in form["cache"].items():
            wire[key] = mark if cache.ttl is None else {**mark, "ttl": cache.ttl}
    elif place not in t.cache.places:
        recorder.lost(value, "cache")
    else:
        ttl = t.cache.ttls.get(cache.ttl) if cache.ttl is not None else None
        if ttl != cache.ttl:
            recorder.lost(value, "cache.ttl", f"no cache lives {cache.ttl} here", "approximated")
        wire[t.cache.key] = _plain(t.cache, ttl)


def read_message_cache(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """A mark beside the content stands for one after its last block."""
    last = blocks[-1] if blocks else None
    if last is None or last.cache is not None or isinstance(last, UnknownBlock):
        return
    form: Wire = {}
    cache = read_cache(wire, t, "message", form, taken)
    if cache is not None:
        mine = mine_of(t.name, last.raw)
        mine = {**mine, "$form": {**form_in(mine), "message_cache": form["cache"]}}
        blocks[-1] = last.replace(cache=cache, raw={t.name: mine})


def write_message_cache(wire: Wire, blocks: Sequence[Block], t: Tables) -> None:
    for block in blocks:
        if block.cache is not None and block.raw is not None:
            marks = form_in(mine_of(t.name, block.raw)).get("message_cache", NOTHING)
            for key, mark in marks.items():
                ttl = block.cache.ttl
                wire[key] = mark if ttl is None else {**mark, "ttl": ttl}


# -- chunks of other services ---------------------------------------------------------------------


def read_chunk(part: Wire, t: Tables, note: Note) -> Fields | None:
    """Mistral's chunk, a list of smaller ones; or Anthropic's block, with a string."""
    inner = part.get("thinking")
    if inner is None:
        return None
    signature = maybe(part, "signature", str)
    if type(inner) is str:
        note.form["inner"] = "string"
        return {"text": inner, "signature": signature}
    texts = each(inner, ".thinking", _inner_text)
    if len(texts) != 1 or type(texts[0]) is not str:
        sizes = [len(text) if type(text) is str else text for text in texts]
        plain = all(type(size) is int for size in sizes)
        (note.form if plain else note.rest)["inner"] = sizes
    text = "".join([text for text in texts if type(text) is str])
    return {"text": text, "signature": signature}


def _inner_text(chunk: Any) -> Any:
    """The text of a plain chunk, or the chunk."""
    want(chunk, dict, "")
    plain = len(chunk) == 2 and chunk.get("type") == "text" and type(chunk.get("text")) is str
    return chunk["text"] if plain else chunk


def read_redacted(part: Wire, t: Tables, note: Note) -> Fields | None:
    data = maybe(part, "data", str)
    return None if data is None else {"data": data}


def read_reference(part: Wire, t: Tables, note: Note) -> Fields | None:
    """Mistral's `reference`: sources of the text before it, by number."""
    ids = part.get("reference_ids")
    if type(ids) is not list or not all(type(each) is int for each in ids):
        return None
    return {"text": "", "citations": tuple([Citation(document_index=each) for each in ids])}


def write_chunk(block: ThinkingBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire:
    inner = form.get("inner", mine_of(t.name, block.raw).get("inner"))
    part: Wire = {"type": "thinking", "thinking": _inner(block.text, inner)}
    if block.signature is not None:
        part["signature"] = block.signature
    return part


def _inner(text: str, inner: Any) -> Any:
    if inner == "string":
        return text
    if type(inner) is not list or sum(size for size in inner if type(size) is int) != len(text):
        return [{"type": "text", "text": text}]
    chunks, start = [], 0
    for size in inner:
        if type(size) is int:
            chunks.append({"type": "text", "text": text[start : start + size]})
            start += size
        else:
            chunks.append(size)
    return chunks


def write_redacted(
    block: RedactedThinkingBlock, t: Tables, recorder: LossRecorder, form: Wire
) -> Wire:
    return {"type": "redacted_thinking", "data": block.data}


def write_reference(block: TextBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    ids = [each.document_index for each in block.citations]
    plain = [Citation(document_index=index) for index in ids]
    if block.text or None in ids or list(block.citations) != plain:
        return None
    return {"type": "reference", "reference_ids": ids}


# -- parts ----------------------------------------------------------------------------------------

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
    "file": (DocumentBlock, media.read_file, frozenset({"file"})),
    "file_id": (DocumentBlock, media.read_flat_file, frozenset({"file_id"})),
    "document_url": (
        DocumentBlock,
        media.read_document_url,
        frozenset({"document_url", "document_name"}),
    ),
    "document": (DocumentBlock, media.read_json, frozenset({"document"})),
    "resource_link": (DocumentBlock, media.read_link, frozenset({"uri"})),
    "resource": (DocumentBlock, _read_resource, frozenset({"content"})),
    "reference": (TextBlock, read_reference, frozenset({"reference_ids"})),
    "thinking": (ThinkingBlock, read_chunk, frozenset({"thinking", "signature"})),
    "redacted_thinking": (RedactedThinkingBlock, read_redacted, frozenset({"data"})),
}


# Writing


def write_parts(
    blocks: Iterable[Block],
    granted: Parts,
    t: Tables,
    recorder: LossRecorder,
    aside: frozenset[str] = frozenset(),
) -> list[Any]:
    """The parts of blocks; `aside` are fields that the message says elsewhere."""
    parts: list[Any] = []
    for block in blocks:
        if type(block) is TextBlock and is_plain(block):
            parts.append({"type": "text", "text": block.text})
        else:
            parts.extend(write_part(block, granted, t, recorder, aside))
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
    recorder: LossRecorder,
    aside: frozenset[str] = frozenset(),
) -> list[Any]:
    """The part of a block; several for a document made of blocks, none for what has no place."""
    if type(block) is UnknownBlock:
        return write_unknown(block, t, recorder)
    mine = mine_of(t.name, block.raw)
    form = form_in(mine)
    for kind in (form.get("part"), _USUAL.get(type(block))):
        if kind in _WRITERS and (kind in granted or kind == form.get("part")):
            part = _WRITERS[kind](block, t, recorder, form)
            if part is not None:
                recorder.unwritten(block, aside | _SAID[kind])
                return [_mark(part, block, kind, t, recorder, mine, form)]
    return _write_other(block, granted, t, recorder)


def _mark(
    part: Any, block: Any, kind: Any, t: Tables, recorder: LossRecorder, mine: Wire, form: Wire
) -> Any:
    """The part with its cache mark, and with what else it said when it was read."""
    if type(part) is str:
        return part
    place = "part" if kind in _MARKED else ""
    write_cache(part, block, block.cache, t, recorder, place, form)
    if "inner" in mine:
        mine = {key: value for key, value in mine.items() if key != "inner"}
    return put_back(part, mine)


def write_unknown(block: UnknownBlock, t: Tables, recorder: LossRecorder) -> list[Any]:
    """What this dialect did not know goes home unchanged."""
    mine = block.raw.get(t.name)
    if type(mine) is not dict:
        recorder.dropped(block, "only its own dialect understands it")
        return []
    if block.cache is not None:
        recorder.lost(block, "cache")
    return [whole(mine)]


def _write_other(block: Block, granted: Parts, t: Tables, recorder: LossRecorder) -> list[Any]:
    """A document of text that has no place is sent as text, and so is compacted history; any other
    block is dropped."""
    if type(block) is CompactionBlock:
        text = compaction_as_text(block, recorder)
        return [] if text is None else write_part(text, granted, t, recorder)
    kind = block.source.kind if type(block) is DocumentBlock else None
    if type(block) is not DocumentBlock or kind not in ("text", "blocks"):
        recorder.dropped(block)
        return []
    recorder.lost(block, None, "a document of text is sent as text", "downgraded")
    if kind == "text":
        return [{"type": "text", "text": block.source.data or ""}]
    return write_parts(block.source.content or (), granted, t, recorder)


def _write_text(block: TextBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Any:
    if form.get("part") == "string" and (block.cache is None or "message_cache" in form):
        return block.text
    return {"type": "text", "text": block.text}


def _write_refusal(block: RefusalBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire:
    return {"type": "refusal", "refusal": block.text}


def _write_resource(
    block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire
) -> Wire | None:
    content = block.source.content or ()
    if len(content) != 1 or type(content[0]) not in (TextBlock, ImageBlock, UnknownBlock):
        return None
    inner = write_parts(content, _RESOURCE_PARTS, t, recorder)
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
_WRITERS: dict[Any, Callable[[Any, Tables, LossRecorder, Wire], Any]] = {
    "text": _write_text,
    "string": _write_text,
    "refusal": _write_refusal,
    "image_url": media.write_image,
    "input_audio": media.write_audio,
    "video_url": media.write_video,
    "input_video": media.write_video,
    "file": media.write_file,
    "document_url": media.write_document_url,
    "document": media.write_json,
    "resource_link": media.write_link,
    "resource": _write_resource,
    "reference": write_reference,
    "thinking": write_chunk,
    "redacted_thinking": write_redacted,
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

# -- content --------------------------------------------------------------------------------------

_PLAIN_TEXT = {"type", "text"}


def read_content(content: Any, granted: Parts, t: Tables, note: Note) -> list[Block]:
    """The blocks of a message's content; no block for an empty string, null or an empty list."""
    if type(content) is str:
        return [TextBlock(content)] if content else []
    if content is None or content == []:
        return []
    if type(content) is dict and t.answer:
        note.form["content"] = "object"
        return [TextBlock(encode(content).decode())]
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    blocks = read_parts(content, granted, t)
    if t.answer or is_string(blocks, t):
        note.form["content"] = "list"
    return blocks


def is_string(blocks: Sequence[Block], t: Tables) -> bool:
    """Whether content is written as a string where nothing says otherwise."""
    if len(blocks) != 1:
        return False
    block = blocks[0]
    if type(block) is not TextBlock or not block.text:
        return False
    if block.raw is None:
        return block.cache is None
    mine = mine_of(t.name, block.raw)
    spelled = form_in(mine)
    at_message = spelled.keys() == {"message_cache"}
    return (block.cache is None or at_message) and (not mine or (at_message and len(mine) == 1))


def write_content(
    blocks: Sequence[Block],
    granted: Parts,
    t: Tables,
    recorder: LossRecorder,
    form: Wire,
    aside: frozenset[str] = frozenset(),
) -> Any:
    """A string where one will do, else a list of parts; None where every block was dropped."""
    if form.get("content") != "list":
        if is_string(blocks, t):
            block = blocks[0]
            if not is_plain(block):  # type: ignore[arg-type]  # one text
                recorder.unwritten(block, aside | SAID_TEXT)
            return _spelled(block.text, form, t)  # type: ignore[union-attr, arg-type]  # one text
        if t.answer:
            return _write_answer(blocks, granted, t, recorder, aside)
    return write_parts(blocks, granted, t, recorder, aside) or None


def _spelled(text: str, form: Wire, t: Tables) -> Any:
    """The text; or the object that it is, where a host answers a wish for JSON with that
    (Cloudflare Workers AI, seen 2026-11)."""
    if not t.answer or form.get("content") != "object":
        return text
    try:
        found = _decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return found if type(found) is dict else text


_decode = msgspec.json.Decoder().decode


def placeholder(message: Message, recorder: LossRecorder) -> str:
    """The content of a message whose every block was left out."""
    reason = "nothing of it could be said; a placeholder stands for it"
    recorder.lost(message, "content", reason, "downgraded")
    return PLACEHOLDER


def _write_answer(
    blocks: Sequence[Block],
    granted: Parts,
    t: Tables,
    recorder: LossRecorder,
    aside: frozenset[str],
) -> Any:
    """In a response content is one string; a list only for parts that this dialect read itself."""
    parts = write_parts(blocks, granted, t, recorder, aside)
    if not all(type(part) is dict and part.keys() == _PLAIN_TEXT for part in parts):
        return parts
    texts = [block for block in blocks if type(block) is TextBlock]
    for block in texts[1:]:
        recorder.lost(block, None, "joined with the text before it", "approximated", "info")
    if len(texts) == 1 and not texts[0].text:
        recorder.lost(texts[0], None, "empty content is no text", severity="info")
    return "".join([part["text"] for part in parts])


# -- citations ------------------------------------------------------------------------------------

_CITATION_USUAL = "url_citation"
_RANGE = ("start_index", "end_index")


def read_annotations(annotations: Any, blocks: list[Block], t: Tables) -> bool:
    """Put annotations on the text blocks they are about; False where there is no such text."""
    found = each(annotations, ".annotations", lambda item: _read(item, t))
    places = [index for index, block in enumerate(blocks) if type(block) is TextBlock]
    if not places:
        return False
    on: dict[int, list[Citation]] = {}
    last = 0
    for citation in found:
        place, start = _text_at(citation.start, blocks, places)
        if place < last:
            return False  # they would be written in another order
        last = place
        on.setdefault(place, []).append(_moved(citation, start))
    for place, citations in on.items():
        blocks[place] = blocks[place].replace(citations=tuple(citations))
    return True


def _moved(citation: Citation, start: int) -> Citation:
    """The citation with a range that counts from `start`."""
    if not start or citation.start is None or citation.end is None:
        return citation
    if citation.start == start == citation.end:
        return citation.replace(start=None, end=None)
    return citation.replace(start=citation.start - start, end=citation.end - start)


def _text_at(offset: int | None, blocks: list[Block], places: list[int]) -> tuple[int, int]:
    """The text block in which an offset lies, and where that block begins."""
    start = 0
    for place in places[:-1]:
        size = len(blocks[place].text)  # type: ignore[union-attr, arg-type]  # places are those of text
        if offset is None or offset < start + size:
            return place, start
        start += size
    return places[-1], start


def _read(item: Any, t: Tables) -> Citation:
    want(item, dict, "")
    note, kind = Note(), item.get("type")
    inner = item.get(kind) if type(kind) is str else None
    if type(inner) is not dict:
        return Citation(raw=keep_whole(t.name, item, {"whole": True}))
    taken: set[str] = set()
    start, end = _read_range(inner, kind, note, taken)
    fields: dict[str, Any] = {}
    for key, field in _FIELDS.items():
        value = inner.get(key)
        fields[field] = value if type(value) is str else None
        if type(value) is str:
            taken.add(key)
    if not fields["title"]:
        note.form["title"] = inner.get("title", False)
        fields["title"] = None
        taken.add("title")
    if kind != _CITATION_USUAL or fields["url"] is None:
        note.form["type"] = kind
    if fields["cited_text"] is not None and not t.cited_content:
        note.form["content"] = True
    note.leave_inner(item, kind, taken & inner.keys())
    note.leave(item, ("type", kind), ())
    if note.form == {"title": ""}:
        note.form = {}
    return Citation(start=start, end=end, raw=note.raw(t.name), **fields)


_FIELDS = {"url": "url", "title": "title", "content": "cited_text", "document_id": "file_id"}


def _read_range(
    inner: Wire, kind: str, note: Note, taken: set[str]
) -> tuple[int | None, int | None]:
    start, end = (maybe(inner, key, int, f".{kind}") for key in _RANGE)
    if start is None or end is None:
        note.form["no_range"] = True
        return None, None
    taken.update(_RANGE)
    return (None, None) if start == 0 == end else (start, end)


def write_annotations(texts: Sequence[TextBlock], t: Tables, recorder: LossRecorder) -> list[Wire]:
    """The citations of a message's text blocks, which follow each other as one text."""
    items: list[Wire] = []
    offset = 0
    for block in texts:
        for citation in block.citations:
            items.extend(_write(citation, offset, t, recorder))
        offset += len(block.text)
    return items


def _write(citation: Citation, offset: int, t: Tables, recorder: LossRecorder) -> list[Wire]:
    mine = mine_of(t.name, citation.raw)
    form = form_in(mine)
    if form.get("whole"):
        recorder.unwritten(citation, frozenset())
        return [whole(mine)]
    kind = form.get("type") or (_CITATION_USUAL if citation.url is not None else None)
    if kind is None:
        recorder.lost(citation)
        return []
    inner = _write_range(citation, offset, recorder, form)
    said = _CITATION_SAID
    if citation.title is not None:
        inner["title"] = citation.title
    elif form.get("title", "") is not False:
        inner["title"] = form.get("title", "")
    if citation.url is not None:
        inner["url"] = citation.url
    if citation.cited_text is not None and (t.cited_content or form.get("content")):
        inner["content"] = citation.cited_text
        said = said | {"cited_text"}
    if citation.file_id is not None and kind != _CITATION_USUAL:
        inner["document_id"] = citation.file_id
        said = said | {"file_id"}
    recorder.unwritten(citation, said)
    return [put_back({"type": kind, kind: inner}, mine)]


def _write_range(citation: Citation, offset: int, recorder: LossRecorder, form: Wire) -> Wire:
    start, end = citation.start, citation.end
    if start is None and end is None:
        return {} if form.get("no_range") else {"start_index": offset, "end_index": offset}
    if start == 0 == end:
        recorder.lost(
            citation, "start", "0 to 0 says that there is no range", "approximated", "info"
        )
        recorder.lost(citation, "end", "0 to 0 says that there is no range", "approximated", "info")
    first = start if start is not None else end or 0
    last = end if end is not None else first
    return {"start_index": first + offset, "end_index": last + offset}


_CITATION_SAID = frozenset({"url", "title", "start", "end"})
