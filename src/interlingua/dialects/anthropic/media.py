"""Images and documents, and the parts that are documents by another name: search results, files
for a container, and what a hosted search found. Sound and film have no place here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import (
    CACHE,
    HOSTED,
    SOURCE,
    SYSTEM,
    Scope,
    is_odd,
    read_content,
    read_parts,
    write_content,
    write_parts,
)
from interlingua.dialects.kernel.data_urls import FORM as DATA_URL
from interlingua.dialects.kernel.data_urls import data_url, url_of
from interlingua.dialects.kernel.errors import at_path, require_key
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_inside,
    raw_of,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import IMAGE_STARTS, text_in
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import DocumentBlock, ImageBlock, Source, UnknownBlock

Media = ImageBlock | DocumentBlock

# -- sources --------------------------------------------------------------------------------------


def _read_source(part: Wire, preserved: Preserved) -> tuple[Source, str | None] | None:
    """The source and the media type; None for a kind that we do not know."""
    wire, inner = require_key(part, "source", dict), Preserved()
    word = wire.get("type")
    kind, key = tables.SOURCES.get(word, (None, "")) if type(word) is str else (None, "")
    if kind is None:
        return None
    if kind == "blocks":
        content = at_path(
            ".source.content", read_content, wire.get("content"), SOURCE, preserved.spelling
        )
        source = Source("blocks", content=content)
    else:
        provider, data = (
            NAME if kind == "file_id" else None,
            at_path(".source", require_key, wire, key, str),
        )
        source = Source(kind, data, provider=provider)  # type: ignore[arg-type]  # of the table
    media_type = wire.get("media_type") if key == "data" else None
    inline = data_url(source.data or "") if kind == "url" else None
    if inline is not None:
        source, media_type, preserved.spelling[DATA_URL] = (
            inline.source,
            inline.media_type,
            inline.head,
        )
    typed = type(media_type) is str
    inner.add_others(wire, frozenset({"type", key, *(("media_type",) if typed else ())}))
    if key == "data" and "media_type" not in wire:
        inner.mark_absent("media_type")
    preserved.absorb("source", inner)
    return source, media_type if typed else None


def _write_source(block: Media, recorder: LossRecorder) -> Wire | None:
    """None where the kind has no place here, or nothing in it."""
    source = block.source
    if (url := url_of(NAME, block)) is not None:
        return {"type": "url", "url": url}
    word, key = _SPELLED.get(source.kind, (None, ""))
    if source.kind == "blocks" and source.content is not None:
        spelling = spelling_of(NAME, block.raw)
        return {"type": word, key: write_content(source.content, SOURCE, spelling, recorder)}
    if word is None or source.data is None:
        return None
    if key != "data" or (block.media_type is None and _was_untyped(block.raw)):
        return {"type": word, key: source.data}
    return {"type": word, "media_type": _media_type(block), key: source.data}


_SPELLED = {kind: (word, key) for word, (kind, key) in tables.SOURCES.items()}


def _was_untyped(raw: Raw | None) -> bool:
    source = raw_inside(raw_of(NAME, raw), "source")
    return "media_type" in source or was_absent(source, "media_type")


def _media_type(block: Media) -> str:
    media_type = block.media_type
    if block.source.kind == "text":
        return media_type if media_type is not None and is_odd(block.raw) else tables.PLAIN
    if media_type is not None:
        return media_type
    if type(block) is DocumentBlock:
        return tables.PDF
    return IMAGE_STARTS.get((block.source.data or "")[:4], tables.DEFAULT_IMAGE)


def _report_media_type(block: Media, source: Wire, recorder: LossRecorder) -> None:
    """Only data has a type on the wire, and plain text has but one."""
    if block.media_type is None or source.get("media_type") == block.media_type:
        return
    if block.source.kind == "base64" and "url" in source:
        return  # a data URL, which says it
    if "media_type" in source:
        recorder.lost(block, "media_type", f"said as {tables.PLAIN}", kind="approximated")
    else:
        recorder.lost(block, "media_type", "told by the address", severity="info")


def _is_foreign(source: Source) -> bool:
    return source.kind == "file_id" and source.provider not in (None, NAME)


# -- images and documents -------------------------------------------------------------------------


class Kind(NamedTuple):
    """What can be sent as an image, or as a document: from where, and of which types."""

    name: str
    table: Table
    sources: tuple[str, ...]
    types: dict[str, frozenset[str]]
    """By the kind of source: only data has a type."""
    only: str
    """What data can be sent."""


_BESIDE = ("type", "source")
_SILENT = ("source", "media_type")
IMAGE = Kind(
    "image",
    Table(ImageBlock, CACHE, beside=_BESIDE, silent=_SILENT),
    ("base64", "url", "file_id"),
    {"base64": tables.IMAGE_TYPES},
    "only JPEG, PNG, GIF and WebP can be sent",
)
DOCUMENT = Kind(
    "document",
    Table(
        DocumentBlock,
        plain("title", "title", str),
        plain("context", "context", str),
        CACHE,
        beside=_BESIDE,
        silent=(*_SILENT, "name"),
    ),
    ("base64", "url", "file_id", "text", "blocks"),
    {"base64": frozenset({tables.PDF}), "text": frozenset({tables.PLAIN})},
    "only PDF can be sent as data",
)


def _reader(cls: Callable[..., Media], kind: Kind) -> Callable[[Wire, Scope], Media | UnknownBlock]:
    def read(part: Wire, scope: Scope) -> Media | UnknownBlock:
        preserved = Preserved()
        found = _read_source(part, preserved)
        if found is None:
            return UnknownBlock({NAME: part})
        source, media_type = found
        is_sent = source.kind in kind.sources
        if not is_sent or (media_type is not None and media_type not in kind.types[source.kind]):
            preserved.spelling["odd"] = True
        more = {"source": source, "media_type": media_type}
        return kind.table.read_value(cls, part, NAME, preserved, **more)

    return read


read_image, read_document = _reader(ImageBlock, IMAGE), _reader(DocumentBlock, DOCUMENT)


def write_image(block: ImageBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    return _write_media(block, scope, IMAGE, recorder)


def write_document(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    kind = spelling_of(NAME, block.raw).get("type") or raw_of(NAME, block.raw).get("type")
    write = _OTHERS.get(kind) if type(kind) is str else None
    other = None if write is None else write(block, scope, recorder)
    if other is not None:
        return other
    out = _write_media(_as_text(block, recorder), scope, DOCUMENT, recorder)
    if out is not None and block.name is not None:
        if block.title is None:
            out["title"] = block.name
            recorder.lost(block, "name", "said as the title", kind="moved")
        else:
            recorder.lost(block, "name")
    return out


def _as_text(block: DocumentBlock, recorder: LossRecorder) -> DocumentBlock:
    """A document of text that comes as bytes, as text: as data only PDF can be sent."""
    is_data = block.source.kind == "base64" and block.media_type not in (None, tables.PDF)
    text = text_in(block) if is_data and not is_odd(block.raw) else None
    if text is None:
        return block
    recorder.lost(block, "source", "said as text", kind="approximated", severity="info")
    new = block.replace(source=Source("text", text))
    recorder.alias(new, block)
    return new


def _write_media(block: Media, scope: Scope, kind: Kind, recorder: LossRecorder) -> Wire | None:
    problem = None if is_odd(block.raw) else _problem(block, scope, kind)
    source = _write_source(block, recorder) if problem is None else None
    if source is None:
        recorder.dropped(block, problem)
        return None
    _report_media_type(block, source, recorder)
    return kind.table.write_value(block, recorder, {"type": kind.name, "source": source})


def _problem(block: Media, scope: Scope, kind: Kind) -> str | None:
    """Why an image or a document cannot be sent, if so. Version 2026-10-21 refuses a document in an
    assistant turn (its documentation, read 2026-11-15)."""
    source, name = block.source, kind.name
    if scope.is_models or scope is SYSTEM:
        return f"no {name} in a model's turn"
    if kind is DOCUMENT and scope is SOURCE:
        return "no document inside another"
    if source.kind == "base64" and block.media_type not in (None, *kind.types["base64"]):
        return kind.only
    if source.kind not in kind.sources:
        return f"{'an' if kind is IMAGE else 'a'} {name} cannot be sent as {source.kind}"
    return "file belongs to another provider" if _is_foreign(source) else None


# -- documents by another name --------------------------------------------------------------------

SEARCH_RESULT = Table(
    DocumentBlock,
    plain("source", "name", str),
    plain("title", "title", str),
    CACHE,
    beside=("type", "content"),
    silent=("source",),
)
UPLOAD = Table(DocumentBlock, CACHE, beside=("file_id",), silent=("source",))
"""Its type is kept as content, as it says that the file goes to a container."""
FOUND = Table(
    DocumentBlock,
    plain("title", "title", str),
    lost("cache"),
    beside=("type", "url"),
    silent=("source",),
)


def read_search_result(part: Wire, scope: Scope) -> DocumentBlock:
    listed, preserved = (
        require_key(part, "content", list),
        Preserved(spelling={"type": "search_result"}),
    )
    source = Source("blocks", content=at_path(".content", read_parts, listed, SOURCE))
    require_key(part, "source", str), require_key(part, "title", str)
    return SEARCH_RESULT.read_value(DocumentBlock, part, NAME, preserved, source=source)


def _write_search_result(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    content = block.source.content
    if block.source.kind != "blocks" or None in (block.name, block.title, content):
        return None
    parts = write_parts(content or (), SOURCE, recorder)
    return SEARCH_RESULT.write_value(block, recorder, {"type": "search_result", "content": parts})


def read_container_upload(part: Wire, scope: Scope) -> DocumentBlock:
    source = Source("file_id", require_key(part, "file_id", str), provider=NAME)
    return UPLOAD.read_value(DocumentBlock, part, NAME, source=source)


def _write_upload(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "file_id" or _is_foreign(block.source):
        return None
    out: Wire = {"type": "container_upload", "file_id": block.source.data or ""}
    return UPLOAD.write_value(block, recorder, out)


def read_web_search_result(part: Wire, scope: Scope) -> DocumentBlock:
    source, preserved = (
        Source("url", require_key(part, "url", str)),
        Preserved(spelling={"type": "web_search_result"}),
    )
    return FOUND.read_value(DocumentBlock, part, NAME, preserved, source=source)


def _write_found(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "url" or not (scope is HOSTED or is_odd(block.raw)):
        return None
    out: Wire = {"type": "web_search_result", "url": block.source.data or ""}
    return FOUND.write_value(block, recorder, out)


_OTHERS = {
    "search_result": _write_search_result,
    "container_upload": _write_upload,
    "web_search_result": _write_found,
}


def write_nothing(
    block: model.AudioBlock | model.VideoBlock, scope: Scope, recorder: LossRecorder
) -> None:
    recorder.dropped(block, "neither sound nor film can be sent")
