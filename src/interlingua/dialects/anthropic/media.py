"""Images and documents, and the parts that are documents by another name: search results, files
for a container, and what a hosted search found. Sound and film have no place here."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.tables import (
    DEFAULT_IMAGE,
    IMAGE_STARTS,
    IMAGE_TYPES,
    NAME,
    PDF,
    PLAIN,
    SOURCES,
)
from interlingua.dialects.anthropic.text import (
    ANSWER,
    ASSISTANT,
    CACHE,
    HOSTED,
    SOURCE,
    SYSTEM,
    Place,
    is_odd,
    read_parts,
    string_of,
    write_parts,
)
from interlingua.dialects.kernel.errors import ShapeError, take
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.kept import NOTHING, Kept, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    UnknownBlock,
    VideoBlock,
)

Media = ImageBlock | DocumentBlock
_MODEL_PLACES = (ASSISTANT, ANSWER, SYSTEM)
"""Where no media may stand: a model's turn, and instructions. Version 2026-10-21 refuses a document
in an assistant turn (its documentation, read 2026-11-15)."""

# -- sources --------------------------------------------------------------------------------------


def _read_source(part: Wire, kept: Kept) -> tuple[Source, str | None] | None:
    """The source and the media type; None for a kind that we do not know."""
    wire, inner = take(part, "source", dict), Kept()
    word = wire.get("type")
    kind, key = SOURCES.get(word, (None, "")) if type(word) is str else (None, "")
    if kind is None:
        return None
    try:
        if kind == "blocks":
            source = Source("blocks", content=_read_blocks(wire.get("content"), kept))
        else:
            provider = NAME if kind == "file_id" else None
            source = Source(kind, take(wire, key, str), provider=provider)  # type: ignore[arg-type]  # of the table
    except ShapeError as error:
        raise error.inside(".source") from None
    media_type = wire.get("media_type") if key == "data" else None
    typed = type(media_type) is str
    inner.add_others(wire, frozenset({"type", key, *(("media_type",) if typed else ())}))
    if key == "data" and "media_type" not in wire:
        inner.miss("media_type")
    kept.absorb("source", inner)
    return source, media_type if typed else None


def _read_blocks(content: Any, kept: Kept) -> tuple[Block, ...]:
    if type(content) is str:
        kept.form["content"] = "string"
        return (TextBlock(content),) if content else ()
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    try:
        return read_parts(content, SOURCE)
    except ShapeError as error:
        raise error.inside(".content") from None


def _write_source(block: Media, recorder: LossRecorder) -> Wire | None:
    """None where the kind has no place here, or nothing in it."""
    source = block.source
    word, key = _SPELLED.get(source.kind, (None, ""))
    if source.kind == "blocks" and source.content is not None:
        return {"type": word, key: _write_blocks(source.content, block.raw, recorder)}
    if word is None or source.data is None:
        return None
    if key != "data" or (block.media_type is None and _was_untyped(block.raw)):
        return {"type": word, key: source.data}
    return {"type": word, "media_type": _media_type(block), key: source.data}


_SPELLED = {kind: (word, key) for word, (kind, key) in SOURCES.items()}


def _write_blocks(content: tuple[Block, ...], raw: Raw | None, recorder: LossRecorder) -> Any:
    parts = write_parts(content, SOURCE, recorder)
    if form_of(NAME, raw).get("content") == "string":
        return (string_of(parts) or parts) if parts else ""
    return parts


def _was_untyped(raw: Raw | None) -> bool:
    form = form_of(NAME, raw).get("inside", NOTHING).get("source", NOTHING)
    without = (*form.get("absent", ()), *form.get("spelled", ()))
    return "media_type" in without or "media_type" in mine_of(NAME, raw).get("source", ())


def _media_type(block: Media) -> str:
    given = block.media_type
    if block.source.kind == "text":
        return given if given is not None and is_odd(block.raw) else PLAIN
    if given is not None:
        return given
    if type(block) is DocumentBlock:
        return PDF
    return IMAGE_STARTS.get((block.source.data or "")[:4], DEFAULT_IMAGE)


def _tell_media_type(block: Media, source: Wire, recorder: LossRecorder) -> None:
    """Only data has a type on the wire, and plain text has but one."""
    if block.media_type is None or source.get("media_type") == block.media_type:
        return
    if "media_type" in source:
        recorder.lost(block, "media_type", f"said as {PLAIN}", kind="approximated")
    else:
        recorder.lost(block, "media_type", "told by the address", severity="info")


def _is_foreign(source: Source) -> bool:
    return source.kind == "file_id" and source.provider not in (None, NAME)


def _problem(block: Media, place: Place, name: str, kinds: tuple[str, ...]) -> str | None:
    """Why an image or a document cannot be sent, if it cannot."""
    source = block.source
    if place in _MODEL_PLACES:
        return f"no {name} in a model's turn"
    if name == "document" and place is SOURCE:
        return "no document inside another"
    if source.kind == "base64" and block.media_type not in (None, *_DATA[name]):
        return _ONLY[name]
    if source.kind not in kinds:
        article = "an" if name == "image" else "a"
        return f"{article} {name} cannot be sent as {source.kind}"
    return "file belongs to another provider" if _is_foreign(source) else None


_DATA: dict[str, frozenset[str]] = {"image": IMAGE_TYPES, "document": frozenset({PDF})}
_ONLY = {
    "image": "only JPEG, PNG, GIF and WebP can be sent",
    "document": "only PDF can be sent as data",
}


# -- images and documents -------------------------------------------------------------------------

IMAGE = Table(ImageBlock, CACHE, beside=("type", "source"), silent=("source", "media_type"))
DOCUMENT = Table(
    DocumentBlock,
    plain("title", "title", str),
    plain("context", "context", str),
    CACHE,
    beside=("type", "source"),
    silent=("source", "media_type", "name"),
)


def read_image(part: Wire, place: Place) -> ImageBlock | UnknownBlock:
    kept = Kept()
    found = _read_source(part, kept)
    if found is None:
        return UnknownBlock({NAME: part})
    source, media_type = found
    odd_type = source.kind == "base64" and media_type not in (None, *IMAGE_TYPES)
    if source.kind in ("text", "blocks") or odd_type:
        kept.form["odd"] = True
    attrs = IMAGE.read(part, kept)
    return ImageBlock(source, media_type, **attrs, raw=kept.raw(NAME))


def write_image(block: ImageBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    return _write_media(block, place, "image", IMAGE, ("base64", "url", "file_id"), recorder)


def read_document(part: Wire, place: Place) -> DocumentBlock | UnknownBlock:
    kept = Kept()
    found = _read_source(part, kept)
    if found is None:
        return UnknownBlock({NAME: part})
    source, media_type = found
    if media_type is not None and media_type != (PDF if source.kind == "base64" else PLAIN):
        kept.form["odd"] = True
    attrs = DOCUMENT.read(part, kept)
    return DocumentBlock(source, media_type, **attrs, raw=kept.raw(NAME))


def write_document(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    kind = form_of(NAME, block.raw).get("type") or mine_of(NAME, block.raw).get("type")
    write = _OTHERS.get(kind) if type(kind) is str else None
    other = None if write is None else write(block, place, recorder)
    if other is not None:
        return put_back(other, block, block.raw or {}, recorder)
    kinds = ("base64", "url", "file_id", "text", "blocks")
    out = _write_media(block, place, "document", DOCUMENT, kinds, recorder)
    if out is not None and block.name is not None:
        if block.title is None:
            out["title"] = block.name
            recorder.lost(block, "name", "said as the title", kind="moved")
        else:
            recorder.lost(block, "name")
    return out


def _write_media(
    block: Media,
    place: Place,
    name: str,
    table: Table,
    kinds: tuple[str, ...],
    recorder: LossRecorder,
) -> Wire | None:
    problem = None if is_odd(block.raw) else _problem(block, place, name, kinds)
    source = _write_source(block, recorder) if problem is None else None
    if source is None:
        recorder.dropped(block, problem)
        return None
    _tell_media_type(block, source, recorder)
    out: Wire = {"type": name, "source": source}
    table.write(block, out, mine_of(NAME, block.raw), recorder)
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


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
    kept = Kept(form={"type": "search_result"})
    listed = take(part, "content", list)
    try:
        content = read_parts(listed, SOURCE)
    except ShapeError as error:
        raise error.inside(".content") from None
    take(part, "source", str), take(part, "title", str)
    attrs = SEARCH_RESULT.read(part, kept)
    return DocumentBlock(Source("blocks", content=content), **attrs, raw=kept.raw(NAME))


def _write_search_result(block: DocumentBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    content = block.source.content
    if block.name is None or block.title is None or content is None:
        return None
    if block.source.kind != "blocks":
        return None
    out: Wire = {"type": "search_result", "content": write_parts(content, SOURCE, recorder)}
    SEARCH_RESULT.write(block, out, mine_of(NAME, block.raw), recorder)
    return out


def read_container_upload(part: Wire, place: Place) -> DocumentBlock:
    source, kept = Source("file_id", take(part, "file_id", str), provider=NAME), Kept()
    return DocumentBlock(source, **UPLOAD.read(part, kept), raw=kept.raw(NAME))


def _write_container_upload(
    block: DocumentBlock, place: Place, recorder: LossRecorder
) -> Wire | None:
    if block.source.kind != "file_id" or _is_foreign(block.source):
        return None
    out: Wire = {"type": "container_upload", "file_id": block.source.data or ""}
    UPLOAD.write(block, out, mine_of(NAME, block.raw), recorder)
    return out


def read_web_search_result(part: Wire, place: Place) -> DocumentBlock:
    source, kept = Source("url", take(part, "url", str)), Kept(form={"type": "web_search_result"})
    return DocumentBlock(source, **FOUND.read(part, kept), raw=kept.raw(NAME))


def _write_web_search_result(
    block: DocumentBlock, place: Place, recorder: LossRecorder
) -> Wire | None:
    if block.source.kind != "url" or not (place is HOSTED or is_odd(block.raw)):
        return None
    out: Wire = {"type": "web_search_result", "url": block.source.data or ""}
    FOUND.write(block, out, mine_of(NAME, block.raw), recorder)
    return out


_OTHERS = {
    "search_result": _write_search_result,
    "container_upload": _write_container_upload,
    "web_search_result": _write_web_search_result,
}


def write_nothing(block: AudioBlock | VideoBlock, place: Place, recorder: LossRecorder) -> None:
    recorder.dropped(block, "neither sound nor film can be sent")
