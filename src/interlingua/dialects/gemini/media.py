"""Images, audio, video and documents: `inlineData` is base64, `fileData` a URI.

The wire has one shape for all of them and tells them apart by media type."""

from __future__ import annotations

import base64
from typing import Any

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.gemini.text import part_table
from interlingua.dialects.google import address_of, source_of
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Table, inside, plain
from interlingua.dialects.kernel.kept import Kept, did_without, mine_inside, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model import blocks as model
from interlingua.model.blocks import DocumentBlock, MediaBlock, Source, TextBlock


def kind_of(media_type: str | None, uri: str = "") -> type[MediaBlock]:
    """Which block a media type asks for, or without one the URI."""
    if media_type is None:
        if uri.startswith(tables.VIDEO_HOSTS):
            return model.VideoBlock
        media_type = tables.EXTENSIONS.get(uri.rpartition(".")[2].lower(), "")
    return tables.MEDIA.get(media_type.partition("/")[0].lower(), DocumentBlock)


def _source(key: str, read: Any) -> Field:
    """Where the bytes are."""
    return Field(
        key,
        ("source",),
        lambda given: {"source": read(want(given, str))},
        lambda block, _: block.source.data or "",
        missing={"source": read("")},
    )


_SOURCES = {
    "inlineData": _source("data", lambda data: Source("base64", data)),
    "fileData": _source("fileUri", source_of),
}
_TYPE = plain("mimeType", "media_type", str, fill=lambda _: None)
_NAME = plain("displayName", "name", str)
_BLOCKS = (*tables.MEDIA.values(), DocumentBlock)
TABLES: dict[str, dict[type[MediaBlock], Table]] = {
    key: {each: part_table(each, inside(key, source, _TYPE, _NAME)) for each in _BLOCKS}
    for key, source in _SOURCES.items()
}
"""By the key of the part, for each kind of block. What kind it is shows when the type is read, so
that all of them are read by the table of documents."""


def read_media(part: Wire, key: str, kept: Kept) -> MediaBlock:
    attrs = TABLES[key][DocumentBlock].read(part, kept)
    uri = attrs["source"].data if key == "fileData" else ""
    return kind_of(attrs.get("media_type"), uri)(**attrs, raw=kept.raw(NAME))


STYLES = {
    "inlineData": ("inlineData", "mimeType", "data"),
    "inline_data": ("inlineData", "mime_type", "data"),
    "fileData": ("fileData", "mimeType", "fileUri"),
    "file_data": ("fileData", "mime_type", "file_uri"),
}
_RAWS = {
    name: read_media({name: {typed: "", where: ""}}, key, Kept()).raw
    for name, (key, typed, where) in STYLES.items()
}
"""How each of them is spelled."""


def quick_media(inner: Any, part: Wire, name: str, calls: Any) -> MediaBlock | None:
    """Media in the plain spelling that nearly all have; None for any other."""
    if type(inner) is not dict or len(inner) != 2 or len(part) != 1:
        return None
    key, typed, where = STYLES[name]
    media_type, data = inner.get(typed), inner.get(where)
    if type(media_type) is not str or type(data) is not str:
        return None
    source = Source("base64", data) if key == "inlineData" else source_of(data)
    return kind_of(media_type)(source, media_type, raw=_RAWS[name])


def read_media_part(part: Any) -> model.ResultBlock:
    """A part inside a tool's result."""
    found = [
        key
        for key in TABLES
        if want(part, dict).get(key) is not None or part.get(snake_case(key)) is not None
    ]
    if len(found) != 1:
        return model.UnknownBlock({NAME: part})
    return read_media(part, found[0], Kept())


def write_media(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    """The part; None where the wire cannot reach what the source names."""
    match block.source.kind:
        case "base64":
            return _write(block, "inlineData", "", recorder)
        case "url" | "file_id":
            uri = address_of(block, recorder)
            return None if uri is None else _write(block, "fileData", uri, recorder)
        case "text" | "blocks":
            reason = "text is sent as the bytes of a document"
            recorder.lost(block, "source", reason, kind="approximated")
            return _write(_as_bytes(block, recorder), "inlineData", "", recorder)
        case _:
            recorder.dropped(block, "a file of the workspace has to be loaded first")
            return None


def _write(block: MediaBlock, key: str, uri: str, recorder: LossRecorder) -> Wire:
    part: Wire = {}
    mine = mine_of(NAME, block.raw)
    TABLES[key][type(block)].write(block, part, mine, recorder)
    inner = part.setdefault(key, {})
    if block.media_type is None and not _did_without_type(block, mine_inside(mine, key), uri):
        inner["mimeType"] = _type_of(block, uri, recorder)
    if kind_of(inner.get("mimeType"), uri) is not type(block):
        reason = f"{NAME} tells media apart by type: this is read as something else"
        recorder.lost(block, None, reason, kind="approximated")
    return part if block.raw is None else put_back(part, block, block.raw, recorder)


def _did_without_type(block: MediaBlock, mine: Wire, uri: str) -> bool:
    """Whether the wire had no type, and needs none to say what it is."""
    return did_without(mine, "mimeType") and (not uri or kind_of(None, uri) is type(block))


def _type_of(block: MediaBlock, uri: str, recorder: LossRecorder) -> str:
    """A type for media that come without one: by how they begin or are called, else by kind."""
    if uri:
        found = tables.EXTENSIONS.get(uri.partition("?")[0].rpartition(".")[2].lower())
        if found is not None and kind_of(found) is type(block):
            recorder.filled(block, "media_type", found)
            return found
    else:
        data = block.source.data or ""
        for start, found in tables.FIRST_BYTES.items():
            if data.startswith(start) and kind_of(found) is type(block):
                return found
    reason = "a type has to be named, and nothing says which"
    recorder.lost(block, "media_type", reason, kind="approximated", severity="info")
    return tables.DEFAULT_TYPES[type(block)]


def _as_bytes(block: MediaBlock, recorder: LossRecorder) -> MediaBlock:
    source = block.source
    text = source.data or ""
    if source.kind == "blocks":
        inside_it = source.content or ()
        text = "\n".join([each.text for each in inside_it if type(each) is TextBlock])
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    said = block.replace(source=Source("base64", data), media_type=block.media_type or "text/plain")
    recorder.alias(said, block)
    return said
