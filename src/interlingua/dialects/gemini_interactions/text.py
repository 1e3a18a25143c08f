"""Content: texts with their annotations, and media (`data` is base64, `uri` an address).

The first block of a `model_output` carries the other keys of its step in `raw` (`$step`)."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    CITATIONS,
    CITED,
    MEDIA,
    MEDIA_WORDS,
    NAME,
    NEAR_RESOLUTIONS,
    RESOLUTIONS,
)
from interlingua.dialects.google import address_of, bytes_before, points_of, source_of
from interlingua.dialects.kernel.errors import optional_spelled, read_each, require, require_key
from interlingua.dialects.kernel.fields import Table, lost, plain, word
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
    write_unknown,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import FORM as DATA_URL
from interlingua.dialects.kernel.words import compaction_as_text, data_url, url_of
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RefusalBlock,
    Source,
    TextBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.reasons import because

_TYPE = plain("mime_type", "media_type", str)
_BESIDE = ("type", "data", "uri")
TABLES: dict[type[MediaBlock], Table] = {
    ImageBlock: Table(
        ImageBlock,
        _TYPE,
        word("resolution", "detail", RESOLUTIONS, near=NEAR_RESOLUTIONS),
        beside=_BESIDE,
        silent=("source",),
    ),
    AudioBlock: Table(AudioBlock, _TYPE, beside=_BESIDE, silent=("source",)),
    VideoBlock: Table(
        VideoBlock, _TYPE, plain("name", "name", str), beside=_BESIDE, silent=("source",)
    ),
    DocumentBlock: Table(DocumentBlock, _TYPE, beside=_BESIDE, silent=("source",)),
}


def read_media(part: Wire) -> MediaBlock | UnknownBlock:
    """Data, or an address; where there is neither, nothing can be shown."""
    kind, preserved = MEDIA[part["type"]], Preserved()
    spelled: Wire = {}
    data, uri = (
        optional_spelled(part, "data", str, spelled),
        optional_spelled(part, "uri", str, spelled),
    )
    if data is None and uri is None:
        return UnknownBlock({NAME: part})
    source = source_of(uri) if uri is not None and not data else Source("base64", data)
    inline = data_url(uri or "") if source.kind == "url" else None
    if source.kind == "base64" and uri is not None:
        preserved.rest["uri"] = uri
    elif data is not None and source.kind != "base64":
        spelled["data"] = data
    for key, item in spelled.items():
        preserved.keep_spelling(key, item)
    attrs = TABLES[kind].read(part, preserved)
    if inline is not None:
        source, preserved.spelling[DATA_URL] = inline.source, inline.head
        if attrs.setdefault("media_type", inline.media_type) and "mime_type" not in part:
            preserved.mark_absent("mime_type")
    return kind(source, **attrs, raw=preserved.raw(NAME))


def write_media(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    """The part; None if the service cannot represent the source."""
    where = _write_source(block, recorder)
    if where is None:
        return None
    out: Wire = {"type": MEDIA_WORDS[type(block)], **where}
    own_raw = raw_of(NAME, block.raw)
    if block.source.kind == "base64" and "uri" in where and was_absent(own_raw, "mime_type"):
        untyped = block.replace(media_type=None)  # the data URL contains the type
        recorder.alias(untyped, block)
        block = untyped
    TABLES[type(block)].write(block, out, own_raw, recorder)
    return out


def _write_source(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    kind = block.source.kind
    if kind == "base64":
        typed = not was_absent(raw_of(NAME, block.raw), "mime_type")
        uri = url_of(NAME, block, typed)
        return {"data": block.source.data or ""} if uri is None else {"uri": uri}
    if kind in ("url", "file_id"):
        uri = address_of(block, recorder)
        return None if uri is None else {"uri": uri}
    is_file = kind == "file_ref"
    reason = because("file_not_loaded") if is_file else because("text_content_unsupported")
    recorder.dropped(block, reason)
    return None


STEP = "$step"
TEXT = Table(
    TextBlock,
    plain("text", "text", str),
    lost("signature", because("text_signature")),
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
    text, preserved = require_key(part, "text", str), Preserved()
    attrs = TEXT.read(part, preserved)
    cited = part.get("annotations")
    if cited:
        attrs["citations"] = read_citations(cited, text)
    elif "annotations" in part:
        preserved.keep_spelling(
            "annotations", cited if cited is None else require(cited, list, ".annotations")
        )
    return TextBlock(**attrs, raw=preserved.raw(NAME))


def read_content(part: Any) -> Block:
    """A piece of content; an unknown one is preserved."""
    kind = require(part, dict).get("type")
    if kind == "text":
        return read_text(part)
    return read_media(part) if type(kind) is str and kind in MEDIA else UnknownBlock({NAME: part})


def read_contents(listed: Any, path: str) -> list[Block]:
    return read_each(listed, path, read_content)


# -- writing --------------------------------------------------------------------------------------


def write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    bare = block.raw is None and block.cache is None and block.signature is None
    if bare and not block.citations and block.phase is None:
        return {"type": "text", "text": block.text}
    return _write_text(block, recorder)


def _write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": "text"}
    TEXT.write(block, out, raw_of(NAME, block.raw), recorder)
    if block.citations and (cited := write_citations(block, recorder)):
        out["annotations"] = cited
    return dressed(out, block, recorder)


def dressed(out: Wire, block: Any, recorder: LossRecorder) -> Wire:
    """A part with its preserved data."""
    if block.raw is not None:
        restore_raw(out, block, block.raw, recorder)
        out.pop(STEP, None)
    return out


def write_refusal(block: RefusalBlock, recorder: LossRecorder) -> Wire:
    recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    out: Wire = {"type": "text"}
    REFUSAL.write(block, out, raw_of(NAME, block.raw), recorder)
    return dressed(out, block, recorder)


def write_compaction(block: CompactionBlock, recorder: LossRecorder) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


def _write_document(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    """A text document is sent as text, since this wire has no data for it; one with the media
    type of audio or video is sent as that."""
    if NAME in (block.raw or ()):
        return _write_media(block, recorder)
    text, kind = _text_in(block), (block.media_type or "").partition("/")[0]
    if text is not None:
        recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
        return {"type": "text", "text": text}
    part = _write_media(block, recorder)
    if part is not None and kind in MEDIA:
        recorder.lost(block, None, because("sent_as", value=kind), kind="approximated")
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
"""Writers of the blocks that content may hold."""


def write_content(block: Block, recorder: LossRecorder) -> Wire | None:
    """None for blocks that content cannot hold."""
    write = WRITERS.get(type(block))
    if write is None:
        recorder.dropped(block, because("content_unsupported"))
        return None
    part: Wire | None = write(block, recorder)
    return part


_OFFSETS = {"start_index": "start", "end_index": "end"}


def _table(names: dict[str, str], lenient: bool = False) -> Table:
    fields = [plain(key, attr, str, lenient=lenient) for key, attr in names.items()]
    silent = tuple(_OFFSETS.values())
    return Table(Citation, *fields, beside=("type", *_OFFSETS), silent=silent)


_TABLES = {kind: _table(names) for kind, names in CITATIONS.items()}
_UNTYPED = {attr: _table({"source": attr}, lenient=True) for attr in ("url", "title")}
"""SDK 1.55.0 (2025-12): one kind only, whose `source` is a URL, a title or another name."""


def _points(text: str, offset: int) -> int | None:
    """A place in bytes as one in code points; None in the midst of a character. Behind the end of
    the text one is as good as the other."""
    size = bytes_before(text, len(text))
    if 0 <= offset <= size:
        return points_of(text, offset)
    return offset - size + len(text) if offset > 0 else offset


def read_citations(listed: Any, text: str) -> tuple[Citation, ...]:
    return tuple(read_each(listed, ".annotations", lambda wire: _read_citation(wire, text)))


def _read_citation(wire: Any, text: str) -> Citation:
    """`$form.type` records the kind. Annotations that cite nothing, such as pronunciations, are
    preserved."""
    kind = require(wire, dict).get("type")
    table, preserved = _TABLES.get(kind) if type(kind) is str else None, Preserved()
    if "type" not in wire:
        preserved.spelling["source"] = attr = "url" if _is_url(wire.get("source")) else "title"
        table = _UNTYPED[attr]
    elif table is None:
        return Citation(raw={NAME: wire})
    elif kind != CITED:
        preserved.spelling["type"] = kind
    attrs = table.read(wire, preserved)
    for key, attr in _OFFSETS.items():
        offset = wire.get(key)
        at = None if offset is None else _points(text, require(offset, int, f".{key}"))
        if at is not None:
            attrs[attr] = at
        elif key in wire:
            preserved.add(key, offset)
    return Citation(**attrs, raw=preserved.raw(NAME))


def _is_url(source: Any) -> bool:
    return type(source) is str and source.startswith(("http://", "https://"))


def write_citations(block: TextBlock, recorder: LossRecorder) -> list[Wire]:
    cited = [write_citation(citation, block.text, recorder) for citation in block.citations]
    return [wire for wire in cited if wire is not None]


def write_citation(citation: Citation, text: str, recorder: LossRecorder) -> Wire | None:
    own_raw = raw_of(NAME, citation.raw)
    kind = spelling_in(own_raw).get("type") or own_raw.get("type") or CITED
    untyped = _UNTYPED.get(spelling_in(own_raw).get("source", ""))
    table = untyped or _TABLES.get(kind)
    if not own_raw and citation.url is None and citation.title is None:
        recorder.lost(citation, None, because("citation_without_place"))
        return None
    out: Wire = {"type": kind} if untyped is None else {}
    (table or _TABLES[CITED]).write(citation, out, own_raw, recorder)
    for key, attr in _OFFSETS.items():
        offset = getattr(citation, attr)
        if offset is not None:
            within = min(offset, len(text))
            out[key] = offset if offset < 0 else bytes_before(text, within) + offset - within
    return out if citation.raw is None else restore_raw(out, citation, citation.raw, recorder)
