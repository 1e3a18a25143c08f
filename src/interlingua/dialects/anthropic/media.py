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
    Place,
    is_odd,
    read_content,
    read_parts,
    write_content,
    write_parts,
)
from interlingua.dialects.kernel.errors import below, take
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, did_without, form_of, mine_inside, mine_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import IMAGE_STARTS
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import DocumentBlock, ImageBlock, Source, UnknownBlock

Media = ImageBlock | DocumentBlock

# -- sources --------------------------------------------------------------------------------------


def _read_source(part: Wire, kept: Kept) -> tuple[Source, str | None] | None:
    """The source and the media type; None for a kind that we do not know."""
    wire, inner = take(part, "source", dict), Kept()
    word = wire.get("type")
    kind, key = tables.SOURCES.get(word, (None, "")) if type(word) is str else (None, "")
    if kind is None:
        return None
    if kind == "blocks":
        content = below(".source.content", read_content, wire.get("content"), SOURCE, kept.form)
        source = Source("blocks", content=content)
    else:
        provider, data = NAME if kind == "file_id" else None, below(".source", take, wire, key, str)
        source = Source(kind, data, provider=provider)  # type: ignore[arg-type]  # of the table
    media_type = wire.get("media_type") if key == "data" else None
    typed = type(media_type) is str
    inner.add_others(wire, frozenset({"type", key, *(("media_type",) if typed else ())}))
    if key == "data" and "media_type" not in wire:
        inner.miss("media_type")
    kept.absorb("source", inner)
    return source, media_type if typed else None


def _write_source(block: Media, recorder: LossRecorder) -> Wire | None:
    """None where the kind has no place here, or nothing in it."""
    source = block.source
    word, key = _SPELLED.get(source.kind, (None, ""))
    if source.kind == "blocks" and source.content is not None:
        form = form_of(NAME, block.raw)
        return {"type": word, key: write_content(source.content, SOURCE, form, recorder)}
    if word is None or source.data is None:
        return None
    if key != "data" or (block.media_type is None and _was_untyped(block.raw)):
        return {"type": word, key: source.data}
    return {"type": word, "media_type": _media_type(block), key: source.data}


_SPELLED = {kind: (word, key) for word, (kind, key) in tables.SOURCES.items()}


def _was_untyped(raw: Raw | None) -> bool:
    source = mine_inside(mine_of(NAME, raw), "source")
    return "media_type" in source or did_without(source, "media_type")


def _media_type(block: Media) -> str:
    given = block.media_type
    if block.source.kind == "text":
        return given if given is not None and is_odd(block.raw) else tables.PLAIN
    if given is not None:
        return given
    if type(block) is DocumentBlock:
        return tables.PDF
    return IMAGE_STARTS.get((block.source.data or "")[:4], tables.DEFAULT_IMAGE)


def _tell_media_type(block: Media, source: Wire, recorder: LossRecorder) -> None:
    """Only data has a type on the wire, and plain text has but one."""
    if block.media_type is None or source.get("media_type") == block.media_type:
        return
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


def _reader(cls: Callable[..., Media], kind: Kind) -> Callable[[Wire, Place], Media | UnknownBlock]:
    def read(part: Wire, place: Place) -> Media | UnknownBlock:
        kept = Kept()
        found = _read_source(part, kept)
        if found is None:
            return UnknownBlock({NAME: part})
        source, media_type = found
        is_sent = source.kind in kind.sources
        if not is_sent or (media_type is not None and media_type not in kind.types[source.kind]):
            kept.form["odd"] = True
        more = {"source": source, "media_type": media_type}
        return kind.table.read_value(cls, part, NAME, kept, **more)

    return read


read_image, read_document = _reader(ImageBlock, IMAGE), _reader(DocumentBlock, DOCUMENT)


def write_image(block: ImageBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    return _write_media(block, place, IMAGE, recorder)


def write_document(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    kind = form_of(NAME, block.raw).get("type") or mine_of(NAME, block.raw).get("type")
    write = _OTHERS.get(kind) if type(kind) is str else None
    other = None if write is None else write(block, place, recorder)
    if other is not None:
        return other
    out = _write_media(block, place, DOCUMENT, recorder)
    if out is not None and block.name is not None:
        if block.title is None:
            out["title"] = block.name
            recorder.lost(block, "name", "said as the title", kind="moved")
        else:
            recorder.lost(block, "name")
    return out


def _write_media(block: Media, place: Place, kind: Kind, recorder: LossRecorder) -> Wire | None:
    problem = None if is_odd(block.raw) else _problem(block, place, kind)
    source = _write_source(block, recorder) if problem is None else None
    if source is None:
        recorder.dropped(block, problem)
        return None
    _tell_media_type(block, source, recorder)
    return kind.table.write_value(block, recorder, {"type": kind.name, "source": source})


def _problem(block: Media, place: Place, kind: Kind) -> str | None:
    """Why an image or a document cannot be sent, if so. Version 2026-10-21 refuses a document in an
    assistant turn (its documentation, read 2026-11-15)."""
    source, name = block.source, kind.name
    if place.is_models or place is SYSTEM:
        return f"no {name} in a model's turn"
    if kind is DOCUMENT and place is SOURCE:
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


def read_search_result(part: Wire, place: Place) -> DocumentBlock:
    listed, kept = take(part, "content", list), Kept(form={"type": "search_result"})
    source = Source("blocks", content=below(".content", read_parts, listed, SOURCE))
    take(part, "source", str), take(part, "title", str)
    return SEARCH_RESULT.read_value(DocumentBlock, part, NAME, kept, source=source)


def _write_search_result(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    content = block.source.content
    if block.source.kind != "blocks" or None in (block.name, block.title, content):
        return None
    parts = write_parts(content or (), SOURCE, recorder)
    return SEARCH_RESULT.write_value(block, recorder, {"type": "search_result", "content": parts})


def read_container_upload(part: Wire, place: Place) -> DocumentBlock:
    source = Source("file_id", take(part, "file_id", str), provider=NAME)
    return UPLOAD.read_value(DocumentBlock, part, NAME, source=source)


def _write_upload(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "file_id" or _is_foreign(block.source):
        return None
    out: Wire = {"type": "container_upload", "file_id": block.source.data or ""}
    return UPLOAD.write_value(block, recorder, out)


def read_web_search_result(part: Wire, place: Place) -> DocumentBlock:
    source, kept = Source("url", take(part, "url", str)), Kept(form={"type": "web_search_result"})
    return FOUND.read_value(DocumentBlock, part, NAME, kept, source=source)


def _write_found(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "url" or not (place is HOSTED or is_odd(block.raw)):
        return None
    out: Wire = {"type": "web_search_result", "url": block.source.data or ""}
    return FOUND.write_value(block, recorder, out)


_OTHERS = {
    "search_result": _write_search_result,
    "container_upload": _write_upload,
    "web_search_result": _write_found,
}


def write_nothing(
    block: model.AudioBlock | model.VideoBlock, place: Place, recorder: LossRecorder
) -> None:
    recorder.dropped(block, "neither sound nor film can be sent")
