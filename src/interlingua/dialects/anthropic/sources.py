"""Where an image or a document comes from."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.kept import form_of, mine_of
from interlingua.dialects.anthropic.parts import SOURCE, Place, read_parts, string_of, write_parts
from interlingua.dialects.anthropic.shape import take
from interlingua.dialects.anthropic.tables import (
    DEFAULT_IMAGE,
    IMAGE_STARTS,
    IMAGE_TYPES,
    NAME,
    PDF,
    PLAIN,
)
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Block, DocumentBlock, ImageBlock, Source, TextBlock

_KEYS = {"base64": "data", "text": "data", "url": "url", "file_id": "file_id", "blocks": "content"}
"""Kind of source to the key that holds what is in it."""
_FILE = "file belongs to another provider"


def read_source(part: Wire, form: Wire) -> tuple[Source | None, str | None, Wire]:
    """The source, the media type, and what else the source says as `{"source": …}`. No source for
    a kind that we do not know."""
    wire = take(part, "source", dict)
    try:
        source = _read_source(wire, form)
    except ShapeError as odd:
        raise odd.inside(".source") from None
    if source is None:
        return None, None, {}
    media_type, known = None, {"type", _KEYS[source.kind]}
    if source.kind in ("base64", "text"):
        media_type = wire.get("media_type")
        if type(media_type) is str:
            known.add("media_type")
        else:
            media_type, form["untyped"] = None, True
    extra = {key: item for key, item in wire.items() if key not in known}
    return source, media_type, {"source": extra} if extra else {}


def _read_source(wire: Wire, form: Wire) -> Source | None:
    match wire.get("type"):
        case "base64":
            return Source("base64", take(wire, "data", str))
        case "url":
            return Source("url", take(wire, "url", str))
        case "file":
            return Source("file_id", take(wire, "file_id", str), provider=NAME)
        case "text":
            return Source("text", take(wire, "data", str))
        case "content":
            return Source("blocks", content=_read_content(wire.get("content"), form))
        case _:
            return None


def _read_content(content: Any, form: Wire) -> tuple[Block, ...]:
    if type(content) is str:
        form["content"] = "string"
        return (TextBlock(content),) if content else ()
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    try:
        return read_parts(content, SOURCE)
    except ShapeError as odd:
        raise odd.inside(".content") from None


def write_source(block: ImageBlock | DocumentBlock, scribe: Scribe) -> Wire | None:
    """None where the kind has no place here, or nothing in it."""
    form = form_of(block.raw)
    out = _write_source(block, form, scribe)
    if out is None:
        return None
    extra = mine_of(block.raw).get("source")
    if type(extra) is dict:
        out = {**extra, **out}
    return out


def _write_source(block: ImageBlock | DocumentBlock, form: Wire, scribe: Scribe) -> Wire | None:
    source = block.source
    if source.kind == "blocks" and source.content is not None:
        return {"type": "content", "content": _write_content(source.content, form, scribe)}
    data = source.data
    if data is None:
        return None
    if source.kind == "url":
        return {"type": "url", "url": data}
    if source.kind == "file_id":
        return {"type": "file", "file_id": data}
    if source.kind not in ("base64", "text"):
        return None
    if block.media_type is None and form.get("untyped"):
        return {"type": source.kind, "data": data}
    return {"type": source.kind, "media_type": _media_type(block, form), "data": data}


def _write_content(content: tuple[Block, ...], form: Wire, scribe: Scribe) -> Any:
    parts = write_parts(content, SOURCE, scribe)
    if form.get("content") == "string":
        return (string_of(parts) or parts) if parts else ""
    return parts


def _media_type(block: ImageBlock | DocumentBlock, form: Wire) -> str:
    given = block.media_type
    if block.source.kind == "text":
        return given if given is not None and form.get("odd") else PLAIN
    if given is not None:
        return given
    if type(block) is DocumentBlock:
        return PDF
    return IMAGE_STARTS.get((block.source.data or "")[:4], DEFAULT_IMAGE)


def note_media_type(block: ImageBlock | DocumentBlock, source: Wire, scribe: Scribe) -> None:
    """Only data has a type on the wire, and plain text has but one."""
    if block.media_type is None or source.get("media_type") == block.media_type:
        return
    if "media_type" in source:
        scribe.lost(block, "media_type", f"said as {PLAIN}", kind="approximated")
    else:
        scribe.lost(block, "media_type", "told by the address", severity="info")


def image_problem(block: ImageBlock) -> str | None:
    source = block.source
    if source.kind == "base64" and block.media_type not in (None, *IMAGE_TYPES):
        return "only JPEG, PNG, GIF and WebP can be sent"
    if source.kind not in ("base64", "url", "file_id"):
        return f"an image cannot be sent as {source.kind}"
    return _FILE if is_foreign_file(source) else None


def document_problem(block: DocumentBlock, place: Place) -> str | None:
    source = block.source
    if place is SOURCE:
        return "no document inside another"
    if source.kind == "base64" and block.media_type not in (None, PDF):
        return "only PDF can be sent as data"
    if source.kind not in ("base64", "url", "file_id", "text", "blocks"):
        return f"a document cannot be sent as {source.kind}"
    return _FILE if is_foreign_file(source) else None


def is_foreign_file(source: Source) -> bool:
    return source.kind == "file_id" and source.provider not in (None, NAME)
