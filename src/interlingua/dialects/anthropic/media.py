"""Images and documents, and the parts that are documents by another name: search results, files
for a container, and what a hosted search found. Sound and film have no place here."""

from __future__ import annotations

from interlingua.dialects.anthropic.kept import finish, form_of, is_odd, mine_of, read_cache, spare
from interlingua.dialects.anthropic.parts import (
    ANSWER,
    ASSISTANT,
    HOSTED,
    SOURCE,
    SYSTEM,
    Place,
    read_parts,
    write_parts,
)
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.sources import (
    document_problem,
    image_problem,
    is_foreign_file,
    note_media_type,
    read_source,
    write_source,
)
from interlingua.dialects.anthropic.tables import IMAGE_TYPES, NAME, PDF, PLAIN
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    UnknownBlock,
    VideoBlock,
)

_IMAGE = frozenset({"type", "source", "cache_control"})
_DOCUMENT = frozenset({"type", "source", "title", "context", "cache_control"})
_SEARCH_RESULT = frozenset({"type", "source", "title", "content", "cache_control"})
_UPLOAD = frozenset({"file_id", "cache_control"})
_FOUND = frozenset({"type", "url", "title"})
_MODEL_PLACES = (ASSISTANT, ANSWER, SYSTEM)
"""Where no media may stand: a model's turn, and instructions."""


def read_image(part: Wire, place: Place) -> ImageBlock | UnknownBlock:
    form: Wire = {}
    spelled: Wire = {}
    source, media_type, extra = read_source(part, form)
    if source is None:
        return UnknownBlock({NAME: part})
    if source.kind in ("text", "blocks") or (source.kind == "base64" and media_type not in _TYPED):
        form["odd"] = True
    cache = read_cache(part, spelled, form)
    raw = spare({**part, **extra}, _IMAGE if not extra else _IMAGE - {"source"}, spelled, form)
    return ImageBlock(source, media_type, cache=cache, raw=raw)


_TYPED = IMAGE_TYPES | {None}


def write_image(block: ImageBlock, place: Place, scribe: Scribe) -> Wire | None:
    if not is_odd(block.raw):
        problem = "no image in a model's turn" if place in _MODEL_PLACES else image_problem(block)
        if problem is not None:
            scribe.dropped(block, problem)
            return None
    source = write_source(block, scribe)
    if source is None:
        scribe.dropped(block)
        return None
    note_media_type(block, source, scribe)
    for name in ("name", "detail"):
        if getattr(block, name) is not None:
            scribe.lost(block, name)
    return finish({"type": "image", "source": source}, block, scribe)


def read_document(part: Wire, place: Place) -> DocumentBlock | UnknownBlock:
    form: Wire = {}
    spelled: Wire = {}
    source, media_type, extra = read_source(part, form)
    if source is None:
        return UnknownBlock({NAME: part})
    if media_type is not None and media_type != (PDF if source.kind == "base64" else PLAIN):
        form["odd"] = True
    title = may_take(part, "title", str, spelled)
    context = may_take(part, "context", str, spelled)
    cache = read_cache(part, spelled, form)
    known = _DOCUMENT if not extra else _DOCUMENT - {"source"}
    raw = spare({**part, **extra}, known, spelled, form)
    return DocumentBlock(source, media_type, None, title, context, cache, raw)


def write_document(block: DocumentBlock, place: Place, scribe: Scribe) -> Wire | None:
    kind = form_of(block.raw).get("type") or mine_of(block.raw).get("type")
    if type(kind) is str:
        other = _WRITERS[kind](block, place, scribe) if kind in _WRITERS else None
        if other is not None:
            return finish(other, block, scribe)
    return _write_plain_document(block, place, scribe)


def _write_plain_document(block: DocumentBlock, place: Place, scribe: Scribe) -> Wire | None:
    if not is_odd(block.raw):
        # Version 2026-10-21 refuses a document in an assistant turn.
        in_turn = "no document in a model's turn" if place in _MODEL_PLACES else None
        problem = in_turn or document_problem(block, place)
        if problem is not None:
            scribe.dropped(block, problem)
            return None
    source = write_source(block, scribe)
    if source is None:
        scribe.dropped(block)
        return None
    note_media_type(block, source, scribe)
    out: Wire = {"type": "document", "source": source}
    _put_titles(out, block, scribe)
    return finish(out, block, scribe)


def _put_titles(out: Wire, block: DocumentBlock, scribe: Scribe) -> None:
    if block.title is not None:
        out["title"] = block.title
    if block.context is not None:
        out["context"] = block.context
    if block.name is not None:
        if block.title is None:
            out["title"] = block.name
            scribe.lost(block, "name", "said as the title", kind="moved")
        else:
            scribe.lost(block, "name")


# -- documents by another name --------------------------------------------------------------------


def read_search_result(part: Wire, place: Place) -> DocumentBlock:
    form: Wire = {"type": "search_result"}
    spelled: Wire = {}
    try:
        content = read_parts(take(part, "content", list), SOURCE)
    except ShapeError as odd:
        raise odd.inside(".content") if odd.path.startswith("[") else odd from None
    source, title = take(part, "source", str), take(part, "title", str)
    cache = read_cache(part, spelled, form)
    raw = spare(part, _SEARCH_RESULT, spelled, form)
    return DocumentBlock(Source("blocks", content=content), None, source, title, None, cache, raw)


def _write_search_result(block: DocumentBlock, place: Place, scribe: Scribe) -> Wire | None:
    content = block.source.content
    if block.name is None or block.title is None or content is None:
        return None
    if block.source.kind != "blocks":
        return None
    _report(block, ("media_type", "context"), scribe)
    return {
        "type": "search_result",
        "source": block.name,
        "title": block.title,
        "content": write_parts(content, SOURCE, scribe),
    }


def read_container_upload(part: Wire, place: Place) -> DocumentBlock:
    form: Wire = {}
    spelled: Wire = {}
    source = Source("file_id", take(part, "file_id", str), provider=NAME)
    cache = read_cache(part, spelled, form)
    return DocumentBlock(source, cache=cache, raw=spare(part, _UPLOAD, spelled, form))


def _write_container_upload(block: DocumentBlock, place: Place, scribe: Scribe) -> Wire | None:
    if block.source.kind != "file_id" or is_foreign_file(block.source):
        return None
    _report(block, ("media_type", "name", "title", "context"), scribe)
    return {"type": "container_upload", "file_id": block.source.data or ""}


def read_web_search_result(part: Wire, place: Place) -> DocumentBlock:
    spelled: Wire = {}
    url = take(part, "url", str)
    title = may_take(part, "title", str, spelled)
    raw = spare(part, _FOUND, spelled, {"type": "web_search_result"})
    return DocumentBlock(Source("url", url), title=title, raw=raw)


def _write_web_search_result(block: DocumentBlock, place: Place, scribe: Scribe) -> Wire | None:
    if block.source.kind != "url" or not (place is HOSTED or is_odd(block.raw)):
        return None
    _report(block, ("media_type", "name", "context"), scribe)
    out: Wire = {"type": "web_search_result", "url": block.source.data or ""}
    if block.title is not None:
        out["title"] = block.title
    return out


_WRITERS = {
    "search_result": _write_search_result,
    "container_upload": _write_container_upload,
    "web_search_result": _write_web_search_result,
}


def _report(block: DocumentBlock, names: tuple[str, ...], scribe: Scribe) -> None:
    for name in names:
        if getattr(block, name) is not None:
            scribe.lost(block, name)


def write_nothing(block: AudioBlock | VideoBlock, place: Place, scribe: Scribe) -> None:
    scribe.dropped(block, "neither sound nor film can be sent")
