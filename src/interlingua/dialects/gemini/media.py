"""Images, audio, video and documents: `inlineData` is base64, `fileData` a URI.

The wire has one shape for all of them and tells them apart by media type."""

from __future__ import annotations

import base64

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.spelling import Place, Taking, account, dress, mine
from interlingua.dialects.gemini.tables import (
    DEFAULT_TYPES,
    EXTENSIONS,
    FILE_HOSTS,
    FILE_PROVIDER,
    FIRST_BYTES,
    MEDIA,
    NAME,
    VIDEO_HOSTS,
)
from interlingua.dialects.gemini.turn import Turn
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    ResultBlock,
    Source,
    TextBlock,
    UnknownBlock,
    VideoBlock,
)

_SAID = frozenset({"source", "media_type", "name"})


def kind_of(media_type: str | None, uri: str = "") -> type[MediaBlock]:
    """Which block a media type asks for, or without one the URI."""
    if media_type is None:
        if uri.startswith(VIDEO_HOSTS):
            return VideoBlock
        media_type = EXTENSIONS.get(uri.rpartition(".")[2].lower(), "")
    return MEDIA.get(media_type.partition("/")[0].lower(), DocumentBlock)


def read_inline(part: Taking) -> MediaBlock:
    inner = part.inside("inlineData")
    assert inner is not None
    media_type = inner.take("mimeType", str, due=True)
    source = Source("base64", inner.take("data", str, due=True) or "")
    name = inner.take("displayName", str)
    part.absorb("inlineData", inner)
    return kind_of(media_type)(source, media_type, name, raw=part.raw())


def read_file(part: Taking) -> MediaBlock:
    inner = part.inside("fileData")
    assert inner is not None
    media_type = inner.take("mimeType", str, due=True)
    uri = inner.take("fileUri", str, due=True) or ""
    name = inner.take("displayName", str)
    part.absorb("fileData", inner)
    return kind_of(media_type, uri)(source_of(uri), media_type, name, raw=part.raw())


def source_of(uri: str) -> Source:
    if uri.startswith(FILE_HOSTS):
        return Source("file_id", uri, provider=FILE_PROVIDER)
    return Source("url", uri)


def read_media_part(part: object, place: Place) -> ResultBlock:
    """A part inside a tool's result."""
    taking = Taking(part, place)
    inline, file = taking.has("inlineData"), taking.has("fileData")
    if inline is file:
        return UnknownBlock({NAME: part})
    return read_inline(taking) if inline else read_file(taking)


def write_media(block: MediaBlock, turn: Turn) -> Wire | None:
    """The part; None where the wire cannot reach what the source names."""
    match block.source.kind:
        case "base64":
            kind, part = "inlineData", _write_inline(block, turn)
        case "url" | "file_id":
            kind, part = "fileData", _write_file(block, turn)
            if source_of(part["fileData"]["fileUri"]) != block.source:
                return _elsewhere(block, part, turn)
        case "text" | "blocks":
            kind, part = "inlineData", _write_text(block)
            reason = "text is sent as the bytes of a document"
            turn.scribe.lost(block, "source", reason, kind="approximated")
        case _:
            turn.scribe.dropped(block, "a file of the workspace has to be loaded first")
            return None
    return _finish(block, kind, part, turn)


def _finish(block: MediaBlock, kind: str, part: Wire, turn: Turn) -> Wire:
    inner = part[kind]
    if block.name is not None:
        inner["displayName"] = block.name
    if kind_of(inner.get("mimeType"), inner.get("fileUri", "")) is not type(block):
        reason = f"{NAME} tells media apart by type: this is read as something else"
        turn.scribe.lost(block, None, reason, kind="approximated")
    if _has_more(block):
        turn.scribe.unsaid(block, _SAID)
    else:
        account(block, _SAID, turn.scribe)
    return dress(part, kind, block.raw)


def _has_more(block: MediaBlock) -> bool:
    """Whether there is something in a field of one kind of media alone."""
    if type(block) is ImageBlock:
        return block.detail is not None
    if type(block) is AudioBlock:
        return block.transcript is not None
    if type(block) is DocumentBlock:
        return block.title is not None or block.context is not None
    return False


def _write_inline(block: MediaBlock, turn: Turn) -> Wire:
    data = block.source.data or ""
    inner: Wire = {"data": data}
    if block.media_type is not None:
        inner["mimeType"] = block.media_type
    elif not _had_no_type(block, "inlineData"):
        inner["mimeType"] = _type_by_bytes(block, data) or _type_by_kind(block, turn)
    return {"inlineData": inner}


def _type_by_bytes(block: MediaBlock, data: str) -> str | None:
    for start, media_type in FIRST_BYTES.items():
        if data.startswith(start) and kind_of(media_type) is type(block):
            return media_type
    return None


def _type_by_kind(block: MediaBlock, turn: Turn) -> str:
    reason = "a type has to be named, and nothing says which"
    turn.scribe.lost(block, "media_type", reason, kind="approximated", severity="info")
    return DEFAULT_TYPES[type(block)]


def _write_file(block: MediaBlock, turn: Turn) -> Wire:
    uri = block.source.data or ""
    inner: Wire = {"fileUri": uri}
    if block.media_type is not None:
        inner["mimeType"] = block.media_type
    elif not _had_no_type(block, "fileData") or kind_of(None, uri) is not type(block):
        inner["mimeType"] = _type_by_uri(block, uri, turn) or _type_by_kind(block, turn)
    return {"fileData": inner}


def _type_by_uri(block: MediaBlock, uri: str, turn: Turn) -> str | None:
    media_type = EXTENSIONS.get(uri.partition("?")[0].rpartition(".")[2].lower())
    if media_type is None or kind_of(media_type) is not type(block):
        return None
    turn.scribe.filled(block, "media_type", media_type)
    return media_type


def _had_no_type(block: MediaBlock, kind: str) -> bool:
    form = mine(block.raw)[1].get(kind) or {}
    return "mimeType" in (*form.get("absent", ()), *form.get("nil", ()))


def _elsewhere(block: MediaBlock, part: Wire, turn: Turn) -> Wire | None:
    """A source that would be read as another one."""
    source = block.source
    if source.kind == "file_id" and source.provider != FILE_PROVIDER:
        turn.scribe.dropped(block, "a file that another provider keeps")
        return None
    reason = "the address alone says whether it is a file of the Files API"
    turn.scribe.lost(block, "source", reason, kind="approximated")
    return _finish(block, "fileData", part, turn)


def _write_text(block: MediaBlock) -> Wire:
    source = block.source
    text = source.data or ""
    if source.kind == "blocks":
        inside = source.content or ()
        text = "\n".join([each.text for each in inside if type(each) is TextBlock])
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    return {"inlineData": {"mimeType": block.media_type or "text/plain", "data": data}}
